package oauth_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// keep puts a token into a store, by way of a code.
func keep(t *testing.T, s oauth.Store, name string, ttl time.Duration) oauth.Token {
	t.Helper()
	now, generation := time.Now(), s.Seal().Generation()
	c := oauth.Code{Hash: oauth.HashOf("code " + name), Generation: generation, Expires: now.Add(oauth.CodeTTL)}
	h := oauth.HashOf(name)
	tok := oauth.Token{Hash: h, Key: h.Hex(), ID: name, Generation: generation, Issued: now, Expires: now.Add(ttl), Grant: oauth.Grant{Subject: "owner"}}
	if err := errors.Join(s.PutCode(t.Context(), c, now), s.Redeem(t.Context(), c.Hash, tok, now)); err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestLeases_EndWithTheirToken(t *testing.T) {
	t.Parallel()
	ends := map[string]func(ctx context.Context, s oauth.Store, tok oauth.Token) error{
		"revoked": func(ctx context.Context, s oauth.Store, tok oauth.Token) error { return s.Revoke(ctx, "owner", tok.ID) },
		"replayed": func(ctx context.Context, s oauth.Store, tok oauth.Token) error {
			return s.RevokeReplayed(ctx, oauth.HashOf("code "+tok.ID))
		},
		"all ended": func(ctx context.Context, s oauth.Store, _ oauth.Token) error {
			_, err := s.RevokeAll(ctx, time.Now())
			return err
		},
		"expired": func(_ context.Context, _ oauth.Store, tok oauth.Token) error {
			time.Sleep(time.Until(tok.Expires))
			synctest.Wait()
			return nil
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := oauth.NewMemory(8)
				leases := oauth.NewLeases(store)
				tok, other := keep(t, store, "one", time.Hour), keep(t, store, "other", 2*time.Hour)
				var held []context.Context
				for _, key := range []string{tok.Key, tok.Key, other.Key} {
					ctx, release, err := leases.Hold(t.Context(), key)
					if err != nil || principal.TokenOf(ctx) != key {
						t.Fatalf("key %q, %v", principal.TokenOf(ctx), err)
					}
					defer release()
					held = append(held, ctx)
				}
				if err := end(t.Context(), store, tok); err != nil {
					t.Fatal(err)
				}
				for _, ctx := range held[:2] {
					if cause := context.Cause(ctx); !errors.Is(cause, principal.ErrTokenEnded) {
						t.Errorf("the context has ended by %v", cause)
					}
				}
				if err := held[2].Err(); (err != nil) != (name == "all ended") {
					t.Errorf("the context of the other token: %v", err)
				}
				if _, _, err := leases.Hold(t.Context(), tok.Key); fault.KindOf(err) != fault.Unauthorized {
					t.Errorf("the token can be held: %v", err)
				}
			})
		})
	}
}

func TestLeases_RefuseWhatIsNoKey(t *testing.T) {
	t.Parallel()
	leases := oauth.NewLeases(oauth.NewMemory(8))
	h := oauth.HashOf("unknown").Hex()
	for _, key := range []string{"", "local", h, h[:62], h + "00", "zz" + h[2:]} {
		if _, _, err := leases.Hold(t.Context(), key); fault.KindOf(err) != fault.Unauthorized {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// After a revocation no context of the token is live, whatever ran at the same time.
func TestLeases_RevocationWinsEveryRace(t *testing.T) {
	t.Parallel()
	store := oauth.NewMemory(1024)
	leases := oauth.NewLeases(store)
	for i := range 200 {
		tok := keep(t, store, strconv.Itoa(i), time.Hour)
		var holding sync.WaitGroup
		held := make(chan context.Context, 4)
		for range cap(held) {
			holding.Go(func() {
				if ctx, _, err := leases.Hold(t.Context(), tok.Key); err == nil {
					held <- ctx
				}
			})
		}
		if err := store.Revoke(t.Context(), "owner", tok.ID); err != nil {
			t.Fatal(err)
		}
		holding.Wait()
		close(held)
		for ctx := range held {
			if ctx.Err() == nil {
				t.Fatal("a context outlives its token")
			}
		}
	}
}
