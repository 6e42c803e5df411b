package binance

import (
	"time"

	"github.com/shopspring/decimal"
)

// triggers reports whether a price activates an order that waits, and moves the best
// price of one that trails.
func (o *Order) triggers(price decimal.Decimal, at time.Time) bool {
	if o.TrailingDelta == 0 {
		return o.met(price)
	}
	return o.trails(price, at)
}

// trigger puts an order that waited on the book: the other of its pair expires, and the
// order meets the book. One that lacks the money by now expires.
func (e *exchange) trigger(o *Order, last, depth decimal.Decimal, at time.Time) {
	if e.activate(o, last, at) {
		e.work(o, last, depth, at)
	}
}

// activate does the first half of that, and reports whether the order is on the book.
func (e *exchange) activate(o *Order, last decimal.Decimal, at time.Time) bool {
	e.exclude(o, at)
	o.Working, o.Updated = at, at
	if !e.set(o.hold, o.need(last)) {
		o.Working = time.Time{}
		e.refuse(o, &refusal{400, -2010, wordsFunds}, at)
		return false
	}
	e.report(o, statusNew, "", nil, at)
	return true
}

// refuse expires an order that the venue took and cannot put on the book.
func (e *exchange) refuse(o *Order, why *refusal, at time.Time) {
	o.RejectReason = rejectReason(why)
	e.finish(o, statusExpired, reasonRejected, "", at)
}

// The venue's words for a refusal of an order by the book.
const (
	wordsFunds   = "Account has insufficient balance for requested action."
	wordsTrigger = "Order would trigger immediately."
	wordsTake    = "Order would immediately match and take."
	wordsPrices  = "The relationship of the prices for the orders is not correct."
)

// rejectReason is how an execution report says why an order was refused.
func rejectReason(why *refusal) string {
	switch why.message {
	case wordsFunds:
		return "INSUFFICIENT_BALANCES"
	case wordsTrigger:
		return "STOP_PRICE_WOULD_TRIGGER_IMMEDIATELY"
	case wordsTake:
		return "WOULD_MATCH_IMMEDIATELY"
	case wordsPrices:
		return "OCO_BAD_PRICES"
	}
	return "NONE"
}

// judge returns why the book does not take an order at the last price.
func judge(o *Order, last decimal.Decimal) *refusal {
	switch {
	case o.waits() && o.StopPrice.IsPositive() && o.met(last):
		return &refusal{400, -2010, wordsTrigger}
	case o.Type == typeMaker && reaches(o, last):
		return &refusal{400, -2010, wordsTake}
	}
	return nil
}
