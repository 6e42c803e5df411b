package tool

import (
	"encoding/json"

	"candela/internal/alerting/alert"
	"candela/internal/work/charting"
	"candela/lib/fault"
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
			return entry{}, charting.NoIndicator(err, name)
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
