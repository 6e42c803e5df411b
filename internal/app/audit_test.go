package app

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/owners"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/store/ledger"
	"candela/internal/testkit/porttest"
)

// TestAudit_HoldsLoginsAndRevocations lets a client in, throws it out, ends all logins,
// and reads the audit log.
func TestAudit_HoldsLoginsAndRevocations(t *testing.T) {
	t.Parallel()
	hash, err := oauth.HashPassphrase(oauthtest.Passphrase, oauthtest.Cost())
	if err != nil {
		t.Fatal(err)
	}
	port, home := porttest.Free(t), filepath.Join(shortDir(t), "home")
	cfg, err := LoadConfig(config.Input{
		Args: []string{"--serve", "--trade", "--port", port, "--home", home, "--shutdown-timeout", "5m"}, Environ: []string{"CANDELA_OWNER_PASSWORD=" + hash},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, end := inFront(t, cfg, port, "test")
	token := s.Token()
	clients, err := control.Clients(t.Context(), home, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(clients) != 2 || clients[0].Scope != "trade" || clients[1].Scope != "none" {
		t.Errorf("a client and the browser of the owner are listed as %+v", clients)
	}
	if err := control.Revoke(t.Context(), home, clients[0].ID); err != nil {
		t.Error(err)
	}
	if _, err := control.RevokeAll(t.Context(), home); err != nil {
		t.Error(err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	log, err := ledger.OpenAudit(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	events, err := log.Recent(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range events {
		switch e.Kind {
		case "owner_logged_in", "client_approved", "token_issued", "token_revoked", "logins_ended":
			kinds = append(kinds, e.Kind)
			if e.Owner != oauth.SoleOwner || strings.Contains(string(e.Body), token) {
				t.Errorf("%+v", e)
			}
			granted := e.Kind == "client_approved" || e.Kind == "token_issued"
			if strings.Contains(string(e.Body), `"scope":"trade","expires_in":604800`) != granted {
				t.Errorf("%s has the body %s", e.Kind, e.Body)
			}
		}
	}
	want := []string{"owner_logged_in", "client_approved", "token_issued", "token_revoked", "logins_ended"}
	if len(events) > 1 && events[0].Seq > events[1].Seq {
		slices.Reverse(kinds)
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("the audit log has %v, want %v", kinds, want)
	}
}

// The control socket accepts a revocation before the ledger is open.
func TestAudit_BeforeTheLedgerIsOpen(t *testing.T) {
	t.Parallel()
	if err := new(localStore).audit(t.Context(), principal.Caller{Subject: "owner"}, "login_revoked", "a client", nil); !errors.Is(err, owners.ErrNotOpen) {
		t.Errorf("got %v", err)
	}
}
