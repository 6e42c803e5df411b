package candle

// The rules of two candles: a is the first, b the last.

// opposite reports whether one candle is white and the other black.
func opposite(a, b *candle) bool { return a.white != b.white }

// engulfing is worth 80 instead of 100 where the bodies share an end.
func engulfing(w *window) int {
	a, b := w.two()
	if !opposite(a, b) || b.top < a.top || b.bottom > a.bottom {
		return 0
	}
	atTop, atBottom := b.top == a.top, b.bottom == a.bottom
	switch {
	case atTop && atBottom:
		return 0
	case atTop || atBottom:
		return 80 * int(b.side())
	}
	return 100 * int(b.side())
}

func harami(w *window) int {
	a, b := w.two()
	return withinBody(a, b, a.long && !b.long)
}

func haramiCross(w *window) int {
	a, b := w.two()
	return withinBody(a, b, a.long && b.doji)
}

// withinBody is 100 if the body of b lies within that of a, 80 if they share an end,
// with the sign opposite to a.
func withinBody(a, b *candle, found bool) int {
	switch {
	case !found || b.top > a.top || b.bottom < a.bottom:
		return 0
	case b.top == a.top || b.bottom == a.bottom:
		return -80 * int(a.side())
	}
	return -100 * int(a.side())
}

func counterattack(w *window) int {
	a, b := w.two()
	return signed(b.side(), opposite(a, b) && a.long && b.long && a.same(b.close, a.close))
}

func separatingLines(w *window) int {
	a, b := w.two()
	return signed(b.side(), opposite(a, b) && a.same(b.open, a.open) && b.long && b.bare(b.openShadow()))
}

func darkCloudCover(w *window) int {
	a, b := w.two()
	return bear(a.white && a.long && b.black() && b.open > a.high && b.close > a.open && a.over(a.part(0.5), b.close))
}

// below reports the start of what may become a reversal: a long black candle, then a
// white one that opens below its low.
func below(a, b *candle) bool { return a.black() && a.long && b.white && b.open < a.low }

func piercing(w *window) int {
	a, b := w.two()
	return bull(below(a, b) && b.long && b.close < a.open && a.over(b.close, a.part(0.5)))
}

func thrusting(w *window) int {
	a, b := w.two()
	return bear(below(a, b) && a.over(b.close, a.close+a.tiny()) && !a.over(b.close, a.part(0.5)))
}

func inNeck(w *window) int {
	a, b := w.two()
	return bear(below(a, b) && b.close >= a.close && a.same(b.close, a.close))
}

func onNeck(w *window) int {
	a, b := w.two()
	return bear(below(a, b) && a.same(b.close, a.low))
}

func dojiStar(w *window) int {
	a, b := w.two()
	return signed(-a.side(), a.long && b.doji && b.bodyGap(a.side(), a))
}

func homingPigeon(w *window) int {
	a, b := w.two()
	return bull(a.black() && b.black() && a.long && !b.long && b.open < a.open && b.close > a.close)
}

func matchingLow(w *window) int {
	a, b := w.two()
	return bull(a.black() && b.black() && a.same(b.close, a.close))
}

// kicks reports two opposite marubozu with a gap in the direction of the second.
func kicks(a, b *candle) bool {
	return opposite(a, b) && a.long && b.long && a.bareEnds() && b.bareEnds() && b.rangeGap(b.side(), a)
}

func kicking(w *window) int {
	a, b := w.two()
	return signed(b.side(), kicks(a, b))
}

func kickingByLength(w *window) int {
	a, b := w.two()
	side := a.side()
	if b.over(b.body, a.body) {
		side = b.side()
	}
	return signed(side, kicks(a, b))
}
