package binance

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// The types of the orders of a pair.
const (
	typeMaker = "LIMIT_MAKER"
	typeStop  = "STOP_LOSS"
)

// PlacePair places a target and a stop over one quantity as another client of the account
// would, of which the venue fills one, and returns the venue's ids of them and of the list,
// zeros when they are refused. The stop becomes a market order at its price.
func (s *Server) PlacePair(clientID, symbol string, quantity, target, stop decimal.Decimal) (ids [2]int64, list int64) {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	above := &Order{ClientID: clientID + "_target", Symbol: symbol, Side: sideSell, Type: typeMaker, TimeInForce: timeInForceOpen, Quantity: quantity, Price: target}
	below := &Order{ClientID: clientID + "_stop", Symbol: symbol, Side: sideSell, Type: typeStop, TimeInForce: timeInForceOpen, Quantity: quantity, StopPrice: stop}
	if no := s.exchange.placePair(above, below, s.config.Now()); no != nil {
		return ids, 0
	}
	return [2]int64{above.ID, below.ID}, above.List
}

// placePair puts a pair of sales in, which sets aside what it sells once, or refuses it.
func (e *exchange) placePair(above, below *Order, now time.Time) *refusal {
	e.advance(now)
	last, _ := e.market(above.Symbol, now)
	if !above.Price.GreaterThan(last) || !below.StopPrice.LessThan(last) {
		return &refusal{400, -2010, "The relationship of the prices for the orders is not correct."}
	}
	if !e.lock(above, last) {
		return &refusal{400, -2010, "Account has insufficient balance for requested action."}
	}
	e.lastList++
	for _, o := range []*Order{below, above} {
		o.ID, o.List, o.Status, o.Created, o.Updated = e.id(o.Symbol), e.lastList, statusNew, now, now
		o.counted10s, o.countedDay = -1, -1
		e.orders = append(e.orders, o)
		e.report(o, statusNew, "", nil, now)
	}
	return nil
}

// others returns the open orders of the same list.
func (e *exchange) others(o *Order) []*Order {
	return slices.DeleteFunc(slices.Clone(e.orders), func(other *Order) bool {
		return o.List == 0 || other.List != o.List || other == o || !other.Open()
	})
}

// exclude expires the other orders of a list before one of them trades, and sets aside
// for that one what they had.
func (e *exchange) exclude(o *Order, at time.Time) {
	for _, other := range e.others(o) {
		e.finish(other, statusExpired, "", at)
		if o.locked.IsZero() {
			e.lock(o, o.StopPrice)
		}
	}
}

// cancelList cancels an order, and with it the list that it is in.
func (e *exchange) cancelList(o *Order, by string, at time.Time) {
	others := e.others(o)
	e.finish(o, statusCanceled, by, at)
	for _, other := range others {
		e.finish(other, statusCanceled, by, at)
	}
}

// listID is the id of the order's list as the venue writes it.
func (o *Order) listID() int64 {
	if o.List == 0 {
		return -1
	}
	return o.List
}
