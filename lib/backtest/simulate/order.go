package simulate

import (
	"math"
	"slices"
)

// OCA says what happens to the other orders of a group when one fills.
type OCA uint8

// The others stay, end, or lose the filled quantity.
const (
	OCANone OCA = iota
	OCACancel
	OCAReduce
)

// Request asks for an order that opens, adds to or reduces a position. A NaN price or
// quantity is one that was not given.
type Request struct {
	ID       string
	Side     Side
	Quantity float64
	Limit    float64
	Stop     float64
	Group    string
	OCA      OCA
	Comment  string
}

// kind is the family of rules that an order follows.
type kind uint8

const (
	entryOrder kind = iota // strategy.entry: reverses, and counts against pyramiding
	plainOrder             // strategy.order: adds to the position as it is
	exitOrder              // strategy.exit: legs against open trades
	closeOrder             // strategy.close: a market order against an entry
)

// order is a waiting order.
type order struct {
	kind      kind
	id        string
	comment   string
	side      Side
	qty       float64
	reverse   float64 // what an entry closes besides: the opposite position when it was placed
	limit     float64
	stop      float64
	armed     bool // the stop of a stop-limit order was touched
	immediate bool // fills at the close that placed it
	triggered bool // a stop that the paper model made a market order
	opened    int  // number of the entry that a fill of a part opened
	fresh     bool // placed in the computation that runs now
	group     string
	oca       OCA

	from string       // entry that an exit or a close belongs to; empty means all
	exit *ExitRequest // of an exit
	legs []leg
}

// market reports whether the order fills at the next price, whatever it is.
func (o *order) market() bool {
	return o.kind != exitOrder && math.IsNaN(o.limit) && math.IsNaN(o.stop)
}

// metAt reports whether price p fills the order or arms its limit.
func (o *order) metAt(a *Account, p float64) bool {
	if !math.IsNaN(o.stop) && !o.armed {
		return stopMet(o.side, o.stop, p)
	}
	return limitMet(o.side, a.beyond(o.side, o.limit), p)
}

// priceTowards returns the price at which the order fills or arms while the price moves in
// direction dir.
func (o *order) priceTowards(a *Account, dir Side, _, _ float64) (float64, bool) {
	if o.market() {
		return 0, false
	}
	if !math.IsNaN(o.stop) && !o.armed {
		return o.stop, dir == o.side
	}
	return a.beyond(o.side, o.limit), dir != o.side
}

// stopMet reports whether p reaches a stop price.
func stopMet(side Side, stop, p float64) bool { return (p-stop)*float64(side) >= 0 }

// limitMet reports whether p reaches a limit price.
func limitMet(side Side, limit, p float64) bool { return (limit-p)*float64(side) >= 0 }

// beyond returns the price at which a limit fills: the limit, or some ticks past it.
func (a *Account) beyond(side Side, limit float64) float64 {
	if a.cfg.LimitBeyond == 0 {
		return limit
	}
	return limit - float64(float64(side)*float64(a.cfg.LimitBeyond)*a.cfg.Tick)
}

// Enter places an order that opens a position, adds to it or reverses it.
func (a *Account) Enter(r Request) {
	if !a.heard() {
		return
	}
	if a.entries(r.Side)+a.entering(r) >= max(1, a.cfg.Pyramiding) {
		a.requests.Crowded++
		return
	}
	if only := a.risk.only; only != 0 && r.Side != only {
		a.requests.Barred++
		if a.size*float64(r.Side) < 0 {
			a.place(order{kind: closeOrder, id: r.ID, comment: r.Comment, side: r.Side, qty: math.Abs(a.size), limit: math.NaN(), stop: math.NaN()})
		}
		return
	}
	qty := a.cut(a.wanted(r))
	if qty <= 0 {
		a.refuseSmall(r)
		return
	}
	if most := a.risk.Position; most > 0 {
		if qty = min(qty, a.cut(most-max(0, a.size*float64(r.Side)))); qty <= 0 {
			a.requests.Barred++
			return
		}
	}
	a.placeRequest(entryOrder, r, qty)
}

// Order places an order that changes the position by its quantity.
func (a *Account) Order(r Request) {
	if !a.heard() {
		return
	}
	qty := a.cut(a.wanted(r))
	if qty <= 0 {
		a.refuseSmall(r)
		return
	}
	a.placeRequest(plainOrder, r, qty)
}

func (a *Account) placeRequest(k kind, r Request, qty float64) {
	if math.IsNaN(r.Limit) && math.IsNaN(r.Stop) {
		a.requests.Market++
	} else {
		a.requests.Priced++
	}
	reverse := 0.0
	if k == entryOrder {
		reverse = a.cut(-a.size*float64(r.Side) - a.closing(r.Side) + a.opening(r))
	}
	a.place(order{
		kind: k, id: r.ID, comment: r.Comment, side: r.Side, qty: qty, reverse: reverse, group: r.Group, oca: r.OCA,
		limit: a.snap(r.Limit, r.Side, false), stop: a.snap(r.Stop, r.Side, true),
	})
}

// closing returns the quantity that waiting orders of one side close.
func (a *Account) closing(side Side) float64 {
	var sum float64
	for _, o := range a.orders {
		if o.kind == closeOrder && o.side == side {
			sum += o.qty
		}
	}
	return sum
}

// opening returns the quantity that market orders placed before a request open against it.
// They fill at the next open, so a stop or limit order of the same bar reverses it, too.
func (a *Account) opening(r Request) float64 {
	if math.IsNaN(r.Limit) && math.IsNaN(r.Stop) {
		return 0
	}
	var sum float64
	for _, o := range a.orders {
		if (o.kind == entryOrder || o.kind == plainOrder) && o.market() && o.side == -r.Side && o.id != r.ID {
			sum += o.qty + o.reverse
		}
	}
	return sum
}

// entering counts the market entries placed before a request on its side. They fill at the
// next open, so they count as open; waiting stops and limits do not.
func (a *Account) entering(r Request) int {
	n := 0
	for _, o := range a.orders {
		if o.kind == entryOrder && o.market() && o.side == r.Side && o.id != r.ID {
			n++
		}
	}
	return n
}

// entries counts the open trades that entries of one direction made.
func (a *Account) entries(side Side) int {
	n, last := 0, -1
	for i := range a.lots {
		if l := &a.lots[i]; l.Side == side && l.byEntry && l.entry != last {
			n, last = n+1, l.entry
		}
	}
	return n
}

// place adds an order, in the place of a waiting one with the same name, and returns it.
func (a *Account) place(placed order) *order {
	o := a.newOrder()
	*o = placed
	o.fresh = true
	i := slices.IndexFunc(a.orders, func(w *order) bool {
		return w.id == o.id && w.from == o.from && sameFamily(w.kind, o.kind)
	})
	if i >= 0 && a.orders[i].triggered {
		return a.orders[i] // it is on its way
	}
	if i >= 0 {
		a.orders[i] = o
		return o
	}
	a.orders = append(a.orders, o)
	return o
}

// newOrder returns memory for an order: that of one that was filled, if there is any.
func (a *Account) newOrder() *order {
	last := len(a.spare) - 1
	if last < 0 {
		return new(order)
	}
	o := a.spare[last]
	a.spare = a.spare[:last]
	return o
}

// sameFamily reports whether an order of one kind replaces one of the other by name.
func sameFamily(x, y kind) bool {
	opens := func(k kind) bool { return k == entryOrder || k == plainOrder }
	return x == y || opens(x) && opens(y)
}

// Cancel ends the waiting orders with a name.
func (a *Account) Cancel(id string) {
	a.orders = slices.DeleteFunc(a.orders, func(o *order) bool {
		return o.id == id && o.kind != closeOrder && (!o.market() || o.fresh)
	})
	a.purge()
}

// CancelAll ends every waiting order.
func (a *Account) CancelAll() {
	a.orders = slices.DeleteFunc(a.orders, func(o *order) bool { return o.kind != closeOrder && (!o.market() || o.fresh) })
}

// CloseRequest asks for a market order against the trades of an entry.
type CloseRequest struct {
	From        string // empty closes the whole position
	Quantity    float64
	Percent     float64
	Immediately bool
	Comment     string
}

// Close places a market order that closes the trades of an entry, or all of them.
func (a *Account) Close(r CloseRequest) {
	var held float64
	for i := range a.lots {
		if r.From == "" || a.lots[i].ID == r.From {
			held += a.lots[i].Quantity
		}
	}
	qty := held
	switch {
	case !math.IsNaN(r.Quantity):
		qty = min(held, r.Quantity)
	case !math.IsNaN(r.Percent):
		qty = a.cut(held * r.Percent / 100)
	}
	if qty <= 0 {
		return
	}
	a.place(order{
		kind: closeOrder, id: "close", from: r.From, comment: r.Comment, side: a.against(), qty: qty,
		limit: math.NaN(), stop: math.NaN(), immediate: r.Immediately,
	})
}

// against is the side that closes the position.
func (a *Account) against() Side {
	if a.size < 0 {
		return Long
	}
	return Short
}

// holds reports whether a trade of an entry is open.
func (a *Account) holds(entry int) bool {
	return slices.ContainsFunc(a.lots, func(l Lot) bool { return l.entry == entry })
}

// snap moves a price to the tick, away from the market: buy stops and sell limits up,
// sell stops and buy limits down.
func (a *Account) snap(p float64, side Side, stop bool) float64 {
	if math.IsNaN(p) {
		return p
	}
	const slack = 1e-4 // of a tick, as in the exported lists: 6e-5 counts as none, 1e-3 does not
	n := p / a.cfg.Tick
	if (side == Long) == stop {
		n = math.Ceil(n - slack)
	} else {
		n = math.Floor(n + slack)
	}
	return a.round(n * a.cfg.Tick)
}

// round removes the error of a product with the tick, so that prices equal those that
// are read from text.
func (a *Account) round(p float64) float64 {
	if a.perTick > 0 {
		return math.Round(p*a.perTick) / a.perTick
	}
	return p
}
