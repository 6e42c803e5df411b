package soak

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// tick is the smallest step of a price here.
var tick = decimal.New(1, -4)

// look is what the program says about one symbol.
type look struct {
	held   decimal.Decimal
	price  decimal.Decimal // that the position is valued at; zero without one
	open   []order
	unsure bool   // an order may have reached the venue or not
	opens  string // ID of an order that may open a position and is not the one that waits; "" for none
	plan   *[]planned
	took   time.Duration
}

// look asks for the position and the open orders of a symbol.
func (a *agent) look(m *market) (l look, err error) {
	began := time.Now()
	var positions []position
	if err := a.read(a.ctx, "get_positions", `{}`, &positions); err != nil {
		return l, err
	}
	for _, p := range positions {
		if p.Symbol == m.symbol {
			l.held, l.plan = p.Quantity, p.Plan
			if p.Price != nil {
				l.price = *p.Price
			}
			if p.Plan != nil {
				a.w.plans.Store(true)
			} else if a.w.plans.Load() { // a plan without a line is left out
				l.plan = &[]planned{}
			}
		}
	}
	var open []order
	if err := a.read(a.ctx, "get_orders", `{"filter":"open"}`, &open); err != nil {
		return l, err
	}
	for _, o := range open {
		if o.Symbol == m.symbol {
			l.open = append(l.open, o)
			l.unsure = l.unsure || o.unsure()
			if o.Side == "buy" && (m.rests == nil || o.ID != m.rests.id) {
				l.opens = o.ID
			}
		}
	}
	l.took = time.Since(began)
	return l, nil
}

// legs returns the open orders that protect, by kind and price.
func (l *look) legs() map[leg]decimal.Decimal {
	all := map[leg]decimal.Decimal{}
	for i := range l.open {
		if key, ok := l.open[i].protects(); ok && l.open[i].Status != "pending_cancel" && !l.open[i].waits() {
			all[key] = all[key].Add(l.open[i].left())
		}
	}
	return all
}

// waits reports whether a leg belongs to an entry that is not filled.
func (o *order) waits() bool { return o.Status == "held" }

// differs returns how what is open differs from a plan, "" for not at all. Until the price is
// beyond the best that a trail has seen, a stop at its level may stand in its place.
// At a venue that takes its fee of what is free of the asset, where that is enough, the leg of a
// purchase is larger by the fee than the line.
func (l *look) differs(p plan, price, fee decimal.Decimal) string {
	var wrong []string
	if l.held.IsPositive() && !l.price.Equal(price) {
		wrong = append(wrong, fmt.Sprintf("the price is seen as %s and is %s", l.price, price))
	}
	if l.unsure {
		wrong = append(wrong, "the outcome of an order is not known")
	}
	if l.opens != "" {
		wrong = append(wrong, fmt.Sprintf("order %s may buy more", l.opens))
	}
	if !l.held.Equal(p.held) {
		wrong = append(wrong, fmt.Sprintf("%s is held", l.held))
	}
	got, must := l.legs(), p.legs()
	p.standIns(got, must, fee)
	for key, quantity := range must {
		if more := got[key].Sub(quantity); more.IsNegative() || more.GreaterThan(got[key].Mul(fee)) {
			wrong = append(wrong, fmt.Sprintf("%s at %s is open for %s and should be for %s", key.kind, key.at, got[key], quantity))
		}
		delete(got, key)
	}
	for key, quantity := range got {
		wrong = append(wrong, fmt.Sprintf("%s at %s is open for %s and nobody asked for it", key.kind, key.at, quantity))
	}
	wrong = append(wrong, l.loose(p)...)
	if l.plan != nil {
		if text := says(*l.plan, p); text != "" {
			wrong = append(wrong, text)
		}
	}
	slices.Sort(wrong)
	return strings.Join(wrong, "; ")
}

// standIns counts stops that stand in the place of trails as these. A line with a higher level comes first, because
// a stop at its level is also above that of the others.
func (p plan) standIns(got, must map[leg]decimal.Decimal, fee decimal.Decimal) {
	lines := slices.SortedFunc(slices.Values(p.lines), func(a, b line) int { return b.level().Cmp(a.level()) })
	for _, one := range lines {
		key := leg{trailLeg, one.trail.String()}
		for other, quantity := range got {
			lacks := decimal.Min(must[key].Sub(got[key]), one.quantity)
			if _, asked := must[other]; !one.trail.IsPositive() || !lacks.IsPositive() || asked || other.kind != stopLeg || quantity.LessThan(lacks) || decimal.RequireFromString(other.at).LessThan(one.level().Sub(tick)) {
				continue
			}
			if left := quantity.Sub(lacks); left.GreaterThan(quantity.Mul(fee)) {
				got[other] = left
			} else {
				lacks = quantity
				delete(got, other)
			}
			got[key] = got[key].Add(lacks)
		}
	}
}

// loose returns the trails whose level is further from the market than the plan's.
func (l *look) loose(p plan) (wrong []string) {
	for _, one := range p.lines {
		for i := range l.open {
			o := &l.open[i]
			if o.Trail.IsPositive() && o.Trail.Equal(one.trail) && o.Stop.IsPositive() && o.left().Equal(one.quantity) && o.Stop.LessThan(one.level().Sub(tick)) && p.place(one.quantity) >= 0 {
				wrong = append(wrong, fmt.Sprintf("trail %s is at %s and was at %s", o.Trail, o.Stop, one.level()))
			}
		}
	}
	return wrong
}

// says returns how the plan that the program states differs, "" for not at all.
func says(stated []planned, p plan) string {
	var have, should []string
	for _, s := range stated {
		have = append(have, strings.Join(s.line().words(false), " "))
	}
	for _, l := range p.lines {
		should = append(should, strings.Join(l.words(false), " "))
	}
	slices.Sort(have)
	slices.Sort(should)
	if slices.Equal(have, should) {
		return ""
	}
	return fmt.Sprintf("plan is stated as %q and should be %q", have, should)
}

// steady is how long nothing may change before what is open counts as what the program wants,
// and how long it may take to know what came of an order: one that never arrived is given up
// after a minute.
const (
	steady       = 5 * time.Second
	recoveryTime = 100 * time.Second
	slowest      = 160 * time.Millisecond // between two looks
)

// statedGap is how long a position may be without a stop beside the time of the answers.
const statedGap = time.Second

// settle waits until the program is quiet and what it says is one of the plans, which is then
// the market's. Before that no stop may be wider than those of all plans, and stops may not
// close more than is held.
func (a *agent) settle(m *market, since time.Time, before look, plans ...plan) {
	var wrong string
	var slow time.Duration
	reported, changed := false, time.Now()
	all := append([]plan{m.plan}, plans...)
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, slowest) {
		l, err := a.look(m)
		if err != nil {
			m.held = true
			return
		}
		slow = max(slow, l.took)
		if text := l.wide(all, before.held, a.w.fee); text != "" && !reported {
			reported = true
			a.w.violate(protection, m.symbol, "%s; plan: %v", text, plans)
		}
		last := wrong
		for i, p := range plans {
			text := l.differs(p, m.price, a.w.fee)
			// A look asks for the position and then for the orders. An order that is filled between is in neither, as if
			// it had been cancelled: where that could be so, a second look decides.
			if text == "" && len(plans) > 1 {
				if second, err := a.look(m); err == nil {
					text = second.differs(p, m.price, a.w.fee)
				}
			}
			if text == "" {
				m.plan = p
				a.measure(m, since, before, l, slow)
				return
			}
			if i == 0 {
				wrong = text
			}
		}
		if wrong != last || l.unsure || a.w.disturbed(changed) {
			changed = time.Now()
		}
		if l.unsure && (a.w.ending() || time.Since(since) > recoveryTime) {
			m.held = a.w.disturbed(since)
			break
		}
		if time.Since(changed) > a.w.patience(steady)+10*slow {
			break
		}
		if wait == slowest {
			a.w.trade(m) // the first trade may have come before the order was on the book
		}
		if !pause(a.ctx, wait) {
			m.held = true
			return
		}
	}
	if !m.held {
		a.w.violate(protection, m.symbol, "after %v: %s; plan: %s", time.Since(since).Round(time.Millisecond), wrong, plans[0])
		a.reset(m)
	}
}

// wide returns what is wrong with the stops while a change is under way.
func (l *look) wide(plans []plan, before, fee decimal.Decimal) string {
	lowest, sum := decimal.Zero, decimal.Zero
	most := before
	for _, p := range plans {
		most = decimal.Max(most, p.held)
		for _, one := range p.lines {
			if level := one.level(); level.IsPositive() && (lowest.IsZero() || level.LessThan(lowest)) {
				lowest = level
			}
		}
	}
	for i := range l.open {
		o := &l.open[i]
		// An order without an answer may not be at the venue, and its legs then wait for nothing.
		if key, ok := o.protects(); ok && key.kind != targetLeg && !o.waits() && (!o.unsure() || o.Filled.IsPositive()) {
			sum = sum.Add(o.left())
			if key.kind == stopLeg && o.Stop.LessThan(lowest.Sub(tick)) {
				return fmt.Sprintf("a stop works at %s, and no plan has one below %s", o.Stop, lowest)
			}
		}
	}
	// A venue that takes its fee of a purchase makes legs smaller when it is filled.
	if sum.Sub(sum.Mul(fee)).GreaterThan(most) {
		return fmt.Sprintf("stops close %s, and at most %s was held", sum, most)
	}
	return ""
}

// measure finds how long the position was without stops that a change has ended and set again,
// by the program's own clock.
func (a *agent) measure(m *market, since time.Time, before, after look, slow time.Duration) {
	stops := func(l look) map[string]bool {
		ids := map[string]bool{}
		for i := range l.open {
			if key, ok := l.open[i].protects(); ok && key.kind != targetLeg && !l.open[i].waits() {
				ids[l.open[i].ID] = true
			}
		}
		return ids
	}
	old, now := stops(before), stops(after)
	if len(old) == 0 || len(now) == 0 || a.w.disturbed(since) {
		return
	}
	var all []order
	if err := a.read(a.ctx, "get_orders", `{"limit":100}`, &all); err != nil {
		return
	}
	var ended, set time.Time
	for i := range all {
		o := &all[i]
		at, _ := time.Parse(time.RFC3339Nano, o.Updated)
		begun, _ := time.Parse(time.RFC3339Nano, o.Created)
		switch {
		case old[o.ID] && !now[o.ID] && o.Status == "canceled" && (ended.IsZero() || at.Before(ended)):
			ended = at
		case now[o.ID] && !old[o.ID] && begun.After(set):
			set = begun
		}
	}
	if ended.IsZero() || set.IsZero() || !set.After(ended) {
		return
	}
	gap := set.Sub(ended)
	a.w.mu.Lock()
	a.w.gaps = append(a.w.gaps, gap)
	a.w.mu.Unlock()
	if gap > a.w.patience(statedGap)+4*slow {
		a.w.violate(protection, m.symbol, "%v without its stop; plan: %s", gap, m.plan)
	}
}

// reset ends all orders of a market and sells what is held, so that the next steps say
// something again.
func (a *agent) reset(m *market) {
	m.note("everything is ended")
	since := time.Now()
	done := within(a.ctx, recoveryTime, func() bool {
		l, err := a.look(m)
		if err != nil {
			return false
		}
		for _, o := range l.open {
			_, _ = a.try(a.ctx, "cancel_order", fmt.Sprintf(`{"order_id":%q}`, o.ID)) // it may have ended
		}
		if l.held.IsPositive() && !l.unsure && !a.w.ending() {
			_, _ = a.try(a.ctx, "place_order", fmt.Sprintf(`{"symbol":%q,"side":"sell","type":"market","quantity":%s,"reduce_only":true}`, m.symbol, l.held))
		}
		return l.held.IsZero() && len(l.open) == 0 || a.w.ending()
	})
	m.plan, m.rests, m.held = plan{}, nil, !done || a.w.ending()
	if !done {
		a.w.violate(protection, m.symbol, "orders and position cannot be ended within %v", time.Since(since))
	}
}
