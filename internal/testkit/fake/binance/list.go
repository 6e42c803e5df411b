package binance

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// The venue's words about a list.
const (
	contingencyPair  = "OCO"
	contingencyEntry = "OTO" // also of an OPO
	listStarted      = "EXEC_STARTED"
	listExecuting    = "EXECUTING"
	listDone         = "ALL_DONE"
)

// List is an order list at the venue, as the venue itself knows it.
type List struct {
	ID                 int64
	ClientID, Symbol   string
	Contingency        string // OCO or OTO
	OPO                bool   // the venue sizes the legs
	StatusType, Status string // such as EXEC_STARTED and EXECUTING
	Created, Updated   time.Time
	Orders             []int64 // the working order first, the stop of a pair before its target
	working            *Order  // nil in a pair on its own
	legs               []*Order
	reserve            *hold // what an OPO received and keeps for its legs
}

// all returns the orders of the list.
func (l *List) all() []*Order {
	if l.working == nil {
		return l.legs
	}
	return slices.Concat([]*Order{l.working}, l.legs)
}

// open reports whether any order of the list is.
func (l *List) open() bool { return slices.ContainsFunc(l.all(), (*Order).Open) }

// stopFirst puts the stop of a pair before its target, as the venue numbers them.
func stopFirst(above, below *Order) []*Order {
	if stops(above.Type) {
		return []*Order{above, below}
	}
	return []*Order{below, above}
}

// related reports whether the prices of a pair are on the right sides of the last price,
// or of each other when that is zero.
func related(legs []*Order, last decimal.Decimal) bool {
	high, low := legs[1].level(), legs[0].level() // of a sale: the target above, the stop below
	if legs[0].Side == sideBuy {
		high, low = low, high
	}
	if last.IsZero() {
		return high.IsZero() || low.IsZero() || high.GreaterThan(low)
	}
	return (high.IsZero() || high.GreaterThan(last)) && (low.IsZero() || low.LessThan(last))
}

// placeList puts a list in, or refuses it. Nothing of one that is refused stays.
func (e *exchange) placeList(l *List, now time.Time) *refusal {
	e.advance(now)
	if no := e.screenList(l, now); no != nil {
		return no
	}
	last, depth := e.market(l.Symbol, now)
	if no := e.judgeList(l, last); no != nil {
		return no
	}
	first := l.legs
	if l.working != nil {
		first = []*Order{l.working}
	}
	if !e.lock(last, first...) {
		return &refusal{400, -2010, wordsFunds}
	}
	if l.working != nil && !l.OPO && e.assumed.OTOLocksLegs && !e.lock(last, l.legs...) {
		e.release(l.working)
		return &refusal{400, -2010, wordsFunds}
	}
	l.ID, l.Created = int64(len(e.lists)+1), now
	e.lists = append(e.lists, l)
	for _, o := range l.all() {
		e.accept(o, now)
		o.list, o.List, l.Orders = l, l.ID, append(l.Orders, o.ID)
	}
	e.reportList(l, listStarted, listExecuting, now)
	for _, o := range l.legs {
		if l.working == nil {
			e.open(o, last, depth, now)
			continue
		}
		o.Status = statusPending
	}
	if l.working != nil {
		e.begin(l, last, depth, now)
	}
	return nil
}

// begin reports the orders of a list with a working order, which meets the book.
func (e *exchange) begin(l *List, last, depth decimal.Decimal, now time.Time) {
	l.working.Status, l.working.Working = statusNew, now
	for _, o := range l.all() {
		e.report(o, statusNew, "", nil, now)
	}
	e.work(l.working, last, depth, now)
}

// screenList judges a list before it reaches the book.
func (e *exchange) screenList(l *List, now time.Time) *refusal {
	lists := 0
	for _, other := range e.lists {
		if !other.open() {
			continue
		}
		if other.ClientID == l.ClientID {
			return &refusal{400, -2010, "Duplicate order sent."}
		}
		if other.Symbol == l.Symbol {
			lists++
		}
	}
	if no := e.features(l.Symbol).checkList(l); no != nil {
		return no
	}
	if lists >= e.rules.maxLists {
		return counted("MAX_NUM_ORDER_LISTS")
	}
	return e.screen(l.all(), now)
}

// judgeList returns why the book does not take a list at the last price. The legs of a
// working order are judged again when it is filled.
func (e *exchange) judgeList(l *List, last decimal.Decimal) *refusal {
	if no := e.duplicate(l.all()); no != nil {
		return no
	}
	now, against := l.legs, last
	if l.working != nil {
		now, against = []*Order{l.working}, decimal.Zero
		if l.OPO && l.working.TimeInForce == timeInForceWhole && e.assumed.OPORefusesFOK {
			return &refusal{400, -2010, "Unsupported order combination"}
		}
	}
	if len(l.legs) == 2 && !related(l.legs, against) {
		return &refusal{400, -2010, wordsPrices}
	}
	for _, o := range now {
		if no := judge(o, last); no != nil {
			return no
		}
	}
	return nil
}

// contend is what a trade of an order means for the other of its pair: it expires. Where
// the venue is assumed to leave the stop of a target that is filled in part, the stop is
// for what is left.
func (e *exchange) contend(o *Order, quantity decimal.Decimal, at time.Time) {
	if !e.assumed.TargetKeepsStop || contingent(o.Type) || quantity.GreaterThanOrEqual(o.left()) {
		e.exclude(o, at)
		return
	}
	for _, other := range e.rivals(o) {
		other.Quantity, other.Updated = other.Quantity.Sub(quantity), at
		e.report(other, executionReplace, "", nil, at)
	}
}

// rivals returns the other order of a pair, if it is open.
func (e *exchange) rivals(o *Order) []*Order {
	if o.list == nil || !slices.Contains(o.list.legs, o) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(o.list.legs), func(other *Order) bool { return other == o || !other.Open() })
}

// exclude expires the other order of a pair before one of them trades, and leaves set
// aside what that one needs.
func (e *exchange) exclude(o *Order, at time.Time) {
	for _, other := range e.rivals(o) {
		e.finish(other, statusExpired, reasonPair, "", at)
		if need := o.need(o.StopPrice); o.hold != nil && need.LessThan(o.hold.amount) {
			e.set(o.hold, need)
		}
	}
}

// filled is what a trade of an order means for its list.
func (e *exchange) filled(o *Order, at time.Time) {
	if o.list == nil || o.Status != statusFilled {
		return
	}
	if o == o.list.working {
		e.ripe = append(e.ripe, o.list)
		return
	}
	e.ended(o, at)
}

// ended is what the end of an order means for its list: when the working order expires,
// its legs do, and a list without an open order is done.
func (e *exchange) ended(o *Order, at time.Time) {
	l := o.list
	if l == nil || l.Status == listDone {
		return
	}
	if o == l.working && o.Status == statusExpired {
		for _, leg := range l.legs {
			if leg.Open() {
				e.finish(leg, statusExpired, reasonWorking, "", at)
			}
		}
	}
	if l.Status != listDone && !l.open() {
		if l.reserve != nil {
			e.set(l.reserve, decimal.Zero)
			l.reserve = nil
		}
		e.reportList(l, listDone, listDone, at)
	}
}

// cancel cancels an order, and with it the list that it is in.
func (e *exchange) cancel(o *Order, by string, at time.Time) {
	if o.list == nil {
		e.finish(o, statusCanceled, "", by, at)
		return
	}
	for _, other := range o.list.all() {
		if other.Open() {
			e.finish(other, statusCanceled, "", by, at)
		}
	}
}

// expire ends an order as the venue does on its own account. The other orders of its list
// go with it.
func (e *exchange) expire(o *Order, at time.Time) {
	e.finish(o, statusExpired, reasonExchange, "", at)
	if o.list == nil {
		return
	}
	for _, other := range o.list.all() {
		if other.Open() {
			e.finish(other, statusExpired, reasonExchange, "", at)
		}
	}
}

// listID is the id of the order's list as the venue writes it.
func (o *Order) listID() int64 { return writtenID(o.List) }

func writtenID(list int64) int64 {
	if list == 0 {
		return -1
	}
	return list
}

// PlacePair places a target and a stop over one quantity as another client of the account
// would, of which the venue fills one, and returns the venue's ids of them and of the list,
// zeros when they are refused. The stop becomes a market order at its price.
func (s *Server) PlacePair(clientID, symbol string, quantity, target, stop decimal.Decimal) (ids [2]int64, list int64) {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	above := &Order{ClientID: clientID + "_target", Symbol: symbol, Side: sideSell, Type: typeMaker, TimeInForce: timeInForceOpen, Quantity: quantity, Price: target}
	below := &Order{ClientID: clientID + "_stop", Symbol: symbol, Side: sideSell, Type: typeStop, TimeInForce: timeInForceOpen, Quantity: quantity, StopPrice: stop}
	l := &List{ClientID: clientID, Symbol: symbol, Contingency: contingencyPair, legs: []*Order{below, above}}
	if no := s.exchange.placeList(l, s.config.Now()); no != nil {
		return ids, 0
	}
	return [2]int64{above.ID, below.ID}, l.ID
}
