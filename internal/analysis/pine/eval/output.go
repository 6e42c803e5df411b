package eval

import (
	"math"

	"candela/internal/analysis/pine/check"
)

// Output is what a plot, hline, fill or background gave on the last bar. Values are na
// where there is none; an infinite value counts as none.
//
//   - plot, plotshape, plotchar, plotarrow, hline: Values[0] is the series or the price;
//     of a bool series 1 or 0.
//   - plotcandle, plotbar: open, high, low, close.
//   - fill with a gradient: Values are its top and bottom value.
//   - Colors[0] is the colour; of a candle the body, then wick and border; of a gradient
//     the top and the bottom; of plotshape and plotchar Colors[1] is that of the text; of
//     plotarrow the colours up and down.
//
// A colour is a number of 32 bits, red in the highest byte and alpha in the lowest.
type Output struct {
	Values [4]float64
	Colors [4]float64
}

func (o *Output) clear() {
	for i := range o.Values {
		o.Values[i], o.Colors[i] = math.NaN(), math.NaN()
	}
}

// Outputs returns what the script gave on the last bar, by Plot.Index. It is valid until the
// next bar.
func (m *Machine) Outputs() []Output { return m.out }

// Conditions returns which alertconditions held on the last bar, by Condition.Index.
func (m *Machine) Conditions() []bool { return m.conds }

// Alerts returns the calls of alert() on the last bar.
func (m *Machine) Alerts() []Alert { return m.fires }

// Logs returns what log.* wrote on the last bar.
func (m *Machine) Logs() []string { return m.logs }

// Arg returns an argument of a plot by its name, as it was on the last bar: a number, or a
// string. ok is false if it was not written.
func (m *Machine) Arg(plot int, name string) (number float64, text string, ok bool) {
	f := m.outArgs[plot][name]
	if f == nil {
		return math.NaN(), "", false
	}
	x := f()
	t := m.prog.Plots[plot].Call.Arg(name).Type()
	if isHandle(t) {
		return math.NaN(), m.heap.text(x), true
	}
	return x, "", true
}

// outputBuilders are the calls whose values leave the script.
func outputBuilders(all map[string]builder) {
	values := map[string][2][]string{
		"plot":       {{"series"}, {"color"}},
		"plotshape":  {{"series"}, {"color", "textcolor"}},
		"plotchar":   {{"series"}, {"color", "textcolor"}},
		"plotarrow":  {{"series"}, {"colorup", "colordown"}},
		"plotcandle": {{"open", "high", "low", "close"}, {"color", "wickcolor", "bordercolor"}},
		"plotbar":    {{"open", "high", "low", "close"}, {"color"}},
		"hline":      {{"price"}, {"color"}},
		"bgcolor":    {{}, {"color"}},
		"barcolor":   {{}, {"color"}},
		"fill":       {{"top_value", "bottom_value"}, {"color", "top_color", "bottom_color"}},
	}
	for name, parts := range values {
		all[name] = func(c *compiler, call *check.Call) num { return c.output(call, parts[0], parts[1]) }
	}
	all["alertcondition"] = func(c *compiler, call *check.Call) num {
		cond, m, i := c.cond(call.Args[0]), c.m, call.Output
		return func() float64 {
			hit := cond()
			if i >= 0 && i < len(m.conds) {
				m.conds[i] = hit
			}
			return 0
		}
	}
}

// output compiles a plot: its values and colours go to the outputs of the bar, and its
// other arguments are kept to be asked for.
func (c *compiler) output(call *check.Call, series, colors []string) num {
	i := call.Output
	if i < 0 || i >= len(c.m.out) {
		return func() float64 { return math.NaN() }
	}
	out, args := &c.m.out[i], map[string]num{}
	var run []func()
	for k, name := range series {
		if a := call.Arg(name); a != nil {
			run = append(run, c.toOutput(a, &out.Values[k], true))
		}
	}
	for k, name := range colors {
		if a := call.Arg(name); a != nil {
			run = append(run, c.toOutput(a, &out.Colors[k], false))
		}
	}
	for k, p := range call.Builtin.Params {
		if k < len(call.Args) && call.Args[k] != nil && simpleType(call.Args[k].Type()) {
			if call.Args[k].Qual() <= check.SimpleQ {
				args[p.Name] = c.num(call.Args[k])
			}
		}
	}
	c.m.outArgs[i] = args
	self := float64(i)
	if len(run) == 1 {
		only := run[0]
		return func() float64 {
			only()
			return self
		}
	}
	return func() float64 {
		for _, f := range run {
			f()
		}
		return self
	}
}

func simpleType(t *check.Type) bool {
	if t == nil {
		return false
	}
	switch t.Kind {
	case check.Int, check.Float, check.Bool, check.String, check.Color, check.Option, check.Enum:
		return true
	default:
		return false
	}
}

// toOutput computes an argument into a place of an output; an infinite value becomes na.
func (c *compiler) toOutput(a check.Expr, to *float64, value bool) func() {
	if p := c.address(a); p != nil && !value {
		return func() { *to = *p }
	}
	f := c.num(a)
	if !value {
		return func() { *to = f() }
	}
	return func() {
		v := f()
		if v-v != 0 {
			v = math.NaN()
		}
		*to = v
	}
}
