package simulate

import (
	"math"
	"slices"
)

// Path says in which order a bar's extremes are assumed to have traded.
type Path uint8

const (
	// Nearest goes to the extreme nearer to the open first; a tie goes to the low.
	Nearest Path = iota
	// Adverse goes against the position first, so that stops fill before targets.
	Adverse
	// Favourable goes with the position first, so that targets fill before stops.
	Favourable
)

// points returns the two extremes in the order in which they trade while a position of
// this size is held.
func (p Path) points(b Bar, size float64) (first, second float64) {
	high := b.High-b.Open < b.Open-b.Low
	switch {
	case p == Adverse && size != 0:
		high = size < 0
	case p == Favourable && size != 0:
		high = size > 0
	}
	if high {
		return b.High, b.Low
	}
	return b.Low, b.High
}

// Bar fills what waits along the path of a bar.
func (a *Account) Bar(b Bar) {
	before := a.price
	switch {
	case !a.begin(b):
	case a.cfg.Paper:
		a.fillPaper(b, before)
	default:
		a.travel(b, true)
	}
}

// Magnified fills what waits along the paths of the shorter bars inside a bar. There must be
// at least one.
func (a *Account) Magnified(b Bar, inside []Bar) {
	whole := b
	for _, part := range inside {
		whole.High, whole.Low = max(whole.High, part.High), min(whole.Low, part.Low)
	}
	if !a.begin(whole) {
		return
	}
	for i, part := range inside {
		a.high, a.low = part.High, part.Low
		a.travel(part, i == 0)
	}
}

// begin starts a bar. It reports false if it has already come to its end, because nothing
// can fill.
func (a *Account) begin(b Bar) bool {
	a.bar++
	a.resting = Issued{}
	a.time = b.Time
	a.newDay(b.Time)
	a.totals.Bars++
	if a.Idle() {
		a.price = b.Close
		return false
	}
	a.totals.BarsHeld++
	a.high, a.low = b.High, b.Low
	a.seen = a.fills
	return !a.Quiet() || !a.passOver(b)
}

// passOver moves the price over a bar on which no order waits. It does nothing and reports false if
// something could happen on it.
func (a *Account) passOver(b Bar) bool {
	if a.risk.leaving || len(a.lots) > 0 && (a.cfg.Perp != nil || !a.coversAll(b)) {
		return false
	}
	a.arrive(b.High)
	a.arrive(b.Low)
	a.price = b.Close
	return true
}

// travel fills what waits along the path of a bar; market orders at its open, if they may.
func (a *Account) travel(b Bar, market bool) {
	a.arrive(b.Open)
	a.settle(market)
	a.leave()
	if a.again == nil && a.Quiet() && a.passOver(b) {
		return
	}
	first, second := a.cfg.Path.points(b, a.size)
	a.marginCall(b.Open)
	a.compute()
	a.walk(first)
	a.compute()
	a.walk(second)
	a.compute()
	a.walk(b.Close)
}

// compute has the strategy computed in the middle of a bar if it does not know of all fills.
func (a *Account) compute() {
	if a.again == nil || a.seen == a.fills {
		return
	}
	a.seen = a.fills
	a.again()
	// An order that should fill at the close of the bar is placed again when the bar closes.
	a.orders = slices.DeleteFunc(a.orders, func(o *order) bool { return o.immediate })
	for _, o := range a.orders {
		o.fresh = false
	}
	a.settle(true)
}

// Skip passes over a number of bars with neither orders nor a position, of which the last has a
// time and a close.
func (a *Account) Skip(bars int, last int64, price float64) {
	if bars == 0 {
		return
	}
	a.bar += bars
	a.time = last
	a.newDay(last)
	a.price = price
	a.totals.Bars += bars
}

// Quiet reports whether no order waits.
func (a *Account) Quiet() bool { return len(a.orders) == 0 && len(a.paper.resting) == 0 }

// Waiting returns how many orders have not filled yet.
func (a *Account) Waiting() int { return len(a.orders) + len(a.paper.resting) }

// Idle reports whether there is neither an order nor a position.
func (a *Account) Idle() bool { return a.Quiet() && len(a.lots) == 0 }

// coversAll reports whether equity covers the position at every price of a bar: what is free
// changes in a straight line between its extremes.
func (a *Account) coversAll(b Bar) bool {
	m := a.margin(a.lots[0].Side)
	return m == 0 || a.free(b.High, m) >= 0 && a.free(b.Low, m) >= 0
}

// free is the equity that a position does not need at a price.
func (a *Account) free(p, m float64) float64 {
	return a.cfg.Capital + a.realized + a.openAt(p) - float64(float64(math.Abs(a.size)*p*a.unit)*m)
}

// Computed is called after the strategy was computed at the close of the newest bar.
// It fills what may trade at that close.
func (a *Account) Computed() {
	for _, o := range a.orders {
		o.fresh = false
	}
	if a.cfg.Paper {
		return // the next open is the first price at which it could trade
	}
	a.settleImmediate()
	if a.cfg.OnClose {
		a.settle(true)
	}
	a.leave()
}

// walk moves the price to a point of the path and fills the orders on the way, the
// nearest first.
func (a *Account) walk(to float64) {
	for {
		o, leg, p, ok := a.nearest(a.price, to)
		if !ok {
			break
		}
		a.arrive(p)
		a.execute(o, leg, p)
		a.settle(false)
	}
	a.arrive(to)
	a.leave()
	a.marginCall(to)
}

// arrive moves the price without a fill and lets trailing stops and excursions follow.
func (a *Account) arrive(p float64) {
	a.price = p
	if len(a.lots) > 0 {
		for i := range a.lots {
			a.lots[i].see(p)
		}
		a.totals.mark(a.cfg.Capital+a.realized, a.openAt(p))
	}
	for _, o := range a.orders {
		if o.kind == exitOrder {
			o.follow(a, p)
		}
	}
}

// settle fills every order that the present price meets: market orders first when the
// bar opens, then the others in the order in which they were placed.
func (a *Account) settle(market bool) {
	if market {
		for a.first(func(o *order) bool { return o.market() && !o.immediate }) {
		}
	}
	for a.met() {
	}
}

// settleImmediate fills market orders that close at the price of their own bar.
func (a *Account) settleImmediate() {
	for a.first(func(o *order) bool { return o.immediate }) {
	}
}

// first executes the first waiting order that want accepts at the present price.
func (a *Account) first(want func(*order) bool) bool {
	for _, o := range a.orders {
		if want(o) {
			a.execute(o, nil, a.price)
			return true
		}
	}
	return false
}

// met executes the first order with a price that the present price meets. Of two that
// could open positions, one that buys comes first.
func (a *Account) met() bool {
	for _, o := range a.orders {
		if o.kind != exitOrder && o.side == Long && !o.market() && o.metAt(a, a.price) {
			a.execute(o, nil, a.price)
			return true
		}
	}
	for _, o := range a.orders {
		if o.kind == exitOrder {
			for i := range o.legs {
				if leg := &o.legs[i]; leg.live() && o.legMet(a, leg, a.price) {
					a.execute(o, leg, a.price)
					return true
				}
			}
			continue
		}
		if !o.market() && o.metAt(a, a.price) {
			a.execute(o, nil, a.price)
			return true
		}
	}
	return false
}

// nearest returns the order that fills first while the price moves from one point to
// another, and its price.
func (a *Account) nearest(from, to float64) (found *order, leg *leg, price float64, ok bool) {
	if from == to {
		return nil, nil, 0, false
	}
	dir := Long
	if to < from {
		dir = Short
	}
	closer := func(p float64) bool {
		return (p-from)*float64(dir) > 0 && (to-p)*float64(dir) >= 0 && (!ok || (p-price)*float64(dir) < 0)
	}
	for _, o := range a.orders {
		if o.kind == exitOrder {
			for i := range o.legs {
				l := &o.legs[i]
				if !l.live() {
					continue
				}
				if p, is := o.legPrice(a, l, dir, from, to); is && closer(p) {
					found, leg, price, ok = o, l, p, true
				}
			}
			continue
		}
		if p, is := o.priceTowards(a, dir, from, to); is && closer(p) {
			found, leg, price, ok = o, nil, p, true
		}
	}
	return found, leg, price, ok
}
