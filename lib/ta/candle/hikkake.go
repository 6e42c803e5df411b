package candle

// A hikkake is an inside bar that price leaves to one side: a trap, if price then turns
// and closes beyond the other end of the inside bar within three bars.

// The cells of a hikkake that waits to be confirmed.
const (
	trapSide  = iota // 1 bullish, -1 bearish, 0 none
	trapLevel        // the close must go beyond it
	trapAge          // bars since
	trapCells
)

// trapBars is the number of bars within which a hikkake may be confirmed.
const trapBars = 3

// The bars before the first value.
const (
	hikkakeLookback    = 5
	hikkakeModLookback = 10
)

func hikkakeValue(w *window) int    { return w.traps[0] }
func hikkakeModValue(w *window) int { return w.traps[1] }

// stepTraps finds and confirms both kinds of hikkake.
func (w *window) stepTraps(m []float64) {
	w.traps[0] = w.trap(m[:trapCells], w.index >= hikkakeLookback-trapBars, w.hikkake())
	w.traps[1] = w.trap(m[trapCells:], w.index >= hikkakeModLookback-trapBars, w.hikkakeMod())
}

// trap returns 100 for a new hikkake and 200 for the confirmation of the last, with
// the sign of its side. A new one replaces one that waits.
func (w *window) trap(m []float64, known bool, side float64) int {
	now, inside := &w.c[0], &w.c[1]
	m[trapAge]++
	switch {
	case !known:
		return 0
	case side != 0:
		m[trapSide], m[trapLevel], m[trapAge] = side, inside.high, 0
		if side < 0 {
			m[trapLevel] = inside.low
		}
		return 100 * int(side)
	case m[trapSide] != 0 && m[trapAge] <= trapBars && beyond(m[trapSide], now.close, m[trapLevel]):
		confirmed := 200 * int(m[trapSide])
		m[trapSide] = 0
		return confirmed
	}
	return 0
}

// hikkake returns the side of a hikkake that this bar completes, 0 for none.
func (w *window) hikkake() float64 {
	now, inside, outer := &w.c[0], &w.c[1], &w.c[2]
	if !inside.insideRange(outer) {
		return 0
	}
	return now.leaves(inside)
}

// hikkakeMod is hikkake with two inside bars, of which the first closes near the end
// that price leaves by.
func (w *window) hikkakeMod() float64 {
	now, second, first, outer := &w.c[0], &w.c[1], &w.c[2], &w.c[3]
	if !first.insideRange(outer) || !second.insideRange(first) {
		return 0
	}
	side := now.leaves(second)
	if side > 0 && !first.over(first.close, first.low+first.near()) || side < 0 && !first.over(first.high-first.near(), first.close) {
		return side
	}
	return 0
}

// leaves returns 1 if c lies lower than o with both ends, which traps sellers, -1 if
// higher, else 0.
func (c *candle) leaves(o *candle) float64 {
	switch {
	case c.high < o.high && c.low < o.low:
		return 1
	case c.high > o.high && c.low > o.low:
		return -1
	}
	return 0
}
