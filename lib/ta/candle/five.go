package candle

// The rules of four and five candles: a is the first.

func (w *window) four() (first, second, third, last *candle) {
	return &w.c[3], &w.c[2], &w.c[1], &w.c[0]
}

func (w *window) five() (first, second, third, fourth, last *candle) {
	return &w.c[4], &w.c[3], &w.c[2], &w.c[1], &w.c[0]
}

func threeBlackCrows(w *window) int {
	a, b, c, d := w.four()
	falls := func(x, y *candle) bool { return y.open < x.open && y.open > x.close && y.close < x.close }
	return bear(a.white && b.black() && c.black() && d.black() && a.high > b.close && falls(b, c) && falls(c, d) &&
		b.bare(b.lower()) && c.bare(c.lower()) && d.bare(d.lower()))
}

func threeLineStrike(w *window) int {
	a, b, c, d := w.four()
	side := c.side()
	return signed(side, !opposite(a, b) && !opposite(b, c) && opposite(c, d) && a.inside(b.open, a.near()) && b.inside(c.open, b.near()) &&
		beyond(side, b.close, a.close) && beyond(side, c.close, b.close) && beyond(side, d.open, c.close) && beyond(side, a.open, d.close))
}

func concealBabySwall(w *window) int {
	a, b, c, d := w.four()
	return bull(a.black() && b.black() && c.black() && d.black() && a.bareEnds() && b.bareEnds() &&
		c.bodyGap(-1, b) && c.shows(c.upper()) && c.high > b.close && d.high > c.high && d.low < c.low)
}

func breakaway(w *window) int {
	a, b, c, d, e := w.five()
	side := a.side()
	on := func(x, y *candle) bool { return beyond(side, y.high, x.high) && beyond(side, y.low, x.low) }
	return signed(e.side(), a.long && !opposite(a, b) && !opposite(a, d) && opposite(d, e) && b.bodyGap(side, a) &&
		on(b, c) && on(c, d) && beyond(side, b.open, e.close) && beyond(side, e.close, a.close))
}

func ladderBottom(w *window) int {
	a, b, c, d, e := w.five()
	return bull(a.black() && b.black() && c.black() && d.black() && a.open > b.open && b.open > c.open && a.close > b.close && b.close > c.close &&
		d.shows(d.upper()) && e.white && e.open > d.open && e.close > d.high)
}

func matHold(w *window) int {
	a, b, c, d, e := w.five()
	holds := func(x *candle) bool { return x.bottom < a.close && a.over(x.bottom, a.part(0.5)) }
	return bull(a.long && b.short && c.short && d.short && a.white && b.black() && e.white && b.bodyGap(1, a) &&
		holds(c) && holds(d) && c.top < b.open && d.top < c.top && e.open > d.close && e.close > max(b.high, c.high, d.high))
}

func riseFallThreeMethods(w *window) int {
	a, b, c, d, e := w.five()
	side := a.side()
	rests := func(x *candle) bool { return x.short && x.bottom < a.high && x.top > a.low }
	return signed(side, a.long && rests(b) && rests(c) && rests(d) && e.long &&
		opposite(a, b) && !opposite(b, c) && !opposite(c, d) && opposite(d, e) &&
		beyond(side, b.close, c.close) && beyond(side, c.close, d.close) && beyond(side, e.open, d.close) && beyond(side, e.close, a.close))
}
