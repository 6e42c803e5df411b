package app

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd/httpdtest"
	fakebinance "candela/internal/testkit/fake/binance"
)

// orderEvent is what these tests read of a record.
type orderEvent struct {
	Event, Role string
	OrderID     string `json:"order_id"`
	Seq         uint64
}

// polledEvents takes the order events out of the queue.
func polledEvents(t *testing.T, url, token string) []orderEvent {
	t.Helper()
	var events []orderEvent
	text := useAgain(t, url, token, "get_notifications", `{"events":["orders"]}`) // as ask unquotes it
	_, records, _ := strings.Cut(text, `"text":"`)
	records, _, _ = strings.Cut(records, `"}]}`)
	if err := json.Unmarshal([]byte(records), &events); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return events
}

// TestEvents_PushedAndPolled has two clients of one owner. The one that asks for order events gets them by push and
// poll, once; the other gets its alerts as before, and nothing else.
func TestEvents_PushedAndPolled(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	tokens := httpdtest.Tokens{}
	for _, token := range []string{"asks", "not"} {
		tokens[token] = principal.Caller{Subject: "owner", Key: oauth.HashOf(token).Hex(), ClientKey: token, Scope: principal.Trade, Expires: time.Now().Add(time.Hour)}
	}
	home := filepath.Join(t.TempDir(), "home")
	url, stop := startTradingFor(t, home, venue.URL, tokens)
	heard, leave := follow(t, url, "asks")
	defer leave()
	unheard, leaveToo := follow(t, url, "not")
	defer leaveToo()
	if text := use(t, url, "asks", "subscribe_notifications", `{"events":["orders"],"symbols":["BTCUSDT"],"alert_types":["price_below"]}`); !strings.Contains(text, `"events":["orders"]`) {
		t.Error(text)
	}
	if text := use(t, url, "not", "subscribe_notifications", `{}`); strings.Contains(text, "events") {
		t.Error(text)
	}
	_, _ = buy(t, url, "asks", "order")
	frame := heard()
	if !strings.Contains(frame, `{"jsonrpc":"2.0","method":"notifications/order_event","params":{"event":"order_filled","seq":1,"order_id":"`) || !strings.Contains(frame, `"role":"entry"`) || strings.Contains(frame, "alert_id") {
		t.Errorf("pushed %s", frame)
	}
	use(t, url, "not", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":2.5},"note":"wanted"}`)
	wantNotice(t, unheard(), `2\.5`, "wanted")
	if text := use(t, url, "not", "get_notifications", `{}`); strings.Count(text, `alert_id`) != 1 || strings.Contains(text, "order_filled") {
		t.Errorf("polled without events: %s", text)
	}
	got := polledEvents(t, url, "not")
	if len(got) != 1 || got[0].Event != "order_filled" || got[0].Role != "entry" || got[0].Seq != 1 {
		t.Errorf("polled %+v", got)
	}
	stop()
	url, stop = startTradingFor(t, home, venue.URL, tokens)
	if again := polledEvents(t, url, "asks"); len(again) != 0 {
		t.Errorf("after a restart again %+v", again)
	}
	stop()
}

// TestEvents_OnceWhileReplicasEnd buys at three replicas of which one after the other ends. Each order is heard of
// once, at those that are left.
func TestEvents_OnceWhileReplicasEnd(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	c := newCast(t, "--trade", "--binance-url", venue.URL)
	all := []*replica{c.start(), c.start(), c.start()}
	token := all[0].Token()
	heard, bought := make(map[string]uint64), 0
	listen := func(r *replica) {
		for _, e := range polledEvents(t, r.url, token) {
			if seq, known := heard[e.OrderID]; known && seq != e.Seq {
				t.Fatalf("order %s was heard of twice: %d and %d", e.OrderID, seq, e.Seq)
			}
			if e.Event != "order_filled" {
				t.Fatalf("heard %+v", e)
			}
			heard[e.OrderID] = e.Seq
		}
	}
	for i, r := range all {
		for n := range 3 {
			buy(t, all[(i+n)%(3-i)+i].url, token, fmt.Sprintf("order %d %d", i, n))
			bought++
		}
		if i == 2 {
			waitFor(t, func() bool { listen(r); return len(heard) >= bought })
			break
		}
		r.stop()
		listen(all[2])
	}
	if len(heard) != bought {
		t.Errorf("heard of %d orders, %d were filled", len(heard), bought)
	}
	all[2].stop()
}
