package eval

import (
	"math"

	"candela/lib/pine/check"
)

// arithmetic returns the function of an operator on numbers.
func arithmetic(op check.Op) func(a, b float64) float64 {
	switch op {
	case check.Add:
		return func(a, b float64) float64 { return a + b }
	case check.Sub:
		return func(a, b float64) float64 { return a - b }
	case check.Mul:
		return func(a, b float64) float64 { return a * b }
	case check.Div:
		return func(a, b float64) float64 { return a / b }
	case check.Mod:
		return remainder
	default:
		return nil
	}
}

// remainder has the sign of a; it is na for a divisor of 0.
func remainder(a, b float64) float64 {
	const exact = 1 << 53
	if a > 0 && b > 0 && a < exact && b < exact { // mostly whole numbers, and their remainder is a tenth of the work
		if i, j := int64(a), int64(b); float64(i) == a && float64(j) == b {
			if i|j <= math.MaxUint32 { // a short division is faster
				return float64(uint32(i) % uint32(j)) //nolint:gosec // both fit
			}
			return float64(i % j)
		}
	}
	return math.Mod(a, b)
}

// binary compiles an operator. Operands that have an address are read without a call.
func (c *compiler) binary(e *check.Binary) num {
	if e.Op >= check.Eq && e.Op <= check.Ge {
		return truth(c.cond(e))
	}
	if e.T.Kind == check.String {
		x, y, h, at := c.num(e.X), c.num(e.Y), &c.m.heap, e.Where().From
		return func() float64 {
			a, b := x(), y()
			if a != a || b != b {
				return math.NaN()
			}
			c.m.place = at
			return h.joined(a, b)
		}
	}
	p, q := c.address(e.X), c.address(e.Y)
	switch {
	case p != nil && q != nil:
		return binaryPlaces(e.Op, p, q)
	case q != nil:
		return binaryRight(e.Op, c.num(e.X), q)
	case p != nil:
		return binaryLeft(e.Op, p, c.num(e.Y))
	}
	x := c.num(e.X)
	if f := c.scaled(e, x); f != nil {
		return f
	}
	return binaryCalls(e.Op, x, c.num(e.Y))
}

// binaryInto compiles a sum, difference or product that goes to a place without a call in
// between; nil for everything else.
func (c *compiler) binaryInto(e *check.Binary, dst []*float64) stmt {
	if len(dst) != 1 || e.T.Kind == check.String || e.Op != check.Add && e.Op != check.Sub && e.Op != check.Mul {
		return nil
	}
	to, p, q := dst[0], c.address(e.X), c.address(e.Y)
	switch {
	case p != nil && q != nil:
		switch e.Op {
		case check.Add:
			return func() signal { *to = *p + *q; return next }
		case check.Sub:
			return func() signal { *to = *p - *q; return next }
		default:
			return func() signal { *to = float64(*p * *q); return next }
		}
	case p != nil:
		y := c.num(e.Y)
		switch e.Op {
		case check.Add:
			return func() signal { a := *p; *to = a + y(); return next }
		case check.Sub:
			return func() signal { a := *p; *to = a - y(); return next }
		default:
			return func() signal { a := *p; *to = float64(a * y()); return next }
		}
	case q != nil:
		x := c.num(e.X)
		switch e.Op {
		case check.Add:
			return func() signal { a := x(); *to = a + *q; return next }
		case check.Sub:
			return func() signal { a := x(); *to = a - *q; return next }
		default:
			return func() signal { a := x(); *to = float64(a * *q); return next }
		}
	}
	return nil
}

// scaled is x() times a sum or difference of two places, without a call for it; nil for
// everything else.
func (c *compiler) scaled(e *check.Binary, x num) num {
	y, ok := e.Y.(*check.Binary)
	if !ok || e.Op != check.Mul || y.T.Kind == check.String {
		return nil
	}
	p, q := c.address(y.X), c.address(y.Y)
	if p == nil || q == nil {
		return nil
	}
	switch y.Op {
	case check.Add:
		return func() float64 { a := x(); return float64(a * (*p + *q)) }
	case check.Sub:
		return func() float64 { a := x(); return float64(a * (*p - *q)) }
	default:
		return nil
	}
}

func binaryPlaces(op check.Op, p, q *float64) num {
	switch op {
	case check.Add:
		return func() float64 { return *p + *q }
	case check.Sub:
		return func() float64 { return *p - *q }
	case check.Mul:
		return func() float64 { return float64(*p * *q) }
	case check.Div:
		return func() float64 { return *p / *q }
	default:
		return func() float64 { return remainder(*p, *q) }
	}
}

// binaryRight reads q after x has run: x may change what q holds.
func binaryRight(op check.Op, x num, q *float64) num {
	switch op {
	case check.Add:
		return func() float64 { a := x(); return a + *q }
	case check.Sub:
		return func() float64 { a := x(); return a - *q }
	case check.Mul:
		return func() float64 { a := x(); return float64(a * *q) }
	case check.Div:
		return func() float64 { a := x(); return a / *q }
	default:
		return func() float64 { a := x(); return remainder(a, *q) }
	}
}

// binaryLeft reads p before y runs: y may change what p holds.
func binaryLeft(op check.Op, p *float64, y num) num {
	switch op {
	case check.Add:
		return func() float64 { a := *p; return a + y() }
	case check.Sub:
		return func() float64 { a := *p; return a - y() }
	case check.Mul:
		return func() float64 { a := *p; return float64(a * y()) }
	case check.Div:
		return func() float64 { a := *p; return a / y() }
	default:
		return func() float64 { a := *p; return remainder(a, y()) }
	}
}

func binaryCalls(op check.Op, x, y num) num {
	switch op {
	case check.Add:
		return func() float64 { a := x(); return a + y() }
	case check.Sub:
		return func() float64 { a := x(); return a - y() }
	case check.Mul:
		return func() float64 { a := x(); return float64(a * y()) }
	case check.Div:
		return func() float64 { a := x(); return a / y() }
	default:
		return func() float64 { a := x(); return remainder(a, y()) }
	}
}

// cond compiles a bool to a condition; na counts as false.
func (c *compiler) cond(e check.Expr) func() bool {
	c.node()
	switch e := e.(type) {
	case *check.Binary:
		if e.Op >= check.Eq && e.Op <= check.Ge {
			return c.compare(e)
		}
	case *check.Logic:
		return c.logic(e)
	case *check.Unary:
		if e.Op == check.Not {
			return c.negation(e)
		}
	case *check.Const:
		yes := !e.NA && e.Num != 0
		return func() bool { return yes }
	case *check.Call:
		if c.address(e) != nil {
			break
		}
		if f := c.condition(e); f != nil {
			return f
		}
	}
	if p := c.address(e); p != nil {
		return func() bool { return *p > 0 || *p < 0 }
	}
	x := c.num(e)
	return func() bool {
		v := x()
		return v > 0 || v < 0
	}
}

// negation is not x. In version 5 not na is na, which is false.
func (c *compiler) negation(e *check.Unary) func() bool {
	if c.version >= 6 {
		x := c.cond(e.X)
		return func() bool { return !x() }
	}
	x := c.num(e.X)
	return func() bool { return x() == 0 }
}

func (c *compiler) logic(e *check.Logic) func() bool {
	x, y := c.cond(e.X), c.cond(e.Y)
	both := e.Both && !c.quiet(e.Y)
	switch {
	case e.Op == check.And && both:
		return func() bool {
			a, b := x(), y()
			return a && b
		}
	case e.Op == check.And:
		return func() bool { return x() && y() }
	case both:
		return func() bool {
			a, b := x(), y()
			return a || b
		}
	default:
		return func() bool { return x() || y() }
	}
}

// quiet says that an expression has only a value: nobody can see whether it was computed.
func (c *compiler) quiet(e check.Expr) bool {
	switch e := e.(type) {
	case *check.Const, *check.InputRef:
		return true
	case *check.VarRef:
		return c.bound(e.Var) == nil
	case *check.Cast:
		return e.T.Kind == check.Float && c.quiet(e.X)
	case *check.Unary:
		return c.quiet(e.X)
	case *check.Logic:
		return c.quiet(e.X) && c.quiet(e.Y)
	case *check.Binary:
		return e.X.Type().Kind != check.String && c.quiet(e.X) && c.quiet(e.Y)
	default:
		return false
	}
}

// equal returns how two values of a type are compared.
func (c *compiler) equal(t *check.Type) func(a, b float64) bool {
	h := &c.m.heap
	switch t.Kind {
	case check.Float:
		return near
	case check.String, check.Option:
		return func(a, b float64) bool { return a == a && b == b && h.same(a, b) }
	default:
		return func(a, b float64) bool { return a == b }
	}
}

func near(a, b float64) bool {
	d := a - b
	return d <= tolerance && d >= -tolerance || a == b
}

func (c *compiler) compare(e *check.Binary) func() bool {
	t := e.X.Type()
	if t.Kind == check.Float {
		return c.compareFloats(e)
	}
	x, y := c.num(e.X), c.num(e.Y)
	switch e.Op {
	case check.Eq:
		same := c.equal(t)
		return func() bool { a := x(); return same(a, y()) }
	case check.Ne:
		same := c.equal(t)
		return func() bool {
			a := x()
			b := y()
			return a == a && b == b && !same(a, b)
		}
	default: // an order
	}
	p, q := c.address(e.X), c.address(e.Y)
	switch {
	case p != nil && q != nil:
		return comparePlaces(e.Op, p, q)
	case q != nil:
		return compareRight(e.Op, x, q)
	case p != nil:
		return compareLeft(e.Op, p, y)
	}
	return compareCalls(e.Op, x, y)
}

func comparePlaces(op check.Op, p, q *float64) func() bool {
	switch op {
	case check.Lt:
		return func() bool { return *p < *q }
	case check.Gt:
		return func() bool { return *p > *q }
	case check.Le:
		return func() bool { return *p <= *q }
	default:
		return func() bool { return *p >= *q }
	}
}

// compareRight reads q after x has run: x may change what q holds.
func compareRight(op check.Op, x num, q *float64) func() bool {
	switch op {
	case check.Lt:
		return func() bool { a := x(); return a < *q }
	case check.Gt:
		return func() bool { a := x(); return a > *q }
	case check.Le:
		return func() bool { a := x(); return a <= *q }
	default:
		return func() bool { a := x(); return a >= *q }
	}
}

// compareLeft reads p before y runs: y may change what p holds.
func compareLeft(op check.Op, p *float64, y num) func() bool {
	switch op {
	case check.Lt:
		return func() bool { a := *p; return a < y() }
	case check.Gt:
		return func() bool { a := *p; return a > y() }
	case check.Le:
		return func() bool { a := *p; return a <= y() }
	default:
		return func() bool { a := *p; return a >= y() }
	}
}

func compareCalls(op check.Op, x, y num) func() bool {
	switch op {
	case check.Lt:
		return func() bool { a := x(); return a < y() }
	case check.Gt:
		return func() bool { a := x(); return a > y() }
	case check.Le:
		return func() bool { a := x(); return a <= y() }
	default:
		return func() bool { a := x(); return a >= y() }
	}
}

// compareFloats has the tolerance.
func (c *compiler) compareFloats(e *check.Binary) func() bool {
	if f := compareFloatPlaces(e.Op, c.address(e.X), c.address(e.Y)); f != nil {
		return f
	}
	x := c.num(e.X)
	if f := compareFloatRight(e.Op, x, c.address(e.Y)); f != nil {
		return f
	}
	y := c.num(e.Y)
	switch e.Op {
	case check.Lt:
		return func() bool { a := x(); return below(a, y()) }
	case check.Gt:
		return func() bool { a := x(); return below(y(), a) }
	case check.Le:
		return func() bool { a := x(); return atMost(a, y()) }
	case check.Ge:
		return func() bool { a := x(); return atMost(y(), a) }
	case check.Eq:
		return func() bool { a := x(); return near(a, y()) }
	default:
		return func() bool {
			a := x()
			b := y()
			return a == a && b == b && !near(a, b)
		}
	}
}

// compareFloatPlaces is nil for an equality and for operands without a place.
func compareFloatPlaces(op check.Op, p, q *float64) func() bool {
	if p == nil || q == nil {
		return nil
	}
	switch op {
	case check.Lt:
		return func() bool { return below(*p, *q) }
	case check.Gt:
		return func() bool { return below(*q, *p) }
	case check.Le:
		return func() bool { return atMost(*p, *q) }
	case check.Ge:
		return func() bool { return atMost(*q, *p) }
	default:
		return nil
	}
}

// compareFloatRight is nil for an equality and for a right operand without a place.
func compareFloatRight(op check.Op, x num, q *float64) func() bool {
	if q == nil {
		return nil
	}
	switch op {
	case check.Lt:
		return func() bool { a := x(); return below(a, *q) }
	case check.Gt:
		return func() bool { a := x(); return below(*q, a) }
	case check.Le:
		return func() bool { a := x(); return atMost(a, *q) }
	case check.Ge:
		return func() bool { a := x(); return atMost(*q, a) }
	default:
		return nil
	}
}

// below and atMost compare with the tolerance; na gives false.
func below(a, b float64) bool  { return b-a > tolerance }
func atMost(a, b float64) bool { return a-b <= tolerance || a == b }
