package cluster_test

import (
	"errors"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/alerting/alert"
	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
)

// A server that has not heard yet that another leads answers that there is nothing
// where something was written a moment ago. Whoever would act on that finds out.

func TestLag_AlertsFireAndEndAllTheSame(t *testing.T) {
	t.Parallel()
	ann, conn := principal.Caller{Subject: "ann"}, connect(t, servers, newPrefix())
	s, err := conn.OpenStore(t.Context(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	set := make([]alert.Alert, 3)
	for i := range set {
		set[i] = priceAlert(i)
		if err := s.PutAlert(t.Context(), ann, set[i]); err != nil {
			t.Fatal(err)
		}
	}
	conn.Lag(2)
	fired, err := s.FireAlerts(t.Context(), []alert.Firing{{Alert: set[0], Value: 1, At: time.Now()}, {Alert: set[1], Value: 1, At: time.Now()}})
	if err != nil || len(fired) != 2 {
		t.Errorf("%d of 2 fired, %v", len(fired), err)
	}
	conn.Lag(1)
	if err := s.CancelAlert(t.Context(), ann, set[2].ID); err != nil {
		t.Error(err)
	}
	// What was never there, or is there no longer, is still told.
	for _, id := range []string{"none", set[2].ID} {
		if err := s.CancelAlert(t.Context(), ann, id); fault.KindOf(err) != fault.NotFound {
			t.Errorf("cancel %s: %v", id, err)
		}
	}
	if fired, err = s.FireAlerts(t.Context(), []alert.Firing{{Alert: priceAlert(3), Value: 1, At: time.Now()}}); err != nil || len(fired) != 0 {
		t.Errorf("an alert that was never set: %d fired, %v", len(fired), err)
	}
}

func TestLag_CodesAndTokensAreKnown(t *testing.T) {
	t.Parallel()
	conn, now := connect(t, servers, newPrefix()), time.Now()
	s, err := conn.OpenTokens(t.Context(), oauthtest.Owner(t), oauth.MaxTokens, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	code := oauth.Code{Hash: oauth.HashOf("code"), Generation: s.Seal().Generation(), Expires: now.Add(time.Minute)}
	if err := s.PutCode(t.Context(), code, now); err != nil {
		t.Fatal(err)
	}
	conn.Lag(1)
	if _, err := s.Code(t.Context(), code.Hash, now); err != nil {
		t.Error(err)
	}
	conn.Lag(1)
	tok := oauth.Token{Hash: oauth.HashOf("token"), ID: "token", Grant: oauth.Grant{Subject: "ann"}, Expires: now.Add(time.Hour)}
	if err := s.Redeem(t.Context(), code.Hash, tok, now); err != nil {
		t.Error(err)
	}
	conn.Lag(1)
	if gone, err := s.Gone(t.Context(), tok.Hash.Hex()); gone || err != nil {
		t.Errorf("a token that was made a moment ago has ended: %v, %v", gone, err)
	}
	if gone, err := s.Gone(t.Context(), oauth.HashOf("other").Hex()); !gone || err != nil {
		t.Errorf("a token that never was has not ended: %v, %v", gone, err)
	}
	if _, err := s.Code(t.Context(), oauth.HashOf("other"), now); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("a code that never was: %v", err)
	}
}
