package app

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/access/oauth/oauthtest"
	"candela/internal/operate/control"
	"candela/internal/store/replica/natstest"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/lib/fault"
)

// gaveUp is much more than the 1.5 s after which calls give up, for busy machines, and less than the 10 s for which they would try again.
const gaveUp = 8 * time.Second

// TestCluster_CallsAnswerWhileServersAreGone takes the servers away: every call is answered soon, those that need what is stored by an
// error that says what to do, and the others as always.
func TestCluster_CallsAnswerWhileServersAreGone(t *testing.T) {
	t.Parallel()
	servers, err := natstest.Start(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Stop)
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	extra := []string{"--nats-prefix", "p", "--nats-allow-single", "--trade", "--binance-url", venue.URL, "--shutdown-timeout", "1s", "--toolsets", "research"}
	c := cast{t: t, nats: servers.URL(), extra: extra}.with(oauthtest.Passphrase)
	here, there := c.start(), c.start()
	token := here.Token()
	set := use(t, here.url, token, "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":99999999}}`)
	use(t, there.url, token, "get_positions", `{}`)
	_, rest, _ := strings.Cut(set, `"alert_id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	servers.Kill(0)
	halting, stop := context.WithCancel(t.Context())
	var halted sync.WaitGroup
	for _, r := range []*replica{here, there} {
		// A halt is in force at once, and then waits for the store. What is asked meanwhile does not.
		halted.Go(func() { _, _, _ = control.Halt(halting, r.home, "") })
	}
	defer halted.Wait()
	defer stop()
	var longest time.Duration
	for range 2 {
		for _, r := range []*replica{here, there} {
			for _, call := range [][2]string{
				{"list_alerts", `{}`},
				{"set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":99999998}}`},
				{"cancel_alert", `{"alert_id":"` + id + `"}`},
				{"subscribe_notifications", `{}`},
				{"unsubscribe_notifications", `{}`},
				{"list_subscriptions", `{}`},
				{"get_notifications", `{}`},
				{"get_positions", `{}`},
				{"get_account", `{}`},
				{"get_orders", `{}`},
				{"get_trades", `{}`},
				{"place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001}`},
				{"cancel_order", `{"symbol":"BTCUSDT"}`},
				{"get_report", `{"report_id":"0123456789abcdef"}`},
				{"get_indicators", `{"symbol":"BTCUSDT","interval":"1h","indicators":["rsi"]}`},
			} {
				began := time.Now()
				_, text := ask(t, http.MethodPost, r.url+"/mcp", token, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, call[0], call[1]))
				took := time.Since(began)
				longest = max(longest, took)
				if took > gaveUp {
					t.Errorf("%s took %v: %s", call[0], took, text)
				}
				if stored := strings.HasSuffix(call[0], "_alert") || strings.HasSuffix(call[0], "notifications") || call[0] == "place_order"; stored && !strings.Contains(text, "The shared store is unavailable") {
					t.Errorf("%s: %s", call[0], text)
				}
			}
			if _, reached, err := control.ReadStatus(t.Context(), r.home); !reached || fault.KindOf(err) != fault.Conflict {
				t.Errorf("the status: %v, %v", reached, err)
			}
		}
	}
	t.Logf("the longest call took %v", longest)
}
