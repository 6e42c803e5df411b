package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// TestEvents_OfTheirOwnersAlone has three owners buy in turn, at one program and at three replicas. Each hears of each of the
// own orders once, by push, by poll and in the resource, and of no other's.
func TestEvents_OfTheirOwnersAlone(t *testing.T) {
	t.Parallel()
	for name, replicas := range map[string]int{"one program": 1, "replicas": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := manyFlags(t)
			if replicas > 1 {
				flags, _, _ = manyReplicas(t)
			}
			names := []string{"ann", "bob", "cat"}
			tokens, venue, home := httpdtest.Tokens{}, steadyVenue(t), filepath.Join(t.TempDir(), "home")
			for _, owner := range names {
				tokens[owner] = principal.Caller{Subject: principal.Owner(owner), Key: oauth.HashOf(owner).Hex(), ClientKey: "agent", Scope: principal.Trade, Expires: time.Now().Add(time.Hour)}
			}
			var urls []string
			for i := range replicas {
				s := startServer(t, home+strconv.Itoa(i), venue, tokens, flags...)
				urls = append(urls, s.url)
				t.Cleanup(s.stop)
			}
			heard, placed := make(map[string]func() string), make(map[string][]string)
			for i, owner := range names {
				next, leave := follow(t, urls[i%replicas], owner)
				t.Cleanup(leave)
				heard[owner] = next
				use(t, urls[i%replicas], owner, "subscribe_notifications", `{"events":["orders"]}`)
			}
			for n := range 9 {
				owner := names[n%3]
				text := use(t, urls[n%replicas], owner, "place_order", fmt.Sprintf(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.01,"idempotency_key":"key-%d"}`, n/3))
				placed[owner] = append(placed[owner], idsOf(text)[0])
			}
			for i, owner := range names {
				at := urls[i%replicas]
				var pushed, polled []string
				for range placed[owner] {
					pushed = append(pushed, idsOf(heard[owner]())...)
				}
				for _, e := range polledEvents(t, at, owner) {
					polled = append(polled, e.OrderID)
				}
				read := idsOf(askModernAs(t, at, owner, modern("3", "resources/read", `"uri":"candela://orders/events"`))())
				for way, got := range map[string][]string{"push": pushed, "poll": polled, "the resource": read} {
					if !slices.Equal(got, placed[owner]) {
						t.Errorf("%s placed %q and heard by %s of %q", owner, placed[owner], way, got)
					}
				}
			}
		})
	}
}

// idsOf returns the IDs of the orders in records.
func idsOf(text string) (ids []string) {
	for _, found := range regexp.MustCompile(`order_id\\*":\\*"([^"\\]+)`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(ids, found[1]) {
			ids = append(ids, found[1])
		}
	}
	return ids
}

// TestEvents_ToReceivers has an order filled and an alert fire. A receiver gets alerts alone, and order events if the operator
// asks for them: a webhook the record that a poll returns, ntfy a line of text.
func TestEvents_ToReceivers(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{"alerts": "alert", "orders": "order", "alerts,orders": "order alert"} {
		t.Run(asked, func(t *testing.T) {
			t.Parallel()
			venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
			t.Cleanup(venue.Close)
			arrived := map[string]chan delivery{"/hook": make(chan delivery, 10), "/topic": make(chan delivery, 10)}
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body) // what is missing is seen below
				arrived[r.URL.Path] <- delivery{r.Header, string(body)}
			}))
			t.Cleanup(receiver.Close)
			c := openConsole(t, "--home", filepath.Join(t.TempDir(), "home"), "--binance-url", venue.URL, "--sink-events", asked, "--webhook-url", receiver.URL+"/hook", "--ntfy-url", receiver.URL+"/topic")
			waitFor(t, func() bool {
				return strings.Contains(c.call("place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.01,"idempotency_key":"once"}`), `"status":"filled"`)
			})
			record := c.call("get_notifications", `{"events":["orders"],"wait_seconds":200}`)
			c.call("set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1}}`)
			fired := c.call("get_notifications", `{"wait_seconds":200}`)
			for kind := range strings.FieldsSeq(want) {
				hook, line := <-arrived["/hook"], <-arrived["/topic"]
				event, polled, text := "alert_triggered", fired, "BTCUSDT above 1:"
				if kind == "order" {
					event, polled, text = "order_event", record, "Order filled: buy 0.01 BTCUSDT at "
				}
				if hook.header.Get("Candela-Event") != event || !strings.Contains(polled, `"text":"[`+hook.body+`]"`) {
					t.Errorf("the webhook got %+v, a poll %s", hook, polled)
				}
				if !strings.HasPrefix(line.body, text) {
					t.Errorf("ntfy got %q, want %q", line.body, text)
				}
			}
			c.close()
			if n := len(arrived["/hook"]) + len(arrived["/topic"]); n > 0 {
				t.Errorf("and %d more", n)
			}
		})
	}
}
