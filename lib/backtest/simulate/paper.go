package simulate

import (
	"cmp"
	"math"
	"slices"
)

// The paper model: what the paper account does with the orders of a strategy. At each open the
// strategy sends its market orders, withdraws what it no longer wants and sends its limits. A
// limit fills at its price once a trade is beyond it, and never more than the bar's volume. Stops
// stay with the strategy: a bar that meets one makes it a market order at the next open. Nothing
// is lent: a purchase is cut to the cash, a sale to what is held.

// Notice is something that happens between a strategy and its paper account.
type Notice struct {
	Kind     NoticeKind
	Number   int // of the order, in the order of sending
	Bar      int
	Side     Side
	Quantity float64
	Price    float64 // the limit, NaN for a market order; of a fill what was paid
}

// NoticeKind says what happened.
type NoticeKind uint8

// An order is sent, withdrawn, or filled in part or whole.
const (
	OrderSent NoticeKind = iota
	OrderWithdrawn
	OrderFilled
)

// Notify makes an account of the paper model report what is sent and filled.
func (a *Account) Notify(report func(Notice)) { a.paper.report = report }

// paperState is what an account of the paper model keeps.
type paperState struct {
	resting []*resting
	sent    int // orders so far
	report  func(Notice)
}

// orderKey names a limit of a strategy over its changes.
type orderKey struct {
	exit     bool
	id, from string
	entry    int // of the leg of an exit
}

// wanted is a limit that the strategy wants to have in the market.
type wanted struct {
	key     orderKey
	order   *order
	side    Side
	limit   float64
	qty     float64
	comment string
}

// resting is a limit that the account has.
type resting struct {
	wanted
	number int
	left   float64
}

// fillPaper fills what waits in a bar by the paper model. before is the close of the bar before.
func (a *Account) fillPaper(b Bar, before float64) {
	a.arrive(b.Open)
	a.send()
	met := a.stopsMet(b)
	volume := b.Volume
	if volume <= 0 && (b.High != b.Low || b.Close != before) {
		volume = math.Inf(1) // the venue reports none
	}
	first, second := a.cfg.Path.points(b, a.size)
	if a.cfg.Path == Nearest && b.High-b.Open == b.Open-b.Low {
		first, second = b.Low, b.High
		if b.Close-b.Low < b.High-b.Close { // of a tie, what the close is farther from comes first
			first, second = second, first
		}
	}
	for _, p := range [4]float64{b.Open, first, second, b.Close} {
		a.arrive(p)
		volume = a.pass(p, volume)
	}
	for _, m := range met {
		m.trigger(a)
	}
}

// send brings the account to what the strategy wants at the open.
func (a *Account) send() {
	a.withdraw()
	if a.risk.leaving {
		a.risk.leaving = false
		const why = "Close position (risk limit)"
		a.place(order{kind: closeOrder, id: why, comment: why, side: Short, qty: a.size, limit: math.NaN(), stop: math.NaN()})
	}
	for {
		i := slices.IndexFunc(a.orders, func(o *order) bool { return o.market() })
		if i < 0 {
			break
		}
		o := a.orders[i]
		a.orders = slices.Delete(a.orders, i, i+1)
		a.sendMarket(o)
	}
	for a.sendLimits() {
	}
}

// sendMarket sends a market order, which fills at the open.
func (a *Account) sendMarket(o *order) {
	price, qty := a.slip(o.side, a.price), a.cut(o.qty+o.reverse)
	if o.side == Short && qty > a.freeUnits() { // limits that wait to sell the same units
		a.withdrawAll(Short)
	}
	if qty = a.allowed(o.side, qty, price); qty <= 0 {
		a.totals.Refused++
		a.purge()
		return
	}
	number := a.announce(o.side, qty, math.NaN())
	a.fillOf(o, 0, o.comment, number, qty, price)
}

// sendLimits sends the limits that the account does not have, and reports whether one filled at
// once, which may change what is wanted.
func (a *Account) sendLimits() bool {
	a.withdraw()
	for _, w := range a.wants() {
		if slices.ContainsFunc(a.paper.resting, func(r *resting) bool { return r.key == w.key }) {
			continue
		}
		qty := a.allowed(w.side, w.qty, w.limit)
		if qty <= 0 {
			continue
		}
		number := a.announce(w.side, qty, w.limit)
		r := &resting{wanted: w, number: number, left: qty}
		a.paper.resting = append(a.paper.resting, r)
		if price := a.slip(w.side, a.price); limitMet(w.side, w.limit, price) {
			a.fillResting(r, qty, price)
			return true
		}
	}
	return false
}

// wants returns the limits that the strategy wants to have.
func (a *Account) wants() []wanted {
	var out []wanted
	for _, o := range a.orders {
		if o.kind != exitOrder {
			if !math.IsNaN(o.limit) && (math.IsNaN(o.stop) || o.armed) {
				out = append(out, wanted{orderKey{id: o.id}, o, o.side, o.limit, a.cut(o.qty + o.reverse), o.comment})
			}
			continue
		}
		for i := range o.legs {
			if l := &o.legs[i]; l.live() && !math.IsNaN(l.limit) {
				key := orderKey{exit: true, id: o.id, from: o.from, entry: l.entry}
				out = append(out, wanted{key, o, -l.side, l.limit, a.cut(l.qty), o.reason(a, l, l.limit)})
			}
		}
	}
	return out
}

// withdraw takes back the limits that are no longer wanted as they are.
func (a *Account) withdraw() {
	if len(a.paper.resting) == 0 {
		return
	}
	wants := a.wants()
	a.paper.resting = slices.DeleteFunc(a.paper.resting, func(r *resting) bool {
		i := slices.IndexFunc(wants, func(w wanted) bool { return w.key == r.key })
		if i >= 0 && wants[i].side == r.side && wants[i].limit == r.limit && wants[i].qty == r.qty {
			r.order = wants[i].order
			return false
		}
		a.notice(OrderWithdrawn, r.number, r.side, r.left, r.limit)
		return true
	})
}

// withdrawAll takes back every limit of a side.
func (a *Account) withdrawAll(side Side) {
	a.paper.resting = slices.DeleteFunc(a.paper.resting, func(r *resting) bool {
		if r.side == side {
			a.notice(OrderWithdrawn, r.number, r.side, r.left, r.limit)
		}
		return r.side == side
	})
}

// pass fills the limits that the price p is beyond: the best price first, then the oldest. It
// returns what is left of the volume.
func (a *Account) pass(p, volume float64) float64 {
	var met []*resting
	for _, r := range a.paper.resting {
		if (r.limit-p)*float64(r.side) > 0 {
			met = append(met, r)
		}
	}
	slices.SortStableFunc(met, func(x, y *resting) int {
		return cmp.Or(cmp.Compare(y.side, x.side), cmp.Compare(y.limit*float64(y.side), x.limit*float64(x.side)))
	})
	for _, r := range met {
		qty := min(r.left, a.cut(min(r.left, volume)))
		if qty <= 0 {
			continue
		}
		volume -= qty
		a.fillResting(r, qty, r.limit)
	}
	return volume
}

// fillResting fills a limit in part or whole.
func (a *Account) fillResting(r *resting, qty, p float64) {
	r.left, r.qty = a.cut(r.left-qty), a.cut(r.qty-qty)
	if r.left <= 0 {
		a.paper.resting = slices.DeleteFunc(a.paper.resting, func(o *resting) bool { return o == r })
	}
	o := r.order
	if r.key.exit {
		for i := range o.legs {
			if l := &o.legs[i]; l.entry == r.key.entry {
				l.taken += qty
				l.done = r.qty <= 0
			}
		}
	} else {
		o.qty, o.reverse = r.qty, 0
		if r.qty <= 0 {
			a.orders = slices.DeleteFunc(a.orders, func(w *order) bool { return w == o })
		}
	}
	a.fillOf(o, r.key.entry, r.comment, r.number, qty, p)
}

// fillOf changes the position by a fill of an order, or of its leg for an entry.
func (a *Account) fillOf(o *order, entry int, comment string, number int, qty, p float64) {
	side, from := o.side, o.from
	if entry > 0 {
		side, from = Short, a.named(entry)
	}
	a.notice(OrderFilled, number, side, qty, p)
	left := a.reduce(side, qty, p, from, o.id, comment)
	if side == Long && left > 0 {
		a.enlarge(o, left, p, a.commission(qty, p)*left/qty)
	}
	a.after(o, qty)
}

// enlarge adds a fill to the trade that an earlier fill of the same order opened, at their mean
// price, or opens one.
func (a *Account) enlarge(o *order, qty, p, fee float64) {
	i := slices.IndexFunc(a.lots, func(l Lot) bool { return l.entry == o.opened })
	if i < 0 {
		a.open(o, qty, p, fee)
		o.opened = a.entry
		return
	}
	l := &a.lots[i]
	l.Price = (float64(l.Price*l.Quantity) + float64(p*qty)) / (l.Quantity + qty)
	l.Quantity, l.Filled = a.cutSigned(l.Quantity+qty), a.cutSigned(l.Filled+qty)
	l.paid += fee
	a.paid += fee
	a.size = a.cutSigned(a.size + qty)
	a.totals.hold(a.size)
}

// allowed cuts a quantity to the cash or the units that no limit waits for.
func (a *Account) allowed(side Side, qty, p float64) float64 {
	if side == Short {
		return min(qty, a.cut(a.freeUnits()))
	}
	unit := p*a.unit + a.commission(1, p)
	if float64(qty*unit) <= a.freeCash() {
		return qty
	}
	n := math.Floor(a.freeCash()/unit/a.cfg.Step - 1e-9)
	return max(0, a.cutSigned(n*a.cfg.Step))
}

// freeUnits is what is held and no limit waits to sell.
func (a *Account) freeUnits() float64 {
	free := a.size
	for _, r := range a.paper.resting {
		if r.side == Short {
			free -= r.left
		}
	}
	return free
}

// freeCash is the money that no limit waits to spend.
func (a *Account) freeCash() float64 {
	cash := a.cfg.Capital + a.realized - a.paid
	for i := range a.lots {
		cash -= float64(a.lots[i].Price * a.lots[i].Quantity * a.unit)
	}
	for _, r := range a.paper.resting {
		if r.side == Long {
			cash -= float64(r.left*r.limit*a.unit) + a.commission(r.left, r.limit)
		}
	}
	return cash
}

// metStop is an order, or the leg of an exit for an entry, whose stop a bar met.
type metStop struct {
	order *order
	entry int
}

// stopsMet returns the stops that a bar meets. Those that trail follow from the bar after.
func (a *Account) stopsMet(b Bar) []metStop {
	var out []metStop
	for _, o := range a.orders {
		if o.kind != exitOrder {
			if !math.IsNaN(o.stop) && !o.armed && (stopMet(o.side, o.stop, b.High) || stopMet(o.side, o.stop, b.Low)) {
				out = append(out, metStop{order: o})
			}
			continue
		}
		for i := range o.legs {
			l := &o.legs[i]
			if stop, _ := o.stopPrice(a, l); l.live() && !math.IsNaN(stop) && stopMet(-l.side, stop, b.Low) {
				out = append(out, metStop{o, l.entry})
			}
		}
	}
	return out
}

// resumes reports whether an exit that closes all of its trades works again for one that is still
// open: a later part of its entry was filled, or another trade was closed in its place.
func (a *Account) resumes(o *order) bool {
	whole := math.IsNaN(o.exit.Quantity) && math.IsNaN(o.exit.Percent)
	return a.cfg.Paper && whole && !slices.ContainsFunc(a.orders, func(w *order) bool { return w.triggered && w.id == o.id })
}

// trigger makes an order whose stop was met a market order for the next open, and a stop-limit
// order a limit.
func (m metStop) trigger(a *Account) {
	o := m.order
	if !slices.Contains(a.orders, o) {
		return
	}
	if m.entry == 0 {
		o.armed = true
		if math.IsNaN(o.limit) {
			o.stop, o.triggered = math.NaN(), true
		}
		return
	}
	for i := range o.legs {
		if l := &o.legs[i]; l.entry == m.entry && l.live() {
			stop, _ := o.stopPrice(a, l)
			l.done = true
			a.orders = append(a.orders, &order{ // beside those of other legs
				kind: closeOrder, id: o.id, from: a.named(l.entry), comment: o.reason(a, l, stop), side: -l.side, qty: l.qty,
				limit: math.NaN(), stop: math.NaN(), triggered: true,
			})
			return
		}
	}
}

// announce numbers and reports an order that is sent.
func (a *Account) announce(side Side, qty, limit float64) int {
	a.paper.sent++
	a.notice(OrderSent, a.paper.sent, side, qty, limit)
	return a.paper.sent
}

func (a *Account) notice(kind NoticeKind, number int, side Side, qty, price float64) {
	if a.paper.report != nil {
		a.paper.report(Notice{Kind: kind, Number: number, Bar: a.bar, Side: side, Quantity: qty, Price: price})
	}
}
