package eval

import (
	"math"

	"candela/lib/pine/check"
	"candela/lib/ta/calc"
)

// spreadRows are the deviations, bands and channels.
func spreadRows() functions {
	return functions{
		"ta.bb":          several(constant, bands).ahead(bandColumns),
		"ta.bbw":         built(constant, bandWidth),
		"ta.cci":         built(window(1), windowed(true, channelOf, (*compiler).channel)),
		"ta.correlation": built(window(2), correlation),
		"ta.dev":         built(window(1), windowed(true, distanceOf, (*compiler).distance)),
		"ta.kc":          several(constant, keltner),
		"ta.kcw":         built(constant, channelWidth),
		"ta.linreg":      built(constant, linreg),
		"ta.stdev":       built(constant, deviation).ahead(varianceColumn(math.Sqrt)),
		"ta.variance":    built(constant, variance).ahead(varianceColumn(itself)),
	}
}

func bandWidth(c *compiler, call *check.Call) num {
	places := c.places(3)
	run := bands(c, call, places)
	return func() float64 {
		run()
		base := *places[0]
		if base == 0 {
			return math.NaN()
		}
		return float64((*places[1]-*places[2])/base) * 100
	}
}

func channelWidth(c *compiler, call *check.Call) num {
	places := c.places(3)
	run := keltner(c, call, places)
	return func() float64 {
		run()
		return (*places[1] - *places[2]) / *places[0]
	}
}

func itself(x float64) float64 { return x }

func channelOf(w []float64) float64 {
	return (w[len(w)-1] - meanOf(w)) / float64(0.015*distanceOf(w))
}

// channel is the commodity channel index of x.
func (c *compiler) channel(x num, n int) num {
	s, k := c.m.slab.MeanDeviation(n), c.clock()
	return skipped(x, func(v float64) float64 {
		mean, dev := s.Step(k.now(), v)
		return (v - mean) / float64(0.015*dev)
	})
}

// distance is the mean distance of x from its mean.
func (c *compiler) distance(x num, n int) num {
	s, k := c.m.slab.MeanDeviation(n), c.clock()
	return skipped(x, func(v float64) float64 {
		_, dev := s.Step(k.now(), v)
		return dev
	})
}

func deviation(c *compiler, call *check.Call) num {
	v := variance(c, call)
	return func() float64 { return math.Sqrt(v()) }
}

// places makes n places for the values of a tuple.
func (c *compiler) places(n int) []*float64 {
	out := make([]*float64, n)
	for i := range out {
		out[i] = c.m.temp.add(math.NaN())
	}
	return out
}

func variance(c *compiler, call *check.Call) num {
	x := c.num(call.Args[0])
	biased := func() bool { return true }
	if len(call.Args) > 2 && call.Args[2] != nil {
		biased = c.cond(call.Args[2])
	}
	n, ok := c.length(call, 1)
	if !ok {
		return c.dynamic(call, x, c.num(call.Args[1]), false, func(w []float64) float64 {
			return unbias(varianceOf(w), len(w), biased())
		})
	}
	s, k := c.m.slab.Deviation(n), c.clock()
	return c.held(x, func(v float64) float64 {
		_, dev := s.Step(k.now(), v)
		return unbias(float64(dev*dev), n, biased())
	})
}

func unbias(v float64, n int, biased bool) float64 {
	switch {
	case biased:
		return v
	case n == 1:
		return math.NaN()
	}
	return float64(v*float64(n)) / float64(n-1)
}

// bands is ta.bb: the mean, the upper and the lower band.
func bands(c *compiler, call *check.Call, dst []*float64) stmt {
	x, width := c.num(call.Args[0]), c.num(call.Args[2])
	n, ok := c.length(call, 1)
	if !ok {
		return c.dynamicBands(call, x, width, dst)
	}
	s, k := c.m.slab.Deviation(n), c.clock()
	mean, dev := c.m.keep.add(math.NaN()), c.m.keep.add(math.NaN())
	return func() signal {
		if v := x(); v == v {
			*mean, *dev = s.Step(k.now(), v)
		}
		setBands(dst, *mean, float64(*dev*width()))
		return next
	}
}

func (c *compiler) dynamicBands(call *check.Call, x, width num, dst []*float64) stmt {
	dev := c.m.keep.add(math.NaN())
	mean := c.dynamic(call, x, c.num(call.Args[1]), false, func(w []float64) float64 {
		*dev = deviationOf(w)
		return meanOf(w)
	})
	return func() signal {
		m := mean()
		setBands(dst, m, float64(*dev*width()))
		return next
	}
}

func setBands(dst []*float64, base, reach float64) {
	values := [3]float64{base, base + reach, base - reach}
	for i, p := range dst {
		*p = values[i]
	}
}

// keltner is ta.kc: the mean, the upper and the lower line.
func keltner(c *compiler, call *check.Call, dst []*float64) stmt {
	n := c.mustLength(call, 1)
	base, width := c.emaOf(c.num(call.Args[0]), n), c.num(call.Args[2])
	span := c.trueRange(false)
	if len(call.Args) > 3 && call.Args[3] != nil {
		whole, h, l := c.cond(call.Args[3]), &c.m.price[priceHigh], &c.m.price[priceLow]
		tr := span
		span = func() float64 {
			t := tr()
			if whole() {
				return t
			}
			return *h - *l
		}
	}
	reach := c.emaOf(span, n)
	return func() signal {
		b := base()
		setBands(dst, b, float64(reach()*width()))
		return next
	}
}

func linreg(c *compiler, call *check.Call) num {
	x, offset := c.num(call.Args[0]), func() float64 { return 0 }
	if len(call.Args) > 2 && call.Args[2] != nil {
		offset = c.num(call.Args[2])
	}
	n, ok := c.length(call, 1)
	if !ok {
		return c.dynamic(call, x, c.num(call.Args[1]), false, func(w []float64) float64 {
			slab := calc.NewSlab()
			s := slab.LinReg(len(w))
			var slope, first float64
			for i, v := range w {
				slope, first, _ = s.Step(calc.Slot(i), v)
			}
			return first + float64(slope*(float64(len(w)-1)-offset()))
		})
	}
	s, k := c.m.slab.LinReg(n), c.clock()
	return c.held(x, func(v float64) float64 {
		slope, first, _ := s.Step(k.now(), v)
		return first + float64(slope*(float64(n-1)-math.Trunc(offset())))
	})
}

func correlation(c *compiler, call *check.Call) num {
	x, y := c.num(call.Args[0]), c.num(call.Args[1])
	n, ok := c.length(call, 2)
	if !ok {
		return c.correlationOver(call, x, y, c.num(call.Args[2]))
	}
	left, right, last := c.m.slab.Recent(n), c.m.slab.Recent(n), c.m.keep.add(math.NaN())
	return func() float64 {
		a := x()
		b := y()
		if a != a || b != b {
			return *last
		}
		v, w := left.Step(a), right.Step(b)
		if v == nil {
			return math.NaN()
		}
		*last = correlate(v, w)
		return *last
	}
}

// correlationOver is that of windows whose length changes.
func (c *compiler) correlationOver(call *check.Call, x, y, length num) num {
	a, b, n := c.m.temp.add(math.NaN()), c.m.temp.add(math.NaN()), c.m.temp.add(math.NaN())
	var first []float64
	both := func(of *float64) num {
		return func() float64 {
			if *a != *a || *b != *b {
				return math.NaN()
			}
			return *of
		}
	}
	now := func() float64 { return *n }
	left := c.dynamic(call, both(a), now, false, func(w []float64) float64 {
		first = append(first[:0], w...)
		return 0
	})
	right := c.dynamic(call, both(b), now, false, func(w []float64) float64 { return correlate(first, w) })
	return func() float64 {
		*a = x()
		*b = y()
		*n = length()
		left()
		return right()
	}
}

// correlate is 0 where the covariance is within the tolerance.
func correlate(v, w []float64) float64 {
	products, squares, others := calc.Covariance(v, w)
	if math.Abs(products/float64(len(v))) <= tolerance {
		return 0
	}
	root := math.Sqrt(float64(squares * others))
	if root == 0 {
		return math.NaN()
	}
	return products / root
}
