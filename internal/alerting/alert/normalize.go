package alert

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// Normalize checks what a client may say of an alert and brings it to one form: names as
// the catalogue has them, lines that were left out, an interval that an indicator names.
// Equal conditions are equal afterwards. The engine calls it before it creates an alert.
func (a *Alert) Normalize(l ta.Library) error {
	n := normalizer{library: l, interval: a.Interval}
	if err := n.condition(&a.Condition, "condition"); err != nil {
		return err
	}
	if err := n.settle(&a.Condition); err != nil {
		return err
	}
	if a.Interval = n.interval; a.Condition.Type.OnPrice() && a.Interval != 0 {
		return fault.Field("interval", a.Interval.String(), "no interval for "+a.Condition.Type.String()+", which watches every trade")
	}
	if !a.Condition.Type.OnPrice() && !a.Interval.Valid() {
		return fault.Missing("interval", "the length of the bars, such as 1h")
	}
	if err := n.checkScripts(); err != nil {
		return err
	}
	if err := a.checkTick(); err != nil {
		return err
	}
	if a.OnTick && a.Condition.Type == IndicatorSignal && !n.script {
		return fault.Field("on", "tick", "close for a signal of "+a.Condition.Indicator+"; tick is for a value compared with a number and for a signal of a script")
	}
	if a.OnTick && a.Condition.Left.Indicator != "" {
		if s, err := selectSource(l, a.Condition.Left.Indicator, a.Condition.Left.Params); err == nil && s.selection.Stream(ta.Env{Interval: a.Interval}) == nil {
			return fault.Field("on", "tick", "close for "+a.Condition.Left.Indicator+", which computes all bars for each value")
		}
	}
	return a.normalizeRepeat()
}

// checkTick rejects a condition that cannot be evaluated while a bar forms.
func (a *Alert) checkTick() error {
	if a.OnTick && a.Condition.Type != IndicatorSignal && !a.Condition.againstNumber() {
		return fault.Field("on", "tick", "close for this condition; tick is for a value compared with a number and for a signal of a script")
	}
	return nil
}

// againstNumber reports whether a comparison is with a number.
func (c *Condition) againstNumber() bool {
	return c.Type == PercentChange || c.Type == Value && !c.Op.Ranged() && c.Right.Price == "" && c.Right.Indicator == ""
}

func (a *Alert) normalizeRepeat() error {
	r := &a.Repeat
	switch {
	case r.MaxFires < 0 || r.MaxFires > MaxFires:
		return fault.Field("max_fires", strconv.Itoa(r.MaxFires), fmt.Sprintf("a whole number from 1 to %d", MaxFires))
	case !r.Repeats() && r.Cooldown != 0:
		return fault.Field("cooldown", r.Cooldown.String(), "none for an alert that fires once; set repeat")
	case r.Cooldown < 0 || r.Cooldown > MaxCooldown:
		return fault.Field("cooldown", r.Cooldown.String(), "a time of at most 30 days")
	case !r.Repeats():
		return nil
	}
	r.Cooldown = r.Cooldown.Truncate(time.Second)
	if onTrades := a.OnTick || a.Condition.Type.OnPrice(); onTrades && r.Cooldown == 0 {
		r.Cooldown = MinTickCooldown
	} else if onTrades && r.Cooldown < MinTickCooldown {
		return fault.Field("cooldown", r.Cooldown.String(), "at least 1m for a condition on trades")
	}
	return nil
}

// normalizer normalizes a condition and finds the interval that it names.
type normalizer struct {
	library  ta.Library
	interval market.Interval
	member   bool // of All or Any
	scripts  []usedScript
	script   bool // the newest signal is that of a script
}

// usedScript is a script and the argument that names it.
type usedScript struct {
	field     string
	selection *ta.Selection
	interval  market.Interval // of a member with one of its own, otherwise 0
}

// use takes what a source of the condition names.
func (n *normalizer) use(found selected, interval market.Interval, field string) error {
	if found.selection.IsScript() {
		n.scripts = append(n.scripts, usedScript{field: field, selection: found.selection})
	}
	return n.setInterval(interval, field+".interval")
}

// checkScripts rejects a script that cannot run on the bars of the alert alone.
func (n *normalizer) checkScripts() error {
	for _, s := range n.scripts {
		on := cmp.Or(s.interval, n.interval)
		if err := s.selection.CheckStream(on); err != nil {
			name := s.selection.Def.Name
			return fault.Field(s.field, name, fmt.Sprintf("a script that runs on the %s bars of the alert's symbol alone, or another interval; %s does not: %s", on, name, err))
		}
	}
	return nil
}

func (n *normalizer) condition(c *Condition, field string) error {
	switch c.Type {
	case PriceAbove, PriceBelow, PriceCrosses:
		return checkNumber(field+"."+c.Type.String(), toFloat(c.Threshold))
	case IndicatorSignal:
		return n.signal(c, field+"."+c.Type.String())
	case Value:
		return n.value(c, field+"."+c.Type.String())
	case PercentChange:
		return checkChange(c, field+"."+c.Type.String())
	case NewHigh, NewLow:
		return checkBars(c, field+"."+c.Type.String())
	case All, Any:
		return n.members(c, field+"."+c.Type.String())
	}
	return fault.Field(field, "", "one of "+strings.Join(Names(), ", "))
}

func checkNumber(field string, x float64) error {
	if math.IsInf(x, 0) {
		return fault.Field(field, "infinite", "a number below 1.8e308")
	}
	return nil
}

func checkBars(c *Condition, field string) error {
	if c.Bars < 1 || c.Bars > MaxBars {
		return fault.Field(field+".bars", strconv.Itoa(c.Bars), fmt.Sprintf("a whole number from 1 to %d", MaxBars))
	}
	return nil
}

func checkChange(c *Condition, field string) error {
	if c.Op.String() == "" || c.Op.Ranged() {
		return fault.Field(field+".op", c.Op.String(), strings.Join(Ops()[:Enters-1], ", "))
	}
	if err := checkBars(c, field); err != nil {
		return err
	}
	return checkNumber(field+".value", toFloat(c.Threshold))
}

// signal checks a signal. A condition without parameters has its name checked only: it was
// the only form once, and its errors are a contract.
func (n *normalizer) signal(c *Condition, field string) error {
	found, interval, err := source{n.library, &c.Indicator, &c.Params, field + ".indicator"}.normalize()
	if err != nil {
		return err
	}
	if err := n.use(found, interval, field+".indicator"); err != nil {
		return err
	}
	n.script = UsesScript(found.selection)
	return ta.CheckSignal(found.selection.Def, c.Signal)
}

// setInterval makes the interval that an indicator names that of the alert, or of the member.
func (n *normalizer) setInterval(i market.Interval, field string) error {
	switch {
	case i == 0 || i == n.interval:
	case n.interval != 0 && n.member:
		return fault.Field(field, i.String(), n.interval.String()+": all values of one condition are taken at the close of the same bar")
	case n.interval != 0:
		return fault.Field(field, i.String(), n.interval.String()+", the interval of the alert: all of its values are taken at the close of the same bar")
	default:
		n.interval = i
	}
	return nil
}

func (n *normalizer) value(c *Condition, field string) error {
	if c.Op.String() == "" {
		return fault.Missing(field+".op", "one of "+strings.Join(Ops(), ", "))
	}
	if c.Left.Indicator == "" && c.Left.Price == "" {
		return fault.Missing(field+".indicator", "the indicator or the price to compare, such as rsi")
	}
	if err := n.operand(&c.Left, field); err != nil {
		return err
	}
	if c.Op.Ranged() {
		return checkRange(c, field)
	}
	if err := n.operand(&c.Right, field+".value"); err != nil {
		return err
	}
	if c.Left == c.Right {
		return fault.Field(field+".value", c.Right.text(), "something else than the left side")
	}
	return checkNumber(field+".value", toFloat(c.Right.Number))
}

func (n *normalizer) operand(o *Operand, field string) error {
	switch {
	case o.Indicator != "" && o.Price != "":
		return fault.Field(field+".price", o.Price, "either an indicator or a price")
	case o.Price != "":
		o.Price = strings.ToLower(o.Price)
		if !slices.Contains(Prices(), o.Price) {
			return fault.Field(field+".price", o.Price, strings.Join(Prices(), ", "), fault.Nearest(o.Price, Prices())...)
		}
		return nil
	case o.Indicator == "":
		return nil
	}
	found, interval, err := source{n.library, &o.Indicator, &o.Params, field + ".indicator"}.normalize()
	if err != nil {
		return err
	}
	if err := n.use(found, interval, field+".indicator"); err != nil {
		return err
	}
	_, err = column(found, field+".line", &o.Line)
	return err
}

func (n *normalizer) members(c *Condition, field string) error {
	if n.member {
		return fault.Field(field, c.Type.String(), "no all or any inside another: at most one level")
	}
	if len(c.Members) < 2 || len(c.Members) > MaxMembers {
		return fault.Field(field, strconv.Itoa(len(c.Members)), fmt.Sprintf("2 to %d conditions", MaxMembers))
	}
	for i := range c.Members {
		m, at := &c.Members[i], fmt.Sprintf("%s[%d]", field, i)
		if m.Type == PriceCrosses {
			return fault.Field(at, m.Type.String(), `a value condition such as {"price":"close","op":"crosses_above","value":70000}: members are evaluated at the close of a bar`)
		}
		one := normalizer{library: n.library, interval: m.Interval, member: true}
		if err := one.condition(m, at); err != nil {
			return err
		}
		m.Interval = one.interval
		for _, s := range one.scripts {
			n.scripts = append(n.scripts, usedScript{s.field, s.selection, one.interval})
		}
	}
	return nil
}

// settle gives the members of a compound condition their intervals: that of the alert to those that
// name none, and none to those of the shortest, which becomes the alert's.
func (n *normalizer) settle(c *Condition) error {
	if len(c.Members) == 0 {
		return nil
	}
	used := make([]market.Interval, 0, len(c.Members)+1)
	if n.interval.Valid() {
		used = append(used, n.interval)
	}
	for i := range c.Members {
		m := &c.Members[i]
		if m.Interval = cmp.Or(m.Interval, n.interval); m.Interval == 0 {
			return nil // Normalize says that there is none
		}
		used = append(used, m.Interval)
	}
	slices.Sort(used)
	if err := checkIntervals(slices.Compact(used)); err != nil {
		return err
	}
	for i := range c.Members {
		if c.Members[i].Interval == used[0] {
			c.Members[i].Interval = 0
		}
	}
	n.interval = used[0]
	return nil
}

// checkIntervals checks the intervals of an alert, which ascend.
func checkIntervals(used []market.Interval) error {
	if len(used) > MaxIntervals {
		return fault.Field("condition", strconv.Itoa(len(used))+" intervals", fmt.Sprintf("at most %d different intervals, that of the alert among them", MaxIntervals))
	}
	for _, i := range used {
		if !used[0].Divides(i) {
			return fault.Field("interval", i.String(), "a multiple of the shortest interval of the conditions, "+used[0].String())
		}
	}
	return nil
}
