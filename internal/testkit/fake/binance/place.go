package binance

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// levels is how many prices a book has to take from.
const levels = 5

// place puts a new order in, or refuses it.
func (e *exchange) place(o *Order, now time.Time) *refusal {
	e.advance(now)
	if no := e.screen([]*Order{o}, now); no != nil {
		return no
	}
	return e.enter(o, now)
}

// screen judges new orders before they reach the book: the filters, and how many they
// are. Orders that pass count as unfilled.
func (e *exchange) screen(orders []*Order, now time.Time) *refusal {
	last, _ := e.market(orders[0].Symbol, now)
	for _, o := range orders {
		if no := e.features(o.Symbol).check(o); no != nil {
			return no
		}
		if no := e.rules.check(o, last); no != nil {
			return no
		}
	}
	if no := e.crowded(orders); no != nil {
		return no
	}
	return e.countOrders(orders, now)
}

// duplicate returns the refusal of orders with an id that is in use.
func (e *exchange) duplicate(orders []*Order) *refusal {
	for i, o := range orders {
		used := func(other *Order) bool {
			return other.Open() && other.ClientID == o.ClientID && other.Symbol == o.Symbol
		}
		twice := func(other *Order) bool { return other.ClientID == o.ClientID }
		if slices.ContainsFunc(e.orders, used) || slices.ContainsFunc(orders[:i], twice) {
			return &refusal{400, -2010, "Duplicate order sent."}
		}
	}
	return nil
}

// crowded returns the refusal of orders that are too many with those that are open.
func (e *exchange) crowded(orders []*Order) *refusal {
	open, algo := 0, 0
	for _, o := range slices.Concat(e.orders, orders) {
		if o.Symbol == orders[0].Symbol && (o.Open() || o.Status == "") {
			open++
			if contingent(o.Type) {
				algo++
			}
		}
	}
	switch {
	case open > e.rules.maxOrders:
		return counted("MAX_NUM_ORDERS")
	case algo > e.rules.maxAlgoOrders && slices.ContainsFunc(orders, func(o *Order) bool { return contingent(o.Type) }):
		return counted("MAX_NUM_ALGO_ORDERS")
	}
	return nil
}

// enter puts an order that was screened on the book, or to wait for its trigger.
func (e *exchange) enter(o *Order, now time.Time) *refusal {
	last, depth := e.market(o.Symbol, now)
	if no := e.duplicate([]*Order{o}); no != nil {
		return no
	}
	if no := judge(o, last); no != nil {
		return no
	}
	if !e.lock(last, o) {
		return &refusal{400, -2010, wordsFunds}
	}
	e.accept(o, now)
	e.open(o, last, depth, now)
	return nil
}

// accept gives an order its id and keeps it.
func (e *exchange) accept(o *Order, now time.Time) {
	o.ID, o.Created, o.Updated = e.id(o.Symbol), now, now
	e.orders = append(e.orders, o)
}

// open reports an order as new. It waits for its trigger, or meets the book.
func (e *exchange) open(o *Order, last, depth decimal.Decimal, now time.Time) {
	o.Status, o.Updated = statusNew, now
	if o.waits() {
		o.follow(last, now)
		e.report(o, statusNew, "", nil, now)
		return
	}
	o.Working = now
	e.report(o, statusNew, "", nil, now)
	e.work(o, last, depth, now)
}

// work lets an order meet the book. What is left of it rests if it may.
func (e *exchange) work(o *Order, last, depth decimal.Decimal, now time.Time) {
	if o.TimeInForce == timeInForceWhole && limited(o.Type) && e.offered(o, last, depth).LessThan(o.left()) {
		e.finish(o, statusExpired, reasonFOK, "", now)
		return
	}
	for i := range int64(levels) {
		price, ok := e.rung(o, last, i)
		if !o.Open() || !ok {
			break
		}
		e.fill(o, decimal.Min(o.left(), depth), price, false, now)
	}
	switch {
	case !o.Open():
	case !limited(o.Type):
		e.finish(o, statusExpired, reasonLiquidity, "", now)
	case o.TimeInForce == timeInForceNow:
		e.finish(o, statusExpired, reasonIOC, "", now)
	}
}

// rung is the price of a level of the book, and whether an order trades there.
func (e *exchange) rung(o *Order, last decimal.Decimal, i int64) (decimal.Decimal, bool) {
	between := decimal.Max(last.Mul(decimal.New(1, -4)).Round(4), e.rules.tick).Mul(decimal.NewFromInt(i))
	if o.Side == sideSell {
		between = between.Neg()
	}
	price := last.Add(between)
	return price, price.IsPositive() && reaches(o, price)
}

// offered is how much of an order the book would fill.
func (e *exchange) offered(o *Order, last, depth decimal.Decimal) decimal.Decimal {
	sum := decimal.Zero
	for i := range int64(levels) {
		if _, ok := e.rung(o, last, i); ok {
			sum = sum.Add(depth)
		}
	}
	return sum
}

// countOrders counts orders against the limits of unfilled ones.
func (e *exchange) countOrders(orders []*Order, now time.Time) *refusal {
	second, day := now.Unix()/10, now.Unix()/86400
	if e.count10s.period != second {
		e.count10s = tally{period: second}
	}
	if e.countDay.period != day {
		e.countDay = tally{period: day}
	}
	const words = "Too many new orders; current limit is %d orders per %s."
	if e.count10s.n+len(orders) > e.rules.ordersPer10s {
		return &refusal{429, -1015, fmt.Sprintf(words, e.rules.ordersPer10s, "10 SECOND")}
	}
	if e.countDay.n+len(orders) > e.rules.ordersPerDay {
		return &refusal{429, -1015, fmt.Sprintf(words, e.rules.ordersPerDay, "1 DAY")}
	}
	for _, o := range orders {
		o.counted10s, o.countedDay = second, day
	}
	e.count10s.n += len(orders)
	e.countDay.n += len(orders)
	return nil
}

// uncount takes an order that traded out of the count of unfilled ones.
func (e *exchange) uncount(o *Order) {
	if o.counted10s == e.count10s.period {
		e.count10s.n = max(0, e.count10s.n-1)
	}
	if o.countedDay == e.countDay.period {
		e.countDay.n = max(0, e.countDay.n-1)
	}
	o.counted10s, o.countedDay = -1, -1
}

// finish ends an order without a trade, for a reason if it expires. by is the id of the
// cancel.
func (e *exchange) finish(o *Order, status, reason, by string, at time.Time) {
	e.release(o)
	o.Status, o.ExpiryReason, o.Updated = status, reason, at
	e.report(o, status, by, nil, at)
	e.ended(o, at)
}
