package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/stdio"
	fakebinance "candela/internal/testkit/fake/binance"
)

// startForTwo starts the program for the owners ann and bob, who use the same client by name and
// redirect URIs. Their tokens are their names.
func startForTwo(t *testing.T, flags ...string) (url string, stop func()) {
	t.Helper()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	expires := time.Now().Add(time.Hour)
	return startTradingFor(t, filepath.Join(t.TempDir(), "home"), venue.URL, httpdtest.Tokens{
		"ann": {Subject: oauth.SoleOwner, Key: "ann's", ClientKey: "client", Scope: principal.Trade, Expires: expires},
		"bob": {Subject: "bob", Key: "bob's", ClientKey: "client", Scope: principal.Trade, Expires: expires},
	}, flags...)
}

// TestOwners_SeeNothingOfEachOther runs the whole program for two owners: no tool and
// no stream of the one may show, move or end what is the other's.
func TestOwners_SeeNothingOfEachOther(t *testing.T) {
	t.Parallel()
	url, stop := startForTwo(t)
	defer stop()
	call := func(token, tool, arguments string) string {
		t.Helper()
		status, text := ask(t, http.MethodPost, url+"/mcp", token, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", tool, status, text)
		}
		return text
	}
	heard, leave := follow(t, url, "bob")
	defer leave()
	for _, token := range []string{"ann", "bob"} {
		call(token, "subscribe_notifications", `{}`)
	}
	call("ann", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001}`)
	call("ann", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1},"note":"secret of ann"}`) // fires
	set := call("ann", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":99999999},"note":"secret of ann"}`)
	_, rest, _ := strings.Cut(set, `"alert_id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if len(id) != 36 {
		t.Fatalf("no id in %s", set)
	}
	for tool, arguments := range map[string]string{"list_alerts": `{}`, "get_orders": `{}`, "generate_chart": `{"symbol":"BTCUSDT","format":"summary"}`} {
		if got := call("ann", tool, arguments); !strings.Contains(got, `"price_above"`) && !strings.Contains(got, `"filled"`) {
			t.Errorf("%s does not show ann what is hers:\n%s", tool, got)
		}
	}
	for tool, arguments := range map[string]string{
		"list_alerts": `{}`, "get_notifications": `{}`, "list_subscriptions": `{}`, "get_orders": `{}`, "get_positions": `{}`,
		"cancel_alert":   `{"alert_id":"` + id + `"}`,
		"generate_chart": `{"symbol":"BTCUSDT","format":"summary"}`,
	} {
		got := call("bob", tool, arguments)
		for _, hers := range []string{"secret of ann", `"price_above"`, `"offline_queue_size":1`, `"filled"`, `"ok":true`} {
			if strings.Contains(got, hers) {
				t.Errorf("%s shows bob what is ann's, %s:\n%s", tool, hers, got)
			}
		}
	}
	call("bob", "unsubscribe_notifications", `{}`)
	if got := call("ann", "list_subscriptions", `{}`); !strings.Contains(got, `"subscribed":true`) || !strings.Contains(got, `"offline_queue_size":1`) {
		t.Errorf("bob has ended ann's subscription: %s", got)
	}
	if got := call("ann", "list_alerts", `{}`); !strings.Contains(got, id) {
		t.Errorf("bob has ended ann's alert: %s", got)
	}
	if got := call("ann", "get_notifications", `{}`); !strings.Contains(got, "secret of ann") {
		t.Errorf("bob has taken ann's notification: %s", got)
	}
	// The first thing that bob's stream brings is bob's own.
	call("bob", "subscribe_notifications", `{}`)
	call("bob", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":2}}`)
	wantNotice(t, heard(), "2", "")
}

// TestOwner_IsTheSameOverStdioAndHTTP holds that what a client set up over stdio can be
// seen and ended over HTTP on the same state directory.
func TestOwner_IsTheSameOverStdioAndHTTP(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	home := filepath.Join(t.TempDir(), "home")
	w := openWindow(t, home, "--binance-url", venue.URL)
	if line := w.call("set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":99999999},"note":"over stdio"}`); strings.Contains(line, `"isError":true`) {
		t.Fatal(line)
	}
	w.close()
	url, stop := startTradingFor(t, home, venue.URL, httpdtest.Tokens{"ann": {Subject: oauth.SoleOwner, Key: "ann's", Scope: principal.Trade, Expires: time.Now().Add(time.Hour)}})
	defer stop()
	call := func(tool, arguments string) string {
		t.Helper()
		_, text := ask(t, http.MethodPost, url+"/mcp", "ann", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
		return text
	}
	all := call("list_alerts", `{}`)
	if !strings.Contains(all, "over stdio") {
		t.Fatalf("over HTTP: %s", all)
	}
	ended := make(map[string]bool) // an answer may hold an alert twice, as text and as an object
	for _, alert := range regexp.MustCompile(`alert_id\\?":\\?"([0-9a-f-]{36})`).FindAllStringSubmatch(all, -1) {
		if ended[alert[1]] {
			continue
		}
		ended[alert[1]] = true
		if got := call("cancel_alert", `{"alert_id":"`+alert[1]+`"}`); strings.Contains(got, `"isError":true`) {
			t.Errorf("cancel over HTTP: %s", got)
		}
	}
	if all := call("list_alerts", `{}`); strings.Contains(all, "over stdio") {
		t.Errorf("then there are %s", all)
	}
	if stdio.Owner != oauth.SoleOwner {
		t.Errorf("over stdio the owner is %q, over HTTP %q", stdio.Owner, oauth.SoleOwner)
	}
}
