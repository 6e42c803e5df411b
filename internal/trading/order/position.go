package order

import (
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/market"
)

// Position is what trades in one symbol have come to, fees apart. For every mark
// and after every trade, exactly and without rounding,
//
//	Realised + Unrealised(mark) = Cash + Quantity x mark
//
// because Realised is kept as Cash + Cost. Cash, the sum of what trades brought
// in and cost, needs no division, and what Unrealised sets against the mark is
// the same Cost.
//
// A trade that cuts a position in part takes the same part of Cost with it, which
// is the one division here. Where the quotient does not end, what stays is rounded
// to 18 decimals or more, and the remainder goes with what left: to Realised. So
// a remainder is never lost, and a position that is closed has a Cost of exactly
// zero and a Realised of exactly Cash.
type Position struct {
	Symbol   market.Symbol   `json:"symbol"`
	Quantity decimal.Decimal `json:"quantity"` // below zero when short
	Cost     decimal.Decimal `json:"cost"`     // of Quantity, with its sign: what was paid for it, or less than zero, received
	Realised decimal.Decimal `json:"realised"` // in the currency of the price
	Fees     Fees            `json:"fees,omitempty"`
	Updated  time.Time       `json:"updated,omitzero"` // of the newest trade
}

// Side returns Buy for a long position, Sell for a short one and 0 for none.
func (p Position) Side() Side {
	switch p.Quantity.Sign() {
	case 1:
		return Buy
	case -1:
		return Sell
	default:
		return 0
	}
}

// Average returns the price at which the position stands, and false when there is
// none. It is for people: the division may round, and nothing is computed from it.
func (p Position) Average() (decimal.Decimal, bool) {
	if p.Quantity.IsZero() {
		return decimal.Decimal{}, false
	}
	return quotient(p.Cost, p.Quantity), true
}

// Cash returns what the trades brought in, less what they cost.
func (p Position) Cash() decimal.Decimal { return p.Realised.Sub(p.Cost) }

// Unrealised returns what closing the position at mark would add to Realised.
func (p Position) Unrealised(mark decimal.Decimal) decimal.Decimal {
	return p.Quantity.Mul(mark).Sub(p.Cost)
}

// Held returns what should be in the account of the asset base: a venue that
// takes its fee in what was bought delivers less than the trade says.
func (p Position) Held(base string) decimal.Decimal { return p.Quantity.Sub(p.Fees[base]) }

// Trade returns the position after a trade of a signed quantity. A trade beyond
// zero closes all of the position and opens one on the other side.
func (p Position) Trade(quantity, price decimal.Decimal) Position {
	paid := quantity.Mul(price)
	after := p.Quantity.Add(quantity)
	var cost decimal.Decimal
	switch before := p.Quantity.Sign(); {
	case before == 0 || before == quantity.Sign():
		cost = p.Cost.Add(paid)
	case after.Sign() == before:
		cost = proportion(p.Cost, after, p.Quantity)
	default:
		cost = after.Mul(price)
	}
	// Cash falls by what was paid, and Realised is Cash + Cost.
	p.Realised = p.Realised.Sub(p.Cost).Sub(paid).Add(cost)
	p.Quantity, p.Cost = after, cost
	return p
}
