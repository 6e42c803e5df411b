package console_test

import (
	"strings"
	"testing"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// TestReasons_AreShown shows the reasons of an order on its page, and on its card with what they are now. The words
// are text.
func TestReasons_AreShown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	o := anOrder("waits", order.PendingApproval, "Claude")
	o.Approval.Asked, o.Approval.Expires = o.Created, o.Created.AddDate(1, 0, 0)
	o.Evidence = []order.Evidence{
		{Claim: order.Claim{Interval: market.Hour1, Text: "RSI(14) of BTCUSDT on 1h closes below 30"}, Known: true, True: true, Value: "28.731904", Held: 7, Of: 100},
		{Claim: order.Claim{Text: "<b>x</b>"}, Missing: "too few bars"},
	}
	s.book.mu.Lock()
	s.book.orders = append(s.book.orders, o)
	s.book.now = []order.Evidence{{Claim: o.Evidence[0].Claim, Known: true, Value: "41.52"}, o.Evidence[1]}
	s.book.mu.Unlock()
	b := s.browser().login()
	for path, want := range map[string]string{
		"/console/approvals/waits": "true, 28.731904; now false, 41.52; true at 7 of 100 bars",
		"/console/orders/waits":    "true, 28.731904; true at 7 of 100 bars",
	} {
		page := b.get(path).body
		if !strings.Contains(page, "RSI(14) of BTCUSDT on 1h closes below 30") || !strings.Contains(page, want) || !strings.Contains(page, "&lt;b&gt;x&lt;/b&gt;") {
			t.Errorf("%s lacks %q", path, want)
		}
	}
}
