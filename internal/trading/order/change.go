package order

import (
	"slices"

	"github.com/shopspring/decimal"
)

// Change asks for other prices of a part of a position. What it does not name stays.
type Change struct {
	ID       string          // of the order that asks
	Side     Side            // of the position
	Line     string          // that is named; "" if the quantity says which is meant
	Quantity decimal.Decimal // of the part
	Protect  Protection      // the prices that are named
	Step     decimal.Decimal // of quantities at the venue; zero for any
	Slack    decimal.Decimal // how much more than there is may be asked for: a fee was taken from it
	Least    decimal.Decimal // less than this is not traded, so no line is left with it

	Deployment string // that asks, "" for none: the lines of others stay as they are
}

// Apply returns the lines after the change, and the IDs of those that it concerns. It returns false
// if the quantity is neither the whole position, nor a line, nor a part of what no line is for, nor
// of the only line. A line whose entry has brought nothing yet stays as it is.
func (c Change) Apply(lines []Line, bare decimal.Decimal) (after []Line, concerned []string, ok bool) {
	after = slices.Clone(lines)
	whole := bare
	for _, l := range lines {
		if c.owns(l) {
			whole = whole.Add(l.Quantity)
		}
	}
	bare = RoundDown(bare, c.Step)
	switch i := c.chosen(lines, bare); {
	case c.Line != "" && i < 0:
		return nil, nil, false
	case c.Line == "" && c.means(whole):
		for i := range after {
			if after[i].Quantity.IsPositive() && c.owns(after[i]) {
				after[i] = after[i].With(c.Protect, c.ID)
				concerned = append(concerned, after[i].ID)
			}
		}
		if bare.IsPositive() {
			after, concerned = append(after, c.line(bare)), append(concerned, c.ID)
		}
		return after, concerned, true
	case c.Line == "" && bare.IsPositive() && (c.Quantity.LessThanOrEqual(bare) || c.means(bare)):
		return append(after, c.line(decimal.Min(bare, c.Quantity))), []string{c.ID}, true
	case i >= 0 && (c.means(after[i].Quantity) || c.Quantity.IsZero()):
		after[i] = after[i].With(c.Protect, c.ID)
		return after, []string{after[i].ID}, true
	case i >= 0 && c.Quantity.LessThan(after[i].Quantity):
		part := after[i].With(c.Protect, c.ID)
		part.ID, part.Quantity = c.ID, c.Quantity
		after[i].Quantity = after[i].Quantity.Sub(c.Quantity)
		return slices.Insert(after, i+1, part), []string{part.ID, after[i].ID}, true
	default:
		return nil, nil, false
	}
}

// Undo returns the lines as they were before the change, with the quantities of now. concerned is what
// Apply returned.
func (c Change) Undo(now, before []Line, concerned []string) []Line {
	after := slices.Clone(now)
	for _, id := range concerned {
		i, was := lineIndex(after, id), lineIndex(before, id)
		switch {
		case i < 0:
		case was >= 0:
			after[i] = c.undone(after[i], before[was])
		default:
			part := after[i].Quantity
			after = slices.Delete(after, i, i+1)
			if concerned[0] == c.ID && len(concerned) == 2 { // a part of the other
				if rest := lineIndex(after, concerned[1]); rest >= 0 {
					after[rest].Quantity = after[rest].Quantity.Add(part)
				}
			}
		}
	}
	return after
}

// undone returns a line with the prices that it had before the change. A price that was changed or cancelled
// since stays as it is.
func (c Change) undone(l, was Line) Line {
	p := &l.Protect
	if named := c.Protect; named.HasStop() && p.StopLoss.Equal(named.StopLoss) && p.StopLossLimit.Equal(named.StopLossLimit) && p.TrailPercent.Equal(named.TrailPercent) {
		p.StopLoss, p.StopLossLimit, p.TrailPercent, l.Best = was.Protect.StopLoss, was.Protect.StopLossLimit, was.Protect.TrailPercent, was.Best
	}
	if p.TakeProfit.IsPositive() && p.TakeProfit.Equal(c.Protect.TakeProfit) {
		p.TakeProfit = was.Protect.TakeProfit
	}
	if l.By == c.ID {
		l.By = was.By
	}
	return l
}

// chosen returns the index of the line that is meant, or -1: the one that is named, the only one, or
// the only one of this quantity, to the step before nearly. Of several of them it is the only one without
// a stop.
func (c Change) chosen(lines []Line, bare decimal.Decimal) int {
	if i := lineIndex(lines, c.Line); c.Line != "" {
		if i >= 0 && !c.owns(lines[i]) {
			return -1
		}
		return i
	}
	var held, same, exact, lacking []int
	for i, l := range lines {
		if !c.owns(l) {
			continue
		}
		if l.Quantity.IsPositive() {
			held = append(held, i)
		}
		if c.means(l.Quantity) {
			same = append(same, i)
			if c.Quantity.Equal(RoundDown(l.Quantity, c.Step)) {
				exact = append(exact, i)
			}
			if !l.Protect.HasStop() {
				lacking = append(lacking, i)
			}
		}
	}
	switch {
	case len(held) == 1 && bare.IsZero():
		return held[0]
	case len(same) == 1:
		return same[0]
	case len(exact) == 1:
		return exact[0]
	case len(lacking) == 1 && c.Protect.HasStop():
		return lacking[0]
	default:
		return -1
	}
}

// means reports whether the quantity stands for all of another, which may be off the venue's step,
// smaller by a fee, or larger by less than the venue trades.
func (c Change) means(all decimal.Decimal) bool {
	left := all.Sub(c.Quantity)
	return all.IsPositive() && c.Quantity.IsPositive() && (c.Quantity.Equal(RoundDown(all, c.Step)) ||
		left.LessThan(c.Least) && !left.IsNegative() || left.IsNegative() && left.GreaterThanOrEqual(c.Slack.Neg()))
}

// line returns a new line.
func (c Change) line(quantity decimal.Decimal) Line {
	return Line{ID: c.ID, Side: c.Side, Quantity: quantity, Protect: c.Protect, By: c.ID, Deployment: c.Deployment}
}

// owns reports whether a line is for what those who ask hold.
func (c Change) owns(l Line) bool { return l.Deployment == c.Deployment }

// RoundDown returns a quantity on the venue's step, at most d.
func RoundDown(d, step decimal.Decimal) decimal.Decimal {
	if !step.IsPositive() || !d.IsPositive() {
		return d
	}
	return d.Sub(d.Mod(step))
}
