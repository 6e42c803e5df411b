package alert

import (
	"fmt"

	"candela/lib/fault"
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

// above and below report on which side of a number a value must be, the number excluded.
func (o Op) above() bool { return o == Greater || o == CrossesAbove }
func (o Op) below() bool { return o == Less || o == CrossesBelow }

// outOfBounds says why a value is never on a side of a number, or in a range.
func (c *Condition) outOfBounds(l ta.Library) string {
	bounds, name := c.Left.bounds(l)
	if bounds == nil {
		return ""
	}
	low, high := c.Right.Number.InexactFloat64(), c.Right.Number.InexactFloat64()
	if c.Op.Ranged() {
		low, high = c.Low.InexactFloat64(), c.High.InexactFloat64()
	}
	most := fmt.Sprintf("%s is from %g to %g", name, bounds[0], bounds[1])
	switch {
	case c.Op.above() && low >= bounds[1], c.Op == GreaterEqual && low > bounds[1],
		c.Op.below() && high <= bounds[0], c.Op == LessEqual && high < bounds[0],
		c.Op.Ranged() && (low > bounds[1] || high < bounds[0]):
		return most
	}
	return ""
}

// bounds returns what a value cannot leave, and its name; nil if it may be any number: a price of futures may be below zero.
func (o Operand) bounds(l ta.Library) (*[2]float64, string) {
	if o.Indicator == "" {
		return nil, ""
	}
	s, err := selectSource(l, o.Indicator, o.Params)
	if err != nil {
		return nil, ""
	}
	return s.selection.Def.Bounds, o.Indicator
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
