package eval

import (
	"math"

	"candela/lib/pine/check"
)

// changeRows are changes, crosses and events.
func changeRows() functions {
	return functions{
		"ta.barssince":     built(constant, barsSince),
		"ta.change":        built(constant, change).ahead(changeColumn),
		"ta.cross":         tested(constant, crossing(crossed)).ahead(crossColumn(crossed)),
		"ta.crossover":     tested(constant, crossing(crossedUp)).ahead(crossColumn(crossedUp)),
		"ta.crossunder":    tested(constant, crossing(crossedDown)).ahead(crossColumn(crossedDown)),
		"ta.cum":           built(constant, func(c *compiler, call *check.Call) num { return c.cumOf(c.num(call.Args[0])) }).ahead(cumColumn),
		"ta.falling":       built(constant, runs(-1)),
		"ta.mom":           built(constant, change).ahead(changeColumn),
		"ta.rising":        built(constant, runs(1)),
		"ta.roc":           built(constant, rateOfChange).ahead(rateColumn),
		"ta.valuewhen":     built(constant, valueWhen),
		"timeframe.change": built(ownWork, newPeriod),
	}
}

func rateOfChange(c *compiler, call *check.Call) num {
	x, lag := c.num(call.Args[0]), c.lag(call)
	return func() float64 {
		v := x()
		old := lag(v)
		return 100 * (v - old) / old
	}
}

func barsSince(c *compiler, call *check.Call) num {
	cond, count := c.cond(call.Args[0]), c.m.keep.add(math.NaN())
	return func() float64 {
		if cond() {
			*count = 0
		} else {
			*count++
		}
		return *count
	}
}

// newPeriod is timeframe.change: whether a bar is the first of a longer one.
func newPeriod(c *compiler, call *check.Call) num {
	last, m := c.m.keep.add(math.NaN()), c.m
	text := func() string { return "" } // the chart's own
	if call.Args[0] != nil {
		of := c.num(call.Args[0])
		text = func() string { return m.heap.text(of()) }
	}
	return func() float64 {
		m.spend(m.place, 4)
		open := float64(m.bucket(m.interval(text()), m.bar.T).Open)
		changed := open != *last && *last == *last
		*last = open
		return toFloat(changed)
	}
}

func fixNaN(c *compiler, call *check.Call) num {
	x, last := c.num(call.Args[0]), c.m.keep.add(math.NaN())
	return func() float64 {
		if v := x(); v == v {
			*last = v
		}
		return *last
	}
}

// cumOf is a running total; missing values are stepped over.
func (c *compiler) cumOf(x num) num {
	sum := c.m.keep.add(0)
	return func() float64 {
		v := x()
		if v != v {
			return v
		}
		*sum += v
		return *sum
	}
}

// condition compiles a call that gives a bool straight to a condition, nil if there is no
// such form.
func (c *compiler) condition(call *check.Call) func() bool {
	if call.Builtin == nil {
		return nil
	}
	if f := c.library.functions[call.Builtin.Name].test; f != nil {
		return f(c, call)
	}
	return nil
}

// crossStep takes the values of a bar and reports whether they have crossed. side is where a was:
// -1 below b, 0 equal, 1 above, NaN before the first values.
type crossStep func(side *float64, a, b float64) bool

// crossing compares with the last bar on which both values were there.
func crossing(step crossStep) test {
	return func(c *compiler, call *check.Call) func() bool {
		x, y, side := c.num(call.Args[0]), c.num(call.Args[1]), c.m.keep.add(math.NaN())
		return func() bool {
			a := x()
			return step(side, a, y())
		}
	}
}

func crossedUp(side *float64, a, b float64) bool {
	up := *side <= 0 && a > b
	noteSide(side, a, b)
	return up
}

func crossedDown(side *float64, a, b float64) bool {
	down := *side >= 0 && a < b
	noteSide(side, a, b)
	return down
}

func crossed(side *float64, a, b float64) bool {
	either := *side < 0 && a > b || *side > 0 && a < b
	if math.Abs(a-b) > tolerance { // equal values keep the side from before
		noteSide(side, a, b)
	}
	return either
}

func noteSide(side *float64, a, b float64) {
	switch {
	case a < b:
		*side = -1
	case a > b:
		*side = 1
	case a == b:
		*side = 0
	}
}

// lag returns the value of the call some calls before.
func (c *compiler) lag(call *check.Call) func(x float64) float64 {
	n, ok := 1.0, true
	if len(call.Args) > 1 && call.Args[1] != nil {
		n, ok = c.fixed(call.Args[1])
	}
	if ok {
		c.checkLength(call, n)
		s := c.m.slab.Lag(int(n))
		return s.Step
	}
	length := c.num(call.Args[1])
	p := c.m.temp.add(math.NaN())
	r := c.newRing(p, maxLength, nil)
	r.compact = true
	return func(x float64) float64 {
		*p, r.ran = x, true
		k := length()
		c.checkLength(call, k)
		return r.back(int(k))
	}
}

func change(c *compiler, call *check.Call) num {
	x, lag := c.num(call.Args[0]), c.lag(call)
	if call.Args[0].Type().Kind == check.Bool {
		return func() float64 {
			v := x()
			old := lag(v)
			return toFloat(v == v && old == old && v != old)
		}
	}
	return func() float64 {
		v := x()
		return v - lag(v)
	}
}

// runs counts how many steps in a row rose or fell by more than the tolerance.
func runs(sign float64) build {
	return func(c *compiler, call *check.Call) num {
		x, n := c.num(call.Args[0]), c.num(call.Args[1])
		last, count := c.m.keep.add(math.NaN()), c.m.keep.add(0)
		return func() float64 {
			v := x()
			if float64((v-*last)*sign) > tolerance {
				*count++
			} else {
				*count = 0
			}
			*last = v
			return toFloat(*count >= math.Trunc(n()))
		}
	}
}

// valueWhen keeps the values of the last times at which the condition held.
func valueWhen(c *compiler, call *check.Call) num {
	cond, x, at := c.cond(call.Args[0]), c.num(call.Args[1]), call.Where().From
	n := 0.0
	which := func() float64 { return 0 }
	if len(call.Args) > 2 && call.Args[2] != nil {
		var ok bool
		if n, ok = c.fixed(call.Args[2]); !ok {
			n = 200
		}
		which = c.num(call.Args[2])
	}
	if !(n >= 0) || n > maxLength {
		c.m.fail(at, CodeRuntime, "The occurrence of ta.valuewhen must be from 0 to %d (got %v).", maxLength, n)
	}
	size, m := int(n)+1, c.m
	cells := c.m.slab.Cells(size + 1)
	return func() float64 {
		mem := cells.Mem()
		hit := cond()
		v := x()
		if hit {
			mem[1+int(mem[0])%size] = v
			mem[0]++
		}
		k := which()
		if !(k >= 0) || int(k) >= size {
			m.fail(at, CodeRuntime, "The occurrence of ta.valuewhen must be from 0 to %d (got %v).", size-1, k)
		}
		if mem[0] <= math.Trunc(k) {
			return math.NaN()
		}
		return mem[1+(int(mem[0])-1-int(k))%size]
	}
}
