package alert

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/lib/fault"
	"candela/lib/ta"
)

// Describe explains the alert in one sentence, such as "RSI(14) of BTCUSDT on 1h closes
// below 30; repeats at most every 1h".
func (a *Alert) Describe() string {
	var b strings.Builder
	symbol := a.Symbol.String()
	on := symbol
	if a.Interval.Valid() {
		on += " on " + a.Interval.String()
	}
	switch c := &a.Condition; c.Type {
	case 0:
		return a.unreadable()
	case PriceAbove:
		b.WriteString(symbol + " trades at or above " + number(c.Threshold))
	case PriceBelow:
		b.WriteString(symbol + " trades at or below " + number(c.Threshold))
	case PriceCrosses:
		b.WriteString(symbol + " crosses " + number(c.Threshold))
	case All, Any:
		b.WriteString(on + ": " + c.members())
	default:
		subject, verb := c.phrase(a.OnTick)
		b.WriteString(subject + " of " + on + " " + verb)
	}
	if r := a.Repeat; r.Repeats() {
		b.WriteString("; repeats")
		if r.Cooldown > 0 {
			b.WriteString(" at most every " + duration(r.Cooldown))
		}
		b.WriteString(", up to " + strconv.Itoa(r.MaxFires) + " times")
	}
	return b.String()
}

// members joins the members of a compound condition.
func (c *Condition) members() string {
	if c.Type == All {
		return strings.Join(c.Texts(), " and ")
	}
	return strings.Join(c.Texts(), " or ")
}

// on names the interval of a member that has one of its own.
func (c *Condition) on() string {
	if c.Interval == 0 {
		return ""
	}
	return " on " + c.Interval.String()
}

// phrase returns the subject and the rest of the sentence for a condition on bars.
func (c *Condition) phrase(onTick bool) (subject, verb string) {
	switch c.Type {
	case PriceAbove:
		return "the close", "is at or above " + number(c.Threshold)
	case PriceBelow:
		return "the close", "is at or below " + number(c.Threshold)
	case IndicatorSignal:
		return label(c.Indicator, c.Params), "signals " + c.Signal + when(c.Indicator, c.Params, c.Signal)
	case PercentChange:
		return "the change over " + bars(c.Bars), c.Op.verb("is", onTick) + " " + number(c.Threshold) + " %"
	case NewHigh:
		return "the high", "is above " + before(c.Bars)
	case NewLow:
		return "the low", "is below " + before(c.Bars)
	default: // Value
	}
	is := "closes"
	if c.Left.Price != "" {
		is = "is"
	}
	right := c.Right.text()
	if c.Op.Ranged() {
		right = "the range from " + number(c.Low) + " to " + number(c.High)
	}
	return c.Left.text(), c.Op.verb(is, onTick) + " " + right
}

// verb puts a verb before what the operator says.
func (o Op) verb(is string, onTick bool) string {
	if onTick && is == "closes" {
		is = "goes"
	}
	switch o {
	case Less:
		return is + " below"
	case LessEqual:
		return is + " at or below"
	case Greater:
		return is + " above"
	case GreaterEqual:
		return is + " at or above"
	case CrossesAbove, CrossesBelow, Enters, Leaves:
		return strings.ReplaceAll(o.String(), "_", " ")
	}
	return is
}

// text names the operand.
func (o *Operand) text() string {
	switch {
	case o.Indicator != "":
		found, err := selectSource(ta.Library{}, o.Indicator, o.Params)
		if err != nil {
			return fmt.Sprintf("%q of ", fault.Clean(o.Line, maxLine)) + script(o.Indicator, o.Params) // in the words of its author
		}
		if len(found.selection.Def.Lines) == 1 {
			return found.selection.Label()
		}
		return o.Line + " of " + found.selection.Label()
	case o.Price != "":
		return "the " + o.Price
	}
	return number(o.Number)
}

// label names an indicator with its parameters.
func label(name, params string) string {
	found, err := selectSource(ta.Library{}, name, params)
	if err != nil {
		return script(name, params) // or of another version of candela
	}
	return found.selection.Label()
}

// when says in brackets when an indicator of the catalogue gives a signal.
func when(name, params, signal string) string {
	found, err := selectSource(ta.Library{}, name, params)
	if err != nil {
		return ""
	}
	for _, t := range found.selection.Def.Signals {
		if t.Label == signal {
			event, _, _ := strings.Cut(strings.ReplaceAll(t.When, "`", ""), "; ")
			return " (" + event + ")"
		}
	}
	return ""
}

// script names a script and the inputs that are not its own.
func script(name, params string) string {
	if strings.Contains(name, "@") {
		name = "the script " + unversioned(name)
	}
	var inputs map[string]json.RawMessage
	if params == "" || json.Unmarshal([]byte(params), &inputs) != nil || len(inputs) == 0 {
		return name
	}
	all := make([]string, 0, len(inputs))
	for _, key := range slices.Sorted(maps.Keys(inputs)) {
		all = append(all, key+" "+string(inputs[key]))
	}
	return fault.Truncate(name+"("+strings.Join(all, ", ")+")", maxLabel)
}

// maxLabel bounds the name of a script with its inputs, and maxLine that of one of its lines.
const (
	maxLabel = 200
	maxLine  = 40
)

// unversioned is the name of a script without its version.
func unversioned(name string) string {
	name, _, _ = strings.Cut(name, "@")
	return name
}

// unversion takes the versions of scripts from their names, and reports whether there were any.
func (c *Condition) unversion() (had bool) {
	for _, name := range []*string{&c.Indicator, &c.Left.Indicator, &c.Right.Indicator} {
		if plain := unversioned(*name); plain != *name {
			*name, had = plain, true
		}
	}
	if len(c.Scripts()) > 0 {
		c.Members, had = slices.Clone(c.Members), true
	}
	for i := range c.Members {
		c.Members[i].unversion()
	}
	return had
}

// before names the highs or lows of the bars before.
func before(n int) string {
	if n == 1 {
		return "that of the bar before"
	}
	return "those of the " + bars(n) + " before"
}

func bars(n int) string {
	if n == 1 {
		return "1 bar"
	}
	return strconv.Itoa(n) + " bars"
}

// duration writes a time without units that are zero: 1h30m, not 1h30m0s.
func duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
