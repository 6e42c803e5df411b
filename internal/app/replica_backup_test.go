package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/access/owners"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/operate/backup"
	"candela/internal/operate/control"
	"candela/internal/store/replica/natstest"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/fake/oidc"
	"candela/internal/work/hosting"
	"candela/lib/fault"
)

// configAt returns the configuration of a command in the state directory of a replica.
func (c cast) configAt(home string) *config.Config {
	c.t.Helper()
	cfg, err := LoadConfig(config.Input{
		Args: append([]string{"--serve", "--base-url", "http://localhost:9315", "--home", home, "--nats-url", c.nats, "--cluster-secret-file", natstest.SecretFile(c.t)}, c.extra...),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return cfg
}

// TestReplicas_ABackupComesBackElsewhere copies the streams of three servers while replicas use them, erases an owner, and makes the streams again at three
// other servers: what the other owner had is there, trading is halted, and the erased owner is erased again. What may not be restored is refused
// before anything is changed.
func TestReplicas_ABackupComesBackElsewhere(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	idp, secret := oidc.New(t), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(oidc.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCast(t, "--trade", "--binance-url", venue.URL, "--owners", "oidc", "--oidc-issuer", idp.Issuer(),
		"--oidc-client-id", oidc.ClientID, "--oidc-client-secret-file", secret, "--oidc-allow", "anyone")
	r := c.start()
	ann, _ := r.signIn(idp, oidc.Ann())
	bob, _ := r.signIn(idp, oidc.Person{Subject: "0002", Email: "bob@example.com"})
	for _, token := range []string{ann, bob} {
		use(t, r.url, token, "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":99999999},"note":"waits"}`)
		use(t, r.url, token, "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001}`)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	made, err := backup.Make(t.Context(), r.home, copied, nil, CopyStreams(c.configAt(r.home), io.Discard))
	if err != nil || len(made.Streams) < 5 { // without BOOKS, until there is a snapshot of orders
		t.Fatalf("%+v, %v", made, err)
	}
	page, err := control.ListOwners(t.Context(), r.home, "", "", "")
	if err != nil || len(page.Owners) != 2 {
		t.Fatalf("%+v, %v", page, err)
	}
	of := page.Owners[slices.IndexFunc(page.Owners, func(o owners.Owner) bool { return o.Email == "ann@example.com" })].ID
	for _, act := range []hosting.Act{hosting.Suspend, hosting.Erase} {
		changeOne(t, r.home, act, of)
	}
	erased, err := backup.Erased(r.home)
	if err != nil || !slices.Equal(erased, []principal.Owner{of}) {
		t.Fatalf("%v, %v", erased, err)
	}
	restore := func(c cast, from string) (names []string, why string, again []principal.Owner, err error) {
		return RestoreStreams(t.Context(), c.configAt(r.home), from, erased, io.Discard)
	}
	if _, _, _, err := restore(c, copied); fault.Of(err) == nil || fault.Of(err).Code != "streams_exist" {
		t.Errorf("over what is there: %v", err)
	}
	r.stop()

	elsewhere, err := natstest.Start(t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(elsewhere.Stop)
	c.nats = elsewhere.URL()
	damaged := filepath.Join(t.TempDir(), "damaged")
	if err := os.CopyFS(damaged, os.DirFS(copied)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(damaged, backup.StreamsDir, "ALERTS")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := restore(c, damaged); fault.Of(err) == nil || fault.Of(err).Code != "backup_damaged" {
		t.Errorf("a damaged backup: %v", err)
	}
	names, why, again, err := restore(c, copied)
	if err != nil || len(names) != len(made.Streams) || !strings.Contains(why, time.Now().UTC().Format("2006-01-02")) || !slices.Equal(again, erased) {
		t.Fatalf("%v, %q, %v, %v", names, why, again, err)
	}
	r = c.start()
	if _, status := r.signIn(idp, oidc.Ann()); status != http.StatusForbidden {
		t.Errorf("an owner who was erased after the backup signs in: %d", status)
	}
	bob, _ = r.signIn(idp, oidc.Person{Subject: "0002", Email: "bob@example.com"})
	if list := useAgain(t, r.url, bob, "list_alerts", `{}`); strings.Count(list, `"note":"waits"`) != 1 {
		t.Errorf("bob has %s", list)
	}
	if held := useAgain(t, r.url, bob, "get_positions", `{}`); !strings.Contains(held, "0.001") {
		t.Errorf("bob holds %s", held)
	}
	if order := useWhile(t, r.url, bob, "get_orders", `{}`, `"retryable":true`); !strings.Contains(order, "filled") {
		t.Errorf("bob's orders: %s", order)
	}
	if now, reached, err := control.ReadStatus(t.Context(), r.home); err != nil || !reached || len(now.Accounts) == 0 || now.Accounts[0].Level != "HALTED" {
		t.Errorf("trading is %+v, %v", now.Accounts, err)
	}
	data, err = control.ExportOwner(t.Context(), r.home, of)
	if err != nil || strings.Contains(string(data), "waits") || strings.Contains(string(data), "ann@example.com") {
		t.Errorf("of the erased owner there is %s, %v", data, err)
	}
}
