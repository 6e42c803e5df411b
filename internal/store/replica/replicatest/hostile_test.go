package replicatest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/logins"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
	"candela/lib/fault"
)

// stranger is a client with full permissions but without the secret.
type stranger struct {
	t  *testing.T
	nc *nats.Conn
	js jetstream.JetStream
}

func newStranger(t *testing.T) stranger {
	t.Helper()
	return stranger{t, replicatest.ConnectRaw(t, replicatest.Lone()), replicatest.Admin(t, replicatest.Lone())}
}

// write publishes to a stream and waits until the message is stored.
func (s stranger) write(subject string, data []byte) {
	s.t.Helper()
	if _, err := s.js.Publish(s.t.Context(), subject, data); err != nil {
		s.t.Fatal(err)
	}
}

// row returns the stored last message of a subject.
func (s stranger) row(stream, subject string) []byte {
	s.t.Helper()
	m, err := replicatest.StreamOf(s.t, replicatest.Lone(), stream).GetLastMsgForSubject(s.t.Context(), subject)
	if err != nil {
		s.t.Fatal(err)
	}
	return m.Data
}

// NotExecuted waits until a replica has refused a message of a kind.
func NotExecuted(t *testing.T, by *conn.Conn, kind string) {
	t.Helper()
	replicatest.Eventually(t, "a "+kind+" is refused", func() bool { return by.Stats().Forged[kind] > 0 })
}

// tokensOn opens the logins on a new connection and returns both.
func tokensOn(t *testing.T, prefix string) (*logins.Store, *conn.Conn) {
	t.Helper()
	conn := replicatest.Connect(t, replicatest.Lone(), prefix)
	s, err := logins.Open(t.Context(), conn, nil, oauth.OneOwner(100), replicatest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, conn
}

func TestHostileNATS_MakesNoToken(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	s, conn := tokensOn(t, prefix)
	tok := replicatest.IssueToken(t, s, "real", now)
	mine := oauth.Token{Hash: oauth.HashOf("mine"), ID: "mine", Generation: s.Seal().Generation(), Grant: oauth.Grant{Subject: "ann"}, Expires: now.Add(time.Hour)}
	plain, err := json.Marshal(mine)
	if err != nil {
		t.Fatal(err)
	}
	by := newStranger(t)
	subject := prefix + ".token."
	moved := oauth.Token{Hash: oauth.HashOf("moved")}
	by.write(subject+mine.Hash.Hex(), plain)
	by.write(subject+moved.Hash.Hex(), by.row(prefix+"_TOKENS", subject+tok.Hash.Hex()))
	NotExecuted(t, conn, "row")
	fresh, _ := tokensOn(t, prefix)
	for name, at := range map[string]*logins.Store{"running": s, "started since": fresh} {
		for _, one := range []oauth.Token{mine, moved} {
			if got, err := replicatest.LookUp(t, at, one, now); !errors.Is(err, oauth.ErrNotFound) {
				t.Errorf("%s: a stranger's token is %+v, %v", name, got, err)
			}
		}
		if _, err := replicatest.LookUp(t, at, tok, now); err != nil {
			t.Errorf("%s: the real token: %v", name, err)
		}
	}
}

func TestHostileNATS_BringsNoRevokedTokenBack(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	s, conn := tokensOn(t, prefix)
	replicatest.ShiftClock(conn, -50*time.Second)
	tok := replicatest.IssueToken(t, s, "revoked", now)
	replicatest.ShiftClock(conn, 0)
	by, subject := newStranger(t), prefix+".token."+tok.Hash.Hex()
	row := by.row(prefix+"_TOKENS", subject)
	if err := s.Revoke(t.Context(), "ann", tok.ID); err != nil {
		t.Fatal(err)
	}
	by.write(subject, row)
	NotExecuted(t, conn, "replay")
	if _, err := replicatest.LookUp(t, s, tok, now); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("at a replica that knows of the revocation: %v", err)
	}
}

// TestHostileNATS_OldRowsAreNotTaken replays a message sealed minutes ago: a replica that started
// since cannot know of a revocation.
func TestHostileNATS_OldRowsAreNotTaken(t *testing.T) {
	t.Parallel()
	sealedAt(t, -2*time.Minute)
}

// sealedAt writes a token sealed at another time, which a new replica must refuse.
func sealedAt(t *testing.T, shift time.Duration) {
	t.Helper()
	prefix, now := replicatest.NewPrefix(), time.Now()
	s, conn := tokensOn(t, prefix)
	replicatest.ShiftClock(conn, shift)
	tok := oauth.Token{Hash: oauth.HashOf("token"), ID: "token", Generation: s.Seal().Generation(), Grant: oauth.Grant{Subject: "ann"}, Expires: now.Add(time.Hour)}
	if err := s.PutToken(t.Context(), tok, now); err != nil {
		t.Fatal(err)
	}
	fresh, its := tokensOn(t, prefix)
	if _, err := replicatest.LookUp(t, fresh, tok, now); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("a new replica: %v", err)
	}
	NotExecuted(t, its, "replay")
}

func TestHostileNATS_RestoresNoGeneration(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	s, conn := tokensOn(t, prefix)
	tok := replicatest.IssueToken(t, s, "token", now)
	by, generation, subject := newStranger(t), prefix+".seal.era", prefix+".token."+tok.Hash.Hex()
	oldGeneration, oldToken := by.row(prefix+"_TOKENS", generation), by.row(prefix+"_TOKENS", subject)
	if _, err := s.RevokeAll(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	key := s.Seal()
	by.write(generation, oldGeneration)
	by.write(subject, oldToken)
	NotExecuted(t, conn, "replay")
	if _, err := s.Token(t.Context(), tok.Hash, now); err == nil {
		t.Error("a revoked token is accepted")
	}
	by.write(generation, []byte(`{"key":"AAAA"}`))
	NotExecuted(t, conn, "row")
	if s.Seal() != key {
		t.Error("the seal key changed")
	}
	replicatest.Eventually(t, "a new replica has the current generation", func() bool {
		fresh, _ := tokensOn(t, prefix)
		return fresh.Seal() == s.Seal()
	})
	if _, err := replicatest.LookUp(t, s, tok, now); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("the token: %v", err)
	}
}

func TestHostileNATS_LearnsNoKey(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	by := newStranger(t)
	var heard bytes.Buffer
	sub, err := by.nc.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	if err := by.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	s := replicatest.OpenLogins(t, replicatest.Lone(), prefix)
	replicatest.IssueToken(t, s, "token", now)
	a, _ := replicatest.Join(t, replicatest.Lone(), prefix, "a")
	b, _ := replicatest.Join(t, replicatest.Lone(), prefix, "b")
	replicatest.Agree(t, a, b)
	b.Handle("keep", replicatest.Answering("a secret answer "))
	if _, err := a.Call(t.Context(), replicatest.OwnedShard(t, b), "keep", []byte("a secret question")); err != nil {
		t.Fatal(err)
	}
	if err := by.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := sub.NextMsg(200 * time.Millisecond)
		if err != nil {
			break
		}
		if strings.Contains(m.Subject, prefix) || strings.HasPrefix(m.Subject, "_INBOX_"+prefix) {
			heard.Write(m.Data)
		}
	}
	heard.Write(by.row(prefix+"_TOKENS", prefix+".seal.era"))
	key := s.Seal()
	for name, secret := range map[string][]byte{
		"the key": key[:], "the key in hexadecimal": []byte(hex.EncodeToString(key[:])), "the key in base64": []byte(base64.StdEncoding.EncodeToString(key[:])),
		"the hash of the passphrase": []byte("argon2id"), "a question": []byte("secret question"), "an answer": []byte("secret answer"), "the cluster secret": natstest.Secret(),
	} {
		if bytes.Contains(heard.Bytes(), secret) {
			t.Errorf("a stranger reads %s", name)
		}
	}
	if heard.Len() == 0 {
		t.Error("nothing was received")
	}
}

// TestHostileNATS_ForgedCallsAreRefused forges and replays calls.
func TestHostileNATS_ForgedCallsAreRefused(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	a, _ := replicatest.Join(t, replicatest.Lone(), prefix, "a")
	b, conn := replicatest.Join(t, replicatest.Lone(), prefix, "b")
	replicatest.Agree(t, a, b)
	var resumed atomic.Int32
	b.Handle("desk.resume", func(context.Context, []byte) ([]byte, error) {
		resumed.Add(1)
		return []byte("done"), nil
	})
	by := newStranger(t)
	calls, err := by.nc.SubscribeSync(prefix + ".peer.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := by.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Call(t.Context(), replicatest.OwnedShard(t, b), "desk.resume", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	call, err := calls.NextMsg(replicatest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	forged := nats.NewMsg(prefix + ".peer." + b.Self())
	forged.Header.Set("Candela-Method", "desk.resume")
	forged.Data = []byte(`{"id":"AAAAAAAAAAAAAAAAAAAAAA==","method":"desk.resume"}` + "\n{}")
	again := &nats.Msg{Subject: call.Subject, Data: call.Data}
	elsewhere := &nats.Msg{Subject: prefix + ".peer." + a.Self(), Data: call.Data}
	for _, m := range []*nats.Msg{forged, again, elsewhere} {
		m.Reply = by.nc.NewInbox()
		if err := by.nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	replicatest.Eventually(t, "two calls are refused", func() bool { return conn.Stats().Forged["call"] >= 2 })
	if n := resumed.Load(); n != 1 {
		t.Errorf("it was called %d times", n)
	}
}

// TestHostileNATS_ForgedRepliesAreRefused replies to calls before the called replica does.
func TestHostileNATS_ForgedRepliesAreRefused(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	a, conn := replicatest.Join(t, replicatest.Lone(), prefix, "a")
	b, _ := replicatest.Join(t, replicatest.Lone(), prefix, "b")
	replicatest.Agree(t, a, b)
	held := make(chan struct{})
	b.Handle("who", func(context.Context, []byte) ([]byte, error) {
		<-held
		return []byte("b"), nil
	})
	by := newStranger(t)
	if _, err := by.nc.Subscribe(prefix+".peer.>", func(m *nats.Msg) {
		answer := nats.NewMsg(m.Reply)
		answer.Header.Set("Candela-Answer", "done")
		answer.Data = []byte(`{"kind":"done"}` + "\nforged")
		_ = by.nc.PublishMsg(answer)
	}); err != nil {
		t.Fatal(err)
	}
	if err := by.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	got, err := a.Call(t.Context(), replicatest.OwnedShard(t, b), "who", nil)
	close(held)
	if !errors.Is(err, member.ErrOutcomeUnknown) {
		t.Errorf("got %q, %v", got, err)
	}
	NotExecuted(t, conn, "answer")
}

// TestHostileNATS_ExecutesNoCallTwice forges a "no responders" reply of the servers.
func TestHostileNATS_ExecutesNoCallTwice(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	a, _ := replicatest.Join(t, replicatest.Lone(), prefix, "a")
	b, conn := replicatest.Join(t, replicatest.Lone(), prefix, "b")
	replicatest.Agree(t, a, b)
	var placed atomic.Int32
	held := make(chan struct{})
	b.Handle("desk.place", func(context.Context, []byte) ([]byte, error) {
		placed.Add(1)
		<-held
		return []byte("done"), nil
	})
	by := newStranger(t)
	if _, err := by.nc.Subscribe(prefix+".peer.>", func(m *nats.Msg) {
		nobody := nats.NewMsg(m.Reply)
		nobody.Header.Set("Status", "503")
		_ = by.nc.PublishMsg(nobody)
	}); err != nil {
		t.Fatal(err)
	}
	if err := by.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = a.Call(ctx, replicatest.OwnedShard(t, b), "desk.place", nil)
	}()
	NotExecuted(t, conn, "call") // the second attempt
	stop()
	<-asked
	close(held)
	if n := placed.Load(); n != 1 {
		t.Errorf("executed %d times", n)
	}
}

// TestHostileNATS_UndoesNoHalt writes after a desk's states and replays earlier ones.
func TestHostileNATS_UndoesNoHalt(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	conn := replicatest.Connect(t, replicatest.Lone(), prefix)
	o, err := orders.Open(t.Context(), conn, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	by, stream := newStranger(t), prefix+"_ORDERS"
	guard := prefix + ".desk." + base64.RawURLEncoding.EncodeToString([]byte("ann")) + "." + base64.RawURLEncoding.EncodeToString([]byte("guard"))
	orderSubject := prefix + ".order." + base64.RawURLEncoding.EncodeToString([]byte("ann"))
	save := func(state string) {
		t.Helper()
		if err := o.SaveState(t.Context(), replicatest.Ann(), "guard", []byte(state)); err != nil {
			t.Fatal(err)
		}
	}
	save(`{"halted":false}`)
	running := by.row(stream, guard)
	replicatest.CloseOrders(t, o, 0, 2)
	placed := by.row(stream, orderSubject)
	save(`{"halted":true}`)
	by.write(guard, running)
	by.write(guard, []byte(`{"items":[{"halted":false}]}`))
	by.write(orderSubject, placed)
	by.write(orderSubject, []byte(`{"items":[{"kind":"created"}]}`))
	by.write(prefix+".order.stranger", []byte(`{}`))
	replicatest.CloseOrders(t, o, 2, 3) // the writer continues
	for name, at := range map[string]*orders.Store{"the writer": o, "the next writer": replicatest.OpenOrders(t, replicatest.Lone(), prefix)} {
		state, err := at.State(t.Context(), "ann", "guard")
		if err != nil || string(state) != `{"halted":true}` {
			t.Errorf("%s: the state is %s, %v", name, state, err)
		}
		if all := replicatest.BookOf(t, at).Orders(); len(all) != 3 {
			t.Errorf("%s: %d orders", name, len(all))
		}
	}
	NotExecuted(t, conn, "row")
}

// TestHostileNATS_DeletedOrdersEndTrading deletes the order stream under its writer, and under a
// replica that knows it from heartbeats.
func TestHostileNATS_DeletedOrdersEndTrading(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	a, first := replicatest.Join(t, replicatest.Lone(), prefix, "a")
	b, other := replicatest.Join(t, replicatest.Lone(), prefix, "b")
	replicatest.Agree(t, a, b)
	o, err := orders.Open(t.Context(), first, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	replicatest.CloseOrders(t, o, 0, 1)
	replicatest.Eventually(t, "the other replica knows the orders", func() bool { return other.History.Position().Last > 1 })
	if err := newStranger(t).js.DeleteStream(t.Context(), prefix+"_ORDERS"); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*conn.Conn{first, first, other} {
		_, err = orders.Open(t.Context(), one, time.Now)
		if f := fault.Of(err); f == nil || f.Code != "orders_lost" {
			t.Errorf("the orders were opened: %v", err)
		}
	}
}

// TestToken_RevokedAtOneReplicaEndsACallAtAnother revokes a token while another replica executes a
// call for it.
func TestToken_RevokedAtOneReplicaEndsACallAtAnother(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	a, _ := replicatest.Join(t, replicatest.Lone(), prefix, "a")
	b, _ := replicatest.Join(t, replicatest.Lone(), prefix, "b")
	replicatest.Agree(t, a, b)
	first, _ := tokensOn(t, prefix)
	second, _ := tokensOn(t, prefix)
	b.Hold(oauth.NewLeases(second).Hold)
	tok := replicatest.IssueToken(t, first, "token", now)
	begun, ended := make(chan struct{}), make(chan error, 1)
	b.Handle("wait", func(ctx context.Context, _ []byte) ([]byte, error) {
		close(begun)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	asked := make(chan error, 1)
	go func() {
		_, err := a.Call(principal.WithToken(t.Context(), tok.Hash.Hex()), replicatest.OwnedShard(t, b), "wait", nil)
		asked <- err
	}()
	<-begun
	revoked := time.Now()
	if err := first.Revoke(t.Context(), "ann", tok.ID); err != nil {
		t.Fatal(err)
	}
	cause, took := <-ended, time.Since(revoked)
	if !errors.Is(cause, principal.ErrTokenEnded) {
		t.Errorf("the call ended with %v", cause)
	}
	t.Logf("the call ended %s after the token", took) // without the revocation it lasts 30 s and has another cause
	a.Close()
	<-asked
}
