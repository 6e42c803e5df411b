package oauth_test

import (
	"errors"
	"testing"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

func TestRescope_HoldsFromTheNextCall(t *testing.T) {
	t.Parallel()
	for _, kind := range []oauth.Trading{oauth.PaperTrading, oauth.LiveTrading} {
		s := New(t, func(c *oauth.Config) { c.Trading, c.Account = kind, "owner/binance/live" })
		c, b := s.Known(), s.Browser()
		caller, answer := granted(t, s, c, b.Decide(b.Open(Query(c)), "scope", "trade"))
		token := answer.Text(t, "access_token")
		held, release, err := s.Server.Hold(t.Context(), caller)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		list, err := s.Server.Tokens(t.Context(), oauth.SoleOwner)
		if err != nil {
			t.Fatal(err)
		}
		id := ""
		for _, one := range list {
			if !one.Grant.Login {
				id = one.ID
				if one.Grant.Target != "http://localhost:3118" {
					t.Errorf("the access went to %q", one.Grant.Target)
				}
			}
		}
		for _, scope := range []principal.Scope{principal.Charts, principal.Read, principal.Trade} {
			if err := s.Server.Rescope(t.Context(), oauth.SoleOwner, id, scope); err != nil {
				t.Fatal(err)
			}
			if now, err := s.Server.Authorize(t.Context(), token); err != nil || now.Scope != scope || now.Key != caller.Key {
				t.Errorf("%v: %v, %v", scope, now, err)
			}
		}
		if held.Err() == nil {
			t.Error("a stream goes on with the old scope")
		}
		if err := s.Server.Rescope(t.Context(), oauth.SoleOwner, id, principal.NoScope); fault.KindOf(err) != fault.Invalid {
			t.Errorf("no scope: %v", err)
		}
		if err := s.Server.Rescope(t.Context(), "another", id, principal.Read); !errors.Is(err, oauth.ErrNotFound) {
			t.Errorf("of another owner: %v", err)
		}
		for _, one := range list {
			if one.Grant.Login && !errors.Is(s.Server.Rescope(t.Context(), oauth.SoleOwner, one.ID, principal.Read), oauth.ErrNotFound) {
				t.Error("the login of a browser becomes a client")
			}
		}
	}
	s := New(t, nil)
	if err := s.Server.Rescope(t.Context(), oauth.SoleOwner, "id", principal.Read); fault.KindOf(err) != fault.Invalid {
		t.Errorf("without trading: %v", err)
	}
}
