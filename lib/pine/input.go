package pine

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
	"candela/lib/ta"
)

// input is an input of a script as a parameter of the indicator.
type input struct {
	*check.Input
	param ta.Param
}

// longest is the greatest length of an input that reaches a length, and unbounded the
// greatest number of any other.
const (
	longest   = 5000
	unbounded = 1e12
	freeText  = 200
	longText  = 4096
)

// prices are the series that an input of kind source may be.
func prices() []string {
	return []string{"close", "open", "high", "low", "hl2", "hlc3", "ohlc4", "hlcc4", "volume"}
}

// readInputs returns the inputs with names that differ: those of their variables, and
// the titles as other spellings.
func readInputs(all []*check.Input) []input {
	taken := map[string]bool{}
	inputs := make([]input, len(all))
	for i, in := range all {
		inputs[i] = input{in, paramOf(in)}
		inputs[i].param.Name = unique(taken, in.Name)
	}
	for i := range inputs {
		if alias := slug(inputs[i].Title); alias != "" && !taken[alias] {
			taken[alias] = true
			inputs[i].param.Aliases = []string{alias}
		}
	}
	return inputs
}

// paramOf returns the parameter of an input.
func paramOf(in *check.Input) ta.Param {
	doc := in.Title
	if in.Tooltip != "" {
		doc = strings.TrimPrefix(doc+": "+in.Tooltip, ": ")
	}
	lo, hi := bounds(in)
	switch in.Kind {
	case "int":
		p := ta.Int(in.Name, int(in.Default.Num), int(lo), int(hi), doc)
		p.Numbers = numbers(in.Options)
		return p
	case "float", "price", "time":
		p := ta.Num(in.Name, in.Default.Num, lo, hi, doc)
		p.Numbers = numbers(in.Options)
		return p
	case "bool":
		return ta.Bool(in.Name, in.Default.Num != 0, doc)
	case "source":
		return ta.Choice(in.Name, sourceName(in.DefaultSource), prices(), doc)
	case "color":
		return ta.Param{Name: in.Name, Kind: ta.ColorParam, Default: toneText(in.Default.Num), Doc: doc, Alpha: true}
	case "enum":
		return ta.Choice(in.Name, in.Type.Enum.Members[clampIndex(in.Default.Num, len(in.Type.Enum.Members))], in.Type.Enum.Members, doc)
	}
	if len(in.Options) > 0 {
		values := make([]string, len(in.Options))
		for i := range in.Options {
			values[i] = in.Options[i].Str
		}
		return ta.Choice(in.Name, in.Default.Str, values, doc)
	}
	most := freeText
	if in.Kind == "text_area" {
		most = longText
	}
	return ta.Param{Name: in.Name, Kind: ta.FreeParam, Default: in.Default.Str, Max: float64(max(most, len(in.Default.Str))), Doc: doc}
}

func clampIndex(x float64, n int) int {
	if !(x >= 0) {
		return 0
	}
	return min(int(x), n-1)
}

func sourceName(name string) string {
	if slices.Contains(prices(), name) {
		return name
	}
	return "close"
}

// bounds returns the least and the greatest number of an input.
func bounds(in *check.Input) (lo, hi float64) {
	lo, hi = -unbounded, unbounded
	if in.Kind == "time" {
		lo, hi = 0, 1e14
	}
	if in.Length {
		lo, hi = 0, longest
	}
	if in.Min != nil {
		lo = *in.Min
	}
	if in.Max != nil {
		hi = *in.Max
	}
	if d := in.Default.Num; !in.Default.NA && !math.IsNaN(d) {
		lo, hi = min(lo, d), max(hi, d)
	}
	return lo, hi
}

func numbers(options []check.Const) []float64 {
	all := make([]float64, len(options))
	for i := range options {
		all[i] = options[i].Num
	}
	return all
}

// toneText writes a colour of the engine as #rrggbbaa.
func toneText(x float64) string { return toneOf(x).String() }

// ReadInputs reads values of inputs by name, as the parameters of an indicator are read; those that are not
// given keep their defaults. Errors name the field inputs.NAME.
func (p *Program) ReadInputs(given map[string]json.RawMessage) ([]eval.Value, error) {
	s, err := p.Def("inputs").Resolve(given)
	if err != nil {
		return nil, err
	}
	if s.Interval != 0 {
		return nil, fault.Field("inputs.interval", s.Interval.String(), "an input of the script")
	}
	return p.values(s.Values), nil
}

// IsInput reports whether name is a name of an input of the script as a parameter.
func (p *Program) IsInput(in *check.Input, name string) bool {
	own := p.inputs[in.Index].param
	return own.Name == name || slices.Contains(own.Aliases, name)
}

// values returns the inputs as the engine takes them.
func (p *Program) values(v ta.Values) []eval.Value {
	all := make([]eval.Value, len(p.inputs))
	for i := range p.inputs {
		all[i] = p.inputs[i].value(v)
	}
	return all
}

func (in *input) value(v ta.Values) eval.Value {
	name := in.param.Name
	switch in.param.Kind {
	case ta.IntParam:
		return eval.Value{Set: true, Num: float64(v.Int(name))}
	case ta.NumParam:
		if in.Default.NA && v.Num(name) == 0 {
			return eval.Value{}
		}
		return eval.Value{Set: true, Num: v.Num(name)}
	case ta.BoolParam:
		value := eval.Value{Set: true}
		if v.Bool(name) {
			value.Num = 1
		}
		return value
	case ta.ColorParam:
		return eval.Value{Set: true, Num: colorNumber(v.Text(name))}
	default:
	}
	text := v.Text(name)
	switch in.Kind {
	case "enum":
		return eval.Value{Set: true, Num: float64(slices.Index(in.Type.Enum.Members, text))}
	case "timeframe":
		return eval.Value{Set: true, Str: timeframe(text)}
	case "source":
		if text == in.DefaultSource || !slices.Contains(prices(), in.DefaultSource) && text == "close" {
			return eval.Value{}
		}
	}
	return eval.Value{Set: true, Str: text}
}

// colorNumber reads #rrggbb or #rrggbbaa.
func colorNumber(text string) float64 {
	text = strings.TrimPrefix(text, "#")
	if len(text) == 6 {
		text += "ff"
	}
	n, err := strconv.ParseUint(text, 16, 32)
	if err != nil {
		return math.NaN()
	}
	return float64(n)
}

// timeframe returns an interval as Pine writes it: 1h is 60. Other texts stay.
func timeframe(text string) string {
	i, err := market.ParseInterval(text)
	if err != nil || text == "" || strings.Trim(text, "0123456789") == "" {
		return text
	}
	return eval.Timeframe(i)
}
