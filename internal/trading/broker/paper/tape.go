package paper

import (
	"context"
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/market"
	"candela/internal/market/provider"
	"candela/internal/trading/order"
)

// tape is how far the prices of a symbol are known: the bar as it was last
// reported. It exists while an order rests in the symbol.
type tape struct {
	interval market.Interval
	bar      market.Bar
}

// Observe processes an event of a symbol and fills the resting orders that
// it reaches. The engine calls it for every event; what no order waits for costs
// a look into a map. Only bars count: they say how much was traded, and they hold
// the prices that come alone. clock is the venue's: a replay has its own.
func (b *Broker) Observe(e provider.Event, clock provider.Clock) {
	if e.Kind != provider.Forming && e.Kind != provider.Closed || e.Bar.Check() != nil || e.Bar.L <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tapes[e.Symbol]
	if t == nil || !t.follows(e) {
		return
	}
	if t.interval != e.Interval {
		b.restart(e) // of two series of one symbol the finer has more detail; volume counts once
		t.interval, t.bar = e.Interval, market.Bar{}
	}
	turns, volume := t.since(e.Bar)
	fills := b.match(b.waiting(e, clock), turns, volume)
	t.bar = e.Bar
	if len(fills) == 0 {
		return
	}
	if err := b.commit(context.Background(), fills...); err != nil {
		// The orders rest on, as if the market had passed them by.
		b.cfg.Log.Error("paper orders were not filled", "symbol", e.Symbol.String(), "error", err)
		return
	}
	b.sweep()
}

// follows reports whether the event is newer than what is known, and no coarser.
func (t *tape) follows(e provider.Event) bool {
	return t.interval == 0 || e.Interval < t.interval || e.Interval == t.interval && e.Bar.T >= t.bar.T
}

// restart makes every order of the symbol wait for the next event.
func (b *Broker) restart(e provider.Event) {
	for _, k := range b.book.open {
		if k.Symbol == e.Symbol {
			k.seen = false
		}
	}
}

// since returns the prices at which the market turned since the tape was sent
// last, in the order in which it may have, and how much was traded. Of a bar that
// has grown those are the extremes that went beyond the known ones, and the last.
func (t *tape) since(bar market.Bar) (turns []float64, volume pool) {
	if bar.T != t.bar.T {
		return walk(bar.O, bar.H, bar.L, bar.C), newPool(0, bar.V, bar.H != bar.L || t.bar.T != 0 && bar.C != t.bar.C)
	}
	turns = walk(t.bar.C, bar.H, bar.L, bar.C)[1:]
	known := t.bar
	turns = slices.DeleteFunc(turns, func(p float64) bool { return p != bar.C && known.L <= p && p <= known.H })
	return turns, newPool(known.V, bar.V, bar.C != known.C || len(turns) > 1)
}

// walk returns the way of the price within a bar: from the open to the nearer
// extreme, to the other, to the close. Where both are as near, the one that the
// close is farther from comes first.
func walk(open, high, low, last float64) []float64 {
	up, down := high-open, open-low
	if up < down || up == down && last-low < high-last {
		return []float64{open, high, low, last}
	}
	return []float64{open, low, high, last}
}

// pool is how much was traded and not yet taken by an order.
type pool struct {
	left    decimal.Decimal
	endless bool // the venue reports no volume, so that nothing caps a fill
}

// newPool makes a pool of the volume that came to a bar. Prices that move in a bar
// without any are those of a venue that reports none, as for currencies.
func newPool(before, after float64, moved bool) pool {
	traded := decimal.NewFromFloat(after).Sub(decimal.NewFromFloat(before))
	if !traded.IsPositive() {
		return pool{endless: after == 0 && moved}
	}
	return pool{left: traded}
}

// anyStep is the step of quantities where the venue has none.
const anyStep = 8

// draw takes at most want out of the pool, in whole steps.
func (p *pool) draw(want, step decimal.Decimal) decimal.Decimal {
	if p.endless {
		return want
	}
	got := decimal.Min(want, p.left)
	if step.IsPositive() {
		got = got.Sub(got.Mod(step))
	} else {
		got = got.Truncate(anyStep)
	}
	p.left = p.left.Sub(got)
	return got
}

// match returns the fills that a way of the price gives. At each turn the orders
// that the price has gone through fill: the best price first, then the oldest.
func (b *Broker) match(waiting []*ticket, turns []float64, volume pool) []entry {
	var fills []entry
	now, id := b.cfg.Now(), int64(0)
	filled := make(map[*ticket]decimal.Decimal)
	for _, turn := range turns {
		price := decimal.NewFromFloat(turn)
		for _, k := range waiting {
			left := k.left().Sub(filled[k])
			if !k.through(price) || !left.IsPositive() {
				continue
			}
			quantity := volume.draw(left, k.Step)
			if !quantity.IsPositive() {
				continue
			}
			id++
			filled[k] = filled[k].Add(quantity)
			f := b.trade(k.Spec, k.VenueID, b.book.id(id), quantity, k.Price, k.Currency, now)
			f.Maker, f.Fee = true, quantity.Mul(f.Price).Mul(b.cfg.Rates.Maker)
			fills = append(fills, entry{At: now, Fill: &f})
		}
	}
	return fills
}

// waiting returns the orders for which all of an event happened after they came:
// those that have seen one before, and all of them when the bar began later. The
// others have seen one now.
func (b *Broker) waiting(e provider.Event, clock provider.Clock) []*ticket {
	at, began := e.At, clock.Wall(e.Bar.T)
	if clock.Speed != 0 {
		at = clock.Wall(e.At.Unix())
	}
	var ready []*ticket
	for _, k := range b.book.open {
		if k.Symbol != e.Symbol || !at.After(k.Since) {
			continue
		}
		if k.seen || !began.Before(k.Since) {
			ready = append(ready, k)
		}
		k.seen = true
	}
	slices.SortStableFunc(ready, better)
	return ready
}

// better puts buyers that pay more and sellers that ask less first.
func better(x, y *ticket) int {
	if x.Side != y.Side {
		return int(x.Side) - int(y.Side)
	}
	if x.Side == order.Buy {
		return y.Price.Cmp(x.Price)
	}
	return x.Price.Cmp(y.Price)
}

// through reports whether a trade at a price is beyond the order's limit.
func (t *ticket) through(price decimal.Decimal) bool {
	if t.Side == order.Buy {
		return price.LessThan(t.Price)
	}
	return price.GreaterThan(t.Price)
}

// sweep forgets the tapes of symbols in which nothing rests.
func (b *Broker) sweep() {
	for s := range b.tapes {
		if !slices.ContainsFunc(b.book.open, func(t *ticket) bool { return t.Symbol == s }) {
			delete(b.tapes, s)
		}
	}
}
