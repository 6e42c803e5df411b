package tool

import (
	"encoding/json"
	"fmt"

	"candela/internal/alerting/alert"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// entry is an indicator in a condition: the name that the client used, its parameters as
// a JSON object, "" if none are given, and what they select.
type entry struct {
	name      string
	params    string
	selection *ta.Selection
}

// entryArg is an indicator: a name, or an object with a name and parameters.
func (r *conditionReader) entryArg(name string, dst *entry) arg {
	return newArg(name, dst, `a name from list_indicators such as "rsi", or an object such as {"name":"rsi","length":14}`, nil, func(raw json.RawMessage) (entry, error) {
		request, err := readRequest(name, name, raw)
		if err != nil {
			return entry{}, err
		}
		params, err := alert.FormatParams(request.Params)
		if err != nil {
			return entry{}, fault.Field(name, quoteValue(raw), "an object such as "+`{"name":"rsi","length":14}`)
		}
		if _, ok := request.Params["interval"]; ok {
			r.timed = true
			delete(request.Params, "interval") // that of the alert
		}
		selection, err := r.library.Resolve(request)
		if err != nil {
			return entry{}, withField(err, name)
		}
		return entry{request.Name, params, selection}, nil
	})
}

// side is one side of a comparison as it is read.
type side struct {
	at    string
	entry entry
	price string
	line  string
}

func (r *conditionReader) sideArgs(s *side) []arg {
	return []arg{
		r.entryArg("indicator", &s.entry),
		enumArg("price", &s.price, "", alert.Prices()...),
		stringArg("line", &s.line, 64, ""),
	}
}

// operand returns the side.
func (s *side) operand() (alert.Operand, error) {
	switch {
	case s.entry.selection == nil && s.price == "":
		return alert.Operand{}, fault.Missing(s.at+".indicator", `an indicator such as "rsi" or {"name":"rsi","length":14}, or "price":"close" instead of it`)
	case s.entry.selection != nil && s.price != "":
		return alert.Operand{}, fault.Field(s.at+".price", s.price, "only one of indicator and price")
	case s.price != "" && s.line != "":
		return alert.Operand{}, fault.Field(s.at+".line", s.line, "no line for a price: only indicators have lines")
	case s.price != "":
		return alert.Operand{Price: s.price}, nil
	}
	return alert.Operand{Indicator: s.entry.name, Params: s.entry.params, Line: s.line}, nil
}

// checkReach refuses a comparison that is never true: of an indicator that stays from 0
// to 100 with a number outside.
func checkReach(at string, left *side, c *alert.Condition) error {
	if left.entry.selection == nil || c.Right.Price != "" || c.Right.Indicator != "" {
		return nil
	}
	lo, hi, ok := bounds(left.entry.selection)
	if !ok || reaches(c, lo, hi) {
		return nil
	}
	name, value := left.entry.selection.Label(), c.Right.Number.String()
	if c.Op.Ranged() {
		value = "[" + c.Low.String() + "," + c.High.String() + "]"
	}
	return fault.Field(at+".value", value, fmt.Sprintf("a number that it reaches: %s stays from %g to %g, so %s %s is never true",
		name, lo, hi, c.Op, value))
}

// reaches reports whether a comparison can be true of a value that stays from lo to hi.
func reaches(c *alert.Condition, lo, hi float64) bool {
	number, low, high := c.Right.Number.InexactFloat64(), c.Low.InexactFloat64(), c.High.InexactFloat64()
	switch c.Op {
	case alert.Greater:
		return number < hi
	case alert.GreaterEqual:
		return number <= hi
	case alert.Less:
		return number > lo
	case alert.LessEqual:
		return number >= lo
	case alert.CrossesAbove: // from at or below
		return lo <= number && number < hi
	case alert.CrossesBelow:
		return lo < number && number <= hi
	default: // enters and leaves: inside at one bar and outside at another
		return low <= hi && high >= lo && (low > lo || high < hi)
	}
}

// bounds returns the numbers between which the lines of an indicator stay, if they are
// those of a percentage.
func bounds(s *ta.Selection) (lo, hi float64, ok bool) {
	r := s.Compute(ta.Input{Bars: &market.Bars{}}).YRange
	if r == nil || *r != [2]float64{0, 100} && *r != [2]float64{-100, 0} {
		return 0, 0, false
	}
	return r[0], r[1], true
}
