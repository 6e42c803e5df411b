package simulate

import (
	"math"
	"slices"
)

// The paper model: what the paper account does with the orders of a strategy. At each open the
// strategy sends its market orders, withdraws what it no longer wants and sends its limits and stops; a
// stop that trails is sent again where it has moved. A limit fills at its price once a trade is beyond
// it, a stop at its price and the slippage, and neither more than the bar's volume. Nothing is lent: a
// purchase is cut to the cash, a sale to what is held. In a perpetual future an entry of either side is
// cut to the margin that the account has.

// Notice is something that happens between a strategy and its paper account.
type Notice struct {
	Kind     NoticeKind
	Number   int // of the order, in the order of sending; 0 is a liquidation
	Bar      int
	Side     Side
	Quantity float64
	Price    float64 // the limit, NaN for a market order; of a fill what was paid
	Stop     float64 // of an order that is sent; NaN for none
	Pair     bool    // a limit is sent with a stop of the next number: the first that fills ends the other
	Reduce   bool    // it may only reduce the position
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
	perp    position
	volume  float64 // that nobody has taken of the newest bar
}

// orderKey names an order of a strategy over its changes.
type orderKey struct {
	exit     bool
	id, from string
	entry    int // of the leg of an exit
}

// wanted is what the strategy wants to have in the market: a limit, a stop, a stop that becomes a limit, or
// a limit and a stop of which the first that fills ends the other.
type wanted struct {
	key         orderKey
	order       *order
	side        Side
	limit, stop float64
	qty         float64
	pair        bool
	reduce      bool // it may only reduce the position
	comment     string
	stopped     string // the comment of a fill at the stop
}

// fillPaper fills what waits in a bar by the paper model. before is the close of the bar before.
func (a *Account) fillPaper(b Bar, before float64) {
	a.fund(b.Time)
	a.arrive(b.Open)
	a.send()
	if a.cfg.Perp != nil {
		a.fund(b.Time + a.cfg.Perp.Span - 1)
	}
	a.paper.volume = b.Volume
	if b.Volume <= 0 && (b.High != b.Low || b.Close != before) {
		a.paper.volume = math.Inf(1) // the venue reports none
	}
	first, second := a.cfg.Path.points(b, a.size)
	if a.cfg.Path == Nearest && b.High-b.Open == b.Open-b.Low {
		first, second = b.Low, b.High
		if b.Close-b.Low < b.High-b.Close { // of a tie, what the close is farther from comes first
			first, second = second, first
		}
	}
	turns := [4]float64{b.Open, first, second, b.Close}
	a.tear(turns[:])
	for _, r := range a.byPrice() {
		if r.triggered && !r.rests {
			a.take(r, b.Open)
		}
	}
	for i, p := range turns {
		a.arrive(p)
		a.turn(p, i == 0)
	}
}

// send brings the account to what the strategy wants at the open.
func (a *Account) send() {
	a.withdraw()
	if a.risk.leaving {
		a.risk.leaving = false
		a.place(order{kind: closeOrder, id: leavingText, comment: leavingText, side: a.against(), qty: math.Abs(a.size), limit: math.NaN(), stop: math.NaN()})
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
	for a.sendPriced() {
	}
}

// sendMarket sends a market order, which fills at the open. In a perpetual future one order closes what is
// held against it, and another one opens.
func (a *Account) sendMarket(o *order) {
	price, qty := a.slip(o.side, a.price), a.cut(o.qty+o.reverse)
	if a.cfg.Perp != nil {
		against := min(qty, a.closes(o.side))
		qty = a.cut(qty - against)
		if opens := a.sendClosing(o, against, price); !opens || o.kind == closeOrder || against > 0 && qty == 0 {
			a.purge()
			return
		}
	}
	if o.side == Short && qty > a.freeUnits() { // orders that wait to sell the same units
		a.withdrawAll(Short)
	}
	if qty = a.allowed(o.side, qty, price, math.NaN()); qty <= 0 {
		a.totals.Refused++
		a.purge()
		return
	}
	a.trade(&resting{wanted: a.marketOf(o, qty, false), number: a.announceMarket(o.side, qty, false), leverage: a.leverage(qty, math.NaN())}, qty, price)
}

// sendClosing sends the part of a market order that closes what is held against it. It reports whether the rest may
// still open: a rule of risk that the fill breaks ends it. Until then the exits of the rest wait with it.
func (a *Account) sendClosing(o *order, qty, price float64) bool {
	if qty <= 0 {
		return true
	}
	a.orders = append(a.orders, o)
	a.trade(&resting{wanted: a.marketOf(o, qty, true), number: a.announceMarket(o.side, qty, true)}, qty, price)
	i := slices.Index(a.orders, o)
	if i < 0 {
		return false
	}
	a.orders = slices.Delete(a.orders, i, i+1)
	return true
}

// marketOf returns a market order as it is sent.
func (a *Account) marketOf(o *order, qty float64, reduce bool) wanted {
	return wanted{order: o, side: o.side, limit: math.NaN(), stop: math.NaN(), qty: qty, reduce: reduce, comment: o.comment}
}

// sendPriced sends the limits and stops that the account does not have. It reports whether one filled at
// once, which may change what is wanted.
func (a *Account) sendPriced() bool {
	a.withdraw()
	for _, w := range a.wants() {
		if slices.ContainsFunc(a.paper.resting, func(r *resting) bool { return r.key == w.key }) {
			continue
		}
		if !math.IsNaN(w.stop) && stopMet(w.side, w.stop, a.price) {
			a.sendMet(w)
			return true
		}
		price := w.limit
		switch now := a.slip(w.side, a.price); {
		case math.IsNaN(w.limit):
			price = a.slip(w.side, w.stop)
		case a.cfg.Perp != nil && math.IsNaN(w.stop) && limitMet(w.side, w.limit, now):
			price = now // a sale fills above its limit then, and needs more
		}
		qty := a.allowed(w.side, w.qty, price, w.limit)
		if w.reduce {
			qty = w.qty
		}
		if qty <= 0 {
			continue
		}
		if a.rest(w, qty) {
			return true
		}
	}
	return false
}

// sendMet sends an order whose stop the price has reached: at the market, or as the limit that it becomes.
func (a *Account) sendMet(w wanted) {
	o := w.order
	if w.key.exit {
		for i := range o.legs {
			if l := &o.legs[i]; l.entry == w.key.entry {
				l.done = true
			}
		}
		a.sendMarket(&order{
			kind: closeOrder, id: o.id, from: a.named(w.key.entry), comment: w.stopped, side: w.side, qty: w.qty,
			limit: math.NaN(), stop: math.NaN(), triggered: true,
		})
		return
	}
	if o.armed = true; math.IsNaN(o.limit) {
		a.orders = slices.DeleteFunc(a.orders, func(x *order) bool { return x == o })
		a.sendMarket(o)
	}
}

// wants returns what the strategy wants to have in the market.
func (a *Account) wants() []wanted {
	var out []wanted
	for _, o := range a.orders {
		if o.kind != exitOrder {
			if w, ok := a.wantsOf(o); ok {
				out = append(out, w)
			}
			continue
		}
		for i := range o.legs {
			l := &o.legs[i]
			stop, _ := o.stopPrice(a, l)
			if !l.live() || !a.holds(l.entry) || math.IsNaN(l.limit) && math.IsNaN(stop) {
				continue
			}
			out = append(out, wanted{
				key: orderKey{exit: true, id: o.id, from: o.from, entry: l.entry}, order: o, side: -l.side, limit: l.limit, stop: stop,
				qty: a.cut(l.qty), pair: !math.IsNaN(l.limit) && !math.IsNaN(stop), reduce: a.cfg.Perp != nil,
				comment: o.reason(a, l, l.limit), stopped: o.reason(a, l, stop),
			})
		}
	}
	return out
}

// wantsOf returns what the strategy wants of an order with a price. In a perpetual future, one against the
// position closes it before another one opens.
func (a *Account) wantsOf(o *order) (wanted, bool) {
	w := wanted{key: orderKey{id: o.id}, order: o, side: o.side, limit: o.limit, stop: o.stop, qty: a.cut(o.qty + o.reverse), comment: o.comment, stopped: o.comment}
	if o.armed {
		w.stop = math.NaN()
	}
	if a.cfg.Perp != nil {
		if held := a.closes(o.side); held > 0 {
			w.qty, w.reduce = min(w.qty, held), true
		}
	}
	return w, w.qty > 0 && !(math.IsNaN(w.limit) && math.IsNaN(w.stop))
}

// resumes reports whether an exit that closes all of its trades works again for one that is still
// open: a later part of its entry was filled, or another trade was closed in its place.
func (a *Account) resumes(o *order) bool {
	return a.cfg.Paper && math.IsNaN(o.exit.Quantity) && math.IsNaN(o.exit.Percent)
}

// allowed cuts a quantity to the cash, the margin, or the units that no order waits for. limit is that of
// the order, NaN for none.
func (a *Account) allowed(side Side, qty, p, limit float64) float64 {
	var unit, free float64
	switch {
	case a.cfg.Perp != nil:
		unit, free = p/a.leverage(qty, limit)+a.commission(1, p), a.freeMargin()
	case side == Short:
		return min(qty, a.cut(a.freeUnits()))
	default:
		unit, free = p*a.unit+a.commission(1, p), a.freeCash()
	}
	if float64(qty*unit) <= free {
		return qty
	}
	n := math.Floor(free/unit/a.cfg.Step - 1e-9)
	return max(0, a.cutSigned(n*a.cfg.Step))
}

// Affordable cuts the quantity of an order at the market to what the account can pay at the newest price: with all that it
// has, if what it holds is closed before.
func (a *Account) Affordable(side Side, qty float64, closed bool) float64 {
	price := a.slip(side, a.price)
	if !closed {
		return a.allowed(side, qty, price, math.NaN())
	}
	unit := price*a.unit + a.commission(1, price)
	if a.cfg.Perp != nil {
		unit = price/a.leverage(qty, math.NaN()) + a.commission(1, price)
	}
	return min(qty, max(0, a.cutSigned(math.Floor(a.Equity()/unit/a.cfg.Step-1e-9)*a.cfg.Step)))
}

// freeUnits is what is held and no order waits to sell.
func (a *Account) freeUnits() float64 {
	free := a.size
	for _, r := range a.paper.resting {
		if r.side == Short && !(r.pair && !math.IsNaN(r.stop) && r.other != nil) { // a pair counts once
			free -= r.left
		}
	}
	return free
}

// freeCash is the money that no order waits to spend.
func (a *Account) freeCash() float64 {
	cash := a.cfg.Capital + a.realized - a.paid
	for i := range a.lots {
		cash -= float64(a.lots[i].Price * a.lots[i].Quantity * a.unit)
	}
	for _, r := range a.paper.resting {
		cash -= a.need(r)
	}
	return cash
}

// need is what a resting order may take out of the cash.
func (a *Account) need(r *resting) float64 {
	price := r.limit
	if math.IsNaN(price) {
		price = a.slip(r.side, r.stop)
	}
	switch {
	case a.cfg.Perp != nil && (r.reduce || a.closes(r.side) > 0):
		return 0
	case a.cfg.Perp != nil:
		return float64(r.left*price/r.leverage) + a.commission(r.left, price)
	case r.side == Short:
		return 0
	}
	return float64(r.left*price*a.unit) + a.commission(r.left, price)
}

// announceMarket numbers and reports a market order that is sent.
func (a *Account) announceMarket(side Side, qty float64, reduce bool) int {
	a.paper.sent++
	a.notice(Notice{Kind: OrderSent, Number: a.paper.sent, Side: side, Quantity: qty, Price: math.NaN(), Stop: math.NaN(), Reduce: reduce})
	return a.paper.sent
}

func (a *Account) notice(n Notice) {
	if a.paper.report != nil {
		n.Bar = a.bar
		a.paper.report(n)
	}
}
