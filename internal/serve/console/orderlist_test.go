package console_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// TestOrders_ReachEveryOrder follows the links to older orders, saves all of them and opens the
// oldest.
func TestOrders_ReachEveryOrder(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.mu.Lock()
	s.book.newest = 3
	for i := range 1100 {
		o := anOrder(fmt.Sprintf("old-%04d", i), order.Denied, "claude")
		o.Created = noon().Add(-time.Duration(i+1) * time.Hour)
		o.Updated = o.Created
		s.book.orders = append(s.book.orders, o)
	}
	s.book.mu.Unlock()
	b := s.browser().login()
	found, links := map[string]bool{}, regexp.MustCompile(`href="([^"]*after=[^"]*)"`)
	pages := 0
	for path := "/console/orders?since=all"; path != ""; pages++ {
		r := b.get(path)
		if r.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, r.status, r.body)
		}
		for _, id := range regexp.MustCompile(`old-[0-9]{4}`).FindAllString(r.body, -1) {
			found[id] = true
		}
		path = ""
		if next := links.FindStringSubmatch(r.body); next != nil {
			path = html.UnescapeString(next[1])
		}
	}
	if len(found) != 1100 || pages != 11 {
		t.Errorf("%d pages have %d orders", pages, len(found))
	}
	if saved := b.get("/console/orders.csv").body; strings.Count(saved, "old-") != 1100 {
		t.Errorf("%d orders are saved", strings.Count(saved, "old-"))
	}
	if r := b.get("/console/orders/old-1099"); r.status != http.StatusOK {
		t.Errorf("the oldest: %d", r.status)
	}
	for path, status := range map[string]int{"/console/orders/none": http.StatusNotFound, "/console/orders?after=x": http.StatusUnprocessableEntity} {
		if r := b.get(path); r.status != status {
			t.Errorf("%s: %d", path, r.status)
		}
	}
}

// TestLists_OfThousands fills the lists with 5,000 orders and 10,000 alerts: pages are small, a filter finds what is
// far down, and an order of the alerts is kept over its pages.
func TestLists_OfThousands(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.mu.Lock()
	s.book.newest = 500
	for i := range 5000 {
		o := anOrder(fmt.Sprintf("old-%04d", i), []order.Status{order.Denied, order.Canceled}[i%2], "claude")
		o.Created = noon().Add(-time.Duration(i+1) * time.Minute)
		o.Updated = o.Created
		s.book.orders = append(s.book.orders, o)
	}
	s.book.alerts = nil
	for i := range 10_000 {
		s.book.alerts = append(s.book.alerts, alert.Alert{
			ID: fmt.Sprintf("many-%05d", i), Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Note: fmt.Sprintf("level %d.", i),
			Created: noon().Add(-time.Duration(i) * time.Minute), Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.NewFromInt(int64(60_000 - i))},
		})
	}
	s.book.mu.Unlock()
	b := s.browser().login()
	rows := func(path, id string) []string {
		r := b.get(path)
		if r.status != http.StatusOK || len(r.body) > 300<<10 {
			t.Errorf("%s: %d, %d bytes", path, r.status, len(r.body))
		}
		return slices.Compact(regexp.MustCompile(`data-href="/console/[a-z]+/(`+id+`-[0-9]+)"`).FindAllString(r.body, -1))
	}
	for path, want := range map[string]int{
		"/console/orders?since=all": 100, "/console/orders?since=all&q=old-4321": 1, "/console/orders?since=all&status=denied&q=claude": 100, "/console/orders?since=all&status=filled&q=old-": 0,
	} {
		if got := rows(path, "old"); len(got) != want {
			t.Errorf("%s has %d orders, want %d", path, len(got), want)
		}
	}
	for path, want := range map[string]string{
		"/console/alerts": "many-00000", "/console/alerts?page=200": "many-09950", "/console/alerts?page=9999": "many-09950",
		"/console/alerts?order=symbol&page=2": "many-00050", "/console/alerts?q=btc+level+7777.": "many-07777", "/console/alerts?order=near": "many-09999",
	} {
		if got := rows(path, "many"); len(got) == 0 || len(got) > 50 || !strings.Contains(got[0], want) {
			t.Errorf("%s begins with %.60v, want %s", path, got, want)
		}
	}
	shows(t, b, "/console/alerts?order=near&page=2", "51 to 100 of 10,000", "order=near&amp;page=3", `href="/console/alerts?order=near"`)
	for path, status := range map[string]int{"/console/alerts?page=x": http.StatusUnprocessableEntity, "/console/nowhere": http.StatusNotFound} {
		if r := b.get(path); r.status != status {
			t.Errorf("%s: %d", path, r.status)
		}
	}
	shows(t, b, "/console/nowhere", "<h1>Not found</h1>", "There is no page at /console/nowhere.")
}

// TestOrders_SayWhoPlacedThem holds that an order which candela placed before a restore is not shown as one of somebody
// else at the venue.
func TestOrders_SayWhoPlacedThem(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.mu.Lock()
	recovered, other := anOrder("recovered-1", order.Accepted, ""), anOrder("external-1", order.Accepted, "")
	recovered.External, recovered.Recovered, other.External = true, true, true
	s.book.orders = []order.Order{recovered, other}
	s.book.mu.Unlock()
	b := s.browser().login()
	for id, words := range map[string]string{"recovered-1": "a client before the restore", "external-1": "at the venue"} {
		if r := b.get("/console/orders/" + id); !strings.Contains(r.body, words) {
			t.Errorf("the page of %s has no %q", id, words)
		}
	}
	if list := b.get("/console/orders?since=all").body; !strings.Contains(list, "a client before the restore") {
		t.Error("the list does not say who placed the orders")
	}
}

// TestOrders_DeniedBeforeTheirQuantity shows what was asked for of orders that were denied before their quantity
// followed from it, and never the quantity with which they are recorded.
func TestOrders_DeniedBeforeTheirQuantity(t *testing.T) {
	t.Parallel()
	for want, asked := range map[string]order.Sizing{
		"buy 300.00 USDT of BTCUSDT": {Notional: dec("300")}, "buy all BTCUSDT": {All: true},
		"buy 1 % at risk in BTCUSDT": {Percent: dec("1")}, "buy 50 at risk in BTCUSDT": {Amount: dec("50")},
	} {
		s := newScene(t)
		o := anOrder("early", order.Denied, "Claude")
		o.Quantity, o.Sizing, o.Reason = order.Unsized(), asked, "too many orders"
		s.book.mu.Lock()
		s.book.orders = append(s.book.orders, o)
		s.book.mu.Unlock()
		b := s.browser().login()
		for _, path := range []string{"/console/", "/console/orders?since=all", "/console/orders/early", "/console/activity", "/console/orders.csv"} {
			if page := b.get(path).body; strings.Contains(page, "0.00000001") {
				t.Errorf("%s of %s has the recorded quantity", path, want)
			} else if path == "/console/" && !strings.Contains(page, want) {
				t.Errorf("the overview lacks %q", want)
			}
		}
	}
}
