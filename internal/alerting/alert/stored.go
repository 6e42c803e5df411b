package alert

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// checkExtended checks that a stored alert can be evaluated. A client's was checked by
// Normalize, but another version or another program may have written the row: whatever it
// says, the other alerts must not suffer from it.
func (b *Index) checkExtended(a *Alert) error {
	if a.Condition.Type.OnPrice() != (a.Interval == 0) {
		return fault.Field("interval", "", "an interval for a condition on bars, and none for one on the price")
	}
	if r := a.Repeat; r.MaxFires < 0 || r.MaxFires > MaxFires || r.Cooldown < 0 || r.Cooldown > MaxCooldown {
		return fmt.Errorf("alert that fires %d times, every %s", r.MaxFires, r.Cooldown)
	}
	if err := a.checkTick(); err != nil {
		return err
	}
	if longer := a.Condition.Longer(); len(longer) > 0 {
		if longer[0] <= a.Interval {
			return fault.Field("interval", longer[0].String(), "longer than that of the alert, "+a.Interval.String())
		}
		if err := checkIntervals(append([]market.Interval{a.Interval}, longer...)); err != nil {
			return err
		}
	}
	return b.checkStored(&a.Condition)
}

// checkStored checks a stored condition.
func (b *Index) checkStored(c *Condition) error {
	field := "condition." + c.Type.String()
	switch c.Type {
	case PriceAbove, PriceBelow, PriceCrosses:
		return checkNumber(field, toFloat(c.Threshold))
	case IndicatorSignal:
		s, err := b.selectionOf(c.Indicator, c.Params)
		if err != nil {
			return err
		}
		return ta.CheckSignal(s.selection.Def, c.Signal)
	case Value:
		return b.checkComparison(c, field)
	case PercentChange:
		return checkChange(c, field)
	case NewHigh, NewLow:
		return checkBars(c, field)
	case All, Any:
		return b.checkMembers(c)
	}
	return errors.New("alert of no known type")
}

func (b *Index) checkComparison(c *Condition, field string) error {
	if c.Op.String() == "" {
		return fault.Missing(field+".op", "one of "+strings.Join(Ops(), ", "))
	}
	if c.Op.Ranged() {
		if err := checkRange(c, field); err != nil {
			return err
		}
	}
	if c.Left.Indicator == "" && c.Left.Price == "" {
		return errors.New("comparison without a left side")
	}
	for _, o := range []Operand{c.Left, c.Right} {
		if o.Price != "" && !slices.Contains(Prices(), o.Price) {
			return fault.Field(field+".price", o.Price, strings.Join(Prices(), ", "))
		}
		if o.Indicator == "" {
			continue
		}
		s, err := b.selectionOf(o.Indicator, o.Params)
		if err != nil {
			return err
		}
		if _, err := column(s, field+".line", &o.Line); err != nil {
			return err
		}
	}
	return checkNumber(field+".value", toFloat(c.Right.Number))
}

// checkRange checks the ends of a range.
func checkRange(c *Condition, field string) error {
	low, high := toFloat(c.Low), toFloat(c.High)
	if !(low < high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return fault.Field(field+".value", fmt.Sprintf("[%s,%s]", appendDecimal(nil, c.Low), appendDecimal(nil, c.High)), "a range [low, high] with low below high")
	}
	return nil
}

func (b *Index) checkMembers(c *Condition) error {
	if len(c.Members) < 2 || len(c.Members) > MaxMembers {
		return fmt.Errorf("%s of %d conditions", c.Type, len(c.Members))
	}
	for i := range c.Members {
		m := &c.Members[i]
		if m.Type == All || m.Type == Any || m.Type == PriceCrosses {
			return fmt.Errorf("%s in %s", m.Type, c.Type)
		}
		if err := b.checkStored(m); err != nil {
			return err
		}
	}
	return nil
}
