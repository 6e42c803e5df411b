package eval

import (
	"math"

	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/syntax"
	"candela/lib/ta/calc"
)

// column holds a value for each bar.
type column = []float64

// hoister computes calls of built-in functions for all bars before the first one runs. It
// takes calls that run exactly once on every bar and whose arguments are fixed or columns
// themselves; the batch kernels have the bits of the states that they replace.
type hoister struct {
	c      *compiler
	bars   *market.Bars
	slots  calc.Slots
	spare  []float64              // room for the next columns
	left   int                    // how many numbers the columns may still hold
	always map[*check.Call]bool   // calls that run exactly once on every bar
	inits  map[*check.Var]initial // global variables that are set once on every bar
	calls  map[*check.Call][]column
	places map[*check.Call][]*float64
	unread map[*float64]column // places that nothing reads on a bar yet
	vars   map[*check.Var]column
	prices [prices]column
}

// initial is the expression that sets a variable, and which of its values.
type initial struct {
	from check.Expr
	part int
}

// hoisted is a column and the place of its value on the bar that runs.
type hoisted struct {
	to   *float64
	from column
}

// newHoister returns nil where the bars are not known before the first one runs.
func (c *compiler) newHoister() *hoister {
	bars := c.m.env.Bars
	if bars == nil || bars.Len() == 0 {
		return nil
	}
	h := &hoister{
		c: c, bars: bars, left: c.m.env.Limits.Memory / 8, always: map[*check.Call]bool{}, inits: map[*check.Var]initial{},
		calls: map[*check.Call][]column{}, places: map[*check.Call][]*float64{}, unread: map[*float64]column{}, vars: map[*check.Var]column{},
	}
	h.slots = calc.Slots{T: bars.T, Step: max(1, c.m.env.Interval.Seconds())}
	if i := c.m.env.Interval; i.Valid() && !i.Even() {
		numbers := make([]int64, bars.Len())
		for k, t := range bars.T {
			numbers[k] = i.Slot(t)
		}
		h.slots = calc.Slots{T: numbers, Step: 1}
	}
	h.survey(c.prog.Body)
	return h
}

// survey finds the calls that run once on every bar.
func (h *hoister) survey(b *check.Block) {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *check.Declare:
			if s.Var.Mode == syntax.Each {
				h.runs(s.Init)
				h.note(s.Var, initial{from: s.Init})
			}
		case *check.DeclareTuple:
			h.runs(s.Init)
			for i, v := range s.Vars {
				h.note(v, initial{s.Init, i})
			}
		case *check.Assign:
			h.runs(s.Value)
		case *check.Do:
			h.runs(s.X)
		}
	}
	h.runs(b.Value)
}

func (h *hoister) note(v *check.Var, from initial) {
	if v != nil && v.Mode == syntax.Each && !v.Assigned {
		h.inits[v] = from
	}
}

// runs notes the calls within an expression that runs once on every bar.
func (h *hoister) runs(all ...check.Expr) {
	for _, e := range all {
		switch e := e.(type) {
		case *check.Unary:
			h.runs(e.X)
		case *check.Binary:
			h.runs(e.X, e.Y)
		case *check.Cast:
			h.runs(e.X)
		case *check.History:
			h.runs(e.X, e.Offset)
		case *check.Tuple:
			h.runs(e.Elems...)
		case *check.Cond:
			h.runs(e.If)
		case *check.If:
			h.runs(e.Cond)
		case *check.Logic:
			if h.runs(e.X); e.Both {
				h.runs(e.Y)
			}
		case *check.Call:
			h.always[e] = true
			if h.eager(e) {
				h.runs(e.Args...)
				h.runs(e.Rest...)
			}
		}
	}
}

// eager reports whether a call evaluates each of its arguments once.
func (h *hoister) eager(call *check.Call) bool {
	if call.Func != nil {
		return true
	}
	r := h.c.library.functions[call.Builtin.Name]
	return r.build == nil || r.batch != nil || r.shows != nil || r.eager
}

// hoisted returns the places of a call's values; nil for a call that is stepped. A place is
// set on each bar if something asks for it with loaded.
func (c *compiler) hoisted(call *check.Call) []*float64 {
	h := c.hoist
	if h == nil || call.Builtin == nil || call.Q <= check.SimpleQ || !h.always[call] {
		return nil
	}
	if places, ok := h.places[call]; ok {
		return places
	}
	var places []*float64
	for _, values := range h.call(call) {
		p := c.m.temp.add(math.NaN())
		h.unread[p] = values
		places = append(places, p)
	}
	h.places[call] = places
	return places
}

// loaded has a place set before the script runs on a bar, if it is one of a hoisted call.
func (c *compiler) loaded(p *float64) *float64 {
	if c.hoist != nil {
		if values, ok := c.hoist.unread[p]; ok {
			delete(c.hoist.unread, p)
			c.m.hoisted = append(c.m.hoisted, hoisted{p, values})
		}
	}
	return p
}

// plotAhead keeps the values of a plot as a column; false if it has none.
func (c *compiler) plotAhead(call *check.Call) bool {
	if c.hoist == nil || call.Builtin.Name != "plot" || c.scope != c.globals || c.loops > 0 {
		return false
	}
	values := c.hoist.column(call.Args[0])
	if values == nil {
		return false
	}
	for _, v := range values {
		if v-v != 0 && v == v { // infinite: becomes na
			return false
		}
	}
	if c.m.columns == nil {
		c.m.columns = map[int]column{}
	}
	c.m.columns[call.Output] = values
	return true
}

// adopt lets a variable that is set by a hoisted call, and never again, have the place of
// its value. It reports whether the variable needs no statement.
func (c *compiler) adopt(v *check.Var, init check.Expr, part int) bool {
	call, ok := init.(*check.Call)
	if !ok || v.Owner != nil || v.Mode != syntax.Each || v.Assigned || c.scope != c.globals || c.globals.slots[v.Place] != nil {
		return false
	}
	places := c.hoisted(call)
	if part >= len(places) {
		return false
	}
	s := &slot{p: places[part], ahead: true}
	if v.History > 0 || v.Dynamic {
		s.ring = c.newRing(c.loaded(s.p), historyOf(v), v.Type)
		s.ring.always = true
	}
	c.globals.slots[v.Place] = s
	return true
}

// call computes a call over all bars, nil if it cannot.
func (h *hoister) call(call *check.Call) []column {
	if values, ok := h.calls[call]; ok {
		return values
	}
	var values []column
	if kernel := h.c.library.functions[call.Builtin.Name].batch; kernel != nil {
		values = kernel(h, call)
	}
	h.calls[call] = values
	return values
}

// make returns a new column, nil if the columns would take too much memory. Several are
// allocated at once.
func (h *hoister) make() column {
	n := h.bars.Len()
	h.c.m.owe(h.c.m.place, n/readAStep)
	if h.left -= n; h.left < 0 {
		return nil
	}
	if len(h.spare) == 0 {
		size := n * max(1, min(len(h.always), 4))
		h.c.m.holdColumns(8 * size)
		h.spare = make([]float64, size)
	}
	out := h.spare[:n:n]
	h.spare = h.spare[n:]
	return out
}

// each fills a new column, nil if one of its sources is.
func (h *hoister) each(value func(i int) float64, from ...column) column {
	for _, x := range from {
		if x == nil {
			return nil
		}
	}
	out := h.make()
	for i := range out {
		out[i] = value(i)
	}
	return out
}

// column computes an expression over all bars, nil if it cannot.
func (h *hoister) column(e check.Expr) column {
	if e == nil || !isNumber(e.Type()) {
		return nil
	}
	switch e := e.(type) {
	case *check.InputRef:
		if p := h.c.inputs[e.Input.Index]; e.Input.Kind == "source" {
			return h.price(p)
		}
	case *check.BuiltinVar:
		if i, ok := h.c.pricePlace(e.Name); ok {
			return h.price(h.c.price(i))
		}
		if ahead := h.c.library.variables[e.Name].batch; ahead != nil {
			return ahead(h)
		}
	case *check.VarRef:
		if out := h.variable(e.Var); out != nil {
			return out
		}
	case *check.Cast:
		if e.T.Kind == check.Float {
			return h.column(e.X)
		}
	case *check.Unary:
		if x := h.column(e.X); e.Op == check.Neg {
			return h.each(func(i int) float64 { return -x[i] }, x)
		}
	case *check.Binary:
		if op := arithmetic(e.Op); op != nil && e.Q > check.SimpleQ {
			x, y := h.column(e.X), h.column(e.Y)
			return h.each(func(i int) float64 { return op(x[i], y[i]) }, x, y)
		}
	case *check.History:
		if e.Max > 0 {
			return h.back(h.column(e.X), e.Max)
		}
	case *check.Cond:
		if e.Q > check.SimpleQ {
			return h.choice(e)
		}
	case *check.Call:
		if e.Builtin != nil && h.always[e] {
			if values := h.call(e); len(values) == 1 {
				return values[0]
			}
		}
	}
	return h.constant(e)
}

// choice computes a choice between two columns or numbers. Calls that run only if they are
// chosen are not columns.
func (h *hoister) choice(e *check.Cond) column {
	is := h.truth(e.If)
	if is == nil {
		return nil
	}
	x, known := h.known(e.Then)
	y, both := h.known(e.Else)
	if known && both {
		out := h.make()
		for i := range out {
			if out[i] = y; is[i] != 0 {
				out[i] = x
			}
		}
		return out
	}
	then, other := h.column(e.Then), h.column(e.Else)
	return h.each(func(i int) float64 {
		if is[i] != 0 {
			return then[i]
		}
		return other[i]
	}, then, other)
}

// truth returns a column of 1 where two columns cross and 0 elsewhere, nil for another condition.
func (h *hoister) truth(e check.Expr) column {
	if v, ok := e.(*check.VarRef); ok {
		e = h.inits[v.Var].from
	}
	call, ok := e.(*check.Call)
	if !ok || call.Builtin == nil || !h.always[call] {
		return nil
	}
	if values := h.call(call); len(values) == 1 && call.T.Kind == check.Bool {
		return values[0]
	}
	return nil
}

func isNumber(t *check.Type) bool {
	return t != nil && (t.Kind == check.Float || t.Kind == check.Int)
}

// known returns a number that is known before the first bar.
func (h *hoister) known(e check.Expr) (x float64, ok bool) {
	if isNumber(e.Type()) {
		early(func() { x, ok = h.c.fixed(e) })
	}
	return x, ok
}

// constant is the column of a number that is known before the first bar.
func (h *hoister) constant(e check.Expr) column {
	x, ok := h.known(e)
	if !ok {
		return nil
	}
	return h.each(func(int) float64 { return x })
}

func (h *hoister) variable(v *check.Var) column {
	if out, ok := h.vars[v]; ok {
		return out
	}
	var out column
	from := h.inits[v]
	if call, ok := from.from.(*check.Call); ok && call.Builtin != nil && call.T != nil && call.T.Kind == check.TupleKind {
		if values := h.call(call); values != nil {
			out = values[from.part]
		}
	} else if from.from != nil {
		out = h.column(from.from)
	}
	h.vars[v] = out
	return out
}

// price returns the column of a price by its place.
func (h *hoister) price(p *float64) column {
	for i := range h.prices {
		if p != &h.c.m.price[i] {
			continue
		}
		if h.prices[i] == nil {
			h.prices[i] = h.makePrice(i)
		}
		return h.prices[i]
	}
	return nil
}

func (h *hoister) makePrice(i int) column {
	b := h.bars
	switch i {
	case priceOpen:
		return b.O
	case priceHigh:
		return b.H
	case priceLow:
		return b.L
	case priceClose:
		return b.C
	case priceVolume:
		return b.V
	case priceHL2:
		return h.each(func(i int) float64 { return (b.H[i] + b.L[i]) / 2 })
	case priceHLC3:
		return h.each(func(i int) float64 { return (b.H[i] + b.L[i] + b.C[i]) / 3 })
	case priceOHLC4:
		return h.each(func(i int) float64 { return (b.O[i] + b.H[i] + b.L[i] + b.C[i]) / 4 })
	case priceHLCC4:
		return h.each(func(i int) float64 { return (b.H[i] + b.L[i] + b.C[i] + b.C[i]) / 4 })
	}
	return nil
}

// back is a column some bars before.
func (h *hoister) back(x column, k int) column {
	return h.each(func(i int) float64 {
		if i < k {
			return math.NaN()
		}
		return x[i-k]
	}, x)
}
