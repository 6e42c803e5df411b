package app

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/config"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd/httpdtest"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/porttest"
)

// withTasks returns a modern request that declares tasks.
func withTasks(method, members string) string {
	return strings.Replace(modern("1", method, members), `clientCapabilities":{}`, `clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)
}

// waitingOrders is a program in which every order waits for the owner, and clients with tokens t0 to t9.
type waitingOrders struct {
	t           *testing.T
	home, venue string
	tokens      httpdtest.Tokens
	url         string
	orders      account // of the owner
	stop        func()
}

func newWaitingOrders(t *testing.T) *waitingOrders {
	t.Helper()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	w := &waitingOrders{t: t, home: filepath.Join(t.TempDir(), "home"), venue: venue.URL, tokens: httpdtest.Tokens{}}
	for i := range 10 {
		w.tokens[fmt.Sprint("t", i)] = principal.Caller{Subject: "owner", Key: fmt.Sprint("k", i), Scope: principal.Trade, Expires: time.Now().Add(time.Hour)}
	}
	if err := os.Mkdir(w.home, 0o700); err != nil {
		t.Fatal(err)
	}
	lines := "approval_above = 1\nmax_open_orders = 100\nmax_symbol_open_orders = 100\nmax_order_notional = \"none\"\nmax_exposure = \"none\"\nmax_symbol_exposure = \"none\"\napproval_drift_pct = \"none\"\n"
	if err := os.WriteFile(filepath.Join(w.home, "policy.toml"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	return w
}

func (w *waitingOrders) start() {
	w.t.Helper()
	port := porttest.Free(w.t)
	cfg, err := LoadConfig(config.Input{Args: []string{"--serve", "--trade", "--port", port, "--home", w.home, "--binance-url", w.venue, "--shutdown-timeout", "5m"}})
	if err != nil {
		w.t.Fatal(err)
	}
	services := Wired()
	services.Serve = func(rt Runtime) ([]lifecycle.Part, error) {
		parts, side, _, err := rt.listen(w.tokens, nil)
		w.orders = side.orders
		return parts, err
	}
	w.url, w.stop = "http://127.0.0.1:"+port, runUntil(w.t, cfg, services)
}

func (w *waitingOrders) ask(token, body string) string {
	w.t.Helper()
	return askModernAs(w.t, w.url, token, body)()
}

func (w *waitingOrders) task(token, method, id string) string {
	w.t.Helper()
	return w.ask(token, withTasks(method, `"taskId":"`+id+`"`))
}

// oneOrder is the call of an order that waits.
func oneOrder(key string) string {
	return `"name":"place_order","arguments":{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001,"idempotency_key":"` + key + `"}`
}

// Fifty orders that wait for the owner are tasks, are so after a restart, and end as the owner or the client decides.
func TestTasks_FiftyWaitingOrdersOverARestart(t *testing.T) {
	t.Parallel()
	w := newWaitingOrders(t)
	type waiting struct{ token, id, key string }
	var all []waiting
	for i := range 50 {
		one := waiting{token: fmt.Sprint("t", i/5), key: fmt.Sprint("key-", i)}
		answer := w.ask(one.token, withTasks("tools/call", oneOrder(one.key)))
		_, rest, _ := strings.Cut(answer, `"taskId":"`)
		one.id, _, _ = strings.Cut(rest, `"`)
		if !strings.Contains(answer, `"resultType":"task"`) || !strings.Contains(answer, `"status":"working","statusMessage":"Nothing was sent.`) || !strings.Contains(answer, `"ttlMs":null`) {
			t.Fatal(answer)
		}
		all = append(all, one)
	}
	w.stop()
	w.start()
	unknown := w.task("t0", "tasks/get", "nothing")
	for i, one := range all {
		if got := w.task(one.token, "tasks/get", one.id); !strings.Contains(got, `"status":"working"`) || strings.Contains(got, `"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{}`) {
			t.Fatal(got)
		}
		other := fmt.Sprint("t", (i/5+1)%10)
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			if got := w.task(other, method, one.id); got != unknown {
				t.Errorf("another token gets %s", got)
			}
		}
		want := `"status":"completed"`
		switch i % 4 {
		case 0, 3:
			if _, err := w.orders.Approve(t.Context(), one.id, "the owner"); err != nil {
				t.Fatal(err)
			}
		case 1:
			if _, err := w.orders.Refuse(t.Context(), one.id, "the owner", "not now"); err != nil {
				t.Fatal(err)
			}
		case 2:
			want = `"status":"cancelled"`
		}
		if i%4 >= 2 { // twice; an order that was sent stays
			w.task(one.token, "tasks/cancel", one.id)
			w.task(one.token, "tasks/cancel", one.id)
		}
		got := w.task(one.token, "tasks/get", one.id)
		_, direct, _ := strings.Cut(w.ask(one.token, modern("1", "tools/call", oneOrder(one.key))), `"result":`)
		switch {
		case !strings.Contains(got, want):
			t.Errorf("%d: %s", i, got)
		case i%4 == 2 && !strings.Contains(direct, `\"status\":\"canceled\"`):
			t.Errorf("%d: withdrawn, it is %s", i, direct)
		case i%4 != 2 && !strings.HasSuffix(got, `,"result":`+direct+"}"):
			t.Errorf("%d: %s\nwhere the call gives %s", i, got, direct)
		case i%4%3 == 0 && !strings.Contains(direct, `\"status\":\"filled\"`):
			t.Errorf("%d: approved, it is %s", i, direct)
		}
	}
	if pending, err := w.orders.Pending(t.Context()); len(pending) > 0 || err != nil {
		t.Errorf("%d orders still wait: %v", len(pending), err)
	}
	w.stop()
}

// A client that does not declare tasks gets the order, and no task of it exists for older requests.
func TestTasks_OnlyForThoseWhoDeclareThem(t *testing.T) {
	t.Parallel()
	w := newWaitingOrders(t)
	answer := w.ask("t0", modern("1", "tools/call", oneOrder("a")))
	if !strings.Contains(answer, `"resultType":"complete"`) || !strings.Contains(answer, `\"status\":\"pending_approval\"`) {
		t.Error(answer)
	}
	if older := use(t, w.url, "t0", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001,"idempotency_key":"b"}`); !strings.Contains(older, "pending_approval") || strings.Contains(older, "resultType") {
		t.Error(older)
	}
	w.stop()
}
