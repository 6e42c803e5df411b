package console_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Place places orders up to a price of 50000, and denies others as a guard does.
func (b *book) Place(_ context.Context, _ principal.Caller, r order.Request) (order.Placed, error) {
	at := r.Protect.StopLoss.String()
	if r.Protect.StopLoss.IsZero() {
		at = r.Price.Add(r.Protect.TakeProfit).String()
	}
	if dec(at).GreaterThan(dec("50000")) {
		return order.Placed{}, fault.New(fault.Conflict, "denied", "max_price: %s is above 50000", at)
	}
	if r.DryRun {
		return order.Placed{Estimate: &order.Estimate{Value: dec("1888")}}, nil
	}
	b.did("place " + r.Side.String() + " " + r.Quantity.String() + " at " + at + " for " + r.Replaces + " as " + r.Scope)
	return order.Placed{Order: order.Order{Status: order.Accepted}}, nil
}

// protected is a position with a stop and a target, an order beside it, and one that trails.
func protected(s *scene) {
	s.book.fill()
	stop, target, trail := anOrder("stop", order.Accepted, "Claude"), anOrder("target", order.Accepted, "Claude"), anOrder("trail", order.Accepted, "Claude")
	for _, leg := range []*order.Order{&stop, &target, &trail} {
		leg.Side, leg.ReduceOnly = order.Sell, true
	}
	stop.Role, stop.Type, stop.Price, stop.StopPrice = order.StopLoss, order.Market, dec("0"), dec("46000")
	target.Role, target.Price = order.TakeProfit, dec("49000")
	trail.Role, trail.Type, trail.Price, trail.StopPrice, trail.TrailPercent = order.StopLoss, order.Market, dec("0"), dec("45000"), dec("2")
	s.book.orders = append(s.book.orders, stop, target, trail)
	s.book.alerts = []alert.Alert{
		{ID: "a1", Symbol: btc(), Instrument: btc(), Condition: alert.Condition{Type: alert.PriceAbove, Threshold: dec("49500")}, Note: "top"},
		{ID: "a2", Symbol: btc(), Instrument: btc(), Condition: alert.Condition{Type: alert.IndicatorSignal}},
	}
}

func TestMove_ShowsWhatChangesBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	protected(s)
	b := s.browser().login()
	page := b.get("/console/chart/binance:BTCUSDT")
	for _, want := range []string{`data-grip="stop" data-price="46000"`, `data-grip="target" data-price="49000"`, `data-grip="order" data-price="47150"`, `data-grip="alert" data-price="49500"`} {
		if !strings.Contains(page.body, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(page.body, "/orders/trail/move") || strings.Contains(page.body, "/alerts/a2/move") || strings.Contains(page.body, "/orders/ask1/move") {
		t.Error("what has no price of its own can be moved")
	}
	for path, wants := range map[string][]string{
		"/console/orders/stop/move?price=46500":   {"From 46,000.00 to 46,500.00", "−71.30 to −51.30 USDT", ">Set<", ">Undo<"},
		"/console/orders/target/move?price=50500": {"Would be denied now.", "max_price: 50500 is above 50000"},
		"/console/orders/o1/move?price=47000":     {"value 1,888.00", "−0.60"},
		"/console/orders/o1/move":                 {`name="price" value="47150"`},
		"/console/orders/trail/move":              {"follows the price by itself"},
		"/console/orders/sold/move":               {"has ended"},
		"/console/alerts/a1/move?price=47000":     {"above 49,500.00 to 47,000.00", "fires at once"},
		"/console/alerts/a2/move":                 {"no price to move"},
	} {
		got := b.get(path)
		for _, want := range wants {
			if !strings.Contains(got.body, want) {
				t.Errorf("%s: no %q in %s", path, want, got.body[strings.Index(got.body, "<main"):])
			}
		}
	}
	if done := s.book.done(); len(done) != 0 {
		t.Errorf("looking at it did %v", done)
	}
}

func TestMove_SendsAnOrderThatReplacesIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	protected(s)
	b := s.browser().login()
	for _, c := range [][3]string{
		{"orders/stop", "46500", "place sell 0.04 at 46500 for stop as trade"},
		{"orders/target", "49100.5", "place sell 0.04 at 49100.5 for target as trade"},
		{"orders/o1", "47000", "place buy 0.04 at 47000 for o1 as trade"},
		{"alerts/a1", "49600", "cancel alert a1"},
	} {
		if r := b.post("/console/"+c[0]+"/move", "price", c[1]); r.status != http.StatusSeeOther || r.header.Get("Location") != "/console/chart/binance:BTCUSDT" {
			t.Errorf("%s: %d %s %s", c[0], r.status, r.header.Get("Location"), r.body)
		}
		if done := s.book.done(); len(done) == 0 || done[len(done)-1] != c[2] {
			t.Errorf("%s: %v", c[0], done)
		}
	}
	if !slices.Contains(s.book.done(), "alert binance:BTCUSDT price above 49600") && !slices.ContainsFunc(s.book.done(), func(c string) bool { return strings.Contains(c, "49600") }) {
		t.Errorf("no alert was set: %v", s.book.done())
	}
}

func TestMove_SendsNothingThatIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	protected(s)
	b := s.browser().login()
	for _, c := range [][3]string{
		{"orders/stop", "50500", "max_price: 50500 is above 50000"},
		{"orders/stop", "1e9", "a number above 0"},
		{"orders/stop", "-5", "a number above 0"},
		{"orders/trail", "46000", "follows the price"},
		{"orders/none", "46000", "no order none"},
		{"alerts/a2", "46000", "no price to move"},
	} {
		if r := b.post("/console/"+c[0]+"/move", "price", c[1]); r.status < 400 || !strings.Contains(r.body, c[2]) {
			t.Errorf("%s to %s: %d %s", c[0], c[1], r.status, r.body)
		}
	}
	s.pass(20 * time.Minute)
	if r := b.post("/console/orders/stop/move", "price", "46500"); r.status != http.StatusForbidden && r.status != http.StatusUnauthorized && !strings.Contains(r.body, "passphrase") {
		t.Errorf("20 minutes after the passphrase: %d %s", r.status, r.body)
	}
	if done := s.book.done(); len(done) != 0 {
		t.Errorf("a refusal did %v", done)
	}
}
