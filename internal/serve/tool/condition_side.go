package tool

import (
	"encoding/json"
	"fmt"

	"candela/internal/alerting/alert"
	"candela/internal/analysis/indicator"
	"candela/internal/kit/fault"
	"candela/internal/market"
)

// entry is an indicator in a condition: the name that the client used, its parameters as
// a JSON object, "" if none are given, and what they select.
type entry struct {
	name      string
	params    string
	selection *indicator.Selection
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
		selection, err := indicator.Resolve(request)
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
	if left.entry.selection == nil || c.Right.Price != "" || c.Right.Indicator != "" || c.Op.Ranged() {
		return nil
	}
	lo, hi, ok := bounds(left.entry.selection)
	if !ok {
		return nil
	}
	number := c.Right.Number.InexactFloat64()
	switch c.Op {
	case alert.Greater, alert.CrossesAbove:
		if number < hi {
			return nil
		}
	case alert.GreaterEqual:
		if number <= hi {
			return nil
		}
	case alert.Less, alert.CrossesBelow:
		if number > lo {
			return nil
		}
	default:
		if number >= lo {
			return nil
		}
	}
	name := left.entry.selection.Label()
	return fault.Field(at+".value", c.Right.Number.String(), fmt.Sprintf("a number that it reaches: %s stays from %g to %g, so %s %s is never true",
		name, lo, hi, c.Op, c.Right.Number))
}

// bounds returns the numbers between which the lines of an indicator stay, if they are
// those of a percentage.
func bounds(s *indicator.Selection) (lo, hi float64, ok bool) {
	r := s.Compute(indicator.Input{Bars: &market.Bars{}}).YRange
	if r == nil || *r != [2]float64{0, 100} && *r != [2]float64{-100, 0} {
		return 0, 0, false
	}
	return r[0], r[1], true
}
