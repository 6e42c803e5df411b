package order

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/lib/market"
)

// Line is the protection asked for a part of a position. The lines of a symbol are its plan. They
// are recorded, and the orders that protect the position follow from them.
type Line struct {
	ID       string          `json:"id"`               // of the entry, or of the order that asked for it
	Side     Side            `json:"side"`             // of the position
	Quantity decimal.Decimal `json:"quantity"`         // that it is for; it grows with the fills of its entry
	Protect  Protection      `json:"protect,omitzero"` // zero only while its entry is open
	Best     decimal.Decimal `json:"best,omitzero"`    // the best price that its trail has followed; zero if unknown
	By       string          `json:"by,omitempty"`     // ID of the order that last changed its prices, or "candela"

	Deployment string `json:"deployment,omitempty"` // whose part of the position it is for; "" for what no deployment holds
}

// Plan is all lines of a symbol after a change, oldest first.
type Plan struct {
	Symbol market.Symbol `json:"symbol"`
	Lines  []Line        `json:"lines,omitempty"`
}

// sound reports whether a plan can be recorded.
func (p *Plan) sound() bool {
	if p == nil || p.Symbol.IsZero() {
		return false
	}
	for _, l := range p.Lines {
		if l.ID == "" || l.Side.String() == "" || !l.Protect.bounded() || !within(maxFactDigits, l.Quantity, l.Best) {
			return false
		}
	}
	return true
}

// Planned returns the event that records a plan.
func Planned(s market.Symbol, lines []Line) Event {
	return Event{Kind: KindPlanned, Plan: &Plan{Symbol: s, Lines: lines}}
}

// Level returns the price that triggers the stop of the line, and zero without one, or if
// nothing is known of its trail.
func (l Line) Level() decimal.Decimal {
	if !l.Protect.TrailPercent.IsPositive() {
		return l.Protect.StopLoss
	}
	return l.Best.Sub(l.Best.Mul(l.Protect.TrailPercent).Shift(-2).Mul(decimal.NewFromInt(l.Side.Sign()))).Round(levelDigits)
}

// levelDigits is how exact the level of a trail is: less than a best price that was worked out from it.
const levelDigits = 12

// Text describes the line for people: its quantity and its prices.
func (l Line) Text(number func(decimal.Decimal) string) string {
	p := l.Protect
	var parts []string
	switch {
	case p.TrailPercent.IsPositive() && l.Best.IsPositive():
		parts = append(parts, "trail "+number(p.TrailPercent)+" %, now "+number(l.Level().Round(textDigits)))
	case p.TrailPercent.IsPositive():
		parts = append(parts, "trail "+number(p.TrailPercent)+" %")
	case p.StopLossLimit.IsPositive():
		parts = append(parts, "stop "+number(p.StopLoss)+" limit "+number(p.StopLossLimit))
	case p.StopLoss.IsPositive():
		parts = append(parts, "stop "+number(p.StopLoss))
	default:
		parts = append(parts, "no stop")
	}
	if p.TakeProfit.IsPositive() {
		parts = append(parts, "target "+number(p.TakeProfit))
	}
	return number(l.Quantity) + ": " + strings.Join(parts, ", ")
}

// textDigits is how exact the level of a trail is shown to people.
const textDigits = 8

// With returns the line with the prices that are named. What is not named stays.
func (l Line) With(p Protection, by string) Line {
	if p.HasStop() {
		if !p.TrailPercent.Equal(l.Protect.TrailPercent) {
			l.Best = decimal.Zero // another trail begins at the price of now
		}
		l.Protect.StopLoss, l.Protect.StopLossLimit, l.Protect.TrailPercent = p.StopLoss, p.StopLossLimit, p.TrailPercent
	}
	if p.TakeProfit.IsPositive() {
		l.Protect.TakeProfit = p.TakeProfit
	}
	l.By = by
	return l
}

// Line returns the ID of the line that an order protects or closes: that of its entry, of the
// first order of its pair, or its own.
func (o Order) Line() string { return cmp.Or(o.Parent, o.Group.Name, o.ID) }

// Shorten returns lines after a part of a position was closed: first the line that is named, then
// what no line is for, then the oldest line. What a deployment closes is its own first, and what others close is
// first what no deployment holds.
func Shorten(lines []Line, named, deployment string, side Side, quantity decimal.Decimal, bare Uncovered) []Line {
	after := slices.Clone(lines)
	take := func(from *decimal.Decimal) {
		part := decimal.Max(decimal.Min(*from, quantity), decimal.Zero)
		*from, quantity = from.Sub(part), quantity.Sub(part)
	}
	if i := lineIndex(after, named); i >= 0 && after[i].Side == side {
		take(&after[i].Quantity)
	}
	for _, own := range []bool{true, false} {
		if take(&bare.Own); !own {
			take(&bare.Others)
		}
		for i := range after {
			if after[i].Side == side && (after[i].Deployment == deployment || !own) {
				take(&after[i].Quantity)
			}
		}
	}
	return after
}

// Rest returns lines after an exit turned out to wait for its price: what is left of it is the target
// of the parts that it was to close. name returns the ID of a new line for a part of another; "" stands
// for what no line is for.
func Rest(lines []Line, o Order, deployment string, bare Uncovered, name func(line string) string) []Line {
	side := o.Side.Opposite()
	short := Shorten(lines, o.Line(), deployment, side, o.Remaining(), bare)
	var after []Line
	left := o.Remaining()
	for i, l := range lines {
		part := l.Quantity.Sub(short[i].Quantity)
		left = left.Sub(part)
		after = append(after, short[i])
		if part.IsPositive() {
			l = l.With(Protection{TakeProfit: o.Price}, o.ID)
			l.ID, l.Quantity = name(l.ID), part
			after = append(after, l)
		}
	}
	if left = decimal.Min(left, bare.Own); left.IsPositive() {
		after = append(after, Line{ID: name(""), Side: side, Quantity: left, Protect: Protection{TakeProfit: o.Price}, By: o.ID, Deployment: deployment})
	}
	return after
}

func lineIndex(lines []Line, id string) int {
	return slices.IndexFunc(lines, func(l Line) bool { return l.ID == id })
}

// errPlan is the error of a plan that cannot be recorded.
func errPlan() error {
	return fmt.Errorf("a plan without a symbol, or a line without an ID or out of bounds: %w", ErrMalformed)
}
