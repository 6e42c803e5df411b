package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candela/internal/alerting/alert"
	"candela/internal/trading/order"
)

// The palette finds every kind of thing, its signs narrow it to one, and it only leads somewhere.
func TestFind_EveryGroup(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	s.book.alerts = []alert.Alert{{ID: "al9", Symbol: btc(), Note: "range high", Condition: alert.Condition{Type: alert.PriceAbove, Threshold: dec("50000")}}}
	b := s.browser().login()
	for q, want := range map[string][]string{
		"btc":           {"Symbols", `href="/console/chart/binance:BTCUSDT"`, "held at binance", "Orders", `href="/console/orders/o1"`, "Alerts", `href="/console/alerts/al9"`},
		"BITCOIN":       {`href="/console/chart/BTCUSDT"`},
		"dogeusdt":      {`href="/console/chart/DOGEUSDT"`, "if a venue has it"},
		"range":         {`href="/console/alerts/al9"`},
		"halt":          {"Commands", `href="/console/halt" data-open="halt"`},
		">":             {"Cancel all open orders", `href="/console/alerts/new" data-ask`},
		"#":             {`href="/console/orders/o1"`},
		"#buy btc":      {`href="/console/orders/`},
		"settings":      {"Pages", `href="/console/settings"`},
		"<b>nothing xx": {"Nothing was found"},
	} {
		r := b.get("/console/find?q=" + url.QueryEscape(q))
		for _, text := range want {
			if r.status != http.StatusOK || !strings.Contains(r.body, text) {
				t.Errorf("%q: %d, no %q in %s", q, r.status, text, r.body)
			}
		}
	}
	for q, no := range map[string]string{"#": "Commands", ">": "Orders</li>", "": "<a ", "@": "Orders</li>"} {
		if r := b.get("/console/find?q=" + url.QueryEscape(q)); strings.Contains(r.body, no) {
			t.Errorf("%q has %q: %s", q, no, r.body)
		}
	}
	if done := s.book.done(); len(done) != 0 {
		t.Errorf("the search did %v", done)
	}
	if r := s.browser().get("/console/find?q=btc"); r.status == http.StatusOK && strings.Contains(r.body, "BTCUSDT") {
		t.Errorf("without a session: %d %s", r.status, r.body)
	}
}

// An answer is bounded, whatever there is and whatever is asked for.
func TestFind_Bounds(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	for i := range 2000 {
		s.book.orders = append(s.book.orders, anOrder(fmt.Sprintf("many%d", i), order.Filled, "Cursor"))
	}
	b := s.browser().login()
	r := b.get("/console/find?q=" + url.QueryEscape("#"+strings.Repeat("x", 5000)))
	if r.status != http.StatusOK || len(r.body) > 2000 {
		t.Errorf("%d, %d bytes", r.status, len(r.body))
	}
	if r = b.get("/console/find?q=btc"); len(r.body) > 20_000 || strings.Count(r.body, "<a ") > 8*6 {
		t.Errorf("%d bytes, %d rows", len(r.body), strings.Count(r.body, "<a "))
	}
}
