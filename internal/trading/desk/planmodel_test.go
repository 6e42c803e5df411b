package desk_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// planModel is what a plan should be, written down by the rules alone: each call changes the prices that
// it names, each fill the quantities, and nothing else does anything. It is for long positions.
type planModel struct {
	held   decimal.Decimal
	trades []modelTrade // oldest first
	lines  []modelLine  // oldest first
}

// modelTrade is a trade at the venue, as it changes what is held.
type modelTrade struct {
	at       time.Time
	quantity decimal.Decimal // negative if it was sold
}

// trade counts a trade at its time: after a restore the reports come in another order.
func (m *planModel) trade(at time.Time, quantity decimal.Decimal) {
	i := len(m.trades)
	for i > 0 && m.trades[i-1].at.After(at) {
		i--
	}
	m.trades = slices.Insert(m.trades, i, modelTrade{at, quantity})
	m.held = decimal.Zero
	for _, t := range m.trades {
		m.held = decimal.Max(m.held.Add(t.quantity), decimal.Zero) // the venue may take a fee from elsewhere
	}
}

// modelLine is a line of the model.
type modelLine struct {
	id                        string
	quantity                  decimal.Decimal
	stop, trail, target, best decimal.Decimal
	open                      bool // its entry may bring more
}

func (m planModel) clone() planModel {
	m.lines, m.trades = slices.Clone(m.lines), slices.Clone(m.trades)
	return m
}

func (m *planModel) bare() decimal.Decimal {
	left := m.held
	for _, l := range m.lines {
		left = left.Sub(l.quantity)
	}
	return decimal.Max(left, decimal.Zero)
}

// name sets the prices that a call names.
func (l *modelLine) name(p order.Protection) {
	switch {
	case p.StopLoss.IsPositive():
		l.stop, l.trail, l.best = p.StopLoss, decimal.Zero, decimal.Zero
	case p.TrailPercent.IsPositive():
		l.stop, l.trail = decimal.Zero, p.TrailPercent
	}
	if p.TakeProfit.IsPositive() {
		l.target = p.TakeProfit
	}
}

// enter adds the line of an entry.
func (m *planModel) enter(id string, p order.Protection) {
	l := modelLine{id: id, open: true}
	l.name(p)
	m.lines = append(m.lines, l)
}

// protect changes the prices of what a call is for: a line by its ID, else the whole position, what has
// no line, a line of this quantity, or a part of the only line. What exits close that have no answer yet is
// set apart from what has no line. It reports false where it is not clear.
func (m *planModel) protect(id, line string, quantity decimal.Decimal, p order.Protection, apart, slack, least decimal.Decimal) bool {
	is := func(all decimal.Decimal) bool {
		return all.IsPositive() && (quantity.GreaterThan(all) && quantity.LessThanOrEqual(all.Add(slack)) || quantity.LessThanOrEqual(all) && all.Sub(quantity).LessThan(least))
	}
	bare := decimal.Max(m.bare().Sub(apart), decimal.Zero)
	whole := bare.Add(m.held.Sub(m.bare()))
	bare = bare.Truncate(5)
	switch {
	case line == "" && is(whole):
		for i := range m.lines {
			if m.lines[i].quantity.IsPositive() {
				m.lines[i].name(p)
			}
		}
		if bare.IsPositive() {
			m.add(id, bare, p)
		}
		return true
	case line == "" && bare.IsPositive() && (quantity.LessThanOrEqual(bare) || is(bare)):
		m.add(id, decimal.Min(quantity, bare), p)
		return true
	}
	var same, held []int // an entry that has brought nothing has its prices
	for i, l := range m.lines {
		if l.quantity.IsPositive() {
			held = append(held, i)
		}
		if line == "" && is(l.quantity) || line == l.id {
			same = append(same, i)
		}
	}
	if exact := slices.DeleteFunc(slices.Clone(same), func(i int) bool { return !m.lines[i].quantity.Truncate(5).Equal(quantity) }); len(exact) == 1 && line == "" {
		same = exact // another is nearly as large
	}
	if bareOf := slices.DeleteFunc(slices.Clone(same), func(i int) bool { return m.lines[i].stop.IsPositive() || m.lines[i].trail.IsPositive() }); len(same) > 1 && p.HasStop() {
		same = bareOf // the only one without a stop
	}
	switch {
	case len(same) == 1 && is(m.lines[same[0]].quantity):
		m.lines[same[0]].name(p)
		return true
	case len(same) == 1, len(held) == 1 && bare.IsZero() && line == "":
		i := append(same, held...)[0]
		if quantity.GreaterThanOrEqual(m.lines[i].quantity) {
			return false
		}
		part := m.lines[i]
		part.name(p)
		part.id, part.quantity = id, quantity
		m.lines[i].quantity = m.lines[i].quantity.Sub(quantity)
		m.lines = slices.Insert(m.lines, i+1, part)
		return true
	}
	return false
}

func (m *planModel) add(id string, quantity decimal.Decimal, p order.Protection) {
	l := modelLine{id: id, quantity: quantity}
	l.name(p)
	m.lines = append(m.lines, l)
}

// cancel takes a price from a line. Without any it is none.
func (m *planModel) cancel(line string, stop, target bool) {
	for i := range m.lines {
		if l := &m.lines[i]; l.id == line {
			if stop {
				l.stop, l.trail, l.best = decimal.Zero, decimal.Zero, decimal.Zero
			}
			if target {
				l.target = decimal.Zero
			}
		}
	}
	m.tidy()
}

// bought is a fill of a purchase, less the fee taken from it.
func (m *planModel) bought(id string, at time.Time, quantity decimal.Decimal) {
	m.trade(at, quantity)
	for i := range m.lines {
		if m.lines[i].id == id {
			m.lines[i].quantity = m.lines[i].quantity.Add(quantity)
		}
	}
}

// sold is a fill of a sale: of a line, else of what has none, then of the oldest line.
func (m *planModel) sold(line string, at time.Time, quantity decimal.Decimal) {
	bare := m.bare()
	m.trade(at, quantity.Neg())
	take := func(from *decimal.Decimal) {
		part := decimal.Min(*from, quantity)
		*from, quantity = from.Sub(part), quantity.Sub(part)
	}
	for i := range m.lines {
		if m.lines[i].id == line {
			take(&m.lines[i].quantity)
		}
	}
	take(&bare)
	for i := range m.lines {
		take(&m.lines[i].quantity)
	}
	m.tidy()
}

// settle says that an entry brings no more.
func (m *planModel) settle(id string) {
	for i := range m.lines {
		if m.lines[i].id == id {
			m.lines[i].open = false
		}
	}
	m.tidy()
}

func (m *planModel) tidy() {
	m.lines = slices.DeleteFunc(m.lines, func(l modelLine) bool {
		return !l.open && (!l.quantity.IsPositive() || l.stop.IsZero() && l.trail.IsZero() && l.target.IsZero())
	})
}

// lineOf returns the line that a leg is for, by its prices; of several with the same it is the one that
// the leg names. A stop in place of a trail has a price of its own, and the order that sells what a stop
// missed has none: they name their line.
func (m *planModel) lineOf(g order.Origin) string {
	line := ""
	for _, l := range m.lines {
		if g.StopPrice.IsPositive() && g.StopPrice.Equal(l.stop) || g.TrailPercent.IsPositive() && g.TrailPercent.Equal(l.trail) || g.Role == order.TakeProfit && g.Price.Equal(l.target) {
			if line == "" || l.id == g.Parent {
				line = l.id
			}
		}
	}
	if line == "" {
		return g.Parent
	}
	return line
}

// legs is what the venue should have, by prices: how much each pair of a stop and a target closes.
func (m *planModel) legs(step, last decimal.Decimal) map[string]decimal.Decimal {
	all := make(map[string]decimal.Decimal)
	for _, l := range m.lines {
		if quantity := order.RoundDown(l.quantity, step); quantity.IsPositive() && !l.open {
			if l.stop.Add(l.trail).IsPositive() && l.target.LessThanOrEqual(last) {
				l.target = decimal.Zero // it waits until the price is back
			}
			key := legKey(l.stop, l.trail, l.target)
			all[key] = all[key].Add(quantity)
		}
	}
	return all
}

func legKey(stop, trail, target decimal.Decimal) string {
	return fmt.Sprintf("stop %v trail %v target %v", stop, trail, target)
}

func (m planModel) String() string {
	var text []string
	for _, l := range m.lines {
		text = append(text, fmt.Sprintf("%s: %v at %s, best %v, open %v", l.id[max(len(l.id)-6, 0):], l.quantity, legKey(l.stop, l.trail, l.target), l.best, l.open))
	}
	return fmt.Sprintf("%v held; %s", m.held, strings.Join(text, "; "))
}
