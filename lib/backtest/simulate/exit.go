package simulate

import (
	"math"
	"slices"
)

// ExitRequest asks for orders that close trades at a limit, a stop or a trailing stop. A
// NaN field is one that was not given; [NewExit] returns one without any.
type ExitRequest struct {
	ID, From    string
	Quantity    float64
	Percent     float64 // of the entry's quantity
	Profit      float64 // ticks from the entry price to the limit
	Limit       float64
	Loss        float64 // ticks from the entry price to the stop
	Stop        float64
	TrailPrice  float64 // where the trailing stop starts
	TrailPoints float64 // the same in ticks from the entry price
	TrailOffset float64 // ticks between the best price and the trailing stop

	// Percentages of the entry price, for exits that are placed before it is known. Zero
	// is none.
	ProfitPercent, LossPercent float64

	Group string

	Comment, CommentProfit, CommentLoss, CommentTrailing string
}

// NewExit returns a request without prices.
func NewExit(id, from string) ExitRequest {
	none := math.NaN()
	return ExitRequest{
		ID: id, From: from, Quantity: none, Percent: none, Profit: none, Limit: none, Loss: none, Stop: none,
		TrailPrice: none, TrailPoints: none, TrailOffset: none,
	}
}

// leg is the part of an exit that closes the trades of one entry.
type leg struct {
	entry int // number of the entry
	side  Side
	price float64 // of the entry
	qty   float64
	best  float64 // best price since the trailing stop started; NaN before
	done  bool
	taken float64 // what the paper model filled of it

	limit, stop  float64
	wake, offset float64 // of the trailing stop
}

func (l *leg) live() bool { return !l.done && l.qty > 0 }

// Exit places the orders of an exit. It has no effect when neither an open trade nor a
// waiting order belongs to it.
func (a *Account) Exit(r ExitRequest) {
	if !a.belongs(r.From) || !r.priced() {
		return
	}
	kept := r // so that a request without effect allocates nothing
	o := order{
		kind: exitOrder, id: r.ID, from: r.From, comment: r.Comment, limit: math.NaN(), stop: math.NaN(),
		group: r.Group, oca: OCAReduce, exit: &kept,
	}
	for _, w := range a.orders {
		if w.kind == exitOrder && w.id == o.id && w.from == o.from {
			o.legs = w.legs
		}
	}
	a.attach(a.place(o))
}

// priced reports whether the request has a price at which anything could fill.
func (r *ExitRequest) priced() bool {
	trails := !(math.IsNaN(r.TrailPrice) && math.IsNaN(r.TrailPoints))
	fixed := !(math.IsNaN(r.Profit) && math.IsNaN(r.Limit) && math.IsNaN(r.Loss) && math.IsNaN(r.Stop))
	return trails || fixed || r.ProfitPercent > 0 || r.LossPercent > 0
}

// belongs reports whether an open trade or a waiting order could be closed by an exit.
func (a *Account) belongs(from string) bool {
	for i := range a.lots {
		if from == "" || a.lots[i].ID == from {
			return true
		}
	}
	for _, o := range a.orders {
		if (o.kind == entryOrder || o.kind == plainOrder) && (from == "" || o.id == from) {
			return true
		}
	}
	return false
}

// attach gives an exit a leg for each open entry that it closes, and moves the legs it
// has to its newest prices.
func (a *Account) attach(o *order) {
	asked := o.exit.Quantity
	for i := range a.lots {
		lot := &a.lots[i]
		if o.from != "" && lot.ID != o.from {
			continue
		}
		k := slices.IndexFunc(o.legs, func(l leg) bool { return l.entry == lot.entry })
		if k < 0 {
			o.legs = append(o.legs, leg{entry: lot.entry, side: lot.Side, price: lot.Price, best: math.NaN()})
			k = len(o.legs) - 1
		}
		l := &o.legs[k]
		if l.done && !a.resumes(o) {
			continue
		}
		l.done, l.price = false, lot.Price // the mean of its fills
		a.level(o, l)
		l.qty = a.reserve(o, lot, l.taken, &asked)
		if math.IsNaN(l.best) && l.wakes(a.price) {
			l.best = a.price
		}
	}
}

// reserve returns the quantity of a trade that an exit closes: what it asks for, of what
// exits placed before it leave, without what it has taken.
func (a *Account) reserve(o *order, lot *Lot, taken float64, asked *float64) float64 {
	left := lot.Quantity
	for _, w := range a.orders {
		if w == o {
			break
		}
		for i := range w.legs {
			if w.legs[i].live() && w.legs[i].entry == lot.entry {
				left -= w.legs[i].qty
			}
		}
	}
	left = max(0, left)
	switch {
	case !math.IsNaN(*asked):
		left = min(left, max(0, *asked-taken))
		*asked -= left + taken
	case !math.IsNaN(o.exit.Percent):
		left = min(left, a.cut(lot.Filled*o.exit.Percent/100-taken))
	}
	return left
}

// level sets the prices of a leg from those of its exit and the price of its entry.
func (a *Account) level(o *order, l *leg) {
	r, s := o.exit, float64(l.side)
	at := func(ticks float64) float64 { return l.price + float64(s*float64(ticks*a.cfg.Tick)) }
	limit, stop := firstOf(s, r.Limit, at(r.Profit)), firstOf(-s, r.Stop, at(-r.Loss))
	if r.ProfitPercent > 0 {
		limit = firstOf(s, limit, l.price*(1+float64(s*r.ProfitPercent/100)))
	}
	if r.LossPercent > 0 {
		stop = firstOf(-s, stop, l.price*(1-float64(s*r.LossPercent/100)))
	}
	l.limit, l.stop = a.snap(limit, -l.side, false), a.snap(stop, -l.side, true)
	l.wake = firstOf(s, r.TrailPrice, at(r.TrailPoints))
	l.offset = 0
	if !math.IsNaN(r.TrailOffset) {
		l.offset = float64(r.TrailOffset * a.cfg.Tick)
	}
}

// firstOf returns the price that a move in direction s reaches first; NaN is no price.
func firstOf(s, p, q float64) float64 {
	switch {
	case math.IsNaN(p):
		return q
	case math.IsNaN(q) || (q-p)*s >= 0:
		return p
	}
	return q
}

// wakes reports whether price p starts the trailing stop.
func (l *leg) wakes(p float64) bool { return (p-l.wake)*float64(l.side) >= 0 }

// follow moves the trailing stops of an exit with the price.
func (o *order) follow(_ *Account, p float64) {
	for i := range o.legs {
		l := &o.legs[i]
		switch {
		case !l.live() || math.IsNaN(l.wake):
		case math.IsNaN(l.best):
			if l.wakes(p) {
				l.best = p
			}
		case (p-l.best)*float64(l.side) > 0:
			l.best = p
		}
	}
}

// stopPrice returns the nearer of the stop and the trailing stop, NaN without one, and
// whether it is the trailing stop.
func (o *order) stopPrice(a *Account, l *leg) (price float64, trailing bool) {
	if math.IsNaN(l.best) {
		return l.stop, false
	}
	trail := a.snap(l.best-float64(float64(l.side)*l.offset), -l.side, true)
	if math.IsNaN(l.stop) || (trail-l.stop)*float64(l.side) > 0 {
		return trail, true
	}
	return l.stop, false
}

// legMet reports whether price p fills a leg.
func (o *order) legMet(a *Account, l *leg, p float64) bool {
	if !math.IsNaN(l.limit) && limitMet(-l.side, a.beyond(-l.side, l.limit), p) {
		return true
	}
	stop, _ := o.stopPrice(a, l)
	return !math.IsNaN(stop) && stopMet(-l.side, stop, p)
}

// legPrice returns the price at which a leg fills while the price moves in direction
// dir.
func (o *order) legPrice(a *Account, l *leg, dir Side, _, _ float64) (float64, bool) {
	if dir == l.side {
		p := a.beyond(-l.side, l.limit)
		if l.offset == 0 && math.IsNaN(l.best) { // it starts where it ends
			p = firstOf(float64(dir), p, a.snap(l.wake, -l.side, false))
		}
		return p, !math.IsNaN(p)
	}
	stop, _ := o.stopPrice(a, l)
	return stop, !math.IsNaN(stop)
}

// ambiguous reports whether the newest bar held both the limit and the stop of a leg.
func (o *order) ambiguous(a *Account, l *leg) bool {
	within := func(p float64) bool { return p >= a.low && p <= a.high }
	stop, _ := o.stopPrice(a, l)
	return within(l.limit) && within(stop)
}

// reason says what filled a leg at price p, for the trade's comment.
func (o *order) reason(a *Account, l *leg, p float64) string {
	r := o.exit
	pick := func(special string) string {
		if special != "" {
			return special
		}
		if r.Comment != "" {
			return r.Comment
		}
		return o.id
	}
	if stop, trailing := o.stopPrice(a, l); !math.IsNaN(stop) && stopMet(-l.side, stop, p) {
		if trailing {
			return pick(r.CommentTrailing)
		}
		return pick(r.CommentLoss)
	}
	return pick(r.CommentProfit)
}

// purge drops exits and closes that have nothing left to close.
func (a *Account) purge() {
	a.orders = slices.DeleteFunc(a.orders, func(o *order) bool {
		switch o.kind {
		case exitOrder:
			return !a.belongs(o.from)
		case closeOrder:
			return len(a.lots) == 0
		default:
			return false
		}
	})
}
