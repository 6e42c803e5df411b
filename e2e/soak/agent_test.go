package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/e2e/remote"
)

// agent is a client that trades and sets alerts, as its dice say.
type agent struct {
	*person
	ctx  context.Context // of its calls
	dice *rand.Rand
	made int // orders and alerts that it asked for
}

// work takes one market after the other for some steps each.
func (a *agent) work() {
	for !a.w.ending() {
		if m := a.w.markets[a.dice.IntN(len(a.w.markets))]; m.mu.TryLock() {
			for range 1 + a.dice.IntN(4) {
				within(a.ctx, time.Minute, func() bool { return !a.w.pausing.Load() })
				a.w.quiet.RLock()
				if !m.held && !a.w.ending() {
					a.step(m)
					a.w.actions.Add(1)
				}
				a.w.quiet.RUnlock()
				pause(a.ctx, a.w.pace/8)
			}
			m.mu.Unlock()
		}
		pause(a.ctx, a.w.pace/4+time.Duration(a.dice.Int64N(int64(a.w.pace))))
	}
}

// choice is a step that may be taken, and how often it is.
type choice struct {
	weight int
	take   func(*market)
}

// step does one thing in a market.
func (a *agent) step(m *market) {
	choices := []choice{{4, a.setAlert}, {1, a.cancelAlert}, {1, a.poll}, {6, a.move}}
	p := m.plan
	whole := len(p.lines) > 0 && p.bare().IsZero()
	switch {
	case m.still:
	case m.rests != nil:
		choices = append(choices, choice{6, a.dip}, choice{2, a.withdraw})
	case p.held.IsZero():
		choices = append(choices, choice{12, a.enter}, choice{4, a.rest})
	default:
		choices = append(choices, choice{3, a.exitPart}, choice{1, a.exitAll}, choice{1, a.cancelAll})
		if len(p.lines) < 4 && !p.split {
			choices = append(choices, choice{3, a.enter})
		}
		if p.bare().IsPositive() && p.place(p.bare()) < 0 && !p.split {
			choices = append(choices, choice{5, a.ownStop})
		}
		if whole {
			choices = append(choices, choice{4, a.moveStop}, choice{2, a.trail}, choice{3, a.target}, choice{2, a.limitTarget}, choice{2, a.replace}, choice{2, a.cancelLeg})
		}
		if whole && len(p.lines) == 1 && !p.split {
			choices = append(choices, choice{1, a.splitLine})
		}
	}
	sum := 0
	for _, c := range choices {
		sum += c.weight
	}
	n := a.dice.IntN(sum)
	for _, c := range choices {
		if n -= c.weight; n < 0 {
			c.take(m)
			return
		}
	}
}

// part returns a random price so many percent from the market's, from low to high.
func (a *agent) percent(m *market, low, high float64) decimal.Decimal {
	share := low + (high-low)*a.dice.Float64()
	return m.price.Mul(decimal.NewFromFloat(1 + share/100)).Round(2)
}

// protect draws the protection of an entry. A venue that takes its fee of what is free of the
// asset sizes legs in another way where something is free.
func (a *agent) protect(m *market) want {
	if a.w.fee.IsPositive() && m.plan.bare().IsPositive() {
		return want{}
	}
	stop, target := a.percent(m, -6, -1), a.percent(m, 1, 6)
	trail := decimal.New(int64(10+5*a.dice.IntN(9)), -1)
	return []want{{}, {stop: stop}, {stop: stop, target: target}, {stop: stop, target: target}, {trail: trail}}[a.dice.IntN(5)]
}

// fields writes the protection of a call.
func (w want) fields() string {
	var text strings.Builder
	for name, value := range map[string]decimal.Decimal{"stop_loss": w.stop, "trail_percent": w.trail, "take_profit": w.target} {
		if value.IsPositive() {
			fmt.Fprintf(&text, `,%q:%s`, name, value)
		}
	}
	return text.String()
}

// result is what came of a call that places an order.
type result struct {
	order
	Plan    *[]planned `json:"plan"`
	lost    bool       // an answer was lost before this one
	refused error      // nothing was done
}

// place calls place_order until it is answered. Now and then it calls again with the same key.
func (a *agent) place(m *market, arguments string) result {
	a.made++
	arguments = fmt.Sprintf(`{"symbol":%q,%s,"idempotency_key":"%s %d"}`, m.symbol, arguments, a.name, a.made)
	var r result
	answer, lost, err := a.call(a.ctx, "place_order", arguments)
	r.lost = lost
	if err != nil {
		r.refused = err
		m.note("place_order %s -> %v", arguments, err)
		return r
	}
	if err := json.Unmarshal(answer, &r); err != nil || r.ID == "" {
		a.w.violate("account", m.symbol, "place_order %s: %v: %s", arguments, err, answer)
	}
	m.note("place_order %s -> %s %s, filled %s", arguments, r.ID, r.Status, r.Filled)
	a.w.mu.Lock()
	a.w.acked[r.ID] = m.symbol
	a.w.mu.Unlock()
	if a.dice.IntN(6) == 0 {
		a.repeat(m, arguments, r)
	}
	return r
}

// repeat calls again with the same key.
func (a *agent) repeat(m *market, arguments string, first result) {
	answer, _, err := a.call(a.ctx, "place_order", arguments)
	var second order
	if err == nil {
		err = json.Unmarshal(answer, &second)
	}
	if _, refused := errors.AsType[*remote.RefusalError](err); err != nil && !refused {
		return // there was no answer
	}
	if refusal, ok := errors.AsType[*remote.RefusalError](err); ok && first.Status == "new" && strings.Contains(refusal.Message, "not_sent_late") {
		return // it waited for others to end, and then candela ended
	}
	if err != nil || second.ID != first.ID {
		a.w.violate("account", m.symbol, "the same key gave order %s and then %s, %v", first.ID, second.ID, err)
	}
}

// quantity draws a quantity, in hundredths, up to a limit.
func (a *agent) quantity(limit decimal.Decimal) decimal.Decimal {
	n := limit.Shift(2).IntPart()
	return decimal.New(1+a.dice.Int64N(max(1, n)), -2)
}

// enter buys at market, with protection of its own.
func (a *agent) enter(m *market) {
	before, err := a.look(m)
	if err != nil {
		return
	}
	since, w := time.Now(), a.protect(m)
	quantity := decimal.New(10+a.dice.Int64N(200), -2)
	r := a.place(m, fmt.Sprintf(`"side":"buy","type":"market","quantity":%s%s`, quantity, w.fields()))
	best := m.price
	if r.Average != nil && !a.w.site.real { // on paper a leg that trails begins with the price of the fill
		best = decimal.Max(best, *r.Average)
	}
	after := []plan{m.plan.bought(r.ID, quantity.Sub(quantity.Mul(a.w.fee)), best, w)}
	if r.Average != nil && apart(*r.Average, m.price) {
		// It traded at an older price, so that the last move comes after it.
		if met := after[0].moved(m.price); after[0].near(m.price) {
			after = append(after, met)
		} else {
			after[0] = met
		}
	}
	a.conclude(m, since, before, r, after...)
}

// apart reports whether a fill differs from the price by more than the slippage on paper.
func apart(fill, price decimal.Decimal) bool {
	return fill.Sub(price).Abs().GreaterThan(price.Mul(decimal.New(1, -3)))
}

// conclude settles after an order that trades at once or not at all.
func (a *agent) conclude(m *market, since time.Time, before look, r result, after ...plan) {
	switch {
	case r.refused != nil:
		a.settle(m, since, before, m.plan)
	case r.Status == "filled" && !r.lost:
		a.settle(m, since, before, after...)
	default:
		a.settle(m, since, before, append(after, m.plan)...)
	}
}

// exitPart sells a part at market, or by a limit that trades at once.
func (a *agent) exitPart(m *market) {
	if m.plan.split {
		a.exitAll(m)
		return
	}
	a.exit(m, decimal.Min(a.quantity(m.plan.held), m.plan.held))
}

// exitAll sells everything.
func (a *agent) exitAll(m *market) { a.exit(m, m.plan.held) }

func (a *agent) exit(m *market, quantity decimal.Decimal) {
	before, err := a.look(m)
	if err != nil {
		return
	}
	// A part of less than the venue's smallest order could not be protected.
	if rest := m.plan.held.Sub(quantity); rest.IsPositive() && rest.LessThan(smallest) || quantity.LessThan(smallest) || m.plan.sold(quantity).crumbs() {
		quantity = m.plan.held
	}
	since := time.Now()
	how := `"type":"market"`
	if a.dice.IntN(4) == 0 {
		how = fmt.Sprintf(`"type":"limit","price":%s`, a.percent(m, -2, -1))
	}
	r := a.place(m, fmt.Sprintf(`"side":"sell",%s,"quantity":%s,"reduce_only":true`, how, quantity))
	a.conclude(m, since, before, r, m.plan.sold(quantity))
}

// smallest is more than the smallest order of the venue at all prices of these markets.
var smallest = decimal.New(10, -2)

// crumbs reports whether a line is smaller than the smallest order.
func (p plan) crumbs() bool {
	for _, l := range p.lines {
		if l.quantity.LessThan(smallest) {
			return true
		}
	}
	return false
}

// rest places an entry that waits below the market.
func (a *agent) rest(m *market) {
	before, err := a.look(m)
	if err != nil {
		return
	}
	since := time.Now()
	e := &entry{price: a.percent(m, -2, -1), quantity: decimal.New(10+a.dice.Int64N(200), -2)}
	if a.dice.IntN(3) > 0 {
		e.want = want{stop: e.price.Mul(decimal.New(95, -2)).Round(2), target: a.percent(m, 2, 4)}
	}
	r := a.place(m, fmt.Sprintf(`"side":"buy","type":"limit","price":%s,"quantity":%s%s`, e.price, e.quantity, e.want.fields()))
	if r.refused == nil && !r.final() {
		e.id = r.ID
		m.rests = e
	}
	if r.Status == "filled" { // the last move of the price was not seen yet
		a.settle(m, since, before, plan{}.bought(r.ID, e.quantity.Sub(e.quantity.Mul(a.w.fee)), m.price, e.want))
		return
	}
	a.settle(m, since, before, m.plan)
}

// dip lets the price fall so far that the entry that waits is filled.
func (a *agent) dip(m *market) {
	before, err := a.look(m)
	if err != nil {
		return
	}
	if a.canceledByHalt(m, before) {
		return
	}
	since, e := time.Now(), m.rests
	price := e.price.Mul(decimal.New(994, -3)).Round(2)
	m.note("price %s -> %s", m.price, price)
	a.w.fix(m, price)
	a.pass(m)
	filled := plan{}.bought(e.id, e.quantity.Sub(e.quantity.Mul(a.w.fee)), price, e.want)
	m.rests = nil
	if a.w.halted(since) {
		a.settle(m, since, before, filled, plan{})
	} else {
		a.settle(m, since, before, filled)
	}
	a.awaitFired(m, since)
}

// canceledByHalt reports whether the entry that waits is gone, which only a halt may do.
func (a *agent) canceledByHalt(m *market, l look) bool {
	for _, o := range l.open {
		if o.ID == m.rests.id {
			return false
		}
	}
	if !a.w.halted(time.Now().Add(-time.Hour)) {
		a.w.violate("account", m.symbol, "order %s waited and is gone", m.rests.id)
	}
	m.rests = nil
	return true
}

// withdraw cancels the entry that waits.
func (a *agent) withdraw(m *market) {
	before, err := a.look(m)
	if err != nil || a.canceledByHalt(m, before) {
		return
	}
	since := time.Now()
	m.note("cancel_order %s, the entry", m.rests.id)
	_, _, _ = a.call(a.ctx, "cancel_order", fmt.Sprintf(`{"order_id":%q}`, m.rests.id)) // what came of it is looked at
	m.rests = nil
	a.settle(m, since, before, m.plan)
}
