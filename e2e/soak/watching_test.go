package soak

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// listed is an alert as list_alerts has it.
type listed struct {
	ID   string    `json:"alert_id"`
	Note string    `json:"note"`
	Made time.Time `json:"created_at"`
}

// span returns the highest and lowest price of the last seconds: set_alert may know a price
// that is three seconds old.
func (m *market) span() (high, low decimal.Decimal) {
	high, low = m.price, m.price
	for _, p := range slices.Backward(m.past()) {
		high, low = decimal.Max(high, p.price), decimal.Min(low, p.price)
		if time.Since(p.at) > 6*time.Second {
			break
		}
	}
	return high, low
}

// known sets an alert far away in every symbol: a subscription takes a symbol that its venue lists, or that an
// alert is on.
func (o *operator) known() {
	for _, m := range o.w.markets {
		if _, _, err := o.call(o.ctx, "set_alert", fmt.Sprintf(`{"symbol":%q,"condition":{"price_above":1000000},"note":%q}`, m.symbol, farAway)); err != nil {
			o.w.violate("alerts", m.symbol, "set_alert: %v", err)
		}
	}
}

// farAway is the note of alerts that are never due.
const farAway = "far away"

// setAlert sets an alert beyond the prices that the program may know.
func (a *agent) setAlert(m *market) {
	if len(m.alerts) > 20 {
		a.cancelAlert(m)
		return
	}
	high, low := m.span()
	far := decimal.NewFromFloat(0.3 + 3*a.dice.Float64())
	one := &alert{symbol: m.symbol, kind: []string{above, below, crosses, closes}[a.dice.IntN(4)], at: high.Add(high.Mul(far).Div(hundred)).Round(2)}
	if one.kind == below {
		one.at = low.Sub(low.Mul(far).Div(hundred)).Round(2)
	}
	condition := fmt.Sprintf(`"condition":{%q:%s}`, one.kind, one.at)
	if one.kind == closes {
		condition = fmt.Sprintf(`"interval":"1m","condition":{"value":{"price":"close","op":">","value":%s}}`, one.at)
	}
	a.made++
	note := fmt.Sprintf("%s %d", a.name, a.made)
	a.w.mu.Lock()
	a.w.notes[note] = true
	a.w.mu.Unlock()
	answer, err := a.try(a.ctx, "set_alert", fmt.Sprintf(`{"symbol":%q,%s,"note":%q}`, m.symbol, condition, note))
	var got listed
	if err != nil || json.Unmarshal(answer, &got) != nil || got.ID == "" {
		return // one that nobody acknowledged may be there or not
	}
	one.id, one.made, one.acked = got.ID, got.Made, time.Now()
	m.alerts = append(m.alerts, one)
	a.w.mu.Lock()
	a.w.alerts[one.id] = one
	a.w.mu.Unlock()
}

// cancelAlert cancels an alert that is not due.
func (a *agent) cancelAlert(m *market) {
	if len(m.alerts) == 0 {
		return
	}
	at := a.dice.IntN(len(m.alerts))
	one := m.alerts[at]
	_, lost, err := a.call(a.ctx, "cancel_alert", fmt.Sprintf(`{"alert_id":%q}`, one.id))
	if err != nil && !lost && one.kind != closes {
		a.w.violate("alerts", m.symbol, "alert %s, %s %s, is not due and cannot be cancelled: %v", one.id, one.kind, one.at, err)
	}
	m.alerts = slices.Delete(m.alerts, at, at+1)
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	switch {
	case err == nil || one.kind != closes:
		one.cancelled = time.Now()
	case lost:
		one.either = true
	default: // it has fired by the close of a minute
		one.due = time.Now()
	}
}

// poll takes notifications, at times after a wait.
func (a *agent) poll(*market) {
	wait := a.dice.IntN(2)
	answer, err := a.try(a.ctx, "get_notifications", fmt.Sprintf(`{"wait_seconds":%d}`, wait))
	if err == nil {
		a.w.take(answer)
	}
}

// take notes what a poll returned.
func (w *world) take(answer json.RawMessage) {
	var all []firing
	if err := json.Unmarshal(answer, &all); err != nil {
		w.violate("notifications", "", "polled: %v: %s", err, answer)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range all {
		w.polled[f.ID] = append(w.polled[f.ID], receipt{at: time.Now()})
		w.fired[f.ID] = f
	}
}

// move moves the price of a market, and judges what that does.
func (a *agent) move(m *market) {
	before, err := a.look(m)
	if err != nil || m.rests != nil && a.canceledByHalt(m, before) {
		return
	}
	var price decimal.Decimal
	for range 50 {
		drift := (100 - m.price.InexactFloat64()) / 20
		price = a.percent(m, drift-2, drift+2)
		if !m.plan.near(price) && !m.nearAlert(price) && (m.rests == nil || price.GreaterThan(m.rests.price.Mul(decimal.New(1003, -3)))) {
			break
		}
		price = m.price
	}
	if price.Equal(m.price) {
		return
	}
	since := time.Now()
	m.note("price %s -> %s", m.price, price)
	a.w.fix(m, price)
	a.pass(m)
	a.settle(m, since, before, m.plan.moved(price))
	a.awaitFired(m, since)
}

// nearAlert reports whether a price is so near to an alert that its digits decide.
func (m *market) nearAlert(price decimal.Decimal) bool {
	limit := price.Div(decimal.NewFromInt(5000))
	return slices.ContainsFunc(m.alerts, func(one *alert) bool { return one.at.Sub(price).Abs().LessThan(limit) })
}

// pass marks the alerts that the price has made due.
func (a *agent) pass(m *market) {
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	now := time.Now()
	for _, one := range m.alerts {
		if one.passed(m.price) {
			one.due = now
		}
	}
}

// awaitFired waits until the alerts that are due are no longer listed.
func (a *agent) awaitFired(m *market, since time.Time) {
	var due []*alert
	for _, one := range m.alerts {
		if !one.due.IsZero() {
			due = append(due, one)
		}
	}
	if len(due) == 0 {
		return
	}
	var left []*alert
	within(a.ctx, recoveryTime, func() bool {
		var list []listed
		if a.read(a.ctx, "list_alerts", `{}`, &list) != nil {
			return false
		}
		left = slices.DeleteFunc(slices.Clone(due), func(one *alert) bool {
			return !slices.ContainsFunc(list, func(l listed) bool { return l.ID == one.id })
		})
		return len(left) == 0
	})
	if a.ctx.Err() == nil {
		for _, one := range left {
			a.w.violate("alerts", m.symbol, "MISSED: alert %s, %s %s, made %s: the price is %s since %s", one.id, one.kind, one.at, clock(one.made), m.price, clock(since))
		}
	}
	m.alerts = slices.DeleteFunc(m.alerts, func(one *alert) bool { return slices.Contains(due, one) })
}
