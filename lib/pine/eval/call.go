package eval

import (
	"math"
	"strings"

	"candela/lib/pine/check"
	"candela/lib/pine/syntax"
)

// callInto compiles a call of a user function: a copy of its body with variables and state
// of its own.
func (c *compiler) callInto(call *check.Call, dst []*float64) stmt {
	c.count++
	if c.count > c.m.env.Limits.Instances {
		c.m.fail(call.Where().From, CodeCalls, "The script has more than %d calls of functions within functions.", c.m.env.Limits.Instances)
	}
	args := make([]num, len(call.Args))
	for i, a := range call.Args {
		if a != nil {
			args[i] = c.num(a)
		}
	}
	outer := c.scope
	c.scope = &instance{fn: call.Func, slots: make([]*slot, len(call.Func.Vars))}
	places, rings := make([]*float64, len(args)), []*ring(nil)
	for i, v := range call.Func.Params {
		s := c.slotOf(v)
		places[i] = s.p
		if s.ring != nil {
			rings = append(rings, s.ring)
		}
		if a := call.Args[i]; a != nil && a.Qual() <= check.SimpleQ && simpleType(a.Type()) {
			early(func() { *s.p = args[i]() })
		}
	}
	before := c.nodes
	body := c.valued(call.Func.Body, call.T, dst)
	steps := c.weight(before)
	c.scope = outer
	m, at, hold := c.m, call.Where().From, make([]float64, len(args))
	return func() signal {
		if m.left -= steps; m.left < 0 {
			m.pause(at)
		}
		for i, f := range args {
			if f != nil {
				hold[i] = f()
			}
		}
		for i, p := range places {
			*p = hold[i]
		}
		for _, r := range rings {
			r.ran = true
		}
		body()
		return next
	}
}

// site is the place of a call of a built-in function at run time.
type site struct {
	m    *Machine
	h    *heap
	at   syntax.Pos
	call *check.Call
	has  []bool // which arguments were written
	// exprs are the arguments, those of a variadic parameter included.
	exprs []check.Expr
	c     *compiler
	plan  *drawingPlan // of a call that makes a drawing or a cell
	opens *ring        // of a function that reads the open times of earlier bars
}

// plain is a built-in function without memory, from its arguments to its value.
type plain func(s *site, a []float64) float64

// builtin compiles a call of a built-in function with one value.
func (c *compiler) builtin(call *check.Call) num {
	c.m.place = call.Where().From
	r := c.library.functions[call.Builtin.Name]
	switch {
	case r.build != nil:
		return c.late(func() num { return r.compiled(c, call) })
	case r.run == nil: // a name that is accepted without effect
		r = priced(flat(1), nothing)
	}
	return c.plain(call, r)
}

// nothing is the code of a function without effect.
func nothing(*site, []float64) float64 { return math.NaN() }

// late compiles a call. A wrong argument that is known already fails when the call runs,
// which may be never.
func (c *compiler) late(build func() num) (f num) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			if e.Code != CodeRuntime {
				panic(e)
			}
			m := c.m
			f = func() float64 {
				panic(&Error{Code: e.Code, Message: e.Message, Line: e.Line, Column: e.Column, Bar: m.index, Time: m.bar.T})
			}
		default:
			panic(e)
		}
	}()
	return build()
}

// plain compiles a call of a function without memory.
func (c *compiler) plain(call *check.Call, f row) num {
	s := &site{m: c.m, h: &c.m.heap, at: call.Where().From, call: call, has: make([]bool, len(call.Args)), c: c}
	args := make([]num, 0, len(call.Args)+len(call.Rest))
	written := call.Args
	if n := len(written); call.Builtin.Variadic && n > 0 && n == len(call.Builtin.Params) && written[n-1] == nil {
		written = written[:n-1] // the values of the last parameter are in Rest
	}
	s.exprs = append(append(s.exprs, written...), call.Rest...)
	for i, a := range written {
		if a == nil {
			args = append(args, func() float64 { return math.NaN() })
			continue
		}
		s.has[i] = true
		args = append(args, c.num(a))
	}
	for _, a := range call.Rest {
		args = append(args, c.num(a))
	}
	if f.ready != nil {
		f.ready(s)
	}
	values, m, steps, more, run := make([]float64, len(args)), c.m, f.cost.steps, f.cost.more, f.run
	if f.direct != nil && len(args) == len(call.Builtin.Params) {
		general := func(a ...float64) float64 {
			if m.left -= steps; m.left < 0 {
				m.pause(s.at)
			}
			m.place = s.at
			return run(s, a)
		}
		if direct := f.direct(s, c.operands(written, args, steps), general); direct != nil {
			return direct
		}
	}
	if more == nil && len(args) == 2 {
		x, y := args[0], args[1]
		return func() float64 {
			values[0] = x()
			values[1] = y()
			if m.left -= steps; m.left < 0 {
				m.pause(s.at)
			}
			m.place = s.at
			return run(s, values)
		}
	}
	if more == nil {
		return func() float64 {
			for i, a := range args {
				values[i] = a()
			}
			if m.left -= steps; m.left < 0 {
				m.pause(s.at)
			}
			m.place = s.at
			return run(s, values)
		}
	}
	return func() float64 {
		for i, a := range args {
			values[i] = a()
		}
		m.place = s.at
		if m.left -= steps + more(s, values); m.left < 0 {
			m.pause(s.at)
		}
		return run(s, values)
	}
}

// given reports whether an argument was written.
func (s *site) given(i int) bool { return i >= 0 && i < len(s.has) && s.has[i] }

// text returns a string argument, or a default if it was left out or is na.
func (s *site) text(a []float64, i int, other string) string {
	if i < 0 || i >= len(a) || a[i] != a[i] {
		return other
	}
	return s.h.text(a[i])
}

// number returns a number, or a default if it was left out.
func (s *site) number(a []float64, i int, other float64) float64 {
	if !s.given(i) {
		return other
	}
	return a[i]
}

// fail ends the run at the call.
func (s *site) fail(format string, args ...any) {
	s.m.fail(s.at, CodeRuntime, format, args...)
}

// requestRows are the functions that read other bars.
func requestRows() functions {
	return functions{
		"request.security":          several(ownWork, (*compiler).security),
		"request.security_lower_tf": several(ownWork, (*compiler).security),
	}
}

// replacedRows are the functions that the checker makes inputs, casts and the declaration of the script of.
func replacedRows() functions {
	all := functions{}
	for name := range strings.FieldsSeq(`
		input input.bool input.color input.enum input.float input.int input.price input.session input.source input.string input.symbol
		input.text_area input.time input.timeframe bool box color float int label line linefill polyline string table
		indicator library strategy`) {
		all[name] = replaced()
	}
	return all
}

// makeInputs puts the values of the inputs in place.
func (c *compiler) makeInputs() {
	for _, in := range c.prog.Inputs {
		var v Value
		if in.Index < len(c.m.env.Inputs) {
			v = c.m.env.Inputs[in.Index]
		}
		c.inputs = append(c.inputs, c.inputPlace(in, v))
	}
}

func (c *compiler) inputPlace(in *check.Input, v Value) *float64 {
	if in.Kind == "source" {
		name := in.DefaultSource
		if v.Set && v.Str != "" {
			name = v.Str
		}
		if i, ok := c.pricePlace(name); ok {
			return c.price(i)
		}
	}
	if in.Kind == "symbol" && (v.Set || !in.Default.NA) {
		text := in.Default.Str
		if v.Set {
			text = v.Str
		}
		return c.m.temp.add(c.text(c.m.named(text)))
	}
	if !v.Set {
		return c.constant(&in.Default)
	}
	if in.Type.Kind == check.String || in.Type.Kind == check.Option {
		return c.m.temp.add(c.text(v.Str))
	}
	return c.m.temp.add(v.Num)
}

// named returns a symbol with its venue, as TradingView hands an input to a script, which may take it apart. One without is
// given the chart's; a request still leaves the choice to where bars come from.
func (m *Machine) named(symbol string) string {
	if symbol == "" || m.venue == "" || strings.Contains(symbol, ":") {
		return symbol
	}
	m.short[m.venue+":"+symbol] = symbol
	return m.venue + ":" + symbol
}
