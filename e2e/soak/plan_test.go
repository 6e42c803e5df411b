package soak

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// want are the fields of protection that a call names; zero is a field that it does not.
type want struct {
	stop, trail, target decimal.Decimal
}

func (w want) empty() bool { return w.stop.IsZero() && w.trail.IsZero() && w.target.IsZero() }

// line is the protection of a part of a position.
type line struct {
	id       string // of the order that asked for it first
	quantity decimal.Decimal
	want
	best decimal.Decimal // that a trail has seen
}

// level is the price at which the stop of a line sells, zero without a stop.
func (l line) level() decimal.Decimal {
	if l.trail.IsPositive() {
		return l.best.Mul(hundred.Sub(l.trail)).Div(hundred)
	}
	return l.stop
}

// with returns the line after a call: the fields that it names are new, the others stay. A
// stop takes the place of a trail, and a trail that of a stop.
func (l line) with(w want, price decimal.Decimal) line {
	switch {
	case w.stop.IsPositive():
		l.stop, l.trail, l.best = w.stop, decimal.Zero, decimal.Zero
	case w.trail.IsPositive():
		l.stop, l.trail, l.best = decimal.Zero, w.trail, price
	}
	if w.target.IsPositive() {
		l.target = w.target
	}
	return l
}

// wider reports whether a call would move the stop of the line away from the market.
func (l line) wider(w want, price decimal.Decimal) bool {
	if w.stop.IsZero() && w.trail.IsZero() {
		return false
	}
	return l.level().GreaterThan(l.with(w, price).level())
}

// plan is what a position holds and the lines that protect it, the oldest first. Its
// methods return a new plan.
type plan struct {
	held  decimal.Decimal
	lines []line
	split bool // a line was split, so that the age of its parts is nobody's to say
}

var hundred = decimal.NewFromInt(100)

func (p plan) clone() plan {
	p.lines = slices.Clone(p.lines)
	return p
}

// covered returns how much of the position lines protect.
func (p plan) covered() (sum decimal.Decimal) {
	for _, l := range p.lines {
		sum = sum.Add(l.quantity)
	}
	return sum
}

// bare returns how much no line protects.
func (p plan) bare() decimal.Decimal { return p.held.Sub(p.covered()) }

// bought adds a purchase, with a line of its own if it asks for protection.
func (p plan) bought(id string, quantity, price decimal.Decimal, w want) plan {
	p = p.clone()
	p.held = p.held.Add(quantity)
	if !w.empty() {
		p.lines = append(p.lines, line{id: id, quantity: quantity}.with(w, price))
	}
	return p
}

// sold takes an exit off: first what no line covers, then the oldest lines.
func (p plan) sold(quantity decimal.Decimal) plan {
	left := quantity.Sub(decimal.Max(decimal.Zero, p.bare()))
	p = p.clone()
	p.held = p.held.Sub(quantity)
	for len(p.lines) > 0 && left.IsPositive() {
		taken := decimal.Min(left, p.lines[0].quantity)
		left = left.Sub(taken)
		if p.lines[0].quantity = p.lines[0].quantity.Sub(taken); p.lines[0].quantity.IsZero() {
			p.lines = p.lines[1:]
		}
	}
	return p.over()
}

// over ends the plan with its position.
func (p plan) over() plan {
	if p.held.IsZero() {
		return plan{}
	}
	return p
}

// place returns the index of the line of exactly this quantity, and -1 where none or more
// than one is.
func (p plan) place(quantity decimal.Decimal) int {
	found := -1
	for i, l := range p.lines {
		if l.quantity.Equal(quantity) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// changed returns the plan after a call that names fields for a quantity: the whole
// position, one line, a part of the only line, or what no line covers. ok is false where
// the call must be denied: the stop would be wider.
func (p plan) changed(id string, quantity, price decimal.Decimal, w want) (after plan, ok bool) {
	after = p.clone()
	if bare := p.bare(); bare.IsPositive() && quantity.Equal(bare) {
		after.lines = append(after.lines, line{id: id, quantity: quantity}.with(w, price))
		return after, true
	}
	at := p.place(quantity)
	whole := quantity.Equal(p.held)
	if !whole && at < 0 {
		return p.divided(id, quantity, price, w)
	}
	for i := range after.lines {
		if whole || i == at {
			if after.lines[i].wider(w, price) {
				return p, false
			}
			after.lines[i] = after.lines[i].with(w, price)
		}
	}
	return after, true
}

// divided splits a part off the only line.
func (p plan) divided(id string, quantity, price decimal.Decimal, w want) (after plan, ok bool) {
	after = p.clone()
	part := p.lines[0]
	if part.wider(w, price) {
		return p, false
	}
	part.id, part.quantity = id, quantity
	after.lines[0].quantity = after.lines[0].quantity.Sub(quantity)
	after.lines, after.split = append(after.lines, part.with(w, price)), true
	return after, true
}

// cancelled takes the stop or the target of a line away.
func (p plan) cancelled(at int, target bool) plan {
	p = p.clone()
	l := &p.lines[at]
	if target {
		l.target = decimal.Zero
	} else {
		l.stop, l.trail, l.best = decimal.Zero, decimal.Zero, decimal.Zero
	}
	if l.empty() {
		p.lines = slices.Delete(p.lines, at, at+1)
	}
	return p
}

// moved returns the plan after the price has come to another one: what it met is closed.
func (p plan) moved(price decimal.Decimal) plan {
	p = p.clone()
	var rest []line
	for _, l := range p.lines {
		level := l.level()
		if level.IsPositive() && price.LessThanOrEqual(level) || l.target.IsPositive() && price.GreaterThan(l.target) {
			p.held = p.held.Sub(l.quantity)
			continue
		}
		if l.trail.IsPositive() {
			l.best = decimal.Max(l.best, price)
		}
		rest = append(rest, l)
	}
	p.lines = rest
	return p.over()
}

// near reports whether a price is so close to one of the plan that fees of a tick or the
// price of a fill decide whether it is met.
func (p plan) near(price decimal.Decimal) bool {
	limit := price.Div(decimal.NewFromInt(400))
	for _, l := range p.lines {
		for _, at := range []decimal.Decimal{l.level(), l.target} {
			if at.IsPositive() && at.Sub(price).Abs().LessThan(limit) {
				return true
			}
		}
	}
	return false
}

// Kinds of orders that protect.
const (
	stopLeg   = "stop"
	trailLeg  = "trail"
	targetLeg = "target"
)

// leg is a kind of order that protects, and its price or percent.
type leg struct {
	kind, at string
}

// legs returns what must be open at the venue, by kind and price.
func (p plan) legs() map[leg]decimal.Decimal {
	all := map[leg]decimal.Decimal{}
	add := func(kind string, at, quantity decimal.Decimal) {
		if at.IsPositive() {
			key := leg{kind, at.String()}
			all[key] = all[key].Add(quantity)
		}
	}
	for _, l := range p.lines {
		add(stopLeg, l.stop, l.quantity)
		add(trailLeg, l.trail, l.quantity)
		add(targetLeg, l.target, l.quantity)
	}
	return all
}

func (p plan) String() string {
	words := []string{"holds " + p.held.String()}
	for _, l := range p.lines {
		words = append(words, "line "+strings.Join(l.words(true), " "))
	}
	return strings.Join(words, "; ")
}

// words are the quantity and the fields of a line.
func (l line) words(best bool) []string {
	words := []string{l.quantity.String()}
	for _, field := range []struct {
		name string
		at   decimal.Decimal
	}{{stopLeg, l.stop}, {trailLeg, l.trail}, {"best", l.best}, {targetLeg, l.target}} {
		if field.at.IsPositive() && (best || field.name != "best") {
			words = append(words, field.name+" "+field.at.String())
		}
	}
	return words
}
