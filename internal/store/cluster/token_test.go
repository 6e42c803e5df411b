package cluster_test

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/oauth/storetest"
	"candela/internal/store/cluster"
	"candela/internal/store/cluster/natstest"
)

func openTokens(tb testing.TB, to *natstest.Cluster, prefix string) *cluster.Tokens {
	tb.Helper()
	return openTokensOf(tb, to, prefix, oauthtest.Owner(tb))
}

// openTokensOf opens the tokens as a replica with that passphrase does.
func openTokensOf(tb testing.TB, to *natstest.Cluster, prefix string, owner *oauth.Passphrase) *cluster.Tokens {
	tb.Helper()
	s, err := connect(tb, to, prefix).OpenTokens(tb.Context(), owner, oauth.MaxTokens, quiet())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

func TestTokens_KeepsTheSuite(t *testing.T) {
	t.Parallel()
	const most = 64 // what a node holds would take three servers minutes
	storetest.Run(t, most, func(t *testing.T) oauth.Store {
		t.Helper()
		s, err := connect(t, servers, newPrefix()).OpenTokens(t.Context(), oauthtest.Owner(t), most, quiet())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	})
}

// issue makes a token on a replica.
func issue(tb testing.TB, s oauth.Store, name string, now time.Time) oauth.Token {
	tb.Helper()
	code := oauth.Code{Hash: oauth.HashOf("code " + name), Generation: s.Seal().Generation(), Expires: now.Add(time.Minute)}
	tok := oauth.Token{Hash: oauth.HashOf(name), ID: name, Grant: oauth.Grant{Subject: "ann"}, Expires: now.Add(time.Hour)}
	if err := s.PutCode(tb.Context(), code, now); err != nil {
		tb.Fatal(err)
	}
	if err := s.Redeem(tb.Context(), code.Hash, tok, now); err != nil {
		tb.Fatal(err)
	}
	return tok
}

// gone waits until a replica no longer takes a token.
func gone(t *testing.T, s *cluster.Tokens, tok oauth.Token, now time.Time) {
	t.Helper()
	eventually(t, "the token is not taken any more", func() bool {
		_, err := s.Token(t.Context(), tok.Hash, now)
		return errors.Is(err, oauth.ErrNotFound)
	})
}

// lookUp returns a token as a replica knows it, from the servers if need be.
func lookUp(tb testing.TB, s *cluster.Tokens, tok oauth.Token, now time.Time) (oauth.Token, error) {
	tb.Helper()
	return insist(tb, func() (oauth.Token, error) { return s.Token(tb.Context(), tok.Hash, now) })
}

func TestTokens_OneReplicasTokenWorksOnAll(t *testing.T) {
	t.Parallel()
	prefix, now := newPrefix(), time.Now()
	a, b := openTokens(t, servers, prefix), openTokens(t, servers, prefix)
	for i := range 20 {
		tok := issue(t, a, strconv.Itoa(i), now)
		if got, err := lookUp(t, b, tok, now); err != nil || got.ID != tok.ID {
			t.Fatalf("the other replica says %v, %v", got, err)
		}
	}
	later := openTokens(t, servers, prefix)
	if list, err := later.Tokens(t.Context(), "ann", now); err != nil || len(list) != 20 {
		t.Errorf("a replica that comes later knows %d tokens, %v", len(list), err)
	}
	if err := a.Revoke(t.Context(), "ann", "7"); err != nil {
		t.Fatal(err)
	}
	gone(t, b, oauth.Token{Hash: oauth.HashOf("7")}, now)
	gone(t, later, oauth.Token{Hash: oauth.HashOf("7")}, now)
}

// TestTokens_OneWhoseAnswerGotLostIsKnown cuts the connection after a token was written
// and before the answer has come: the replica that made it lists and revokes it, before
// its watcher has told it of it.
func TestTokens_OneWhoseAnswerGotLostIsKnown(t *testing.T) {
	t.Parallel()
	now, line := time.Now(), newLine(t, servers)
	s, err := connectAt(t, line.url, newPrefix()).OpenTokens(t.Context(), oauthtest.Owner(t), oauth.MaxTokens, quiet())
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	code := oauth.Code{Hash: oauth.HashOf("code"), Generation: s.Seal().Generation(), Expires: now.Add(time.Minute)}
	tok := oauth.Token{Hash: oauth.HashOf("token"), ID: "token", Grant: oauth.Grant{Subject: "ann"}, Expires: now.Add(time.Hour)}
	if err := s.PutCode(t.Context(), code, now); err != nil {
		t.Fatal(err)
	}
	line.deafenAt(2) // the first is that there is such a code
	if err := s.Redeem(t.Context(), code.Hash, tok, now); err != nil || !line.cut() {
		t.Fatalf("the line was cut: %v, %v", line.cut(), err)
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

// A replica that was away hears of a revoked token for as long as it would take it.
func TestTokens_ARevokedTokenIsRememberedForItsLife(t *testing.T) {
	t.Parallel()
	prefix, now := newPrefix(), time.Now()
	s := openTokens(t, servers, prefix)
	revoked, replayed := issue(t, s, "revoked", now), issue(t, s, "replayed", now)
	if err := errors.Join(s.Revoke(t.Context(), "ann", revoked.ID), s.RevokeReplayed(t.Context(), oauth.HashOf("code replayed"))); err != nil {
		t.Fatal(err)
	}
	stream, unsealer := streamOf(t, servers, prefix+"_TOKENS"), connect(t, servers, prefix)
	for _, tok := range []oauth.Token{revoked, replayed} {
		m, err := stream.GetLastMsgForSubject(t.Context(), prefix+".token."+tok.Hash.Hex())
		if err != nil {
			t.Fatal(err)
		}
		if ttl, err := time.ParseDuration(m.Header.Get(jetstream.MsgTTLHeader)); len(unsealer.Unseal(t.Context(), m)) > 0 || err != nil || ttl < oauth.TokenTTL {
			t.Errorf("%s: that it is revoked is remembered for %s, %v", tok.ID, ttl, err)
		}
	}
}

// TestTokens_OutliveAServerAndEndWithAll stops the servers one after the other,
// and then together.
func TestTokens_OutliveAServerAndEndWithAll(t *testing.T) {
	t.Parallel()
	three, prefix, now := start(t, 3), newPrefix(), time.Now()
	s := openTokens(t, three, prefix)
	tok, key := issue(t, s, "first", now), s.Seal()
	client := door(t, s).Known()
	for i := range 3 {
		three.Kill(i)
		restart(t, three, i)
		caughtUp(t, three, prefix+"_TOKENS")
		fresh := openTokens(t, three, prefix)
		if _, err := lookUp(t, fresh, tok, now); err != nil {
			t.Fatalf("without server %d: %v", i, err)
		}
		if fresh.Seal() != key || s.Seal() != key {
			t.Fatalf("without server %d: the key of the seals is another", i)
		}
	}
	for i := range 3 {
		three.Kill(i)
	}
	restart(t, three, 0, 1, 2)
	// More than there ever was is written before the first may look.
	later := openTokens(t, three, prefix)
	for i := range 5 {
		issue(t, later, strconv.Itoa(i), now)
	}
	gone(t, s, tok, now)
	// Each has a hash of the passphrase with a salt of its own.
	for name, s := range map[string]*cluster.Tokens{"the replica that lived on": s, "the one that came": later} {
		eventually(t, name+" takes the passphrase", func() bool {
			_, err := s.Authenticate(t.Context(), oauthtest.Passphrase)
			return err == nil
		})
	}
	eventually(t, "the replica that lived on seals with the new key, and with none of its own", func() bool {
		return s.Seal() != key && s.Seal() == later.Seal()
	})
	if r := door(t, s).Browser().Open(oauthtest.Query(client)); r.Status != http.StatusBadRequest {
		t.Errorf("a registration outlived the servers: %d", r.Status)
	}
	second := issue(t, s, "second", now)
	if _, err := lookUp(t, openTokens(t, three, prefix), second, now); err != nil {
		t.Error(err)
	}
}

// door returns an authorization server over the tokens.
func door(tb testing.TB, s *cluster.Tokens) *oauthtest.Scene {
	tb.Helper()
	return oauthtest.NewWith(tb, s, s, nil)
}

// TestTokens_ReplicasSealWithOneKey lets replicas begin together, and takes a client
// through the flow at one after the other.
func TestTokens_ReplicasSealWithOneKey(t *testing.T) {
	t.Parallel()
	prefix := newPrefix()
	all := make([]*cluster.Tokens, 4)
	var wg sync.WaitGroup
	for i := range all {
		c := connect(t, servers, prefix)
		wg.Go(func() {
			var err error
			if all[i], err = c.OpenTokens(t.Context(), oauthtest.Owner(t), oauth.MaxTokens, quiet()); err != nil {
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
			t.Fatal("the replicas have drawn several keys")
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

// restart starts servers again and waits until they have caught up.
func restart(t *testing.T, c *natstest.Cluster, servers ...int) {
	t.Helper()
	for _, i := range servers {
		if err := c.Restart(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Settle(); err != nil {
		t.Fatal(err)
	}
}

// caughtUp waits until every copy of a stream is whole: what was held in memory has
// to be copied to a server that was away before the next one may go.
func caughtUp(t *testing.T, c *natstest.Cluster, stream string) {
	t.Helper()
	js := adminOf(t, c)
	eventually(t, "the copies are whole", func() bool {
		once, end := question(t)
		defer end()
		s, err := js.Stream(once, stream)
		if err != nil {
			return false
		}
		cluster := s.CachedInfo().Cluster
		return cluster.Leader != "" && len(cluster.Replicas) == 2 && !slices.ContainsFunc(cluster.Replicas, func(p *jetstream.PeerInfo) bool {
			return !p.Current || p.Offline || p.Lag > 0
		})
	})
}

// BenchmarkToken is the check that every request makes, here and in the memory of
// one process.
func BenchmarkToken(b *testing.B) {
	now := time.Now()
	shared, own := openTokens(b, servers, newPrefix()), oauth.NewMemory(oauth.MaxTokens)
	b.Run("cluster", func(b *testing.B) { benchmarkToken(b, shared, now) })
	b.Run("memory", func(b *testing.B) { benchmarkToken(b, own, now) })
}

func benchmarkToken(b *testing.B, s oauth.Store, now time.Time) {
	b.Helper()
	tok := issue(b, s, b.Name()+strconv.Itoa(b.N), now)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Token(b.Context(), tok.Hash, now); err != nil {
			b.Fatal(err)
		}
	}
}
