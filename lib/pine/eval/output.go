package eval

import (
	"math"
	"strings"

	"candela/lib/pine/check"
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

// Column returns the values of a plot on all bars if they were computed ahead, nil otherwise.
// Outputs does not have them then. It must not be changed.
func (m *Machine) Column(plot int) []float64 { return m.columns[plot] }

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

// shown names the arguments of an output that become its values and colours.
type shown struct{ series, colors []string }

// shows is the row of a function whose values leave the script.
func shows(steps windowCost, series, colors string) row {
	p := &shown{strings.Fields(series), strings.Fields(colors)}
	return row{steps: steps, shows: p, build: func(c *compiler, call *check.Call) num {
		run, self := sequence(c.output(call, p)), float64(call.Output)
		return func() float64 {
			run()
			return self
		}
	}}
}

// outputRows are the calls whose values leave the script.
func outputRows() functions {
	return functions{
		"alertcondition": built(constant, alertCondition).once(),
		"barcolor":       shows(constant, "", "color"),
		"bgcolor":        shows(constant, "", "color"),
		"fill":           shows(constant, "top_value bottom_value", "color top_color bottom_color"),
		"hline":          shows(constant, "price", "color"),
		"plot":           shows(constant, "series", "color"),
		"plotarrow":      shows(constant, "series", "colorup colordown"),
		"plotbar":        shows(constant, "open high low close", "color"),
		"plotcandle":     shows(constant, "open high low close", "color wickcolor bordercolor"),
		"plotchar":       shows(constant, "series", "color textcolor"),
		"plotshape":      shows(constant, "series", "color textcolor"),
	}
}

func alertCondition(c *compiler, call *check.Call) num {
	cond, m, i := c.cond(call.Args[0]), c.m, call.Output
	return func() float64 {
		hit := cond()
		if i >= 0 && i < len(m.conds) {
			m.conds[i] = hit
		}
		return 0
	}
}

// output compiles a plot: its values and colours go to the outputs of the bar, and its
// other arguments are kept to be asked for.
func (c *compiler) output(call *check.Call, p *shown) []stmt {
	i, series := call.Output, p.series
	if i < 0 || i >= len(c.m.out) {
		return nil
	}
	out, args := &c.m.out[i], map[string]num{}
	var run []stmt
	if c.plotAhead(call) {
		series = nil
	}
	for k, name := range series {
		if a := call.Arg(name); a != nil {
			run = c.toOutput(run, a, &out.Values[k], true)
		}
	}
	for k, name := range p.colors {
		if a := call.Arg(name); a != nil {
			run = c.toOutput(run, a, &out.Colors[k], false)
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
	return run
}

// plotted compiles an output whose value nothing uses, to nil if nothing is left to do on a
// bar; ok is false if the call is none.
func (c *compiler) plotted(call *check.Call) (run stmt, ok bool) {
	if call.Builtin == nil {
		return nil, false
	}
	p := c.library.functions[call.Builtin.Name].shows
	if p == nil {
		return nil, false
	}
	c.m.place = call.Where().From
	if list := c.output(call, p); len(list) > 0 {
		run = sequence(list)
	}
	return run, true
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

// toOutput appends what computes an argument into a place of an output; an infinite value
// becomes na. A constant is put there at once.
func (c *compiler) toOutput(run []stmt, a check.Expr, to *float64, value bool) []stmt {
	if k, ok := a.(*check.Const); ok && c.loops == 0 && c.scope == c.globals {
		if *to = c.constValue(k); value && *to-*to != 0 {
			*to = math.NaN()
		}
		return run
	}
	p, f := c.address(a), c.num(a)
	switch {
	case !value:
		return append(run, store(f, p, []*float64{to}))
	case p != nil:
		return append(run, func() signal {
			v := *p
			if v-v != 0 {
				v = math.NaN()
			}
			*to = v
			return next
		})
	}
	return append(run, func() signal {
		v := f()
		if v-v != 0 {
			v = math.NaN()
		}
		*to = v
		return next
	})
}
