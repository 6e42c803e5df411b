package logins_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/store/replica/logins"
	"candela/internal/store/replica/replicatest"
)

func openMany(t *testing.T, prefix string) *logins.Store {
	t.Helper()
	s, err := logins.Open(t.Context(), replicatest.ConnectMany(t, replicatest.Servers(), prefix), nil, oauth.Capacity{Codes: 1000, Tokens: 1000, OwnerCodes: 8, OwnerTokens: 100}, replicatest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// A replica of many owners accepts every token, and no ended one, before it has read them all.
func TestOpen_AcceptsTokensBeforeAllAreRead(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	first := openMany(t, prefix)
	var all []oauth.Token
	for i := range 40 {
		all = append(all, replicatest.IssueToken(t, first, fmt.Sprint("token-", i), now))
	}
	if err := first.Revoke(t.Context(), "ann", "token-7"); err != nil {
		t.Fatal(err)
	}
	second := openMany(t, prefix)
	for i, tok := range all {
		got, err := second.Token(t.Context(), tok.Hash, now)
		if i == 7 {
			if !errors.Is(err, oauth.ErrNotFound) {
				t.Errorf("the revoked token: %v", err)
			}
			continue
		}
		if err != nil || got.ID != tok.ID {
			t.Errorf("%s: %q, %v", tok.ID, got.ID, err)
		}
	}
	if _, err := second.Token(t.Context(), oauth.HashOf("never issued"), now); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("an unknown token: %v", err)
	}
	third := openMany(t, prefix)
	if listed, err := third.Tokens(t.Context(), "ann", now); err != nil || len(listed) != len(all)-1 {
		t.Errorf("%d tokens listed, %v", len(listed), err)
	}
}
