package binance

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// ripen puts the legs on the book whose working orders are filled. The answer to the
// request that filled one is written before.
func (e *exchange) ripen(at time.Time) {
	for len(e.ripe) > 0 {
		l := e.ripe[0]
		e.ripe = e.ripe[1:]
		e.launch(l, at)
	}
}

// launch puts the legs of a list on the book. When one of them is refused, it expires as
// rejected, and the other of a pair with it.
func (e *exchange) launch(l *List, at time.Time) {
	last, depth := e.market(l.Symbol, at)
	if l.OPO {
		e.size(l)
	}
	for _, o := range l.legs {
		if no := e.unfit(l, o, last); no != nil {
			e.refuseLegs(l, o, no, at)
			return
		}
	}
	switch {
	case l.OPO:
		share(l.reserve, l.legs)
		e.set(l.reserve, l.legs[0].Quantity) // the rest is free again
		l.reserve = nil
	case l.legs[0].hold == nil && !e.lock(last, l.legs...):
		e.refuseLegs(l, nil, &refusal{400, -2010, wordsFunds}, at)
		return
	}
	for _, o := range l.legs {
		o.Status = statusNew
	}
	for _, o := range l.legs {
		e.open(o, last, depth, at)
	}
	if l.open() {
		e.reportList(l, listStarted, listExecuting, at)
	}
}

// size gives the legs of an OPO the quantity that was received, down to the step.
func (e *exchange) size(l *List) {
	quantity := decimal.Min(l.reserve.amount, e.rules.maxQty)
	if slices.ContainsFunc(l.legs, func(o *Order) bool { return !limited(o.Type) }) {
		quantity = decimal.Min(quantity, e.rules.maxMarketQty)
	}
	quantity = quantity.Sub(quantity.Mod(e.rules.step))
	for _, o := range l.legs {
		o.Quantity, o.unsized = quantity, false
	}
}

// unfit returns why a leg cannot enter the book at the last price.
func (e *exchange) unfit(l *List, o *Order, last decimal.Decimal) *refusal {
	if o.refused {
		return &refusal{400, -2010, wordsFunds}
	}
	if l.OPO {
		if no := e.rules.check(o, last); no != nil {
			return no
		}
	}
	if len(l.legs) == 2 && !related(l.legs, last) {
		return &refusal{400, -2010, wordsPrices}
	}
	return judge(o, last)
}

// refuseLegs expires the legs of a list, all of them as rejected when o is nil.
func (e *exchange) refuseLegs(l *List, o *Order, why *refusal, at time.Time) {
	for _, leg := range l.legs {
		if o == nil || leg == o {
			e.refuse(leg, why, at)
		} else {
			e.finish(leg, statusExpired, reasonPair, "", at)
		}
	}
}
