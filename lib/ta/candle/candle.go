package candle

import "math"

// candle is a bar with the means of the bars before it, and what follows from them.
type candle struct {
	open, high, low, close float64

	meanBody  float64 // of ten bars
	meanRange float64 // of ten bars
	closeness float64 // mean range of five bars, in which distances are measured

	body, top, bottom float64
	noise             float64 // a difference up to it is rounding
	white             bool    // else black
	long, short       bool    // against the mean body; neither if equal
	doji              bool
}

// candleCells is the number of values from which a candle is made.
const candleCells = 7

func (c *candle) load(m []float64) {
	m = m[:candleCells]
	c.open, c.high, c.low, c.close = m[0], m[1], m[2], m[3]
	c.meanBody, c.meanRange, c.closeness = m[4], m[5], m[6]
	c.measure()
}

func (c *candle) store(m []float64) {
	m = m[:candleCells]
	m[0], m[1], m[2], m[3] = c.open, c.high, c.low, c.close
	m[4], m[5], m[6] = c.meanBody, c.meanRange, c.closeness
}

// complete reports whether all prices are there.
func (c *candle) complete() bool {
	return !math.IsNaN(c.open-c.open) && !math.IsNaN(c.high-c.high) && !math.IsNaN(c.low-c.low) && !math.IsNaN(c.close-c.close)
}

// noisePart is the part of the price below which a difference is rounding. A mean of ten
// decimal prices is off by some 1e-16 of them; what differs in ticks of a ten-millionth
// of the price differs by 1e-9 of it here, where a hundredth of a tick counts.
const noisePart = 1e-13

// measure sets what follows from the prices and the means.
func (c *candle) measure() {
	c.white = c.close >= c.open
	c.top, c.bottom = c.open, c.close
	if c.white {
		c.top, c.bottom = c.close, c.open
	}
	c.body = c.top - c.bottom
	c.noise = float64(noisePart * max(math.Abs(c.high), math.Abs(c.low)))
	c.long, c.short = c.over(c.body, c.meanBody), c.over(c.meanBody, c.body)
	c.doji = c.dojiAs(c)
}

// over reports whether x is greater than y by more than rounding.
func (c *candle) over(x, y float64) bool { return x-y > c.noise }

func (c *candle) black() bool { return !c.white }

// side is 1 for a white candle and -1 for a black one.
func (c *candle) side() float64 {
	if c.white {
		return 1
	}
	return -1
}

func (c *candle) upper() float64 { return c.high - c.top }
func (c *candle) lower() float64 { return c.bottom - c.low }

// dojiAs reports whether the body is a doji by the measure of another candle.
func (c *candle) dojiAs(o *candle) bool { return !c.over(c.body, float64(0.1*o.meanRange)) }

// bare reports whether a shadow is very short, and shows whether it is more than that.
func (c *candle) bare(shadow float64) bool  { return c.over(float64(0.1*c.meanRange), shadow) }
func (c *candle) shows(shadow float64) bool { return c.over(shadow, float64(0.1*c.meanRange)) }

// meanShadow is the mean of one shadow: the mean range without the body, halved.
func (c *candle) meanShadow() float64 { return (c.meanRange - c.meanBody) / 2 }

func (c *candle) shortShadow(shadow float64) bool    { return c.over(c.meanShadow(), shadow) }
func (c *candle) moreShadow(shadow float64) bool     { return c.over(shadow, c.meanShadow()) }
func (c *candle) longShadow(shadow float64) bool     { return c.over(shadow, c.body) }
func (c *candle) veryLongShadow(shadow float64) bool { return c.over(shadow, 2*c.body) }

// The distances of prices that are near, far and equal, as seen from the candle.
func (c *candle) near() float64 { return float64(0.2 * c.closeness) }
func (c *candle) far() float64  { return float64(0.6 * c.closeness) }
func (c *candle) tiny() float64 { return float64(0.05 * c.closeness) }

// within reports whether x and y are at most d apart.
func (c *candle) within(x, y, d float64) bool { return !c.over(math.Abs(x-y), d) }

// same reports whether x equals y, as seen from the candle.
func (c *candle) same(x, y float64) bool { return c.within(x, y, c.tiny()) }

// inside reports whether x lies in the body, or as far as d outside it.
func (c *candle) inside(x, d float64) bool { return !c.over(c.bottom, x+d) && !c.over(x, c.top+d) }

// part returns the price that lies a part of the body back from the close.
func (c *candle) part(part float64) float64 { return c.close + float64(part*(c.open-c.close)) }

// bareEnds reports whether neither shadow shows.
func (c *candle) bareEnds() bool { return c.bare(c.upper()) && c.bare(c.lower()) }

// beyond reports whether x is above y for side 1, and below it for side -1.
func beyond(side, x, y float64) bool { return side*x > side*y }

// bodyGap reports whether the body of c lies wholly above that of o for side 1, and
// below it for side -1.
func (c *candle) bodyGap(side float64, o *candle) bool {
	if side > 0 {
		return c.bottom > o.top
	}
	return c.top < o.bottom
}

// rangeGap is bodyGap for the whole candles.
func (c *candle) rangeGap(side float64, o *candle) bool {
	if side > 0 {
		return c.low > o.high
	}
	return c.high < o.low
}

// insideRange reports whether the whole candle lies within o, and touches no end.
func (c *candle) insideRange(o *candle) bool { return c.high < o.high && c.low > o.low }
