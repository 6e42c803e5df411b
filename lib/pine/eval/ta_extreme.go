package eval

import (
	"math"

	"candela/lib/pine/check"
	"candela/lib/ta/calc"
)

// extreme is the state of the highest or lowest of the last n values and of how long ago it
// was. Missing values are passed over; of equal values the oldest counts, or the newest.
type extreme struct {
	m      *Machine
	cells  calc.Cells
	n      int
	sign   float64 // -1 for the lowest
	newest bool
}

// The numbers an extreme keeps before its ring.
const (
	extremeSeen = iota
	extremeBest // number of the best value, from 1; 0 if there is none
	extremeHead
)

func (c *compiler) extreme(n int, sign float64, newest bool) extreme {
	return extreme{m: c.m, cells: c.m.slab.Cells(extremeHead + n), n: n, sign: sign, newest: newest}
}

// step returns the extreme and how many values ago it was; both are na before n values
// and where x is.
func (e *extreme) step(x float64) (value, ago float64) {
	m := e.cells.Mem()
	ring := m[extremeHead:]
	i := int(m[extremeSeen])
	m[extremeSeen]++
	v := x * e.sign
	ring[i%e.n] = v
	best := int(m[extremeBest]) - 1
	switch {
	case best >= 0 && best <= i-e.n:
		best = e.search(ring, i)
	case v != v:
	case best < 0 || v > ring[best%e.n] || e.newest && v == ring[best%e.n]:
		best = i
	}
	m[extremeBest] = float64(best + 1)
	if i+1 < e.n || x != x || best < 0 {
		return math.NaN(), math.NaN()
	}
	return ring[best%e.n] * e.sign, float64(i - best)
}

// search looks through a full window that ends at number i.
func (e *extreme) search(ring []float64, i int) int {
	best := -1
	e.m.owe(e.m.place, e.n/readAStep)
	for k := i; k > i-e.n && k >= 0; k-- {
		v := ring[k%e.n]
		if v != v {
			continue
		}
		if best < 0 || v > ring[best%e.n] || !e.newest && v == ring[best%e.n] {
			best = k
		}
	}
	return best
}

// extremeRows are the extremes and pivots.
func extremeRows() functions {
	return functions{
		"ta.highest":     built(ownWork, extremeBuilder(1, false)).ahead(extremeColumn(1)),
		"ta.highestbars": built(ownWork, extremeBuilder(1, true)),
		"ta.lowest":      built(ownWork, extremeBuilder(-1, false)).ahead(extremeColumn(-1)),
		"ta.lowestbars":  built(ownWork, extremeBuilder(-1, true)),
		"ta.max":         built(constant, allTime(1)),
		"ta.min":         built(constant, allTime(-1)),
		"ta.pivothigh":   built(ownWork, pivotBuilder(1)),
		"ta.pivotlow":    built(ownWork, pivotBuilder(-1)),
		"ta.range":       built(ownWork, spanOf),
		"ta.stoch":       built(ownWork, stochastic),
		"ta.wpr":         built(ownWork, percentRange),
	}
}

// spanOf is the distance of the highest from the lowest value of a window.
func spanOf(c *compiler, call *check.Call) num {
	high, low := c.extremeOf(call, 1, false), c.extremeOf(call, -1, false)
	return func() float64 {
		top := high()
		return top - low()
	}
}

// percentRange is ta.wpr, the percent range of Williams.
func percentRange(c *compiler, call *check.Call) num {
	top, bottom := c.window(call.Args[0], 1), c.window(call.Args[0], -1)
	h, l, x := &c.m.price[priceHigh], &c.m.price[priceLow], &c.m.price[priceClose]
	return func() float64 {
		hi := top(*h)
		lo := bottom(*l)
		return 100 * (*x - hi) / (hi - lo)
	}
}

// window is the extreme of a value over a length that may change.
func (c *compiler) window(length check.Expr, sign float64) func(float64) float64 {
	if n, ok := c.fixed(length); ok && n >= 1 && n <= maxLength {
		e := c.extreme(int(n), sign, false)
		return func(x float64) float64 {
			v, _ := e.step(x)
			return v
		}
	}
	n, find := c.num(length), c.changing(sign)
	return func(x float64) float64 {
		v, _ := find(x, n())
		return v
	}
}

// changing finds an extreme over a length that changes.
func (c *compiler) changing(sign float64) func(x, n float64) (value, ago float64) {
	p := c.m.temp.add(math.NaN())
	r := c.newRing(p, maxLength, nil)
	r.compact = true
	m := c.m
	return func(x, n float64) (value, ago float64) {
		*p, r.ran = x, true
		size := int(n)
		if !(n >= 1) {
			return math.NaN(), math.NaN()
		}
		if size > maxLength {
			m.fail(m.place, CodeRuntime, "A length must be from 1 to %d (got %v).", maxLength, n)
		}
		m.spend(m.place, size)
		if r.n+1 < size || x != x {
			return math.NaN(), math.NaN()
		}
		value = x
		for k := 1; k < size; k++ {
			if v := r.back(k); float64(v*sign) >= float64(value*sign) {
				value, ago = v, float64(k)
			}
		}
		return value, ago
	}
}

func extremeBuilder(sign float64, ago bool) build {
	return func(c *compiler, call *check.Call) num { return c.extremeOf(call, sign, ago) }
}

func (c *compiler) extremeOf(call *check.Call, sign float64, ago bool) num {
	x := c.num(call.Args[0])
	pick := func(value, bars float64) float64 {
		if ago {
			return 0 - bars
		}
		return value
	}
	if n, ok := c.length(call, 1); ok {
		e := c.extreme(n, sign, false)
		if !ago {
			return func() float64 {
				v, _ := e.step(x())
				return v
			}
		}
		return func() float64 { return pick(e.step(x())) }
	}
	n, find, m, at := c.num(call.Args[1]), c.changing(sign), c.m, call.Where().From
	return func() float64 {
		v := x()
		m.place = at
		return pick(find(v, n()))
	}
}

func allTime(sign float64) build {
	return func(c *compiler, call *check.Call) num {
		x, best := c.num(call.Args[0]), c.m.keep.add(math.NaN())
		return func() float64 {
			v := x()
			if v == v && !(float64(v*sign) <= float64(*best*sign)) {
				*best = v
			}
			return *best
		}
	}
}

// pivotBuilder finds a value that is above those before it, or equal, and above those
// after it.
func pivotBuilder(sign float64) build {
	return func(c *compiler, call *check.Call) num {
		x := c.num(call.Args[0])
		left, lok := c.fixed(call.Args[1])
		right, rok := c.fixed(call.Args[2])
		if !lok || !rok {
			return c.changingPivot(call, x, sign)
		}
		if !(left >= 0) || !(right >= 0) || left+right+1 > maxLength {
			c.m.fail(call.Where().From, CodeRuntime, "The bars of a pivot must be from 0 to %d.", maxLength)
		}
		e, away := c.extreme(int(left)+int(right)+1, sign, true), math.Trunc(right)
		return func() float64 {
			v := x()
			if v != v {
				return v
			}
			if value, ago := e.step(v); ago == away {
				return value
			}
			return math.NaN()
		}
	}
}

func (c *compiler) changingPivot(call *check.Call, x num, sign float64) num {
	left, right := c.num(call.Args[1]), c.num(call.Args[2])
	p := c.m.temp.add(math.NaN())
	r := c.newRing(p, maxLength, nil)
	r.compact = true
	m, at := c.m, call.Where().From
	return func() float64 {
		v := x()
		l := whole(left())
		k := whole(right())
		if v != v || l < 0 || k < 0 || l+k > r.n {
			if v == v {
				*p, r.ran = v, true
			}
			return math.NaN()
		}
		m.spend(at, l+k)
		*p, r.ran = v, true
		read := func(i int) float64 {
			if i == 0 {
				return v
			}
			return r.back(i)
		}
		peak := read(k)
		for i := range l + k + 1 {
			d := float64((read(i) - peak) * sign)
			if i < k && !(d < 0) || i > k && d > 0 {
				return math.NaN()
			}
		}
		return peak
	}
}

func stochastic(c *compiler, call *check.Call) num {
	x, h, l := c.num(call.Args[0]), c.num(call.Args[1]), c.num(call.Args[2])
	top, bottom := c.window(call.Args[3], 1), c.window(call.Args[3], -1)
	m, at := c.m, call.Where().From
	return func() float64 {
		v := x()
		m.place = at
		hi := top(h())
		lo := bottom(l())
		return 100 * (v - lo) / (hi - lo)
	}
}
