package app

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/owners"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/fake/oidc"
	"candela/internal/work/hosting"
	"candela/lib/fault"
)

// signIn signs a person in at a replica and returns the token of a client, or the status of the
// page that refused.
func (r *replica) signIn(idp *oidc.Server, who oidc.Person) (token string, status int) {
	r.TB.Helper()
	idp.SignIn(who)
	client, b := r.Known(), r.Browser()
	page := b.SignIn(oauthtest.Query(client))
	if page.Status != http.StatusOK {
		return "", page.Status
	}
	code := b.Decide(page, "passphrase", "").Location(r.TB).Query().Get("code")
	return r.Redeem(oauthtest.TokenForm(client, code)).Text(r.TB, "access_token"), page.Status
}

// A replica for many owners keeps a subscription for each token that there may be, and its list of
// alerts in the state directory; one for one owner has neither.
func TestReplica_LimitsFollowTheOwners(t *testing.T) {
	t.Parallel()
	var cfg config.Config
	cfg.Home = "home"
	rt := Runtime{Config: &cfg}
	if n, file := rt.mode().allSubscriptions, rt.mode().alertList; n != 0 || file != "" {
		t.Errorf("for one owner: %d subscriptions, list in %q", n, file)
	}
	cfg.Owners.Mode = "oidc"
	if n, file := rt.mode().allSubscriptions, rt.mode().alertList; n != 1_000_000 || file != filepath.Join("home", "alerts.list") {
		t.Errorf("for many owners: %d subscriptions, list in %q", n, file)
	}
}

// TestReplicas_AnOwnerIsSuspendedAndErasedEverywhere lets two people sign in at different
// replicas. A command at one replica ends what one of them has at both, and the other goes on.
func TestReplicas_AnOwnerIsSuspendedAndErasedEverywhere(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	idp, secret := oidc.New(t), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(oidc.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCast(t, "--trade", "--binance-url", venue.URL, "--owners", "oidc", "--oidc-issuer", idp.Issuer(),
		"--oidc-client-id", oidc.ClientID, "--oidc-client-secret-file", secret, "--oidc-allow", "anyone")
	here, there := c.start(), c.start()
	ann, _ := here.signIn(idp, oidc.Ann())
	bob, _ := there.signIn(idp, oidc.Person{Subject: "0002", Email: "bob@example.com"})
	for _, token := range []string{ann, bob} {
		use(t, there.url, token, "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":99999999},"note":"waits"}`)
		use(t, here.url, token, "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1},"note":"fires"}`)
		use(t, there.url, token, "subscribe_notifications", `{}`)
		use(t, there.url, token, "get_positions", `{}`) // the account is awake from now on
	}
	page, err := control.ListOwners(t.Context(), there.home, "", "", "")
	if err != nil || len(page.Owners) != 2 {
		t.Fatalf("%+v, %v", page, err)
	}
	of := page.Owners[0]
	if of.Email != "ann@example.com" {
		of = page.Owners[1]
	}
	clients, err := control.Clients(t.Context(), here.home, of.ID)
	if err != nil || len(clients) != 2 { // a client and a browser
		t.Errorf("ann's logins: %+v, %v", clients, err)
	}
	if clients, err = control.Clients(t.Context(), here.home, ""); err != nil || len(clients) != 4 {
		t.Errorf("all logins: %+v, %v", clients, err)
	}
	change := func(r *replica, what string) {
		t.Helper()
		if r := changeOne(t, r.home, hosting.Act(what), of.ID); r.Error != nil {
			t.Fatal(r.Error)
		}
	}
	for _, c := range clients {
		if c.Owner == of.ID && c.Name != "" && c.Scope != "" {
			if err := control.Revoke(t.Context(), here.home, c.ID); err != nil {
				t.Error(err)
			}
		}
	}
	waitFor(t, func() bool { return !pings(t, here.url, ann) && !pings(t, there.url, ann) })
	if !pings(t, here.url, bob) {
		t.Error("bob's client ended with ann's")
	}
	ann, _ = here.signIn(idp, oidc.Ann())
	change(there, "suspend")
	waitFor(t, func() bool { return !pings(t, here.url, ann) && !pings(t, there.url, ann) })
	if _, status := here.signIn(idp, oidc.Ann()); status != http.StatusForbidden {
		t.Errorf("a suspended owner signs in: %d", status)
	}
	change(here, "resume")
	ann, _ = there.signIn(idp, oidc.Ann())
	if list := use(t, here.url, ann, "list_alerts", `{}`); strings.Count(list, `"note":"waits"`) != 1 {
		t.Errorf("ann has %s", list)
	}
	published := func(notices int) {
		t.Helper()
		waitFor(t, func() bool {
			data, err := control.ExportOwner(t.Context(), there.home, of.ID)
			return err == nil && bytes.Count(data, []byte(`"event":"trading_state"`)) == notices
		})
	}
	published(2) // trading was halted, and is active again
	if r := changeOne(t, here.home, hosting.Erase, of.ID); r.Error == nil || r.Error.Kind != fault.Conflict {
		t.Errorf("an active owner is erased: %v", r.Error)
	}
	change(here, "suspend")
	published(3)
	if r := changeOne(t, here.home, hosting.Erase, of.ID); r.Error != nil || r.Proof.Rows["alerts"] != 1 || r.Proof.Rows["notifications"] != 4 || r.Proof.By != "a test" { // those, and of the alert that has fired
		t.Errorf("%+v", r)
	}
	if _, status := there.signIn(idp, oidc.Ann()); status != http.StatusForbidden {
		t.Errorf("an erased owner signs in: %d", status)
	}
	if r := changeOne(t, there.home, hosting.Resume, of.ID); r.Error == nil || !strings.Contains(r.Error.Message, "was erased on") {
		t.Errorf("an erased owner is resumed: %v", r.Error)
	}
	if one, err := control.ShowOwner(t.Context(), there.home, of.ID); err != nil || one.State != owners.Erased || one.Alerts != 0 || one.Clients != 0 {
		t.Errorf("%+v, %v", one, err)
	}
	if list := use(t, there.url, bob, "list_alerts", `{}`); strings.Count(list, `"note":"waits"`) != 1 {
		t.Errorf("bob has %s", list)
	}
	if got := use(t, there.url, bob, "get_notifications", `{"wait_seconds":5}`); strings.Count(got, "fires") != 1 {
		t.Errorf("bob has %s", got)
	}
}

// changeOne does something with one owner over the control socket.
func changeOne(t *testing.T, home string, act hosting.Act, id principal.Owner) (result hosting.Result) {
	t.Helper()
	acts := control.Acts{Order: hosting.Order{Act: act}, Choice: hosting.Choice{IDs: []principal.Owner{id}}, By: "a test"}
	if err := control.ActOnOwners(t.Context(), home, acts, func(r hosting.Result) error { result = r; return nil }); err != nil {
		t.Fatal(err)
	}
	return result
}
