package eval

import (
	"math"

	"candela/lib/pine/check"
	"candela/lib/ta/elementary"
)

// one compiles a function of one number.
func one(f func(float64) float64) build {
	return func(c *compiler, call *check.Call) num {
		if p := c.address(call.Args[0]); p != nil {
			return func() float64 { return f(*p) }
		}
		x := c.num(call.Args[0])
		return func() float64 { return f(x()) }
	}
}

// mathRows are the functions on numbers.
func mathRows() functions {
	return functions{
		"math.abs":              built(constant, one(math.Abs)).ahead(absColumn),
		"math.acos":             built(constant, one(elementary.Acos)),
		"math.asin":             built(constant, one(elementary.Asin)),
		"math.atan":             built(constant, one(elementary.Atan)),
		"math.avg":              priced(flat(1), func(_ *site, a []float64) float64 { return meanOf(a) }),
		"math.ceil":             built(constant, one(math.Ceil)),
		"math.cos":              built(constant, one(elementary.Cos)),
		"math.exp":              built(constant, one(elementary.Exp)),
		"math.floor":            built(constant, one(math.Floor)),
		"math.log":              built(constant, one(elementary.Log)),
		"math.log10":            built(constant, one(elementary.Log10)),
		"math.max":              built(constant, extremum(greater)).ahead(extremumColumn(greater)),
		"math.min":              built(constant, extremum(less)).ahead(extremumColumn(less)),
		"math.pow":              priced(flat(1), func(_ *site, a []float64) float64 { return power(a[0], a[1]) }).directly(powerDirect),
		"math.random":           built(constant, random),
		"math.round":            priced(flat(1), round),
		"math.round_to_mintick": priced(flat(1), func(s *site, a []float64) float64 { return toTick(a[0], s.m.env.Symbol.Tick) }),
		"math.sign":             built(constant, one(sign)),
		"math.sin":              built(constant, one(elementary.Sin)),
		"math.sqrt":             built(constant, one(math.Sqrt)),
		"math.tan":              built(constant, one(elementary.Tan)),
		"math.todegrees":        built(constant, one(func(x float64) float64 { return x * (180 / math.Pi) })),
		"math.toradians":        built(constant, one(func(x float64) float64 { return x * (math.Pi / 180) })),
	}
}

// valueRows are the functions of values that may be na.
func valueRows() functions {
	return functions{
		"fixnan": built(constant, fixNaN),
		"na":     tested(constant, isNaN),
		"nz":     built(constant, nz).ahead(nzColumn),
	}
}

func greater(a, b float64) bool { return a > b }

func less(a, b float64) bool { return a < b }

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func round(s *site, a []float64) float64 {
	if s.given(1) {
		return roundTo(a[0], a[1])
	}
	return roundHalf(a[0])
}

func isNaN(c *compiler, call *check.Call) func() bool {
	x := c.num(call.Args[0])
	if p := c.address(call.Args[0]); p != nil {
		return func() bool { return *p != *p }
	}
	return func() bool {
		v := x()
		return v != v
	}
}

// nz replaces na.
func nz(c *compiler, call *check.Call) num {
	x := c.num(call.Args[0])
	if len(call.Args) < 2 || call.Args[1] == nil {
		return func() float64 {
			if v := x(); v == v {
				return v
			}
			return 0
		}
	}
	y := c.num(call.Args[1])
	return func() float64 {
		v := x()
		other := y()
		if v == v {
			return v
		}
		return other
	}
}

// extremum is math.max or math.min of any number of values; na makes it na.
func extremum(better func(a, b float64) bool) build {
	return func(c *compiler, call *check.Call) num {
		var args []num
		for _, a := range append(append([]check.Expr(nil), call.Args...), call.Rest...) {
			if a != nil {
				args = append(args, c.num(a))
			}
		}
		if len(args) == 2 {
			x, y := args[0], args[1]
			return func() float64 {
				a := x()
				b := y()
				if b != b || better(b, a) {
					return b
				}
				return a
			}
		}
		return func() float64 {
			best := args[0]()
			for _, f := range args[1:] {
				if v := f(); v != v || better(v, best) {
					best = v
				}
			}
			return best
		}
	}
}

// random is a repeatable sequence of its own for each call, from its seed.
func random(c *compiler, call *check.Call) num {
	low, high := func() float64 { return 0 }, func() float64 { return 1 }
	if len(call.Args) > 0 && call.Args[0] != nil {
		low = c.num(call.Args[0])
	}
	if len(call.Args) > 1 && call.Args[1] != nil {
		high = c.num(call.Args[1])
	}
	seed := float64(c.fixedOr(call, 2, float64(call.Site+1)))
	start := uint64(whole(seed)) * 0x9E3779B97F4A7C15 //nolint:gosec // G115: a negative seed is its bits
	step := c.m.keep.add(0)
	return func() float64 {
		*step++
		x := start + uint64(*step)*0xBF58476D1CE4E5B9
		x ^= x >> 30
		x *= 0xBF58476D1CE4E5B9
		x ^= x >> 27
		x *= 0x94D049BB133111EB
		x ^= x >> 31
		unit := float64(x>>11) / (1 << 53)
		a := low()
		return a + float64(unit*(high()-a))
	}
}

// whole cuts a number to a whole one. One that is na or beyond 2³¹ gives that bound, on every
// processor the same.
func whole(x float64) int {
	const bound = 1 << 31
	if x >= bound {
		return bound
	}
	if x > -bound {
		return int(x)
	}
	return -bound
}

func power(x, y float64) float64 {
	if x != x || y != y {
		return math.NaN()
	}
	return elementary.Pow(x, y)
}

// roundHalf rounds to the nearest whole number, halves away from 0.
func roundHalf(x float64) float64 { return math.Round(x) }

// roundTo rounds to a number of decimals.
func roundTo(x, digits float64) float64 {
	if digits != digits {
		return roundHalf(x)
	}
	scale := elementary.Pow(10, min(max(math.Trunc(digits), 0), 16))
	if y := math.Round(float64(x*scale)) / scale; !math.IsInf(y, 0) {
		return y
	}
	return x
}

// toTick rounds to the smallest price step, halves up.
func toTick(x, tick float64) float64 {
	if !(tick > 0) {
		return x
	}
	return math.Floor(x/tick+0.5) * tick
}
