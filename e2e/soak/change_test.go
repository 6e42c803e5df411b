package soak

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"
)

// change calls with protection for a quantity, and judges what came of it.
func (a *agent) change(m *market, quantity decimal.Decimal, w want, arguments string) {
	before, err := a.look(m)
	if err != nil {
		return
	}
	since := time.Now()
	if arguments == "" {
		arguments = `"type":"market"` + w.fields()
	}
	r := a.place(m, fmt.Sprintf(`"side":"sell",%s,"quantity":%s,"reduce_only":true`, arguments, quantity))
	after, ok := m.plan.changed(r.ID, quantity, m.price, w)
	switch {
	case r.refused == nil && !r.final() && !ok:
		a.w.violate(protection, m.symbol, "a wider stop was accepted; plan: %s", m.plan)
		a.reset(m)
	case r.lost: // after a crash the order may be refused and the plan be in force
		a.settle(m, since, before, after, m.plan)
	case r.refused != nil || r.Status == "denied" || r.Status == "rejected" || r.Status == "canceled":
		a.settle(m, since, before, m.plan)
	case a.w.disturbed(since):
		a.settle(m, since, before, after, m.plan)
	default:
		a.settle(m, since, before, after)
	}
}

// some returns the quantity of the whole position or of one line.
func (a *agent) some(m *market) decimal.Decimal {
	if one := m.plan.lines[a.dice.IntN(len(m.plan.lines))].quantity; a.dice.IntN(2) == 0 && m.plan.place(one) >= 0 {
		return one
	}
	return m.plan.held
}

// ownStop protects what no line covers.
func (a *agent) ownStop(m *market) {
	w := want{stop: a.percent(m, -5, -1)}
	if a.dice.IntN(3) == 0 {
		w = want{trail: decimal.New(int64(10+5*a.dice.IntN(7)), -1)}
	}
	a.change(m, m.plan.bare(), w, "")
}

// moveStop moves the stop of the position or of one line, at times away from the market.
func (a *agent) moveStop(m *market) { a.change(m, a.some(m), want{stop: a.percent(m, -4, -0.5)}, "") }

// trail puts a trail in the place of a stop.
func (a *agent) trail(m *market) {
	a.change(m, a.some(m), want{trail: decimal.New(int64(5+5*a.dice.IntN(6)), -1)}, "")
}

// target adds or moves a target.
func (a *agent) target(m *market) { a.change(m, a.some(m), want{target: a.percent(m, 1, 6)}, "") }

// limitTarget does the same by a limit order that rests.
func (a *agent) limitTarget(m *market) {
	w := want{target: a.percent(m, 1, 6)}
	a.change(m, a.some(m), w, fmt.Sprintf(`"type":"limit","price":%s`, w.target))
}

// splitLine gives a part of the only line a target of its own.
func (a *agent) splitLine(m *market) {
	quantity := a.quantity(m.plan.held)
	if quantity.LessThan(smallest) || m.plan.held.Sub(quantity).LessThan(smallest) {
		return
	}
	a.change(m, quantity, want{target: a.percent(m, 1, 6)}, "")
}

// legOf returns the open order of a line, "" where it is not one order alone.
func (l *look) legOf(p plan, at int, target bool, fee decimal.Decimal) (id string) {
	one := p.lines[at]
	for i := range l.open {
		o := &l.open[i]
		key, ok := o.protects()
		if more := o.left().Sub(one.quantity); !ok || more.IsNegative() || more.GreaterThan(o.left().Mul(fee)) || (key.kind == targetLeg) != target || o.waits() {
			continue
		}
		if target && !o.Limit.Equal(one.target) || key.kind == stopLeg && !o.Stop.Equal(one.stop) || key.kind == trailLeg && !o.Trail.Equal(one.trail) {
			continue
		}
		if id != "" {
			return ""
		}
		id = o.ID
	}
	return id
}

// replace moves the stop of one line by the ID of its order.
func (a *agent) replace(m *market) {
	l, err := a.look(m)
	if err != nil {
		return
	}
	at := a.dice.IntN(len(m.plan.lines))
	id, quantity := l.legOf(m.plan, at, false, a.w.fee), m.plan.lines[at].quantity
	if id == "" || m.plan.place(quantity) < 0 {
		return
	}
	w := want{stop: a.percent(m, -3, -0.5)}
	a.change(m, quantity, w, fmt.Sprintf(`"type":"market"%s,"replaces":%q`, w.fields(), id))
}

// cancelLeg cancels the stop or the target of a line.
func (a *agent) cancelLeg(m *market) {
	before, err := a.look(m)
	if err != nil {
		return
	}
	at, target := a.dice.IntN(len(m.plan.lines)), a.dice.IntN(3) > 0
	id := before.legOf(m.plan, at, target, a.w.fee)
	if id == "" {
		return
	}
	since := time.Now()
	_, lost, err := a.call(a.ctx, "cancel_order", fmt.Sprintf(`{"order_id":%q}`, id))
	m.note("cancel_order %s of line %d, target %t -> %v", id, at, target, err)
	after := m.plan.cancelled(at, target)
	switch {
	case lost || err != nil:
		a.settle(m, since, before, after, m.plan)
	default:
		a.settle(m, since, before, after)
	}
}

// cancelAll cancels every open order of a position, one after the other.
func (a *agent) cancelAll(m *market) {
	before, err := a.look(m)
	if err != nil {
		return
	}
	since := time.Now()
	m.note("cancel_order of all %d", len(before.open))
	for _, o := range before.open {
		_, _, _ = a.call(a.ctx, "cancel_order", fmt.Sprintf(`{"order_id":%q}`, o.ID)) // what came of it is looked at
	}
	// A cancel that ends a pair sets the other order again, under another ID.
	bare := plan{held: m.plan.held}
	within(a.ctx, a.w.patience(5*time.Second), func() bool {
		l, err := a.look(m)
		if err != nil || l.differs(bare, m.price, a.w.fee) == "" {
			return true
		}
		for _, o := range l.open {
			_, _ = a.try(a.ctx, "cancel_order", fmt.Sprintf(`{"order_id":%q}`, o.ID)) // as above
		}
		return false
	})
	a.settle(m, since, before, bare)
}
