// Package storetest holds every oauth.Store to the same promises.
package storetest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
)

// Run runs the suite. open returns an empty store each time, which holds so many
// tokens.
func Run(t *testing.T, tokens int, open func(*testing.T) oauth.Store) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, oauth.Store){
		"a code is found until it expires":                   codeExpires,
		"a code is redeemed once":                            redeemOnce,
		"an expired code is not redeemed":                    redeemExpired,
		"of many redemptions one wins and its token is gone": redeemRace,
		"a replay revokes the token":                         replay,
		"a replay of an unknown code does nothing":           replayUnknown,
		"a dropped code is gone":                             dropCode,
		"a token is found until it expires":                  tokenExpires,
		"tokens are listed by owner, newest first":           listTokens,
		"a token is revoked by its id and its owner alone":   revoke,
		"the oldest code makes room":                         capCodes,
		"the oldest token makes room":                        func(t *testing.T, s oauth.Store) { t.Helper(); capTokens(t, s, tokens) },
		"used codes do not pile up":                          func(t *testing.T, s oauth.Store) { t.Helper(); capRedeemed(t, s, tokens) },
		"all that was let in ends together":                  endAll,
		"a code of an earlier generation is not stored":      endedCode,
		"what ends meanwhile has ended":                      endRace,
		"it reports which tokens have ended":                 reportsEnded,
		"many use it at once":                                useAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func code(name string, at time.Time) oauth.Code {
	return oauth.Code{
		Hash: oauth.HashOf("code " + name), Client: "client", Redirect: "https://client.example/cb", Challenge: oauth.HashOf("verifier"),
		Grant: oauth.Grant{Subject: "owner", ClientName: "a client", ClientKey: "key", Scope: "read", TTL: time.Hour}, Expires: at.Add(oauth.CodeTTL),
	}
}

func token(name string, subject principal.Owner, at time.Time) oauth.Token {
	h := oauth.HashOf("token " + name)
	return oauth.Token{
		Hash: h, Key: h.Hex(), ID: name, Issued: at, Expires: at.Add(oauth.TokenTTL),
		Grant: oauth.Grant{Subject: subject, ClientName: "a client", ClientKey: "key", Scope: "charts", TTL: 24 * time.Hour},
	}
}

// issue puts a code and turns it into a token.
func issue(t *testing.T, s oauth.Store, name string, subject principal.Owner, at time.Time) oauth.Token {
	t.Helper()
	c, tok := code(name, at), token(name, subject, at)
	tok.Generation = put(t, s, c, at).Generation
	must(t, s.Redeem(t.Context(), c.Hash, tok, at))
	return tok
}

// put stores a code of the current generation.
func put(t *testing.T, s oauth.Store, c oauth.Code, at time.Time) oauth.Code {
	t.Helper()
	c.Generation = s.Seal().Generation()
	must(t, s.PutCode(t.Context(), c, at))
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, got, wanted error) {
	t.Helper()
	if !errors.Is(got, wanted) {
		t.Fatalf("got %v, want %v", got, wanted)
	}
}

func codeExpires(t *testing.T, s oauth.Store) {
	t.Helper()
	c, now := code("a", start()), start()
	c = put(t, s, c, now)
	got, err := s.Code(t.Context(), c.Hash, c.Expires.Add(-time.Nanosecond))
	must(t, err)
	if diff := cmp.Diff(c, got); diff != "" {
		t.Error(diff)
	}
	_, err = s.Code(t.Context(), c.Hash, c.Expires)
	want(t, err, oauth.ErrNotFound)
}

func redeemOnce(t *testing.T, s oauth.Store) {
	t.Helper()
	tok := issue(t, s, "a", "owner", start())
	got, err := s.Token(t.Context(), tok.Hash, start())
	must(t, err)
	if diff := cmp.Diff(tok, got); diff != "" {
		t.Error(diff)
	}
	_, err = s.Code(t.Context(), code("a", start()).Hash, start())
	want(t, err, oauth.ErrReplayed)
	want(t, s.Redeem(t.Context(), code("a", start()).Hash, token("b", "owner", start()), start()), oauth.ErrReplayed)
	_, err = s.Token(t.Context(), tok.Hash, start())
	want(t, err, oauth.ErrNotFound)
	_, err = s.Token(t.Context(), token("b", "owner", start()).Hash, start())
	want(t, err, oauth.ErrNotFound)
}

func redeemExpired(t *testing.T, s oauth.Store) {
	t.Helper()
	c := code("a", start())
	put(t, s, c, start())
	want(t, s.Redeem(t.Context(), c.Hash, token("a", "owner", c.Expires), c.Expires), oauth.ErrNotFound)
	want(t, s.Redeem(t.Context(), oauth.HashOf("never issued"), token("a", "owner", start()), start()), oauth.ErrNotFound)
}

func redeemRace(t *testing.T, s oauth.Store) {
	t.Helper()
	c := code("a", start())
	put(t, s, c, start())
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			err := s.Redeem(context.WithoutCancel(t.Context()), c.Hash, token(strconv.Itoa(i), "owner", start()), start())
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, oauth.ErrReplayed) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d redemptions won", won.Load())
	}
	left, err := s.Tokens(t.Context(), "owner", start())
	must(t, err)
	if len(left) != 0 {
		t.Errorf("%d tokens live on", len(left))
	}
}

func replay(t *testing.T, s oauth.Store) {
	t.Helper()
	tok, other := issue(t, s, "a", "owner", start()), issue(t, s, "b", "owner", start())
	must(t, s.RevokeReplayed(t.Context(), code("a", start()).Hash))
	_, err := s.Token(t.Context(), tok.Hash, start())
	want(t, err, oauth.ErrNotFound)
	_, err = s.Token(t.Context(), other.Hash, start())
	must(t, err)
}

func replayUnknown(t *testing.T, s oauth.Store) {
	t.Helper()
	tok := issue(t, s, "a", "owner", start())
	must(t, s.RevokeReplayed(t.Context(), oauth.HashOf("unknown")))
	_, err := s.Token(t.Context(), tok.Hash, start())
	must(t, err)
}

func dropCode(t *testing.T, s oauth.Store) {
	t.Helper()
	c := code("a", start())
	put(t, s, c, start())
	must(t, s.DropCode(t.Context(), c.Hash))
	must(t, s.DropCode(t.Context(), c.Hash))
	_, err := s.Code(t.Context(), c.Hash, start())
	want(t, err, oauth.ErrNotFound)
	want(t, s.Redeem(t.Context(), c.Hash, token("a", "owner", start()), start()), oauth.ErrNotFound)
}

func tokenExpires(t *testing.T, s oauth.Store) {
	t.Helper()
	tok := issue(t, s, "a", "owner", start())
	_, err := s.Token(t.Context(), tok.Hash, tok.Expires.Add(-time.Nanosecond))
	must(t, err)
	_, err = s.Token(t.Context(), tok.Hash, tok.Expires)
	want(t, err, oauth.ErrNotFound)
	list, err := s.Tokens(t.Context(), "owner", tok.Expires)
	must(t, err)
	if len(list) != 0 {
		t.Errorf("an expired token is listed")
	}
}

func listTokens(t *testing.T, s oauth.Store) {
	t.Helper()
	first := issue(t, s, "first", "owner", start())
	issue(t, s, "foreign", "someone else", start())
	second := issue(t, s, "second", "owner", start().Add(time.Hour))
	got, err := s.Tokens(t.Context(), "owner", start().Add(time.Hour))
	must(t, err)
	if diff := cmp.Diff([]oauth.Token{second, first}, got); diff != "" {
		t.Error(diff)
	}
}

func revoke(t *testing.T, s oauth.Store) {
	t.Helper()
	tok := issue(t, s, "a", "owner", start())
	want(t, s.Revoke(t.Context(), "someone else", "a"), oauth.ErrNotFound)
	want(t, s.Revoke(t.Context(), "owner", "b"), oauth.ErrNotFound)
	must(t, s.Revoke(t.Context(), "owner", "a"))
	want(t, s.Revoke(t.Context(), "owner", "a"), oauth.ErrNotFound)
	_, err := s.Token(t.Context(), tok.Hash, start())
	want(t, err, oauth.ErrNotFound)
}

func capCodes(t *testing.T, s oauth.Store) {
	t.Helper()
	for i := range oauth.MaxCodes + 1 {
		at := start().Add(time.Duration(i) * time.Millisecond)
		put(t, s, code(strconv.Itoa(i), at), at)
	}
	now := start().Add(time.Second)
	_, err := s.Code(t.Context(), code("0", start()).Hash, now)
	want(t, err, oauth.ErrNotFound)
	for _, name := range []string{"1", strconv.Itoa(oauth.MaxCodes)} {
		_, err = s.Code(t.Context(), code(name, start()).Hash, now)
		must(t, err)
	}
}

func capTokens(t *testing.T, s oauth.Store, most int) {
	t.Helper()
	for i := range most + 1 {
		issue(t, s, strconv.Itoa(i), "owner", start().Add(time.Duration(i)*time.Second))
	}
	list, err := s.Tokens(t.Context(), "owner", start())
	must(t, err)
	if len(list) != most || list[len(list)-1].ID != "1" {
		t.Errorf("%d tokens, the oldest is %s", len(list), list[len(list)-1].ID)
	}
}

// capRedeemed replays the newest code after many: it must still be known.
func capRedeemed(t *testing.T, s oauth.Store, most int) {
	t.Helper()
	last := most * 3
	var revoking sync.WaitGroup // some at a time: among replicas each takes a second
	for i := range last + 1 {
		issue(t, s, strconv.Itoa(i), "owner", start())
		if i < last {
			revoking.Go(func() {
				if err := s.Revoke(t.Context(), "owner", strconv.Itoa(i)); err != nil {
					t.Error(err)
				}
			})
		}
		if i%(most/2) == 0 {
			revoking.Wait()
		}
	}
	revoking.Wait()
	want(t, s.Redeem(t.Context(), code(strconv.Itoa(last), start()).Hash, token("x", "owner", start()), start()), oauth.ErrReplayed)
}

func endAll(t *testing.T, s oauth.Store) {
	t.Helper()
	key, clients := s.Seal(), s.ClientKey()
	tok, foreign := issue(t, s, "a", "owner", start()), issue(t, s, "b", "someone else", start())
	issue(t, s, "old", "owner", start().Add(-oauth.TokenTTL))
	pending := put(t, s, code("c", start()), start())
	ended, err := s.RevokeAll(t.Context(), start())
	must(t, err)
	if ended != 2 {
		t.Errorf("%d tokens have ended, want the 2 that were live", ended)
	}
	for _, gone := range []oauth.Token{tok, foreign} {
		_, err = s.Token(t.Context(), gone.Hash, start())
		want(t, err, oauth.ErrNotFound)
		list, err := s.Tokens(t.Context(), gone.Grant.Subject, start())
		if must(t, err); len(list) != 0 {
			t.Errorf("listed: %v", list)
		}
		want(t, s.Revoke(t.Context(), gone.Grant.Subject, gone.ID), oauth.ErrNotFound)
	}
	want(t, s.Redeem(t.Context(), pending.Hash, token("c", "owner", start()), start()), oauth.ErrNotFound)
	want(t, s.Redeem(t.Context(), code("a", start()).Hash, token("d", "owner", start()), start()), oauth.ErrNotFound)
	if s.Seal() == key || s.Seal().Generation() == key.Generation() {
		t.Error("the key is the same")
	}
	if s.ClientKey() == clients {
		t.Error("the key of client ids is the same")
	}
	// The next one is as good as the first.
	next := issue(t, s, "e", "owner", start())
	_, err = s.Token(t.Context(), next.Hash, start())
	must(t, err)
	ended, err = s.RevokeAll(t.Context(), start())
	if must(t, err); ended != 1 {
		t.Errorf("%d tokens have ended, want 1", ended)
	}
	ended, err = s.RevokeAll(t.Context(), start())
	if must(t, err); ended != 0 {
		t.Errorf("%d tokens have ended, want none", ended)
	}
}

// endedCode approves under one key and writes it down under the next.
func endedCode(t *testing.T, s oauth.Store) {
	t.Helper()
	c := code("a", start())
	c.Generation = s.Seal().Generation()
	_, err := s.RevokeAll(t.Context(), start())
	must(t, err)
	want(t, s.PutCode(t.Context(), c, start()), oauth.ErrRevoked)
	want(t, s.Redeem(t.Context(), c.Hash, token("a", "owner", start()), start()), oauth.ErrNotFound)
}

// endRace lets clients in while all logins end: a token is of the last generation or of
// none.
func endRace(t *testing.T, s oauth.Store) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var all sync.WaitGroup
	hashes := make([]oauth.Hash, 40)
	generations := make([]string, len(hashes))
	for i := range hashes {
		all.Go(func() {
			c, tok := code(strconv.Itoa(i), start()), token(strconv.Itoa(i), "owner", start())
			c.Generation = s.Seal().Generation()
			tok.Generation, hashes[i], generations[i] = c.Generation, tok.Hash, c.Generation
			err := s.PutCode(ctx, c, start())
			if err == nil {
				err = s.Redeem(ctx, c.Hash, tok, start())
			}
			if err != nil && !errors.Is(err, oauth.ErrRevoked) && !errors.Is(err, oauth.ErrNotFound) {
				t.Error(err)
			}
		})
		if i%10 == 5 {
			all.Go(func() {
				if _, err := s.RevokeAll(ctx, start()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	for i, h := range hashes {
		if _, err := s.Token(ctx, h, start()); err == nil && generations[i] != s.Seal().Generation() {
			t.Errorf("token %d of an earlier generation is accepted", i)
		}
	}
}

// useAtOnce runs the whole life of many clients in parallel, and some lookups beside it.
// The race detector finds state that no lock protects, and no client sees the codes or
// tokens of another.
func useAtOnce(t *testing.T, s oauth.Store) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var all sync.WaitGroup
	nobody := oauth.HashOf("nobody's")
	// Each goroutine calls one method only. The lock of a second one could order its
	// accesses and so hide from the race detector that the first takes no lock.
	for _, ask := range []func() error{
		func() error { _, err := s.Code(ctx, nobody, start()); return err },
		func() error { _, err := s.Token(ctx, nobody, start()); return err },
		func() error { return s.Revoke(ctx, "nobody", "none") },
	} {
		all.Go(func() {
			for range 50 {
				if err := ask(); !errors.Is(err, oauth.ErrNotFound) {
					t.Errorf("what nobody has is %v", err)
				}
			}
		})
	}
	for i := range 8 {
		owner := principal.Owner("owner " + strconv.Itoa(i))
		all.Go(func() {
			for k := range 4 {
				name := string(owner) + " " + strconv.Itoa(k)
				c, tok := code(name, start()), token(name, owner, start())
				c.Generation = s.Seal().Generation()
				tok.Generation = c.Generation
				_, none := s.Token(ctx, tok.Hash, start())
				put := s.PutCode(ctx, c, start())
				found, err := s.Code(ctx, c.Hash, start())
				redeemed := s.Redeem(ctx, c.Hash, tok, start())
				good, live := s.Token(ctx, tok.Hash, start())
				list, listed := s.Tokens(ctx, owner, start())
				if err := errors.Join(put, err, redeemed, live, listed); err != nil || found.Hash != c.Hash || good.ID != tok.ID || len(list) != 1 {
					t.Errorf("%s: code %v, token %q, %d tokens, %v", name, found.Hash, good.ID, len(list), err)
				}
				revoked := s.Revoke(ctx, owner, tok.ID)
				if _, gone := s.Token(ctx, tok.Hash, start()); revoked != nil || !errors.Is(gone, oauth.ErrNotFound) || !errors.Is(none, oauth.ErrNotFound) {
					t.Errorf("%s: revoked %v, then %v, before it was there %v", name, revoked, gone, none)
				}
			}
		})
	}
	all.Wait()
}

// reportsEnded holds a store to its word about tokens that end before their time.
func reportsEnded(t *testing.T, s oauth.Store) {
	t.Helper()
	var mu sync.Mutex
	ended, all := map[oauth.Hash]bool{}, 0
	s.OnRevoke(func(tokens ...oauth.Hash) {
		mu.Lock()
		defer mu.Unlock()
		if len(tokens) == 0 {
			all++
		}
		for _, h := range tokens {
			ended[h] = true
		}
	})
	at := time.Now()
	revoked, replayed, kept := issue(t, s, "revoked", "owner", at), issue(t, s, "replayed", "owner", at), issue(t, s, "kept", "owner", at)
	must(t, s.Revoke(t.Context(), "owner", revoked.ID))
	want(t, s.Redeem(t.Context(), code("replayed", at).Hash, token("again", "owner", at), at), oauth.ErrReplayed)
	mu.Lock()
	if diff := cmp.Diff(map[oauth.Hash]bool{revoked.Hash: true, replayed.Hash: true}, ended); diff != "" || all != 0 {
		t.Errorf("ended (-want +got):\n%s%d times all", diff, all)
	}
	mu.Unlock()
	_, err := s.RevokeAll(t.Context(), at)
	must(t, err)
	mu.Lock()
	defer mu.Unlock()
	if all == 0 && !ended[kept.Hash] {
		t.Error("the end of all tokens was not reported")
	}
}
