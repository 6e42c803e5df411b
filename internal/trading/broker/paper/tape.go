package paper

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// tape is how far the prices of a symbol are known. It exists while an order rests in the
// symbol.
type tape struct {
	interval market.Interval
	last     known // the newest bar
	behind   known // the one before, of which the rest may come later
}

// known is a bar as it was last reported.
type known struct {
	bar    market.Bar
	at     time.Time
	closed bool
}

// Observe processes an event of a symbol and fills the resting orders that
// it reaches. The engine calls it for every event; what no order waits for costs
// a look into a map. Only bars count: they say how much was traded, and they hold
// the prices that come alone. A closed bar that comes after a newer one counts for what
// rested then. clock is the venue's: a replay has its own.
func (b *Broker) Observe(e provider.Event, clock provider.Clock) {
	if e.Kind == provider.Marked {
		b.mark(e)
		return
	}
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
		*t = tape{interval: e.Interval}
	}
	at, began := e.At, clock.Wall(e.Bar.T)
	if clock.Speed != 0 {
		at = clock.Wall(e.At.Unix())
	}
	b.expire(context.Background(), began)
	var ready, arrived []*ticket
	before, late := t.last, e.Bar.T < t.last.bar.T
	if late {
		before = t.behind
		ready, arrived = b.overtaken(e, at, t.behind.seen(e.Bar, began))
	} else {
		ready, arrived = b.waiting(e.Symbol, at, began)
	}
	w, volume := before.since(e.Bar)
	t.add(known{e.Bar, at, e.Kind == provider.Closed})
	late = late || e.Kind == provider.Closed && b.cfg.Now().Sub(clock.Wall(e.Bar.T+e.Interval.Seconds())) > lateAfter
	entries := b.match(b.ofBars(ready), b.ofBars(arrived), w, volume, late, b.stake(e.Symbol, began, late))
	if len(entries) != 0 {
		if err := b.commit(context.Background(), entries...); err != nil {
			// The orders rest on, as if the market had passed them by.
			b.notWritten(context.Background(), "fills", err, "symbol", e.Symbol.String())
			return
		}
		b.begin(entries, at)
		b.sweep()
	}
	b.expire(context.Background(), at)
	if b.book.perps[e.Symbol].Quantity.IsZero() {
		delete(b.seen, e.Symbol)
	}
}

// lateAfter is how long after its end a closed bar may come: what it fills later is late.
const lateAfter = 30 * time.Second

// begin lets the legs that now work see the next event whole.
func (b *Broker) begin(entries []entry, at time.Time) {
	for _, e := range entries {
		if e.Amended == nil {
			continue
		}
		if leg := b.book.tickets[e.Amended.ID]; !leg.seen && leg.Group.Leg {
			leg.seen, leg.Since = true, at
		}
	}
}

// expire ends the day orders whose session is over. The caller holds the lock.
func (b *Broker) expire(ctx context.Context, at time.Time) {
	if ctx.Err() != nil || !slices.ContainsFunc(b.book.open, func(t *ticket) bool { return t.over(at) }) {
		return
	}
	p := b.plan()
	p.expire(at)
	if err := b.commit(ctx, p.entries...); err != nil {
		b.notWritten(ctx, "the end of a session", err)
		return
	}
	b.sweep()
}

// notWritten reports that the journal took nothing. Where another process may own the account, that one
// does what was not done here.
func (b *Broker) notWritten(ctx context.Context, what string, err error, about ...any) {
	level := slog.LevelError
	if errors.Is(err, broker.ErrFenced) {
		level = slog.LevelWarn
	}
	b.cfg.Log.Log(ctx, level, "the paper account did not store what happened", append(about, "what", what, "error", err)...)
}

// follows reports whether the event is new and no coarser than what is known. An older bar
// is new if it has closed since.
func (t *tape) follows(e provider.Event) bool {
	if t.interval == 0 || e.Interval != t.interval {
		return t.interval == 0 || e.Interval < t.interval
	}
	return e.Bar.T >= t.last.bar.T || e.Kind == provider.Closed && (!t.behind.closed || e.Bar.T != t.behind.bar.T)
}

// add adds a bar to what is known. A bar that is behind stays there until it has closed.
func (t *tape) add(k known) {
	switch {
	case k.bar.T < t.last.bar.T:
		t.behind = k
	case k.bar.T > t.last.bar.T && (t.behind.closed || t.behind.bar.T == 0):
		t.behind, t.last = t.last, k
	default:
		t.last = k
	}
}

// restart makes every order of the symbol wait for the next event.
func (b *Broker) restart(e provider.Event) {
	for _, k := range b.book.open {
		if k.Symbol == e.Symbol {
			k.seen = false
		}
	}
}

// way is how the price of a symbol moved in one event.
type way struct {
	start decimal.Decimal // where it begins: the open, or the last price that is known
	turns []float64       // where it turned, in the order in which it may have; the last one is the last price
	jump  bool            // the first turn is the open of a new bar
}

// since returns the way of the price since the bar was reported, and how much was
// traded. Of a bar that has grown the turns are the extremes that went beyond the known
// ones, and the last.
func (k known) since(bar market.Bar) (way, pool) {
	known := k.bar
	if bar.T != known.T {
		w := way{start: decimal.NewFromFloat(bar.O), turns: walk(bar.O, bar.H, bar.L, bar.C), jump: true}
		return w, newPool(0, bar.V, bar.H != bar.L || known.T != 0 && bar.C != known.C)
	}
	turns := walk(known.C, bar.H, bar.L, bar.C)[1:]
	turns = slices.DeleteFunc(turns, func(p float64) bool { return p != bar.C && known.L <= p && p <= known.H })
	return way{start: decimal.NewFromFloat(known.C), turns: turns}, newPool(known.V, bar.V, bar.C != known.C || len(turns) > 1)
}

// gap reports whether the price jumped to a turn.
func (w way) gap(i int) bool { return w.jump && i == 0 }

// guess reports whether a turn is an extreme, of which nobody knows whether it came before
// the other one.
func (w way) guess(i int) bool { return i >= 0 && i < len(w.turns)-1 && !w.gap(i) }

// seen returns the best price, for an order of a side that trails, of the way up to a turn,
// and false where the worst extreme of the bar comes later: that is tried first.
func (w way) seen(s order.Side, i int) (decimal.Decimal, bool) {
	better := func(x, y float64) int { return int(s.Sign()) * cmp.Compare(x, y) }
	for j := i + 1; j < len(w.turns) && !w.gap(i); j++ {
		if w.guess(j) && better(w.turns[j], w.turns[i]) > 0 {
			return decimal.Zero, false
		}
	}
	return decimal.NewFromFloat(slices.MinFunc(w.turns[:i+1], better)), true
}

// touches reports whether the way may do anything to an order that saw it.
func (w way) touches(t *ticket) bool {
	if !t.Triggered.IsZero() {
		return true
	}
	low, high := decimal.NewFromFloat(slices.Min(w.turns)), decimal.NewFromFloat(slices.Max(w.turns))
	if !t.waits() {
		return t.through(low) || t.through(high)
	}
	_, lower := t.follows(low)
	_, higher := t.follows(high)
	return t.reached(low) || t.reached(high) || lower || higher
}

// ends reports whether the last price of the way does anything to an order that waits.
func (w way) ends(t *ticket) bool {
	last := decimal.NewFromFloat(w.turns[len(w.turns)-1])
	_, moved := t.follows(last)
	return t.waits() && (t.reached(last) || moved)
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

// waiting returns the orders for which all of an event happened after they came: those
// that have seen one before, and all of them when the bar began later. The others have seen
// one now: its last price.
func (b *Broker) waiting(s market.Symbol, at, began time.Time) (ready, arrived []*ticket) {
	for _, k := range b.book.open {
		if k.Symbol != s || k.Status == order.Held || !at.After(k.Since) {
			continue
		}
		if k.seen || !began.Before(k.Since) {
			ready = append(ready, k)
		} else {
			arrived = append(arrived, k)
		}
		k.seen = true
	}
	return ready, arrived
}

// seen returns since when an order must have rested to see all that is new of a bar.
func (k known) seen(bar market.Bar, began time.Time) time.Time {
	if bar.T == k.bar.T {
		return k.at
	}
	return began
}

// overtaken is waiting for a bar that newer ones came before. What newer prices have changed
// already, it does not change again: orders that were triggered, and stops that trail.
func (b *Broker) overtaken(e provider.Event, at, since time.Time) (ready, arrived []*ticket) {
	for _, k := range b.book.open {
		if k.Symbol != e.Symbol || k.Status == order.Held || !at.After(k.Since) || !k.Triggered.IsZero() || k.TrailPercent.IsPositive() {
			continue
		}
		if k.Since.After(since) {
			arrived = append(arrived, k)
		} else {
			ready = append(ready, k)
		}
	}
	return ready, arrived
}

// sweep forgets the tapes of symbols in which nothing rests.
func (b *Broker) sweep() {
	for s := range b.tapes {
		held := !b.book.perps[s].Quantity.IsZero()
		if !held {
			delete(b.seen, s)
		}
		if !held && !slices.ContainsFunc(b.book.open, func(t *ticket) bool { return t.Symbol == s && t.MarkTriggers }) {
			delete(b.marks, s)
		}
		if !held && !slices.ContainsFunc(b.book.open, func(t *ticket) bool { return t.Symbol == s }) {
			delete(b.tapes, s)
		}
	}
}
