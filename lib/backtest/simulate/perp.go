package simulate

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Perp makes an account of the paper model trade a perpetual future: each position has a margin of its own,
// pays or receives funding, and is liquidated where its margin is used up. Nil is something that is bought
// and sold.
type Perp struct {
	Leverage float64 // of entries, if their tier allows it
	Tiers    []Tier  // by notional
	Funding  []Funding
	Span     int64 // of a bar, in milliseconds: funding within it is paid on what its open leaves
}

// Tier is what a venue demands of positions up to a notional.
type Tier struct {
	Notional    float64 // up to which it holds; 0 for no bound
	Maintenance float64 // part of the notional that the margin must be worth
	Amount      float64 // that is taken off again
	MaxLeverage float64
}

// Funding is what longs pay to shorts at a time, as a part of the position at the mark price.
type Funding struct {
	At         int64 // in milliseconds
	Rate, Mark float64
}

// check returns an error that names the first setting that cannot be used.
func (p *Perp) check(c *Config) error {
	switch {
	case p == nil:
		return nil
	case !c.Paper || c.PointValue != 1:
		return fmt.Errorf("simulate: a perpetual future needs the paper model and a point value of 1, not %v", c.PointValue)
	case !(p.Leverage >= 1) || math.IsInf(p.Leverage, 0):
		return fmt.Errorf("simulate: leverage is %v; it must be a number of at least 1", p.Leverage)
	case len(p.Tiers) == 0 || p.Span <= 0:
		return errors.New("simulate: a perpetual future needs its tiers and the length of a bar")
	case !slices.IsSortedFunc(p.Funding, func(x, y Funding) int { return int(x.At - y.At) }):
		return errors.New("simulate: funding is not in the order of its times")
	}
	return nil
}

// position is the position in a perpetual future, as the account has it: one, at its mean price.
type position struct {
	size, cost, margin float64 // cost is signed as the size
	cash               float64 // what trades and payments brought, less what they cost
	next               int     // of the funding that is to be paid
}

// closes returns how much of the position an order of a side would close.
func (a *Account) closes(side Side) float64 { return max(0, -a.size*float64(side)) }

// leverage returns that of an entry: the account's, or the most that a position of its size may have.
func (a *Account) leverage(qty, limit float64) float64 {
	if a.cfg.Perp == nil {
		return 1
	}
	price := a.price
	if !math.IsNaN(limit) {
		price = limit
	}
	worth := math.Abs(a.paper.perp.cost) + float64(qty*price)
	tiers := a.cfg.Perp.Tiers
	i := slices.IndexFunc(tiers, func(t Tier) bool { return t.Notional == 0 || worth <= t.Notional })
	if i < 0 {
		i = len(tiers) - 1
	}
	return min(a.cfg.Perp.Leverage, tiers[i].MaxLeverage)
}

// freeMargin is the cash that neither a position nor an order that waits needs.
func (a *Account) freeMargin() float64 {
	cash := a.cfg.Capital + a.paper.perp.cash
	for _, r := range a.paper.resting {
		cash -= a.need(r)
	}
	return cash
}

// margined applies a trade of a signed quantity to the margin.
func (a *Account) margined(signed, p, leverage float64) {
	if a.cfg.Perp == nil {
		return
	}
	x := &a.paper.perp
	worth := float64(signed * p)
	x.cash -= a.commission(math.Abs(signed), p)
	if x.size*signed >= 0 {
		added := math.Abs(worth) / leverage
		x.size, x.cost, x.margin, x.cash = a.cutSigned(x.size+signed), x.cost+worth, x.margin+added, x.cash-added
		return
	}
	left := a.cutSigned(x.size + signed)
	cost, kept := float64(x.cost*left/x.size), float64(x.margin*left/x.size)
	x.cash += x.margin - kept + (cost - x.cost - worth)
	x.size, x.cost, x.margin = left, cost, kept
}

// worthAt returns what the account would have of the position after closing it at a price, before the fee.
func (x *position) worthAt(p float64) float64 { return x.margin + float64(x.size*p) - x.cost }

// within cuts a fill to the position that it closes. It reports false where the order cannot trade: it has
// nothing to reduce, or nothing would be left of the margin, and the position is liquidated.
func (a *Account) within(r *resting, qty, p float64) (float64, bool) {
	most := a.closes(r.side)
	switch {
	case most == 0 && r.reduce:
		a.end(r)
		return 0, false
	case most == 0:
		return qty, true
	case a.paper.perp.worthAt(p) < a.commission(most, p):
		a.liquidate()
		a.end(r)
		return 0, false
	}
	return min(qty, most), true
}

// endReducing ends the orders that may only reduce the position.
func (a *Account) endReducing() {
	for _, r := range slices.Clone(a.paper.resting) {
		if r.reduce {
			a.end(r)
		}
	}
}

// liquidation returns the price that ends the position, and false if none does. It is on the tick, towards
// the entry.
func (a *Account) liquidation() (float64, bool) {
	x := &a.paper.perp
	if x.size == 0 {
		return 0, false
	}
	s := 1.0
	if x.size < 0 {
		s = -1
	}
	tiers := a.cfg.Perp.Tiers
	for i, t := range tiers {
		over, part := x.margin+t.Amount-x.cost, t.Maintenance-s
		if over*part <= 0 {
			continue // no price above zero
		}
		over, part = math.Abs(over), math.Abs(part)
		if i < len(tiers)-1 && t.Notional > 0 && over > t.Notional*part {
			continue // it is in a higher tier then
		}
		const slack = 1e-7 // of a tick: what a product is off by
		n := over / (math.Abs(x.size) * part) / a.cfg.Tick
		if s > 0 {
			n = math.Ceil(n - slack)
		} else {
			n = math.Floor(n + slack)
		}
		return a.round(n * a.cfg.Tick), true
	}
	return 0, false
}

// judge liquidates the position if a price is at or beyond the one that ends it.
func (a *Account) judge(p float64) {
	if a.cfg.Perp == nil || a.size == 0 {
		return
	}
	if at, ok := a.liquidation(); ok && (at-p)*a.size >= 0 {
		a.liquidate()
	}
}

// liquidated is the comment of a trade that was liquidated.
const liquidated = "liquidation"

// liquidate closes the position at its liquidation price. What is left of the margin is the fee, so that the
// margin is gone, and nothing else.
func (a *Account) liquidate() {
	x := &a.paper.perp
	at, ok := a.liquidation()
	if !ok {
		at = x.cost / x.size
	}
	side, qty, fee := a.against(), math.Abs(a.size), x.worthAt(at)
	a.notice(Notice{Kind: OrderFilled, Side: side, Quantity: qty, Price: at, Stop: math.NaN()})
	x.size, x.cost, x.margin = 0, 0, 0
	for len(a.lots) > 0 {
		l := &a.lots[0]
		n := l.Quantity
		a.close(l, n, at, fee*n/qty, liquidated, liquidated)
		a.lots = slices.Delete(a.lots, 0, 1)
	}
	a.totals.Liquidations++
	a.endReducing()
	a.after(&order{kind: closeOrder, side: side}, qty)
}

// fund pays the funding that is due by a time.
func (a *Account) fund(until int64) {
	if a.cfg.Perp == nil {
		return
	}
	x, all := &a.paper.perp, a.cfg.Perp.Funding
	for ; x.next < len(all) && all[x.next].At <= until; x.next++ {
		f := all[x.next]
		amount := float64(float64(x.size*f.Mark) * f.Rate)
		if amount == 0 {
			continue
		}
		x.margin -= amount
		a.totals.Funding += amount
		for i := range a.lots {
			l := &a.lots[i]
			share := amount * l.Quantity / math.Abs(x.size)
			l.funding += share
			l.paid += share
			a.paid += share
		}
	}
}
