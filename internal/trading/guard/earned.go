package guard

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// Earned is what trading earned in a time, in the account's currency: the profit of what was closed
// in it, and the fees that were paid in it.
type Earned struct {
	Time     string // the name of the time
	Realised decimal.Decimal
	Fees     decimal.Decimal
	Funding  decimal.Decimal // paid for positions in perpetual futures; negative when received
	Missing  []string        // symbols and assets without a known price, which it leaves out
}

// Earn returns what was earned today in UTC, in 7, 30 and 365 days that end with it, and in all.
func Earn(p Policy, symbols []order.SymbolDays, x Prices, mode order.Mode, now time.Time) []Earned {
	today := now.Unix() / int64(24*time.Hour/time.Second)
	all := []Earned{{Time: "today"}, {Time: "days_7"}, {Time: "days_30"}, {Time: "year"}, {Time: "all"}}
	for _, one := range symbols {
		pos := one.Position
		for i, days := range []int64{1, 7, 30, 365} {
			realised, paid, funding := one.Since(today - days + 1)
			all[i].add(p, x, pos, mode, realised, paid, funding)
		}
		all[4].add(p, x, pos, mode, pos.Realised, pos.Charges(), pos.Funding)
	}
	for i := range all {
		slices.Sort(all[i].Missing)
		all[i].Missing = slices.Compact(all[i].Missing)
	}
	return all
}

// add adds what was earned in the symbol of a position.
func (e *Earned) add(p Policy, x Prices, pos order.Position, mode order.Mode, realised decimal.Decimal, paid order.Charges, funding decimal.Decimal) {
	rate := x.quoteRate(p, pos.Symbol, mode)
	if rate.IsZero() && (!realised.IsZero() || !paid.Worth.IsZero() || !funding.IsZero()) {
		e.Missing = append(e.Missing, pos.Symbol.String())
	}
	e.Funding = e.Funding.Add(funding.Mul(rate))
	e.Realised, e.Fees = e.Realised.Add(realised.Mul(rate)), e.Fees.Add(paid.Worth.Mul(rate))
	for asset, fee := range paid.Fees {
		worth := x.feeRate(p, pos.Symbol, asset, rate)
		if worth.IsZero() {
			e.Missing = append(e.Missing, asset)
		}
		e.Fees = e.Fees.Add(fee.Mul(worth))
	}
}
