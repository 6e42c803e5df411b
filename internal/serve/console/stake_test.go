package console_test

import (
	"testing"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// TestStake_IsShown holds what an owner sees of a short in a perpetual future: its side and leverage, its margin, where
// it is liquidated, the funding, and all prices on one line. An order that needs approval says what it would set aside.
func TestStake_IsShown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	perp := market.Symbol{Venue: "binance", Name: "BTCUSDT.P"}
	o := anOrder("waits", order.PendingApproval, "Claude")
	o.Symbol, o.Side = perp, order.Sell
	o.Approval.Asked, o.Approval.Expires = o.Created, o.Created.AddDate(1, 0, 0)
	o.Approval.Stake = &order.Stake{Margin: dec("1000"), Leverage: dec("5"), Liquidation: dec("59760.96"), Distance: dec("19.52")}
	short := order.PricedPosition{
		Position: order.Position{Symbol: perp, Quantity: dec("-0.1"), Cost: dec("-5000")}, Mode: order.Paper, Quote: order.Quote{Last: dec("49000"), At: noon()},
		Margin: &order.Margin{Entry: dec("50000"), Margin: dec("1000"), Leverage: dec("5"), Mark: dec("49010"), Liquidation: dec("59760.96"), Funding: dec("-0.5")},
		Plan:   []order.Line{{Quantity: dec("0.1"), Side: order.Buy, Protect: order.Protection{StopLoss: dec("51500"), TakeProfit: dec("45000")}}},
	}
	s.book.mu.Lock()
	s.book.orders, s.book.held = append(s.book.orders, o), append(s.book.held, short)
	s.book.mu.Unlock()
	b := s.browser().login()
	shows(t, b, "/console/approvals", "<dt>At stake</dt><dd>Margin 1,000 at 5x, liquidation at 59,760.96, 19.52 % away</dd>")
	for _, page := range []string{"/console/", "/console/orders"} {
		shows(t, b, page, "Short 5x</span>", "margin <b>1,000.00</b>", "mark price <b>49,010.00</b>", "liquidation at <b>59,760.96</b>, 21.94 % away", `funding <b class="up">&#43;0.50</b>`,
			`<circle cx="27.62%"`, `<line class="end" x1="99%"`, `<line class="gain" x1="1%"`)
	}
	// Without a price to compare there are words alone, and no line.
	short.Quote, short.Margin.Mark = order.Quote{}, dec("0")
	s.book.mu.Lock()
	s.book.held = []order.PricedPosition{short}
	s.book.mu.Unlock()
	shows(t, b, "/console/", "Short 5x</span>", "liquidation at <b>59,760.96</b></span>")
}
