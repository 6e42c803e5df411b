package margin

import (
	"slices"

	"github.com/shopspring/decimal"
)

// Tier is what a venue demands of positions up to a notional.
type Tier struct {
	Notional    decimal.Decimal // up to which it holds, inclusive; zero for no bound
	Maintenance decimal.Decimal // part of the notional that the margin must be worth: 0.004
	Amount      decimal.Decimal // that is taken off again, so that a larger position pays the higher part beyond the step alone
	MaxLeverage decimal.Decimal
}

// Tiers are the tiers of a symbol, by notional.
type Tiers []Tier

// step is a tier without its amount, which follows from the ones before.
type step struct{ upTo, perMille, leverage int64 }

// tiers completes steps with the amounts that make the margin continuous.
func tiers(steps []step) Tiers {
	all := make(Tiers, 0, len(steps))
	for _, s := range steps {
		t := Tier{Notional: decimal.NewFromInt(s.upTo), Maintenance: decimal.New(s.perMille, -3), MaxLeverage: decimal.NewFromInt(s.leverage)}
		if n := len(all); n > 0 {
			last := all[n-1]
			t.Amount = last.Amount.Add(last.Notional.Mul(t.Maintenance.Sub(last.Maintenance)))
		}
		all = append(all, t)
	}
	return all
}

// Usual returns tiers such as large venues have, where a venue does not say its own: easy ones for the two
// most traded coins, harder ones for all else.
func Usual(base string) Tiers {
	if base == "BTC" || base == "ETH" {
		return tiers([]step{
			{50_000, 4, 125},
			{250_000, 5, 100},
			{1_000_000, 10, 50},
			{10_000_000, 25, 20},
			{20_000_000, 50, 10},
			{50_000_000, 100, 5},
			{100_000_000, 125, 4},
			{200_000_000, 150, 3},
			{300_000_000, 250, 2},
			{0, 500, 1},
		})
	}
	return tiers([]step{{5_000, 10, 50}, {25_000, 25, 20}, {100_000, 50, 10}, {250_000, 100, 5}, {1_000_000, 125, 4}, {0, 500, 1}})
}

// At returns the tier of a notional.
func (t Tiers) At(notional decimal.Decimal) Tier {
	i := slices.IndexFunc(t, func(one Tier) bool { return one.Notional.IsZero() || notional.LessThanOrEqual(one.Notional) })
	if i < 0 {
		i = len(t) - 1
	}
	return t[i]
}

// Liquidation returns the price at which a position has no more margin than it must have, and false where
// no price does that. With margin M, quantity Q, entry E and s = 1 for a long, -1 for a short position it is
//
//	(M + amount - s·Q·E) / (Q·(maintenance - s))
//
// with the tier in which the position is at that price. It is rounded to the tick, towards the entry: there
// the margin is never below zero.
func (t Tiers) Liquidation(p Position, tick decimal.Decimal) (decimal.Decimal, bool) {
	if p.Quantity.IsZero() || len(t) == 0 {
		return decimal.Decimal{}, false
	}
	s := decimal.NewFromInt(int64(p.Quantity.Sign()))
	for i, tier := range t {
		over, part := p.Margin.Add(tier.Amount).Sub(p.Cost), tier.Maintenance.Sub(s)
		if over.Sign()*part.Sign() <= 0 {
			continue // no price above zero
		}
		over, part = over.Abs(), part.Abs()
		if i < len(t)-1 && tier.Notional.IsPositive() && over.GreaterThan(tier.Notional.Mul(part)) {
			continue // it is in a higher tier then
		}
		return onTick(over, p.Quantity.Abs().Mul(part), tick, p.Quantity.IsPositive()), true
	}
	return decimal.Decimal{}, false
}

// onTick returns over / under as a price of the venue: up or down, and without a tick to eight decimals.
func onTick(over, under, tick decimal.Decimal, up bool) decimal.Decimal {
	if !tick.IsPositive() {
		tick = decimal.New(1, -8)
	}
	ticks, rest := over.QuoRem(under.Mul(tick), 0)
	if up && rest.IsPositive() {
		ticks = ticks.Add(decimal.NewFromInt(1))
	}
	return ticks.Mul(tick)
}

// Liquidated reports whether a mark price liquidates a position.
func (t Tiers) Liquidated(p Position, mark, tick decimal.Decimal) bool {
	price, ok := t.Liquidation(p, tick)
	return ok && price.Sub(mark).Sign()*p.Quantity.Sign() >= 0
}

// Distance returns how far a liquidation price is from a price, in percent of that: negative when it has
// been passed.
func Distance(p Position, liquidation, price decimal.Decimal) decimal.Decimal {
	if !price.IsPositive() {
		return decimal.Zero
	}
	off := price.Sub(liquidation).Mul(decimal.NewFromInt(int64(p.Quantity.Sign())))
	return off.Shift(2).DivRound(price, 4)
}
