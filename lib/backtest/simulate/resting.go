package simulate

import (
	"cmp"
	"math"
	"slices"
)

// resting is an order that the account has.
type resting struct {
	wanted            // limit and stop are its own: of a pair, the other order has the other one
	number    int     // of a pair, that of the stop is the next
	left      float64 // what it may still fill
	leverage  float64 // in a perpetual future
	other     *resting
	triggered bool // the price has reached its stop
	rests     bool // it was triggered where its limit was not to be had
	torn      bool // the bar reaches both orders of its pair, in an order that is a guess
	over      bool
}

// waits reports whether the order waits for its stop.
func (r *resting) waits() bool { return !math.IsNaN(r.stop) && !r.triggered }

// through reports whether a trade at a price is beyond the limit.
func (r *resting) through(p float64) bool {
	return !math.IsNaN(r.limit) && !r.waits() && (r.limit-p)*float64(r.side) > 0
}

// reached reports whether a price triggers the order.
func (r *resting) reached(p float64) bool { return r.waits() && stopMet(r.side, r.stop, p) }

// rest lets an order rest in the account and reports whether it filled at once.
func (a *Account) rest(w wanted, qty float64) bool {
	a.paper.sent++
	price, leverage := a.slip(w.side, a.price), a.leverage(qty, w.limit)
	if w.pair && limitMet(w.side, w.limit, price) { // a pair is refused where the market is: the limit goes alone
		w.pair, w.stop = false, math.NaN()
	}
	a.notice(Notice{Kind: OrderSent, Number: a.paper.sent, Side: w.side, Quantity: qty, Price: w.limit, Stop: w.stop, Pair: w.pair, Reduce: w.reduce})
	r := &resting{wanted: w, number: a.paper.sent, left: qty, leverage: leverage}
	a.paper.resting = append(a.paper.resting, r)
	if w.pair {
		a.paper.sent++
		s := &resting{wanted: w, number: a.paper.sent, left: qty, leverage: leverage, other: r}
		r.stop, s.limit, s.comment, r.other = math.NaN(), math.NaN(), w.stopped, s
		a.paper.resting = append(a.paper.resting, s)
		return false
	}
	if !r.waits() && limitMet(w.side, w.limit, price) {
		a.trade(r, qty, price)
		return true
	}
	if math.IsNaN(w.limit) {
		r.comment = w.stopped
	}
	return false
}

// withdraw takes back the orders that are no longer wanted as they are.
func (a *Account) withdraw() {
	if len(a.paper.resting) == 0 {
		return
	}
	wants := a.wants()
	for _, r := range slices.Clone(a.paper.resting) {
		i := slices.IndexFunc(wants, func(w wanted) bool { return w.key == r.key })
		if i >= 0 && r.is(&wants[i]) {
			r.order = wants[i].order
			continue
		}
		a.takeBack(r)
	}
}

// is reports whether the order, with the other one of its pair, is what the strategy wants. One that was
// triggered is on its way.
func (r *resting) is(w *wanted) bool {
	same := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
	limit, stop := r.limit, r.stop
	switch {
	case r.side != w.side:
		return false
	case r.triggered && math.IsNaN(r.limit):
		return true
	case r.triggered:
		stop = math.NaN()
	case r.other != nil && r.other.triggered:
		return true
	case r.other != nil:
		limit, stop = firstOf(1, limit, r.other.limit), firstOf(1, stop, r.other.stop)
	}
	return same(limit, w.limit) && same(stop, w.stop) && r.qty == w.qty && r.reduce == w.reduce
}

// takeBack withdraws an order and the other one of its pair.
func (a *Account) takeBack(r *resting) {
	for _, x := range []*resting{r, r.other} {
		if x != nil && !x.over {
			a.notice(Notice{Kind: OrderWithdrawn, Number: x.number, Side: x.side, Quantity: x.left, Price: x.limit, Stop: x.stop})
			a.end(x)
		}
	}
}

// end forgets an order that has come to its end. The other one of its pair works on alone.
func (a *Account) end(r *resting) {
	r.over = true
	if r.other != nil {
		r.other.other, r.other = nil, nil
	}
	a.paper.resting = slices.DeleteFunc(a.paper.resting, func(o *resting) bool { return o == r })
}

// withdrawAll takes back every order of a side.
func (a *Account) withdrawAll(side Side) {
	for _, r := range slices.Clone(a.paper.resting) {
		if r.side == side {
			a.takeBack(r)
		}
	}
}

// byPrice returns the orders with the best limit first, then the oldest.
func (a *Account) byPrice() []*resting {
	price := func(r *resting) float64 { // an order without one counts as at 0, as in the account
		if math.IsNaN(r.limit) {
			return 0
		}
		return r.limit
	}
	return slices.SortedStableFunc(slices.Values(a.paper.resting), func(x, y *resting) int {
		return cmp.Or(cmp.Compare(y.side, x.side), cmp.Compare(price(y)*float64(y.side), price(x)*float64(x.side)))
	})
}

// tear finds the pairs of which a bar reaches both orders at its extremes, of which nobody knows the order.
// The stop is filled then.
func (a *Account) tear(turns []float64) {
	extreme := func(i int) bool { return i == 1 || i == 2 }
	for _, stop := range a.paper.resting {
		stop.torn = false
		target := stop.other
		if target == nil || !stop.waits() || target.waits() || a.cfg.Path == Favourable {
			continue
		}
		if extreme(slices.IndexFunc(turns, stop.reached)) && extreme(slices.IndexFunc(turns, target.through)) {
			stop.torn = true
		}
	}
}

// isTorn reports whether the bar reaches both orders of the pair of an order.
func (r *resting) isTorn() bool { return r.torn || r.other != nil && r.other.torn }

// turn handles the price at one turn of a bar: limits that it is beyond fill, then stops that it has reached,
// then a position without margin is liquidated.
func (a *Account) turn(p float64, open bool) {
	orders := a.byPrice()
	for _, r := range orders {
		if !r.over && r.through(p) && !r.isTorn() {
			if qty := a.draw(r.left); qty > 0 {
				a.trade(r, qty, r.limit)
			}
		}
	}
	slices.SortStableFunc(orders, func(x, y *resting) int {
		return cmp.Or(cmp.Compare(y.side, x.side), cmp.Compare(x.stop*float64(x.side), y.stop*float64(y.side)))
	})
	for _, r := range orders {
		if r.over || !r.reached(p) {
			continue
		}
		at := r.stop
		if open {
			at = p
		}
		r.triggered, r.rests = true, r.tooDear(a, at)
		if !r.key.exit && !math.IsNaN(r.limit) {
			r.order.armed = true
		}
		a.take(r, at)
	}
	a.judge(p)
}

// draw takes at most a quantity out of the volume of the bar.
func (a *Account) draw(qty float64) float64 {
	qty = min(qty, a.cut(min(qty, a.paper.volume)))
	a.paper.volume -= qty
	return qty
}

// tooDear reports whether a limit that is triggered at a price must wait for a better one.
func (r *resting) tooDear(a *Account, at float64) bool {
	return !math.IsNaN(r.limit) && (r.limit-a.slip(r.side, at))*float64(r.side) < 0
}

// take fills an order that was triggered, at a price and the slippage.
func (a *Account) take(r *resting, at float64) {
	if r.over || r.left <= 0 || r.tooDear(a, at) || a.paper.volume <= 0 {
		return
	}
	price := a.slip(r.side, at)
	pays := a.affordable(r, price)
	wants := r.left
	if qty := a.draw(min(wants, pays)); qty > 0 {
		a.trade(r, qty, price)
	}
	if pays < wants && !r.over {
		a.totals.Refused++
		a.end(r)
		a.orders = slices.DeleteFunc(a.orders, func(o *order) bool { return !r.key.exit && o == r.order })
	}
}

// affordable returns how much of an order that was triggered the account can pay for at a price.
func (a *Account) affordable(r *resting, price float64) float64 {
	var unit, free float64
	switch {
	case a.cfg.Perp != nil && (r.reduce || a.closes(r.side) > 0) || a.cfg.Perp == nil && r.side == Short:
		return r.left
	case a.cfg.Perp != nil:
		unit, free = price/r.leverage+a.commission(1, price), a.freeMargin()
	default:
		unit, free = price*a.unit+a.commission(1, price), a.freeCash()
	}
	free += a.need(r)
	if float64(r.left*unit) <= free*(1+1e-12) {
		return r.left
	}
	return max(0, free/unit)
}

// trade fills an order in part or whole.
func (a *Account) trade(r *resting, qty, p float64) {
	if a.cfg.Perp != nil {
		var ok bool
		if qty, ok = a.within(r, qty, p); !ok {
			return
		}
	}
	torn := r.isTorn()
	r.left, r.qty = a.cut(r.left-qty), a.cut(r.qty-qty)
	if o := r.other; o != nil {
		if o.left, o.qty = a.cut(o.left-qty), a.cut(o.qty-qty); o.left <= 0 {
			a.end(o)
		}
	}
	if r.left <= 0 {
		a.end(r)
	}
	from := r.order.from
	if r.key.exit {
		from = a.named(r.key.entry)
		r.closeLeg(qty)
	} else {
		a.shorten(r, qty)
	}
	a.notice(Notice{Kind: OrderFilled, Number: r.number, Side: r.side, Quantity: qty, Price: p, Stop: math.NaN()})
	closed := len(a.trades)
	a.book(r, from, qty, p)
	for i := closed; i < len(a.trades) && torn; i++ {
		a.trades[i].Ambiguous = true
	}
	if a.cfg.Perp != nil && a.size == 0 {
		a.endReducing()
		a.end(r)
	}
	a.after(r.order, qty)
}

// closeLeg takes a fill from the leg of an exit.
func (r *resting) closeLeg(qty float64) {
	for i := range r.order.legs {
		if l := &r.order.legs[i]; l.entry == r.key.entry {
			l.taken += qty
			l.done = r.qty <= 0
		}
	}
}

// shorten takes a fill from an order of the strategy. What a stop closed of a position, and what it would
// open on the other side, are two orders: the second one follows at the next open.
func (a *Account) shorten(r *resting, qty float64) {
	o := r.order
	closed := min(qty, o.reverse)
	o.reverse, o.qty = a.cut(o.reverse-closed), a.cut(o.qty-(qty-closed))
	switch {
	case o.qty+o.reverse <= 0:
		a.orders = slices.DeleteFunc(a.orders, func(w *order) bool { return w == o })
	case r.qty <= 0 && r.reduce && r.triggered && math.IsNaN(r.limit):
		o.stop, o.triggered = math.NaN(), true
	}
}

// book changes the position by a fill.
func (a *Account) book(r *resting, from string, qty, p float64) {
	before := a.size
	a.margined(float64(qty*float64(r.side)), p, r.leverage)
	left := a.reduce(r.side, qty, p, from, r.order.id, r.comment)
	if left > 0 && from != "" { // another order has closed a part of that entry
		left = a.reduce(r.side, left, p, "", r.order.id, r.comment)
	}
	if left > 0 && !r.reduce && (r.side == Long || a.cfg.Perp != nil && before*float64(r.side) >= 0) {
		a.enlarge(r.order, r.side, left, p, a.commission(qty, p)*left/qty)
	}
}

// enlarge adds a fill to the trade that an earlier fill of the same order opened, at their mean
// price, or opens one.
func (a *Account) enlarge(o *order, side Side, qty, p, fee float64) {
	i := slices.IndexFunc(a.lots, func(l Lot) bool { return l.entry == o.opened })
	if i < 0 {
		opened := *o
		opened.side = side
		a.open(&opened, qty, p, fee)
		o.opened = a.entry
		return
	}
	l := &a.lots[i]
	l.Price = (float64(l.Price*l.Quantity) + float64(p*qty)) / (l.Quantity + qty)
	l.Quantity, l.Filled = a.cutSigned(l.Quantity+qty), a.cutSigned(l.Filled+qty)
	l.paid += fee
	a.paid += fee
	a.size = a.cutSigned(a.size + float64(qty*float64(side)))
	a.totals.hold(a.size)
}
