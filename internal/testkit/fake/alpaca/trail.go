package alpaca

import "github.com/shopspring/decimal"

// trail is how a trailing stop follows the price: by an amount or by per cent of the best
// price that it has seen, which the API calls the high water mark, also of a buy.
type trail struct{ price, percent, mark decimal.Decimal }

// follow moves the trigger of a trailing stop with the price, never away from it.
func (d *desk) follow(t *ticket, q quote) {
	if t.kind != typeTrailing || t.triggered {
		return
	}
	price, better := q.bid, q.bid.GreaterThan(t.trail.mark)
	if t.side == "buy" {
		price, better = q.ask, q.ask.LessThan(t.trail.mark)
	}
	if !price.IsPositive() || !better && t.trail.mark.IsPositive() {
		return
	}
	t.trail.mark = price
	t.retrail()
	t.updated = d.now()
}

// retrail computes the trigger from the mark.
func (t *ticket) retrail() {
	distance := t.trail.price
	if t.trail.percent.IsPositive() {
		distance = t.trail.mark.Mul(t.trail.percent).Div(decimal.NewFromInt(100))
	}
	if t.side == "buy" {
		distance = distance.Neg()
	}
	t.stop = t.trail.mark.Sub(distance).Round(4)
}
