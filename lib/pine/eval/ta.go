package eval

import (
	"math"

	"candela/lib/pine/check"
	"candela/lib/ta/calc"
)

// clock gives a windowed kernel the slot of the bar. A call that can run several times a
// bar counts its own steps instead: a window of n slots must not see more than n values.
type clock struct {
	m   *Machine
	own *float64
}

func (c *compiler) clock() clock {
	if c.loops == 0 {
		c.m.slotted = true
		return clock{m: c.m}
	}
	return clock{own: c.m.keep.add(0)}
}

func (k clock) now() calc.Slot {
	if k.own == nil {
		return k.m.slot
	}
	*k.own++
	return calc.Slot(*k.own)
}

// fixed returns the value of an argument that is known before the first bar.
func (c *compiler) fixed(e check.Expr) (float64, bool) {
	if e == nil || e.Qual() > check.SimpleQ {
		return 0, false
	}
	return c.num(e)(), true
}

// fixedOr returns the value of an argument that must be known, or a default.
func (c *compiler) fixedOr(call *check.Call, i int, other float64) float64 {
	if i >= len(call.Args) || call.Args[i] == nil {
		return other
	}
	if x, ok := c.fixed(call.Args[i]); ok {
		return x
	}
	return other
}

// length returns the length of a window that is known before the first bar; ok is false
// for one that changes from bar to bar.
func (c *compiler) length(call *check.Call, i int) (n int, ok bool) {
	x, ok := c.fixed(call.Args[i])
	if !ok {
		return 0, false
	}
	c.checkLength(call, x)
	return int(x), true
}

// mustLength returns a length that has to be known before the first bar. Where it is not,
// its value on the first bar counts.
func (c *compiler) mustLength(call *check.Call, i int) int {
	n, ok := c.length(call, i)
	if !ok {
		c.unsupported(call.Where(), call.Builtin.Name+" with a length that changes from bar to bar")
	}
	return n
}

// maxLength is the longest window.
const maxLength = 10_000

func (c *compiler) checkLength(call *check.Call, x float64) {
	if !(x >= 1) || x > maxLength {
		c.m.fail(call.Where().From, CodeRuntime, "The length of %s must be from 1 to %d (got %v).", call.Builtin.Name, maxLength, x)
	}
}

// held wraps a state that is stepped on values only: on a missing value the last result is
// repeated.
func (c *compiler) held(x num, step func(float64) float64) num {
	last := c.m.keep.add(math.NaN())
	return func() float64 {
		if v := x(); v == v {
			*last = step(v)
		}
		return *last
	}
}

// skipped wraps a state that is stepped on values only and gives na otherwise.
func skipped(x num, step func(float64) float64) num {
	return func() float64 {
		v := x()
		if v != v {
			return v
		}
		return step(v)
	}
}

func (c *compiler) smaOf(x num, n int) num {
	s, k := c.m.slab.SMA(n), c.clock()
	return c.held(x, func(v float64) float64 { return s.Step(k.now(), v) })
}

func (c *compiler) sumOf(x num, n int) num {
	s, k := c.m.slab.Sum(n), c.clock()
	return c.held(x, func(v float64) float64 { return s.Step(k.now(), v) })
}

func (c *compiler) emaOf(x num, n int) num {
	s := c.m.slab.EMA(n)
	return func() float64 { return s.Step(x()) }
}

func (c *compiler) rmaOf(x num, n int) num {
	s := c.m.slab.RMA(n)
	return func() float64 { return s.Step(x()) }
}

func (c *compiler) hmaOf(x num, n int) num {
	s, k := c.m.slab.HMA(n), c.clock()
	return skipped(x, func(v float64) float64 { return s.Step(k.now(), v) })
}

// wmaOf repeats the last value in the place of a missing one, and gives na there.
func (c *compiler) wmaOf(x num, n int) num {
	s, k := c.m.slab.WMA(n), c.clock()
	last, seen := c.m.keep.add(math.NaN()), c.m.keep.add(0)
	return func() float64 {
		v := x()
		if v != v {
			if *seen > 0 {
				s.Step(k.now(), *last)
			}
			return v
		}
		*last = v
		*seen++
		out := s.Step(k.now(), v)
		if *seen < float64(n) {
			return math.NaN()
		}
		return out
	}
}

// averageRows are the means.
func averageRows() functions {
	return functions{
		"math.sum": built(constant, windowed(false, totalOf, (*compiler).sumOf)),
		"ta.alma":  built(window(1), alma),
		"ta.ema":   built(constant, averaged((*compiler).emaOf)).ahead(averageColumn(calc.EMA)),
		"ta.hma":   built(constant, averaged((*compiler).hmaOf)),
		"ta.rma":   built(constant, averaged((*compiler).rmaOf)).ahead(averageColumn(calc.RMA)),
		"ta.sma":   built(constant, windowed(false, meanOf, (*compiler).smaOf)).ahead(smaColumn),
		"ta.swma":  built(constant, swma),
		"ta.vwma":  built(constant, vwma).ahead(vwmaColumn),
		"ta.wma":   built(constant, windowed(true, weightedOf, (*compiler).wmaOf)),
	}
}

func swma(c *compiler, call *check.Call) num {
	x, s := c.num(call.Args[0]), c.m.slab.Recent(4)
	return func() float64 {
		w := s.Step(x())
		if w == nil {
			return math.NaN()
		}
		return w[0]/6 + w[1]/3 + w[2]/3 + w[3]/6
	}
}

func vwma(c *compiler, call *check.Call) num {
	x, v := c.num(call.Args[0]), &c.m.price[priceVolume]
	product := func() float64 { return float64(x() * *v) }
	volume := func() float64 { return *v }
	return ratio(c.mean(call, product), c.mean(call, volume))
}

// mean is the moving mean of x over the length in argument 1.
func (c *compiler) mean(call *check.Call, x num) num {
	if n, ok := c.length(call, 1); ok {
		return c.smaOf(x, n)
	}
	return c.dynamic(call, x, c.num(call.Args[1]), false, meanOf)
}

func ratio(x, y num) num {
	return func() float64 {
		a := x()
		b := y()
		if b == 0 {
			return math.NaN()
		}
		return a / b
	}
}

// averaged is a recursive mean, whose length is known before the first bar.
func averaged(of func(*compiler, num, int) num) build {
	return func(c *compiler, call *check.Call) num {
		return of(c, c.num(call.Args[0]), c.mustLength(call, 1))
	}
}

// windowed is a window with a kernel for lengths that stay and a function over the
// values for lengths that change. Filled says how missing values are taken.
func windowed(naBlank bool, of func([]float64) float64, kernel func(*compiler, num, int) num) build {
	return func(c *compiler, call *check.Call) num {
		x := c.num(call.Args[0])
		if n, ok := c.length(call, 1); ok {
			return kernel(c, x, n)
		}
		return c.dynamic(call, x, c.num(call.Args[1]), naBlank, of)
	}
}

// summing returns a maker of sums over a length, and what reads the length on a bar if it changes.
func (c *compiler) summing(call *check.Call, i int) (read func(), sum func(num) num) {
	if n, ok := c.length(call, i); ok {
		return func() {}, func(x num) num { return c.sumOf(x, n) }
	}
	length, now := c.num(call.Args[i]), c.m.temp.add(math.NaN())
	read = func() { *now = length() }
	return read, func(x num) num { return c.dynamic(call, x, func() float64 { return *now }, false, totalOf) }
}

// dynamic computes a window whose length changes, over the last values that are not
// missing. On a missing value it repeats the last result, or gives na if blank.
func (c *compiler) dynamic(call *check.Call, x, length num, blank bool, of func([]float64) float64) num {
	p := c.m.temp.add(math.NaN())
	r := c.newRing(p, maxLength, nil)
	r.compact = true
	last, m, at := c.m.keep.add(math.NaN()), c.m, call.Where().From
	var scratch []float64
	return func() float64 {
		v := x()
		n := length()
		if v != v {
			if blank {
				return v
			}
			return *last
		}
		*p, r.ran = v, true
		c.checkLength(call, n)
		size := int(n)
		m.spend(at, size)
		if r.n+1 < size {
			*last = math.NaN()
			return *last
		}
		scratch = scratch[:0]
		for k := size - 1; k > 0; k-- {
			scratch = append(scratch, r.back(k))
		}
		scratch = append(scratch, v)
		*last = of(scratch)
		return *last
	}
}

func alma(c *compiler, call *check.Call) num {
	n := c.mustLength(call, 1)
	offset, sigma := c.fixedOr(call, 2, 0.85), c.fixedOr(call, 3, 6)
	if c.fixedOr(call, 4, 0) != 0 && n > 1 {
		offset = math.Floor(float64(offset*float64(n-1))) / float64(n-1)
	}
	x, s := c.num(call.Args[0]), c.m.slab.ALMA(n, offset, sigma)
	return func() float64 { return s.Step(x()) }
}

// The functions over a whole window, the oldest value first.

func totalOf(w []float64) float64 {
	sum := 0.0
	for _, x := range w {
		sum += x
	}
	return sum
}

func meanOf(w []float64) float64 { return totalOf(w) / float64(len(w)) }

func weightedOf(w []float64) float64 {
	sum, n := 0.0, float64(len(w))
	for i, x := range w {
		sum += float64(x * float64(i+1))
	}
	return sum / (n * (n + 1) / 2)
}

func varianceOf(w []float64) float64 {
	mean, sum := meanOf(w), 0.0
	for _, x := range w {
		sum += float64((x - mean) * (x - mean))
	}
	return sum / float64(len(w))
}

func deviationOf(w []float64) float64 { return math.Sqrt(varianceOf(w)) }

func distanceOf(w []float64) float64 {
	mean, sum := meanOf(w), 0.0
	for _, x := range w {
		sum += math.Abs(x - mean)
	}
	return sum / float64(len(w))
}
