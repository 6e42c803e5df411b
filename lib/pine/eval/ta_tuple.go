package eval

import (
	"math"

	"candela/lib/pine/check"
)

// tupleCall compiles a built-in function with several values.
func (c *compiler) tupleCall(call *check.Call, dst []*float64) stmt {
	want := len(dst)
	if t := call.Type(); t != nil && t.Kind == check.TupleKind {
		want = len(t.Tuple)
	}
	for len(dst) < want { // a tuple whose values nothing uses
		dst = append(dst, c.m.temp.add(math.NaN()))
	}
	if places := c.hoisted(call); len(places) == want {
		for _, p := range places {
			c.loaded(p)
		}
		return func() signal {
			for i, p := range places {
				*dst[i] = *p
			}
			return next
		}
	}
	var run stmt
	f := c.late(func() num {
		run = c.tupleBuiltin(call, dst)
		return nil
	})
	if f != nil {
		return store(f, nil, nil)
	}
	return run
}

func (c *compiler) tupleBuiltin(call *check.Call, dst []*float64) stmt {
	r := c.library.functions[call.Builtin.Name]
	if r.tuple == nil {
		c.unsupported(call.Where(), call.Builtin.Name)
	}
	run, n := r.tuple(c, call, dst), r.steps(c, call)
	if n <= 0 {
		return run
	}
	m, at := c.m, call.Where().From
	return func() signal {
		m.spend(at, n)
		return run()
	}
}

func macd(c *compiler, call *check.Call, dst []*float64) stmt {
	x := c.num(call.Args[0])
	s := c.m.slab.MACD(c.mustLength(call, 1), c.mustLength(call, 2), c.mustLength(call, 3))
	return func() signal {
		*dst[0], *dst[1], *dst[2] = s.Step(x())
		return next
	}
}

func dmi(c *compiler, call *check.Call, dst []*float64) stmt {
	n := c.mustLength(call, 0)
	h, l := &c.m.price[priceHigh], &c.m.price[priceLow]
	highs, lows := c.priceRing("high"), c.priceRing("low")
	tr := c.trueRange(false)
	ranges, ups, downs := c.m.slab.RMA(n), c.m.slab.RMA(n), c.m.slab.RMA(n)
	index := c.m.slab.RMA(c.mustLength(call, 1))
	return func() signal {
		up, down := *h-highs.back(1), lows.back(1)-*l
		plus, minus := movement(up, down), movement(down, up)
		size, p, m := ranges.Step(tr()), ups.Step(plus), downs.Step(minus)
		for _, d := range dst {
			*d = math.NaN()
		}
		if p != p || size != size || size == 0 {
			return next
		}
		p, m = 100*p/size, 100*m/size
		sum := p + m
		if sum == 0 {
			sum = 1
		}
		*dst[0], *dst[1], *dst[2] = p, m, 100*index.Step(math.Abs(p-m)/sum)
		return next
	}
}

// movement is the part of a move that counts: it must be up and more than the other.
func movement(a, b float64) float64 {
	switch {
	case a != a || b != b:
		return math.NaN()
	case a-b > tolerance && a > tolerance:
		return a
	}
	return 0
}

// The numbers a supertrend keeps.
const (
	trendLower = iota
	trendUpper
	trendClose
	trendSide // 1 below the upper band, -1 above the lower, 0 before the first
	trendCells
)

func supertrend(c *compiler, call *check.Call, dst []*float64) stmt {
	factor := c.num(call.Args[0])
	atr := c.rmaOf(c.trueRange(true), c.mustLength(call, 1))
	cells, p, m, middle := c.m.slab.Cells(trendCells), &c.m.price, c.m, c.price(priceHL2)
	return func() signal {
		reach := float64(factor() * atr())
		s := cells.Mem()
		if reach != reach {
			*dst[0], *dst[1] = math.NaN(), 1
			if m.index == 0 {
				*dst[0] = 0
			}
			return next
		}
		upper, lower := *middle+reach, *middle-reach
		if s[trendSide] == 0 {
			s[trendSide] = 1
		} else {
			if !(lower > s[trendLower] || s[trendClose] < s[trendLower]) {
				lower = s[trendLower]
			}
			if !(upper < s[trendUpper] || s[trendClose] > s[trendUpper]) {
				upper = s[trendUpper]
			}
			switch {
			case s[trendSide] > 0 && p[priceClose] > upper:
				s[trendSide] = -1
			case s[trendSide] < 0 && p[priceClose] < lower:
				s[trendSide] = 1
			}
		}
		s[trendLower], s[trendUpper], s[trendClose] = lower, upper, p[priceClose]
		*dst[0], *dst[1] = upper, s[trendSide]
		if s[trendSide] < 0 {
			*dst[0] = lower
		}
		return next
	}
}

// The numbers of a volume-weighted mean since an anchor.
const (
	vwapVolume = iota
	vwapProduct
	vwapSquare
	vwapAnchored
	vwapCells
)

// vwap gives the mean, and with a third argument the bands around it.
func vwap(c *compiler, call *check.Call, dst []*float64) stmt {
	x := c.num(call.Args[0])
	anchor := c.newDay()
	if len(call.Args) > 1 && call.Args[1] != nil {
		anchor = c.cond(call.Args[1])
	}
	width := func() float64 { return math.NaN() }
	if len(call.Args) > 2 && call.Args[2] != nil {
		width = c.num(call.Args[2])
	}
	cells, volume := c.m.slab.Cells(vwapCells), &c.m.price[priceVolume]
	return func() signal {
		s := cells.Mem()
		v := x()
		if anchor() {
			clear(s)
			s[vwapAnchored] = 1
		}
		mean, dev := math.NaN(), math.NaN()
		if s[vwapAnchored] == 1 && v == v {
			s[vwapVolume] += *volume
			s[vwapProduct] += float64(v * *volume)
			s[vwapSquare] += float64(float64(v*v) * *volume)
			mean = s[vwapProduct] / s[vwapVolume]
			dev = math.Sqrt(max(0, s[vwapSquare]/s[vwapVolume]-float64(mean*mean)))
		}
		*dst[0] = mean
		if len(dst) > 2 {
			reach := float64(dev * width())
			*dst[1], *dst[2] = mean+reach, mean-reach
		}
		return next
	}
}
