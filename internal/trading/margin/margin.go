// Package margin computes positions in perpetual futures that have a margin of their own: what they cost,
// earn and pay, and the price at which they are liquidated. Contracts are linear, so a quantity is in units
// of what is traded and money in the currency of the price. It is pure and exact: the only divisions are
// those of a margin by its leverage and of a position by the part that leaves it, and what they round
// stays in the position until it is closed. For every sequence of trades and payments
//
//	cash + margin = deposits + realised - fees - funding
package margin

import "github.com/shopspring/decimal"

// places is how many decimals a quotient has at least.
const places = 18

// Position is a position with a margin of its own. The zero value is none.
type Position struct {
	Quantity decimal.Decimal `json:"quantity,omitzero"` // negative when short
	Cost     decimal.Decimal `json:"cost,omitzero"`     // signed, of Quantity at the prices of its entries
	Margin   decimal.Decimal `json:"margin,omitzero"`   // what the account has set aside for it, less what funding took
	Realised decimal.Decimal `json:"realised,omitzero"` // of all that was closed, before fees and funding
	Funding  decimal.Decimal `json:"funding,omitzero"`  // paid; negative when received
}

// Opens reports whether a trade of a signed quantity opens the position or adds to it.
func (p Position) Opens(quantity decimal.Decimal) bool {
	return p.Quantity.IsZero() || p.Quantity.Sign() == quantity.Sign()
}

// Average returns the average entry price, rounded for display; zero without a position.
func (p Position) Average() decimal.Decimal {
	if p.Quantity.IsZero() {
		return decimal.Zero
	}
	return p.Cost.DivRound(p.Quantity, places)
}

// Initial returns the margin of an entry, rounded up.
func Initial(worth, leverage decimal.Decimal) decimal.Decimal {
	quotient, rest := worth.QuoRem(leverage, max(places, -worth.Exponent()))
	if rest.IsPositive() {
		quotient = quotient.Add(decimal.New(1, -max(places, -worth.Exponent())))
	}
	return quotient
}

// Trade returns the position after a trade of a signed quantity, and by how much the cash of the account
// changes before the fee. leverage is that of what is added. A trade never turns a position round: of one
// that is larger than the position, the caller makes two.
func (p Position) Trade(quantity, price, leverage decimal.Decimal) (after Position, cash decimal.Decimal) {
	paid := quantity.Mul(price)
	if p.Opens(quantity) {
		added := Initial(paid.Abs(), leverage)
		p.Quantity, p.Cost, p.Margin = p.Quantity.Add(quantity), p.Cost.Add(paid), p.Margin.Add(added)
		return p, added.Neg()
	}
	left := p.Quantity.Add(quantity)
	cost, kept := share(p.Cost, left, p.Quantity), share(p.Margin, left, p.Quantity)
	earned := cost.Sub(p.Cost).Sub(paid)
	cash = p.Margin.Sub(kept).Add(earned)
	p.Quantity, p.Cost, p.Margin, p.Realised = left, cost, kept, p.Realised.Add(earned)
	return p, cash
}

// share returns what a part of a whole has of an amount.
func share(amount, part, whole decimal.Decimal) decimal.Decimal {
	if part.IsZero() {
		return decimal.Zero
	}
	return amount.Mul(part).DivRound(whole, max(places, -amount.Exponent()))
}

// Unrealised returns what closing the position at a price would earn.
func (p Position) Unrealised(price decimal.Decimal) decimal.Decimal {
	return p.Quantity.Mul(price).Sub(p.Cost)
}

// Equity returns what the account would have of the position after closing it at a price, before the fee.
func (p Position) Equity(price decimal.Decimal) decimal.Decimal {
	return p.Margin.Add(p.Unrealised(price))
}

// FundingAt returns what a position of a signed quantity pays at a funding time, negative where it
// receives: longs pay shorts while the rate is positive.
func FundingAt(quantity, mark, rate decimal.Decimal) decimal.Decimal {
	return quantity.Mul(mark).Mul(rate)
}

// Pay returns the position after funding was taken from its margin.
func (p Position) Pay(funding decimal.Decimal) Position {
	p.Margin, p.Funding = p.Margin.Sub(funding), p.Funding.Add(funding)
	return p
}
