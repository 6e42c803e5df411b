package candle

import "math"

// The rules of three candles: a is the first, c the last.

func (w *window) three() (first, second, last *candle) { return &w.c[2], &w.c[1], &w.c[0] }

func twoCrows(w *window) int {
	a, b, c := w.three()
	return bear(a.white && a.long && b.black() && b.bodyGap(1, a) && c.black() &&
		c.open < b.open && c.open > b.close && c.close > a.open && c.close < a.close)
}

func upsideGapTwoCrows(w *window) int {
	a, b, c := w.three()
	return bear(a.white && a.long && b.black() && !b.long && b.bodyGap(1, a) && c.black() &&
		c.open > b.open && c.close < b.close && c.close > a.close)
}

func threeInside(w *window) int {
	a, b, c := w.three()
	return signed(-a.side(), a.long && !b.long && b.top < a.top && b.bottom > a.bottom &&
		opposite(a, c) && beyond(c.side(), c.close, a.open))
}

func threeOutside(w *window) int {
	a, b, c := w.three()
	return signed(b.side(), opposite(a, b) && beyond(b.side(), b.close, a.open) && beyond(b.side(), a.close, b.open) &&
		beyond(b.side(), c.close, b.close))
}

func threeStarsInSouth(w *window) int {
	a, b, c := w.three()
	return bull(a.black() && b.black() && c.black() && a.long && a.longShadow(a.lower()) &&
		a.over(a.body, b.body) && b.open > a.close && b.open <= a.high && b.low < a.close && b.low >= a.low && b.shows(b.lower()) &&
		c.short && c.bareEnds() && c.insideRange(b))
}

// climb reports three white candles that close higher and higher, the second and third
// opening within or near the body before.
func climb(a, b, c *candle) bool {
	return a.white && b.white && c.white && c.close > b.close && b.close > a.close &&
		b.open > a.open && !a.over(b.open, a.close+a.near())
}

// follows reports whether c opens within or near the upper part of b.
func follows(b, c *candle) bool { return c.open > b.open && !b.over(c.open, b.close+b.near()) }

func threeWhiteSoldiers(w *window) int {
	a, b, c := w.three()
	return bull(climb(a, b, c) && follows(b, c) && a.bare(a.upper()) && b.bare(b.upper()) && c.bare(c.upper()) &&
		a.over(b.body, a.body-a.far()) && b.over(c.body, b.body-b.far()) && c.long)
}

func advanceBlock(w *window) int {
	a, b, c := w.three()
	return bear(climb(a, b, c) && follows(b, c) && a.long && a.shortShadow(a.upper()) && weakens(a, b, c))
}

// weakens reports one of the four ways in which an advance loses force.
func weakens(a, b, c *candle) bool {
	smaller := c.over(b.body, c.body)
	return a.over(a.body-a.far(), b.body) && b.over(b.body+b.near(), c.body) ||
		b.over(b.body-b.far(), c.body) ||
		smaller && b.over(a.body, b.body) && (c.moreShadow(c.upper()) || b.moreShadow(b.upper())) ||
		smaller && c.longShadow(c.upper())
}

func stalledPattern(w *window) int {
	a, b, c := w.three()
	return bear(climb(a, b, c) && a.long && b.long && b.bare(b.upper()) && c.short &&
		!b.over(b.close-c.body-b.near(), c.open))
}

func identicalThreeCrows(w *window) int {
	a, b, c := w.three()
	return bear(a.black() && b.black() && c.black() && a.bare(a.lower()) && b.bare(b.lower()) && c.bare(c.lower()) &&
		a.close > b.close && b.close > c.close && a.same(b.open, a.close) && b.same(c.open, b.close))
}

// turn reports a long candle of the side and one against it, not short, that closes well
// into the first.
func turn(a, c *candle, side float64) bool {
	return a.side() == side && a.long && c.side() == -side && c.long && a.over(side*a.part(0.3), side*c.close)
}

// star is a turn with a candle between whose body lies beyond the first.
func star(a, b, c *candle, side float64) bool { return turn(a, c, side) && b.bodyGap(side, a) }

func eveningStar(w *window) int {
	a, b, c := w.three()
	return bear(star(a, b, c, 1) && !b.long)
}

func eveningDojiStar(w *window) int {
	a, b, c := w.three()
	return bear(star(a, b, c, 1) && b.doji)
}

func morningStar(w *window) int {
	a, b, c := w.three()
	return bull(star(a, b, c, -1) && !b.long)
}

func morningDojiStar(w *window) int {
	a, b, c := w.three()
	return bull(star(a, b, c, -1) && b.doji)
}

func abandonedBaby(w *window) int {
	a, b, c := w.three()
	side := a.side()
	return signed(c.side(), turn(a, c, side) && b.doji && b.rangeGap(side, a) && c.rangeGap(-side, b))
}

func triStar(w *window) int {
	a, b, c := w.three()
	if !a.doji || !b.dojiAs(a) || !c.dojiAs(a) {
		return 0
	}
	return bear(b.bodyGap(1, a) && c.top < b.top) + bull(b.bodyGap(-1, a) && c.bottom > b.bottom)
}

func gapSideSideWhite(w *window) int {
	a, b, c := w.three()
	side := -1.0
	if b.bodyGap(1, a) {
		side = 1
	}
	return signed(side, b.bodyGap(side, a) && c.bodyGap(side, a) && b.white && c.white &&
		b.within(c.body, b.body, b.near()) && b.same(c.open, b.open))
}

func tasukiGap(w *window) int {
	a, b, c := w.three()
	side := b.side()
	return signed(side, b.bodyGap(side, a) && opposite(b, c) && c.open < b.top && c.open > b.bottom &&
		beyond(side, b.open, c.close) && c.onGapSide(side, a) && b.over(b.near(), math.Abs(b.body-c.body)))
}

// onGapSide reports whether the close of c has not filled the gap beyond a.
func (c *candle) onGapSide(side float64, a *candle) bool {
	if side > 0 {
		return c.close > a.top
	}
	return c.close < a.bottom
}

func sideGapThreeMethods(w *window) int {
	a, b, c := w.three()
	return signed(a.side(), !opposite(a, b) && opposite(b, c) && b.bodyGap(a.side(), a) &&
		c.open < b.top && c.open > b.bottom && c.close < a.top && c.close > a.bottom)
}

func stickSandwich(w *window) int {
	a, b, c := w.three()
	return bull(a.black() && b.white && c.black() && b.low > a.close && a.same(c.close, a.close))
}

func uniqueThreeRiver(w *window) int {
	a, b, c := w.three()
	return bull(a.long && a.black() && b.black() && b.close > a.close && b.open <= a.open && b.low < a.low &&
		c.short && c.white && c.open > b.low)
}
