package desk

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/data/provider"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// The price path of orders that candela holds: Observe adds a price to what the loop has not
// seen yet and wakes the loop, which compares it with the triggers. Neither side allocates
// unless a trigger is reached, and neither waits for the other.

// watchList is the symbols in which candela holds orders.
type watchList struct {
	symbols atomic.Pointer[map[market.Symbol]*priceWatch] // never changed, only replaced
	moved   chan struct{}                                 // has room for one
}

// priceWatch is the prices of a symbol since the loop last took them.
type priceWatch struct {
	mu        sync.Mutex
	low, high float64 // both zero if there was none
	interval  market.Interval
	bar       market.Bar // as it was last reported
	late      priceRange // of closed bars that came after a newer one

	triggers []*heldTrigger // owned by the loop
}

// priceRange is what the price did in bars, of which the first began at a time. Its zero value is
// none.
type priceRange struct {
	low, high float64
	began     int64
}

func (r *priceRange) add(bar market.Bar) {
	if r.low == 0 {
		*r = priceRange{bar.L, bar.H, bar.T}
		return
	}
	r.low, r.high, r.began = min(r.low, bar.L), max(r.high, bar.H), min(r.began, bar.T)
}

// heldTrigger is an order that candela holds and that waits for its price.
type heldTrigger struct {
	order.Trigger
	stop    bool
	reached bool
	since   time.Time // when it began to wait
	saved   float64   // the best price of a trail that is stored
	savedAt time.Time // when it was
}

// Observe passes a price event of the feed. The engine calls it for every event.
func (d *Desk) Observe(e provider.Event) {
	watched := d.watches.symbols.Load()
	if watched == nil || e.Kind != provider.Forming && e.Kind != provider.Closed || e.Bar.Check() != nil || e.Bar.L <= 0 {
		return
	}
	w := (*watched)[e.Symbol]
	if w == nil || !w.add(e.Interval, e.Bar, e.Kind == provider.Closed) {
		return
	}
	select {
	case d.watches.moved <- struct{}{}:
	default: // the loop is awake already
	}
}

// add adds what is new of a bar: its close, and the extremes that it had not reached when it
// was last reported. Of the first bar that is seen only the close counts, because the rest may
// have been before the order came. Of an older bar all counts when it has closed, for orders
// that were there. It reports false for another that is older, or coarser.
func (w *priceWatch) add(interval market.Interval, bar market.Bar, closed bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.interval == 0 || interval < w.interval {
		w.interval, w.bar = interval, market.Bar{}
	}
	known := w.bar
	if interval > w.interval || bar.T < known.T && !closed {
		return false
	}
	if bar.T < known.T {
		w.late.add(bar)
		return true
	}
	low, high := bar.C, bar.C
	switch {
	case known.T == 0:
	case bar.T > known.T:
		low, high = bar.L, bar.H
	default:
		if bar.L < known.L {
			low = bar.L
		}
		if bar.H > known.H {
			high = bar.H
		}
	}
	w.bar = bar
	if w.low == 0 || low < w.low {
		w.low = low
	}
	if w.high == 0 || high > w.high {
		w.high = high
	}
	return true
}

// take returns the prices since the last call. A low of zero says that there were none.
func (w *priceWatch) take() (low, high float64, late priceRange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	low, high, late = w.low, w.high, w.late
	w.low, w.high, w.late = 0, 0, priceRange{}
	return low, high, late
}

// checkPrices compares the new prices with the triggers, and reports whether one was reached.
func (l *loop) checkPrices() bool {
	watched := l.watches.symbols.Load()
	if watched == nil {
		return false
	}
	reached := false
	for _, w := range *watched {
		low, high, late := w.take()
		if late.low > 0 {
			reached = w.seeLate(late) || reached
		}
		if low > 0 {
			reached = w.see(low, high) || reached
		}
	}
	l.protector.changed = l.protector.changed || reached
	return reached
}

// see compares prices with the triggers of a symbol. Where prices reach a stop and a target it
// is not known which came first, and the stop counts: stops are first in the list.
func (w *priceWatch) see(low, high float64) bool {
	reached := false
	for _, t := range w.triggers {
		if !t.reached && t.See(low, high) {
			t.reached, reached = true, true
		}
	}
	return reached
}

// seeLate is see for bars that came after newer ones, which have moved the trails already.
func (w *priceWatch) seeLate(r priceRange) bool {
	reached := false
	for _, t := range w.triggers {
		if !t.reached && t.Best() == 0 && !t.since.After(time.Unix(r.began, 0)) && t.See(r.low, r.high) {
			t.reached, reached = true, true
		}
	}
	return reached
}

// checkQuotes compares the last prices with the triggers, for what the feed did not send.
// While the market is closed or the price is old, nothing is sent.
func (l *loop) checkQuotes(now time.Time) {
	watched := l.watches.symbols.Load()
	if watched == nil {
		return
	}
	for s, w := range *watched {
		q, ok := l.cfg.Market.LastQuote(s)
		if !ok || q.MarketClosed || now.Sub(q.At) > l.cfg.Policy.MaxQuoteAge {
			continue
		}
		last := q.Last.InexactFloat64()
		w.see(last, last)
	}
}

// movedFrom reports whether a trail has moved by this fraction of its distance.
func (t *heldTrigger) movedFrom(saved, fraction float64) bool {
	return math.Abs(t.Best()-saved) >= math.Abs(t.Best()-t.Level())*fraction
}

// rewatch replaces the symbols and triggers that are watched by those of these orders. What
// a trail has followed is kept.
func (l *loop) rewatch(held []order.Order) {
	old := l.watches.symbols.Load()
	if len(held) == 0 {
		l.watches.symbols.Store(nil)
		clear(l.held.triggers)
		return
	}
	if changed := l.renewTriggers(held); !changed && old != nil {
		return
	}
	l.checkPrices() // those so far are not for the new orders
	next := make(map[market.Symbol]*priceWatch)
	for _, o := range held {
		w := next[o.Symbol]
		if w == nil {
			w = &priceWatch{}
			if old != nil && (*old)[o.Symbol] != nil {
				w = (*old)[o.Symbol]
			}
			w.triggers, next[o.Symbol] = nil, w
		}
		if t := l.held.triggers[o.ID]; t.stop {
			w.triggers = slices.Insert(w.triggers, 0, t)
		} else {
			w.triggers = append(w.triggers, t)
		}
	}
	l.watches.symbols.Store(&next)
}

// renewTriggers adds and removes triggers so that each of these orders has one, and reports
// whether there was anything to do.
func (l *loop) renewTriggers(held []order.Order) (changed bool) {
	seen := make(map[string]bool, len(held))
	for _, o := range held {
		seen[o.ID] = true
		if l.held.triggers[o.ID] == nil {
			l.held.triggers[o.ID] = &heldTrigger{Trigger: order.NewTrigger(o), stop: o.IsStop(), since: l.now(), saved: o.Best.InexactFloat64(), savedAt: l.now()}
			changed = true
			if o.Local() {
				l.checkMissed(o)
			}
			l.followMissed(o)
		}
	}
	for id := range l.held.triggers {
		if !seen[id] {
			delete(l.held.triggers, id)
			changed = true
		}
	}
	return changed
}
