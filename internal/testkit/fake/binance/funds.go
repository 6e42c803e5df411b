package binance

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// hold is what is set aside of an asset for one order, or once for both orders of a
// pair.
type hold struct {
	asset  string
	amount decimal.Decimal
	orders int // that share it
}

// gives returns the asset that an order gives.
func (o *Order) gives() string {
	base, quote := split(o.Symbol)
	if o.Side == sideBuy {
		return quote
	}
	return base
}

// need is what an order may still cost, of the asset that it gives. A purchase without
// a price needs as much as the book may cost.
func (o *Order) need(last decimal.Decimal) decimal.Decimal {
	if o.Side == sideSell {
		return o.left()
	}
	if limited(o.Type) {
		return o.left().Mul(o.Price)
	}
	if o.waits() && o.StopPrice.IsPositive() {
		last = o.StopPrice
	}
	return o.left().Mul(last).Mul(decimal.RequireFromString("1.0005"))
}

// set moves an amount from what is free to what is locked, or back.
func (e *exchange) set(h *hold, amount decimal.Decimal) bool {
	b, more := e.balance(h.asset), amount.Sub(h.amount)
	if b.Free.LessThan(more) {
		return false
	}
	b.Free, b.Locked, h.amount = b.Free.Sub(more), b.Locked.Add(more), amount
	return true
}

// lock sets aside, once, what the orders may cost, and reports whether it is there.
func (e *exchange) lock(last decimal.Decimal, orders ...*Order) bool {
	h, most := &hold{asset: orders[0].gives()}, decimal.Zero
	for _, o := range orders {
		most = decimal.Max(most, o.need(last))
	}
	if !e.set(h, most) {
		return false
	}
	share(h, orders)
	return true
}

func share(h *hold, orders []*Order) {
	h.orders = len(orders)
	for _, o := range orders {
		o.hold = h
	}
}

// release frees what an order that is over had set aside, unless another needs it.
func (e *exchange) release(o *Order) {
	h := o.hold
	if o.hold = nil; h == nil {
		return
	}
	if h.orders--; h.orders == 0 {
		e.set(h, decimal.Zero)
	}
}

// fill trades some of an order.
func (e *exchange) fill(o *Order, quantity, price decimal.Decimal, maker bool, at time.Time) {
	e.contend(o, quantity, at)
	base, quote := split(o.Symbol)
	value := quantity.Mul(price)
	t := Trade{Symbol: o.Symbol, OrderID: o.ID, List: o.List, Price: price, Quantity: quantity, Buyer: o.Side == sideBuy, Maker: maker, At: at}
	spent, got, receives := value, quantity, base
	release := value
	if o.Side == sideSell {
		spent, got, receives, release = quantity, value, quote, quantity
	} else if limited(o.Type) {
		release = quantity.Mul(o.Price) // it may trade for less than was set aside
	}
	t.Fee, t.FeeAsset = got.Mul(e.rules.commission).RoundDown(8), receives
	given := e.balance(o.gives())
	given.Locked, given.Free = given.Locked.Sub(release), given.Free.Add(release.Sub(spent))
	o.hold.amount = o.hold.amount.Sub(release)
	e.receive(o, got, t.Fee, receives)
	if o.Executed.IsZero() {
		e.uncount(o)
	}
	t.ID = e.id(o.Symbol + " trades")
	e.trades = append(e.trades, t)
	o.Executed, o.Quote, o.Updated, o.Status = o.Executed.Add(quantity), o.Quote.Add(value), at, statusPartial
	if o.left().IsZero() {
		o.Status = statusFilled
		e.release(o)
	}
	e.report(o, executionTrade, "", &t, at)
	e.filled(o, at)
}

// receive credits what a trade brought. What the working order of an OPO brings is kept
// for its legs; its fee is taken from what is free where that is enough.
func (e *exchange) receive(o *Order, got, fee decimal.Decimal, asset string) {
	b := e.balance(asset)
	if o.list == nil || !o.list.OPO || o != o.list.working {
		b.Free = b.Free.Add(got).Sub(fee)
		return
	}
	if asset != "BNB" && b.Free.GreaterThanOrEqual(fee) {
		b.Free = b.Free.Sub(fee)
	} else {
		got = got.Sub(fee)
	}
	if o.list.reserve == nil {
		o.list.reserve = &hold{asset: asset}
	}
	o.list.reserve.amount = o.list.reserve.amount.Add(got)
	b.Locked = b.Locked.Add(got)
}

// Lock is what the venue has set aside of an asset, and for which orders.
type Lock struct {
	Asset  string
	Amount decimal.Decimal
	Orders []int64 // none for what an OPO keeps for its legs
	List   int64   // 0 for an order on its own
}

// Locks returns what is set aside, in the order of the orders.
func (s *Server) Locks() []Lock {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	s.exchange.advance(s.config.Now())
	var all []Lock
	var seen []*hold
	for _, o := range s.exchange.orders {
		if o.hold == nil {
			continue
		}
		i := slices.Index(seen, o.hold)
		if i < 0 {
			i, seen, all = len(seen), append(seen, o.hold), append(all, Lock{Asset: o.hold.asset, Amount: o.hold.amount, List: o.List})
		}
		all[i].Orders = append(all[i].Orders, o.ID)
	}
	for _, l := range s.exchange.lists {
		if l.reserve != nil {
			all = append(all, Lock{Asset: l.reserve.asset, Amount: l.reserve.amount, List: l.ID})
		}
	}
	return all
}
