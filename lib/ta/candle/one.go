package candle

// The rules of one candle, and of one candle against the one before. Each returns the
// value of its pattern: signed and bull and bear give 100, -100 or 0.

// signed returns 100 with the sign of side if found, else 0.
func signed(side float64, found bool) int {
	if !found {
		return 0
	}
	return 100 * int(side)
}

func bull(found bool) int { return signed(1, found) }
func bear(found bool) int { return signed(-1, found) }

func (w *window) one() *candle               { return &w.c[0] }
func (w *window) two() (first, last *candle) { return &w.c[1], &w.c[0] }

func doji(w *window) int { return bull(w.one().doji) }

func dragonflyDoji(w *window) int {
	c := w.one()
	return bull(c.doji && c.bare(c.upper()) && c.shows(c.lower()))
}

func gravestoneDoji(w *window) int {
	c := w.one()
	return bull(c.doji && c.bare(c.lower()) && c.shows(c.upper()))
}

func takuri(w *window) int {
	c := w.one()
	return bull(c.doji && c.bare(c.upper()) && c.veryLongShadow(c.lower()))
}

func longLeggedDoji(w *window) int {
	c := w.one()
	return bull(c.doji && (c.longShadow(c.lower()) || c.longShadow(c.upper())))
}

func rickshawMan(w *window) int {
	c := w.one()
	middle := c.low + (c.high-c.low)/2
	return bull(c.doji && c.longShadow(c.lower()) && c.longShadow(c.upper()) && c.inside(middle, c.near()))
}

func beltHold(w *window) int {
	c := w.one()
	return signed(c.side(), c.long && c.bare(c.openShadow()))
}

func closingMarubozu(w *window) int {
	c := w.one()
	return signed(c.side(), c.long && c.bare(c.closeShadow()))
}

func marubozu(w *window) int {
	c := w.one()
	return signed(c.side(), c.long && c.bareEnds())
}

// openShadow and closeShadow are the shadows at the open and at the close.
func (c *candle) openShadow() float64 {
	if c.white {
		return c.lower()
	}
	return c.upper()
}

func (c *candle) closeShadow() float64 {
	if c.white {
		return c.upper()
	}
	return c.lower()
}

func longLine(w *window) int {
	c := w.one()
	return signed(c.side(), c.long && c.shortShadow(c.upper()) && c.shortShadow(c.lower()))
}

func shortLine(w *window) int {
	c := w.one()
	return signed(c.side(), c.short && c.shortShadow(c.upper()) && c.shortShadow(c.lower()))
}

func spinningTop(w *window) int {
	c := w.one()
	return signed(c.side(), c.short && c.longShadow(c.upper()) && c.longShadow(c.lower()))
}

func highWave(w *window) int {
	c := w.one()
	return signed(c.side(), c.short && c.veryLongShadow(c.upper()) && c.veryLongShadow(c.lower()))
}

// hanging reports a small body at the top of a long lower shadow.
func (c *candle) hanging() bool { return c.short && c.longShadow(c.lower()) && c.bare(c.upper()) }

// standing reports a small body at the foot of a long upper shadow.
func (c *candle) standing() bool { return c.short && c.longShadow(c.upper()) && c.bare(c.lower()) }

func hammer(w *window) int {
	a, b := w.two()
	return bull(b.hanging() && !a.over(b.bottom, a.low+a.near()))
}

func hangingMan(w *window) int {
	a, b := w.two()
	return bear(b.hanging() && !a.over(a.high-a.near(), b.bottom))
}

func invertedHammer(w *window) int {
	a, b := w.two()
	return bull(b.standing() && b.bodyGap(-1, a))
}

func shootingStar(w *window) int {
	a, b := w.two()
	return bear(b.standing() && b.bodyGap(1, a))
}
