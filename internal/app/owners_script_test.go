package app

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/httpd/httpdtest"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/fake/oidc"
)

// TestOwners_AlertOnAScriptOfTheOperator sets an alert of one of many owners on a script that the operator stored, and finds it again
// after a restart, when the script is another.
func TestOwners_AlertOnAScriptOfTheOperator(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	idp, home := oidc.New(t), filepath.Join(shortDir(t), "home")
	secret := filepath.Join(t.TempDir(), "secret")
	store := func(script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(home, "scripts", "mine.pine"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(home, "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, []byte(oidc.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	store("//@version=6\nindicator(\"mine\")\nplot(close * 2)\n")
	tokens := httpdtest.Tokens{"ann": {Subject: "ann", Key: "ann's", ClientKey: "client", Scope: principal.Trade, Expires: time.Now().Add(time.Hour)}}
	flags := []string{"--owners", "oidc", "--oidc-issuer", idp.Issuer(), "--oidc-client-id", oidc.ClientID, "--oidc-client-secret-file", secret, "--oidc-allow", "anyone", "--toolsets", "scripts"}
	url, stop := startTradingFor(t, home, venue.URL, tokens, flags...)
	const alert = `{"symbol":"BTCUSDT","interval":"1h","condition":{"value":{"indicator":"mine","op":">","value":99999999}}}`
	if got := use(t, url, "ann", "set_alert", alert); !strings.Contains(got, `"alert_id"`) {
		t.Fatal(got)
	}
	stop()
	store("//@version=6\nindicator(\"mine\")\nplot(close * 3)\n")
	url, stop = startTradingFor(t, home, venue.URL, tokens, flags...)
	defer stop()
	if got := use(t, url, "ann", "list_alerts", `{}`); strings.Count(got, `"alert_id"`) != 1 || strings.Contains(got, `"broken"`) {
		t.Error(got)
	}
}
