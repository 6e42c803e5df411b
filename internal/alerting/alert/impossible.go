package alert

import (
	"fmt"

	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// Possible returns a fault that names field if the condition, which Normalize has passed, can never be true: an order with it as its reason, and
// an owner's own condition, would deny everything. It knows the bounds that indicators have, and comparisons of one value with two
// numbers that exclude each other; it does not know markets.
func (a *Alert) Possible(l ta.Library, field string) error {
	why := a.Condition.never(l)
	if why == "" {
		return nil
	}
	e := fault.Field(field, why, "a condition that can be true")
	e.Message = fmt.Sprintf("%s can never be true: %s. Check the operator and the number.", field, why)
	return e
}

// never says why a condition can never be true, "" if it may be.
func (c *Condition) never(l ta.Library) string {
	switch c.Type {
	case PercentChange:
		if n := c.Threshold.InexactFloat64(); (c.Op == Less || c.Op == LessEqual || c.Op == CrossesBelow) && n <= -100 {
			return "a price falls by less than 100 %"
		}
	case Value:
		if c.againstNumber() || c.Op.Ranged() {
			return c.outOfBounds(l)
		}
	case All:
		for i := range c.Members {
			if why := c.Members[i].never(l); why != "" {
				return why
			}
		}
		return contradiction(c.Members)
	case Any:
		why := ""
		for i := range c.Members {
			if why = c.Members[i].never(l); why == "" {
				return ""
			}
		}
		return why
	default:
	}
	return ""
}

// outOfBounds says why a comparison is never true of a value that has bounds, "" if it may be.
func (c *Condition) outOfBounds(l ta.Library) string {
	s, low, high := c.Left.bounds(l)
	if s == nil || c.reaches(low, high) {
		return ""
	}
	return fmt.Sprintf("%s stays from %g to %g", s.Label(), low, high)
}

// CheckReach refuses the comparison at a field if it is never true of a value that has bounds.
func (c *Condition) CheckReach(l ta.Library, field string) error {
	if !c.againstNumber() && !c.Op.Ranged() {
		return nil
	}
	why := c.outOfBounds(l)
	if why == "" {
		return nil
	}
	value := c.Right.Number.String()
	if c.Op.Ranged() {
		value = "[" + c.Low.String() + "," + c.High.String() + "]"
	}
	return fault.Field(field+".value", value, fmt.Sprintf("a number that it reaches: %s, so %s %s is never true", why, c.Op, value))
}

// reaches reports whether a comparison with numbers can be true of a value that stays from lo to hi.
func (c *Condition) reaches(lo, hi float64) bool {
	number, low, high := c.Right.Number.InexactFloat64(), c.Low.InexactFloat64(), c.High.InexactFloat64()
	switch c.Op {
	case Greater:
		return number < hi
	case GreaterEqual:
		return number <= hi
	case Less:
		return number > lo
	case LessEqual:
		return number >= lo
	case CrossesAbove: // from at or below
		return lo <= number && number < hi
	case CrossesBelow:
		return lo < number && number <= hi
	default: // enters and leaves: inside at one bar and outside at another
		return low <= hi && high >= lo && (low > lo || high < hi)
	}
}

// bounds returns the numbers between which the lines of an indicator stay, if they are those of a percentage; no selection
// if a value may be any number: a price of futures may be below zero.
func (o Operand) bounds(l ta.Library) (of *ta.Selection, lo, hi float64) {
	if o.Indicator == "" {
		return nil, 0, 0
	}
	s, err := selectSource(l, o.Indicator, o.Params)
	if err != nil {
		return nil, 0, 0
	}
	r := s.selection.Compute(ta.Input{Bars: &market.Bars{}}).YRange
	if r == nil || *r != [2]float64{0, 100} && *r != [2]float64{-100, 0} {
		return nil, 0, 0
	}
	return s.selection, r[0], r[1]
}

// contradiction says why members that compare one value with two numbers exclude each other.
func contradiction(members []Condition) string {
	for i := range members {
		for j := range members {
			low, high := &members[i], &members[j]
			if low.Type != Value || high.Type != Value || !low.againstNumber() || !high.againstNumber() || low.Left != high.Left || low.Interval != high.Interval {
				continue
			}
			if (low.Op == Greater || low.Op == GreaterEqual) && (high.Op == Less || high.Op == LessEqual) {
				order := low.Right.Number.Cmp(high.Right.Number)
				if order > 0 || order == 0 && (low.Op == Greater || high.Op == Less) {
					return "one value is asked to be " + low.Op.String() + " " + low.Right.Number.String() + " and " + high.Op.String() + " " + high.Right.Number.String()
				}
			}
		}
	}
	return ""
}
