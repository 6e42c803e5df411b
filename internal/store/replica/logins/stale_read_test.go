package logins_test

import (
	"errors"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/store/replica/logins"
	"candela/internal/store/replica/replicatest"
)

func TestStaleRead_CodesAndTokensAreStillFound(t *testing.T) {
	t.Parallel()
	conn, now := replicatest.Connect(t, replicatest.Servers(), replicatest.NewPrefix()), time.Now()
	s, err := logins.Open(t.Context(), conn, oauthtest.Owner(t), oauth.OneOwner(oauth.MaxTokens), replicatest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	code := oauth.Code{Hash: oauth.HashOf("code"), Generation: s.Seal().Generation(), Expires: now.Add(time.Minute)}
	if err := s.PutCode(t.Context(), code, now); err != nil {
		t.Fatal(err)
	}
	replicatest.StaleReads(conn, 1)
	if _, err := s.Code(t.Context(), code.Hash, now); err != nil {
		t.Error(err)
	}
	replicatest.StaleReads(conn, 1)
	tok := oauth.Token{Hash: oauth.HashOf("token"), ID: "token", Grant: oauth.Grant{Subject: "ann"}, Expires: now.Add(time.Hour)}
	if err := s.Redeem(t.Context(), code.Hash, tok, now); err != nil {
		t.Error(err)
	}
	replicatest.StaleReads(conn, 1)
	if gone, err := s.Ended(t.Context(), tok.Hash.Hex()); gone || err != nil {
		t.Errorf("a new token has ended: %v, %v", gone, err)
	}
	if gone, err := s.Ended(t.Context(), oauth.HashOf("other").Hex()); !gone || err != nil {
		t.Errorf("a missing token has not ended: %v, %v", gone, err)
	}
	if _, err := s.Code(t.Context(), oauth.HashOf("other"), now); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("a missing code: %v", err)
	}
}
