package eval

import (
	"math"

	"candela/lib/pine/check"
)

// priceRing returns the history of a price.
func (c *compiler) priceRing(name string) *ring {
	return c.variableRing(&check.BuiltinVar{Name: name}, 1)
}

// trueRange is the true range of the bar, with the close of the bar before. On the first
// bar it is na, or the bar's own range.
func (c *compiler) trueRange(first bool) num {
	h, l, before := &c.m.price[priceHigh], &c.m.price[priceLow], c.priceRing("close")
	return func() float64 {
		old := before.back(1)
		if old != old {
			if first {
				return *h - *l
			}
			return old
		}
		return max(*h-*l, math.Abs(*h-old), math.Abs(*l-old))
	}
}

// rangeRows are the functions of the bar's range, of gains and losses, and of trends.
func rangeRows() functions {
	return functions{
		"ta.atr":                built(constant, atr).ahead(atrColumn),
		"ta.cmo":                built(constant, cmo),
		"ta.dmi":                several(constant, dmi),
		"ta.macd":               several(constant, macd).ahead(macdColumns),
		"ta.mfi":                built(constant, mfi),
		"ta.pivot_point_levels": built(ownWork, pivotLevels),
		"ta.rsi":                built(constant, rsi).ahead(rsiColumn),
		"ta.sar":                built(constant, sar),
		"ta.supertrend":         several(constant, supertrend),
		"ta.tr":                 built(constant, trueRange).ahead(rangeColumn),
		"ta.tsi":                built(constant, tsi),
		"ta.vwap":               several(constant, vwap),
	}
}

func trueRange(c *compiler, call *check.Call) num {
	plain, whole := c.trueRange(false), c.trueRange(true)
	if len(call.Args) == 0 || call.Args[0] == nil {
		return plain
	}
	cond := c.cond(call.Args[0])
	return func() float64 {
		if cond() {
			return whole()
		}
		return plain()
	}
}

func atr(c *compiler, call *check.Call) num { return c.rmaOf(c.trueRange(true), c.mustLength(call, 0)) }

func rsi(c *compiler, call *check.Call) num {
	x, n := c.num(call.Args[0]), c.mustLength(call, 1)
	last := c.m.keep.add(math.NaN())
	up, down := c.m.slab.RMA(n), c.m.slab.RMA(n)
	return func() float64 {
		v := x()
		if v != v {
			return v
		}
		d := v - *last
		*last = v
		if d != d {
			return d
		}
		rise, fall := up.Step(max(d, 0)), down.Step(max(-d, 0))
		switch {
		case fall == 0:
			return 100
		case rise == 0:
			return 0
		}
		return 100 - 100/(1+rise/fall)
	}
}

// difference is the change from the last value that was there.
func (c *compiler) difference(x num) num {
	last := c.m.keep.add(math.NaN())
	return func() float64 {
		v := x()
		d := v - *last
		*last = v
		return d
	}
}

func cmo(c *compiler, call *check.Call) num {
	d := c.m.temp.add(math.NaN())
	moved := c.difference(c.num(call.Args[0]))
	length, sum := c.summing(call, 1)
	up := sum(func() float64 { return max(*d, 0) })
	down := sum(func() float64 { return max(-*d, 0) })
	return func() float64 {
		*d = moved()
		length()
		if *d != *d {
			return *d
		}
		if math.Abs(*d) <= tolerance && *d < 0 {
			*d = 0
		}
		rise := up()
		fall := down()
		if rise+fall == 0 {
			return math.NaN()
		}
		return 100 * (rise - fall) / (rise + fall)
	}
}

func mfi(c *compiler, call *check.Call) num {
	length, sum := c.summing(call, 1)
	v, d := c.m.temp.add(math.NaN()), c.m.temp.add(math.NaN())
	x, volume := c.num(call.Args[0]), &c.m.price[priceVolume]
	moved := c.difference(func() float64 { return *v })
	flow := func(sign float64) num {
		return sum(func() float64 {
			if float64(*d*sign) <= tolerance { // na counts on both sides
				return 0
			}
			return float64(*volume * *v)
		})
	}
	up, down := flow(1), flow(-1)
	return func() float64 {
		*v = x()
		length()
		if *v != *v {
			return *v
		}
		*d = moved()
		rise := up()
		fall := down()
		switch {
		case rise != rise || fall != fall:
			return math.NaN()
		case fall <= tolerance:
			return 100
		}
		return 100 - 100/(1+rise/fall)
	}
}

func tsi(c *compiler, call *check.Call) num {
	short, long := c.mustLength(call, 1), c.mustLength(call, 2)
	d := c.m.temp.add(math.NaN())
	moved := c.difference(c.num(call.Args[0]))
	value := c.emaOf(c.emaOf(func() float64 { return *d }, long), short)
	size := c.emaOf(c.emaOf(func() float64 { return math.Abs(*d) }, long), short)
	return func() float64 {
		*d = moved()
		a := value()
		return a / size()
	}
}

// The numbers a parabolic stop keeps.
const (
	sarValue = iota
	sarPoint // extreme point
	sarFactor
	sarLong // 1 or 0
	sarSeen // bars
	sarCells
)

func sar(c *compiler, call *check.Call) num {
	start, step, limit := c.num(call.Args[0]), c.num(call.Args[1]), c.num(call.Args[2])
	cells := c.m.slab.Cells(sarCells)
	h, l := &c.m.price[priceHigh], &c.m.price[priceLow]
	highs, lows := c.variableRing(&check.BuiltinVar{Name: "high"}, 2), c.variableRing(&check.BuiltinVar{Name: "low"}, 2)
	return func() float64 {
		m := cells.Mem()
		m[sarSeen]++
		switch m[sarSeen] {
		case 1:
			return math.NaN()
		case 2:
			m[sarFactor] = start()
			if highs.back(1) > *h {
				m[sarLong], m[sarValue], m[sarPoint] = 0, highs.back(1), *l
			} else {
				m[sarLong], m[sarValue], m[sarPoint] = 1, lows.back(1), *h
			}
			return m[sarValue]
		}
		if m[sarLong] == 1 {
			sarStep(m, 1, *h, *l, lows, highs, start(), step(), limit())
		} else {
			sarStep(m, -1, -*l, -*h, highs, lows, start(), step(), limit())
		}
		return m[sarValue]
	}
}

// sarStep follows a rise; with sign -1 all prices are mirrored, so that a fall is one.
// near are the lows on the side of the stop, far the highs.
func sarStep(m []float64, sign, high, low float64, near, far *ring, start, step, limit float64) {
	value, point := m[sarValue]*sign, m[sarPoint]*sign
	stop := value + float64(m[sarFactor]*(point-value))
	if low <= stop {
		stop = max(point, high, mirrored(far, 1, sign), mirrored(far, 2, sign))
		m[sarLong] = 1 - m[sarLong]
		m[sarFactor], m[sarPoint], m[sarValue] = start, low*sign, stop*sign
		return
	}
	stop = min(stop, mirrored(near, 1, sign), mirrored(near, 2, sign))
	if high > point {
		m[sarPoint] = high * sign
		m[sarFactor] = min(m[sarFactor]+step, limit)
	}
	m[sarValue] = stop * sign
}

// mirrored reads a price k bars back, or the one before if there is none.
func mirrored(r *ring, k int, sign float64) float64 {
	v := r.back(k)
	if v != v {
		v = r.back(1)
	}
	return v * sign
}
