package guard

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// Account is an account as its owner and clients see it. Sums are in the account's
// currency.
type Account struct {
	Broker     string
	Mode       order.Mode
	State      State
	Balances   []Balance
	Unread     string          // why the balances are unknown, "" if they are known
	Equity     decimal.Decimal // worth of the balances that have a known price
	Unpriced   []string        // the others
	Usage      []Usage
	Earned     []Earned
	Rules      []Rule
	Exceptions []Exception
	Conditions []OwnCondition // of the owner's own
}

// Balance is a holding and its worth.
type Balance struct {
	order.Holding
	Cash  bool                // in a currency that counts as the account's
	Worth decimal.NullDecimal // null without a known price
}

// Usage is how much of a limit of the whole account is used.
type Usage struct {
	Rule  string
	Limit Limit
	Used  decimal.Decimal // may be negative, such as the loss of a profitable day
}

// Left returns what is left of the limit, at least zero, and false where there is no limit.
func (u Usage) Left() (decimal.Decimal, bool) {
	if u.Limit.Off {
		return decimal.Zero, false
	}
	return decimal.Max(decimal.Zero, u.Limit.Value.Sub(u.Used)), true
}

// LossRule names the limit of the day's loss, which restricts trading and denies no order
// by itself.
const LossRule = "max_daily_loss"

// Measure returns the use of every limit of the whole account. token is that of the
// caller, whose orders of the last minute are counted.
func Measure(p Policy, s State, b *order.Book, x Prices, mode order.Mode, token string) []Usage {
	f := Gather(p, b, x, market.Symbol{}, mode)
	orders := 0
	for _, r := range f.Recent {
		if r.Token == token && x.Now.Sub(r.At) < minute && r.Rule != "max_orders_per_minute" {
			orders++
		}
	}
	lost := decimal.Zero
	if s.Day.Date == x.Now.UTC().Format(time.DateOnly) {
		lost = s.Day.Loss.Sub(s.Day.Forgiven)
	}
	return []Usage{
		{LossRule, p.MaxDailyLoss, lost},
		{"max_daily_notional", p.MaxDailyNotional, f.Traded},
		{"max_exposure", p.MaxExposure, f.Others},
		{"max_open_orders", p.MaxOpenOrders, decimal.NewFromInt(int64(f.OpenOrders))},
		{"max_open_risk", p.MaxOpenRisk, f.OpenRisk},
		{"max_orders_per_minute", p.MaxOrdersPerMinute, decimal.NewFromInt(int64(orders))},
	}
}

// Value sets the balances of an account, what each is worth, and their sum.
func (a *Account) Value(p Policy, x Prices, holdings []order.Holding) {
	for _, h := range holdings {
		if h.Quantity.IsZero() {
			continue
		}
		b := Balance{Holding: h}
		name := h.Asset
		rate := x.assetRate(p, h.Asset)
		b.Cash = h.Symbol.IsZero() && slices.Contains(p.Currencies, h.Asset)
		if !h.Symbol.IsZero() {
			name = h.Symbol.String()
			rate = x.Quotes[h.Symbol].Last.Mul(x.quoteRate(p, h.Symbol, a.Mode))
		}
		if rate.IsPositive() {
			worth := h.Quantity.Mul(rate)
			if h.Margin != nil {
				worth = h.Margin.Worth(h.Quantity, x.Quotes[h.Symbol].Last).Mul(x.quoteRate(p, h.Symbol, a.Mode))
			}
			b.Worth = decimal.NewNullDecimal(worth)
			a.Equity = a.Equity.Add(worth)
		} else {
			a.Unpriced = append(a.Unpriced, name)
		}
		a.Balances = append(a.Balances, b)
	}
}
