package logins_test

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/oauth/storetest"
	"candela/internal/store/replica/logins"
	"candela/internal/store/replica/replicatest"
)

func TestStore_PassesTheSuite(t *testing.T) {
	t.Parallel()
	const most = 64 // the usual limit would take three servers minutes
	open := func(t *testing.T, most oauth.Capacity) oauth.Store {
		t.Helper()
		s, err := logins.Open(t.Context(), replicatest.Connect(t, replicatest.Servers(), replicatest.NewPrefix()), oauthtest.Owner(t), most, replicatest.Quiet())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	storetest.Run(t, most, func(t *testing.T) oauth.Store { t.Helper(); return open(t, oauth.OneOwner(most)) })
	storetest.RunOwners(t, open)
}

func TestStore_TokenWorksOnAllReplicas(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	a, b := replicatest.OpenLogins(t, replicatest.Servers(), prefix), replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	for i := range 20 {
		tok := replicatest.IssueToken(t, a, strconv.Itoa(i), now)
		if got, err := replicatest.LookUp(t, b, tok, now); err != nil || got.ID != tok.ID {
			t.Fatalf("the other replica returns %v, %v", got, err)
		}
	}
	later := replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	if list, err := later.Tokens(t.Context(), "ann", now); err != nil || len(list) != 20 {
		t.Errorf("a later replica knows %d tokens, %v", len(list), err)
	}
	if err := a.Revoke(t.Context(), "ann", "7"); err != nil {
		t.Fatal(err)
	}
	replicatest.WaitEnded(t, b, oauth.Token{Hash: oauth.HashOf("7")}, now)
	replicatest.WaitEnded(t, later, oauth.Token{Hash: oauth.HashOf("7")}, now)
}

// TestStore_KnowsATokenWithoutAcknowledgement cuts the connection after a token was written and
// before its acknowledgement: the writing replica lists and revokes it before its follower has it.
func TestStore_KnowsATokenWithoutAcknowledgement(t *testing.T) {
	t.Parallel()
	now, line := time.Now(), replicatest.NewProxy(t, replicatest.Servers())
	s, err := logins.Open(t.Context(), replicatest.ConnectAt(t, line.URL, replicatest.NewPrefix()), oauthtest.Owner(t), oauth.OneOwner(oauth.MaxTokens), replicatest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	code := oauth.Code{Hash: oauth.HashOf("code"), Generation: s.Seal().Generation(), Expires: now.Add(time.Minute)}
	tok := oauth.Token{Hash: oauth.HashOf("token"), ID: "token", Grant: oauth.Grant{Subject: "ann"}, Expires: now.Add(time.Hour)}
	if err := s.PutCode(t.Context(), code, now); err != nil {
		t.Fatal(err)
	}
	line.CutAtReply(2) // the first is that of the code
	if err := s.Redeem(t.Context(), code.Hash, tok, now); err != nil || !line.IsCut() {
		t.Fatalf("cut: %v, %v", line.IsCut(), err)
	}
	if list, err := s.Tokens(t.Context(), "ann", now); err != nil || len(list) != 1 || list[0].ID != tok.ID {
		t.Errorf("it lists %v, %v", list, err)
	}
	if err := s.Revoke(t.Context(), "ann", tok.ID); err != nil {
		t.Errorf("revoked: %v", err)
	}
	if _, err := s.Token(t.Context(), tok.Hash, now); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("then the token: %v", err)
	}
}

// A replica that was away sees a revocation for as long as the token would be valid.
func TestStore_RemembersARevokedTokenForItsLifetime(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	s := replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	revoked, replayed := replicatest.IssueToken(t, s, "revoked", now), replicatest.IssueToken(t, s, "replayed", now)
	if err := errors.Join(s.Revoke(t.Context(), "ann", revoked.ID), s.RevokeReplayed(t.Context(), oauth.HashOf("code replayed"))); err != nil {
		t.Fatal(err)
	}
	stream, unsealer := replicatest.StreamOf(t, replicatest.Servers(), prefix+"_TOKENS"), replicatest.Connect(t, replicatest.Servers(), prefix)
	for _, tok := range []oauth.Token{revoked, replayed} {
		m, err := stream.GetLastMsgForSubject(t.Context(), prefix+".token."+tok.Hash.Hex())
		if err != nil {
			t.Fatal(err)
		}
		if ttl, err := time.ParseDuration(m.Header.Get(jetstream.MsgTTLHeader)); len(replicatest.Unseal(t.Context(), unsealer, m)) > 0 || err != nil || ttl < oauth.TokenTTL {
			t.Errorf("%s: the revocation is kept for %s, %v", tok.ID, ttl, err)
		}
	}
}

// TestStore_TokensSurviveOneServerAndEndWithAll stops the servers one by one, then all together.
func TestStore_TokensSurviveOneServerAndEndWithAll(t *testing.T) {
	t.Parallel()
	three, prefix, now := replicatest.Start(t, 3), replicatest.NewPrefix(), time.Now()
	s := replicatest.OpenLogins(t, three, prefix)
	tok, key := replicatest.IssueToken(t, s, "first", now), s.Seal()
	client := door(t, s).Known()
	for i := range 3 {
		three.Kill(i)
		replicatest.Restart(t, three, i)
		replicatest.CaughtUp(t, three, prefix+"_TOKENS")
		fresh := replicatest.OpenLogins(t, three, prefix)
		if _, err := replicatest.LookUp(t, fresh, tok, now); err != nil {
			t.Fatalf("without server %d: %v", i, err)
		}
		if fresh.Seal() != key || s.Seal() != key {
			t.Fatalf("without server %d: the seal key changed", i)
		}
	}
	for i := range 3 {
		three.Kill(i)
	}
	replicatest.Restart(t, three, 0, 1, 2)
	// More messages than before are written before the first replica reads again.
	later := replicatest.OpenLogins(t, three, prefix)
	for i := range 5 {
		replicatest.IssueToken(t, later, strconv.Itoa(i), now)
	}
	replicatest.WaitEnded(t, s, tok, now)
	// Each has its own salted hash of the passphrase.
	for name, s := range map[string]*logins.Store{"the running replica": s, "the new replica": later} {
		replicatest.Eventually(t, name+" accepts the passphrase", func() bool {
			_, err := s.Authenticate(t.Context(), oauthtest.Passphrase)
			return err == nil
		})
	}
	replicatest.Eventually(t, "the running replica has the new key", func() bool {
		return s.Seal() != key && s.Seal() == later.Seal()
	})
	if r := door(t, s).Do(http.MethodGet, "/authorize?"+oauthtest.Query(client).Encode(), "", "", nil); r.Status != http.StatusBadRequest {
		t.Errorf("a registration survived the servers: %d", r.Status)
	}
	second := replicatest.IssueToken(t, s, "second", now)
	if _, err := replicatest.LookUp(t, replicatest.OpenLogins(t, three, prefix), second, now); err != nil {
		t.Error(err)
	}
}

// door returns an authorization server with these logins.
func door(tb testing.TB, s *logins.Store) *oauthtest.Scene {
	tb.Helper()
	return oauthtest.NewWith(tb, s, s, nil)
}

// TestStore_ReplicasShareOneSealKey starts replicas together and completes a login across them.
func TestStore_ReplicasShareOneSealKey(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	all := make([]*logins.Store, 4)
	var wg sync.WaitGroup
	for i := range all {
		c := replicatest.Connect(t, replicatest.Servers(), prefix)
		wg.Go(func() {
			var err error
			if all[i], err = logins.Open(t.Context(), c, oauthtest.Owner(t), oauth.OneOwner(oauth.MaxTokens), replicatest.Quiet()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	doors := make([]*oauthtest.Scene, len(all))
	for i, s := range all {
		defer s.Close()
		if s.Seal() != all[0].Seal() || s.Seal() == (oauth.SealKey{}) {
			t.Fatal("the replicas have several keys")
		}
		doors[i] = door(t, s)
	}
	client, browser := doors[0].Known(), doors[1].Browser()
	page := browser.Open(oauthtest.Query(client))
	code := browser.At(doors[2]).Decide(page).Location(t).Query().Get("code")
	token := doors[3].Redeem(oauthtest.TokenForm(client, code)).Text(t, "access_token")
	if caller, err := doors[0].Server.Authorize(t.Context(), token); err != nil || caller.Subject != oauth.SoleOwner {
		t.Errorf("%+v, %v", caller, err)
	}
}

// BenchmarkToken measures the check of every request, here and in the memory store.
func BenchmarkToken(b *testing.B) {
	now := time.Now()
	shared, own := replicatest.OpenLogins(b, replicatest.Servers(), replicatest.NewPrefix()), oauth.NewMemory(oauth.MaxTokens)
	b.Run("cluster", func(b *testing.B) { benchmarkToken(b, shared, now) })
	b.Run("memory", func(b *testing.B) { benchmarkToken(b, own, now) })
}

func benchmarkToken(b *testing.B, s oauth.Store, now time.Time) {
	b.Helper()
	tok := replicatest.IssueToken(b, s, b.Name()+strconv.Itoa(b.N), now)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Token(b.Context(), tok.Hash, now); err != nil {
			b.Fatal(err)
		}
	}
}
