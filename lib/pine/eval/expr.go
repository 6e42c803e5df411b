package eval

import (
	"math"

	"candela/lib/pine/check"
	"candela/lib/pine/syntax"
)

// address returns the place of a value that is simply read: a constant, a variable, an
// input, a price or a hoisted call. It is nil for values that must be computed.
func (c *compiler) address(e check.Expr) *float64 {
	switch e := e.(type) {
	case *check.Const:
		return c.constant(e)
	case *check.VarRef:
		if c.bound(e.Var) != nil {
			return nil
		}
		return c.loaded(c.slotOf(e.Var).p)
	case *check.InputRef:
		return c.inputs[e.Input.Index]
	case *check.BuiltinVar:
		return c.variable(e)
	case *check.Cast:
		if e.T.Kind == check.Float {
			return c.address(e.X)
		}
	case *check.Call:
		if places := c.hoisted(e); len(places) == 1 {
			return c.loaded(places[0])
		}
	}
	return nil
}

// bound returns the argument of a parameter of a function around a request, which is
// compiled in its place.
func (c *compiler) bound(v *check.Var) check.Expr {
	if v.Owner == nil || c.scope.fn == v.Owner || c.around[v.Owner] != nil {
		return nil
	}
	return v.Bound
}

func (c *compiler) constant(e *check.Const) *float64 {
	return c.m.temp.add(c.constValue(e))
}

func (c *compiler) constValue(e *check.Const) float64 {
	if e.NA {
		return math.NaN()
	}
	if e.T != nil && (e.T.Kind == check.String || e.T.Kind == check.Option) {
		return c.text(e.Str)
	}
	return e.Num
}

// num compiles an expression with one value.
func (c *compiler) num(e check.Expr) num {
	c.node()
	if p := c.address(e); p != nil {
		return func() float64 { return *p }
	}
	switch e := e.(type) {
	case *check.VarRef:
		return c.num(c.bound(e.Var))
	case *check.BuiltinVar:
		return c.library.variables[e.Name].read(c)
	case *check.Unary:
		return c.unary(e)
	case *check.Binary:
		return c.binary(e)
	case *check.Logic:
		return truth(c.cond(e))
	case *check.Cond:
		return c.choose(e)
	case *check.Cast:
		return c.cast(e)
	case *check.History:
		return c.history(e)
	case *check.Call:
		if e.Func == nil {
			return c.builtin(e)
		}
	case *check.New:
		return c.newObject(e)
	case *check.Field:
		return c.field(e)
	case *check.Copy:
		return c.copyObject(e)
	}
	return c.structure(e)
}

// structure is an if, switch, loop or user function within an expression.
func (c *compiler) structure(e check.Expr) num {
	switch e.(type) {
	case *check.If, *check.Switch, *check.For, *check.ForIn, *check.While, *check.Call, *check.Tuple:
	default:
		c.unsupported(e.Where(), "this expression")
	}
	p := c.m.temp.add(math.NaN())
	dst := []*float64{p}
	if t := e.Type(); t != nil && t.Kind == check.Void {
		dst = nil
	}
	run := c.into(e, dst)
	return func() float64 {
		run()
		return *p
	}
}

func truth(f func() bool) num {
	return func() float64 {
		if f() {
			return 1
		}
		return 0
	}
}

func toFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (c *compiler) unary(e *check.Unary) num {
	if e.Op == check.Not {
		return truth(c.cond(e))
	}
	x := c.num(e.X)
	return func() float64 { return -x() }
}

func (c *compiler) choose(e *check.Cond) num {
	cond, then, other := c.cond(e.If), c.num(e.Then), c.num(e.Else)
	if p, q := c.address(e.Then), c.address(e.Else); p != nil && q != nil {
		if r := c.address(e.If); r != nil {
			return func() float64 {
				if *r > 0 || *r < 0 {
					return *p
				}
				return *q
			}
		}
		return func() float64 {
			if cond() {
				return *p
			}
			return *q
		}
	}
	return func() float64 {
		if cond() {
			return then()
		}
		return other()
	}
}

func (c *compiler) cast(e *check.Cast) num {
	x := c.num(e.X)
	switch e.T.Kind {
	case check.Int:
		return func() float64 { return math.Trunc(x()) }
	case check.Bool:
		if e.X.Type().Kind == check.Float {
			return func() float64 {
				v := x()
				return toFloat(v > tolerance || v < -tolerance)
			}
		}
		return func() float64 {
			v := x()
			return toFloat(v != 0 && v == v)
		}
	default:
		return x
	}
}

// history is x[k]. A bool of version 6 is false where there is no value.
func (c *compiler) history(e *check.History) num {
	read := c.past(e)
	if c.version < 6 || e.T.Kind != check.Bool {
		return read
	}
	return func() float64 {
		if v := read(); v == v {
			return v
		}
		return 0
	}
}

func (c *compiler) past(e *check.History) num {
	switch x := e.X.(type) {
	case *check.VarRef:
		if c.bound(x.Var) == nil {
			s := c.slotOf(x.Var)
			if s.ring == nil {
				s.ring = c.newRing(c.loaded(s.p), c.historyLimit(e), x.Var.Type)
				s.ring.always = s.ahead
			}
			return c.readHistory(s.ring, e)
		}
	case *check.BuiltinVar:
		if r := c.variableRing(x, c.historyLimit(e)); r != nil {
			return c.readHistory(r, e)
		}
	}
	p := c.m.temp.add(math.NaN())
	r := c.newRing(p, c.historyLimit(e), e.T)
	x, read := c.num(e.X), c.readHistory(r, e)
	return func() float64 {
		*p = x()
		r.ran = true
		return read()
	}
}

func (c *compiler) historyLimit(e *check.History) int {
	if e.Max >= 0 {
		return max(e.Max, 1)
	}
	return maxHistory
}

func (c *compiler) readHistory(r *ring, e *check.History) num {
	m, at := c.m, e.From
	if e.Max == 0 {
		return func() float64 { return *r.now }
	}
	if e.Max > 0 {
		k := e.Max
		r.max = max(r.max, k)
		return func() float64 { return r.back(k) }
	}
	if p := c.address(e.Offset); p != nil {
		return func() float64 {
			x := *p
			if k := int(x); uint(k-1) < uint(r.n) { // 0 and less become large
				return r.back(k)
			}
			return m.readBack(r, x, at)
		}
	}
	offset := c.num(e.Offset)
	return func() float64 {
		x := offset()
		if k := int(x); uint(k-1) < uint(r.n) {
			return r.back(k)
		}
		return m.readBack(r, x, at)
	}
}

// readBack reads a history at an offset known at run time only.
func (m *Machine) readBack(r *ring, offset float64, at syntax.Pos) float64 {
	k := whole(offset)
	if k > 0 && k <= r.n {
		return r.back(k)
	}
	if offset != offset {
		return math.NaN()
	}
	switch {
	case k == 0:
		return *r.now
	case k < 0:
		m.fail(at, CodeHistory, "The offset of a history must not be negative (got %d).", k)
	case k > r.max:
		m.fail(at, CodeHistory, "The offset %d reaches further back than the %d bars that are kept.", k, r.max)
	}
	return math.NaN()
}

func (c *compiler) newObject(e *check.New) num {
	fields := make([]num, len(e.Fields))
	for i, f := range e.Fields {
		fields[i] = c.num(f)
	}
	h, t, m, at := &c.m.heap, e.T.Object, c.m, e.From
	return func() float64 {
		n := make([]float64, len(fields))
		for i, f := range fields {
			n[i] = f()
		}
		m.spend(at, 1+len(n)/wordsAStep)
		return h.add(object{kind: check.Object, n: n, fields: t, from: math.NaN()})
	}
}

func (c *compiler) field(e *check.Field) num {
	x, h, at, i := c.num(e.X), &c.m.heap, e.From, e.Field
	return func() float64 {
		handle := x()
		if handle != handle {
			c.m.fail(at, CodeRuntime, "The object is na, so it has no fields.")
		}
		return h.objects[int(handle)].n[i]
	}
}

func (c *compiler) copyObject(e *check.Copy) num {
	x, h, m, at := c.num(e.X), &c.m.heap, c.m, e.From
	return func() float64 {
		handle := x()
		if handle != handle {
			return handle
		}
		m.spend(at, h.objects[int(handle)].copying())
		return h.add(h.objects[int(handle)].clone())
	}
}
