package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

// reversalParams describe how far the price must come back to end a leg.
func reversalParams(deviation float64, unit string) []Param {
	return []Param{
		Num("deviation", deviation, 0.01, 1000, "how far the price must come back to end a leg").As("percent", "threshold"),
		Choice("unit", unit, []string{"percent", "atr"}, "percent of the extreme, or average true ranges of 10 bars"),
	}
}

// legStable is until when legs depend on their start: different histories agree once
// they have turned at the same bar.
func legStable() int { return wilderStable(legATR) + 1000 }

func zigzag() Def {
	return Def{
		Name: "zigzag", Aliases: []string{"zz"}, Kind: Overlay, Group: GroupTrend,
		Doc: "ZigZag: confirmed legs between highs and lows; a leg is drawn when its end is confirmed, the running one dashed.",
		Formula: "A rising leg ends at its highest high once a later low is `deviation` below it (percent of the high, or average true ranges of 10 bars as of that high); mirrored for falling legs. " +
			"A bar that extends the leg does not end it. Pivot is the last confirmed end, Extreme the furthest price of the running leg.",
		Truth:  "Skender zigzag of closes, as far as its legs are confirmed (TradingView's redraws); second derivation in the tests",
		Params: reversalParams(5, "percent"),
		Lines:  []string{"Pivot", "Extreme"},
		Signals: []Trigger{
			{"flip_up", "a low is confirmed, and a rising leg runs; y is that low"},
			{"flip_down", "a high is confirmed, and a falling leg runs; y is that high"},
		},
		New: func(v Values) Instance {
			const pivot, extreme, pivotBack, extremeBack = 0, 1, 2, 3
			return &series{
				label: fmt.Sprintf("ZigZag(%s, %s)", number(v.Num("deviation")), v.Text("unit")), first: 1, stable: legStable(),
				columns: 4, lines: styled(Hidden, "Pivot", "Extreme"),
				begin: func(m *calc.Slab, _ Env) step {
					z := newLegs(m, v)
					return func(r *Row) {
						turned := z.next(r)
						if turned {
							r.turn(z.rising(), z.cells.Mem())
						}
						if c := z.cells.Mem(); c[legTrend] != 0 {
							r.Values[pivot], r.Values[pivotBack] = c[legEnd], float64(r.Index)-c[legEndX]
							r.Values[extreme], r.Values[extremeBack] = c[legFar], float64(r.Index)-c[legFarX]
						}
					}
				},
				present: func(r *Result, col [][]float64) {
					last := len(col[pivot]) - 1
					if last < 0 || math.IsNaN(col[pivot][last]) {
						return
					}
					r.DivLines = append(r.DivLines, DivLine{
						X1: last - int(col[pivotBack][last]), Y1: col[pivot][last],
						X2: last - int(col[extremeBack][last]), Y2: col[extreme][last],
						Dashed: true, Bull: col[extreme][last] > col[pivot][last],
					})
				},
			}
		},
	}
}

// turn raises the signal of a confirmed end, and draws the leg to it.
func (r *Row) turn(rising bool, c []float64) {
	label := "flip_down"
	if rising {
		label = "flip_up"
	}
	r.Signal(label, c[legEnd])
	r.DivLines = append(r.DivLines, DivLine{X1: int(c[legFromX]), Y1: c[legFrom], X2: int(c[legEndX]), Y2: c[legEnd], Bull: !rising})
}

// legs divides prices into legs.
type legs struct {
	deviation float64
	percent   bool
	atr       calc.ATRState
	cells     calc.Cells
}

// legATR is the length of the average true range that legs are measured in.
const legATR = 10

// The cells of legs.
const (
	legTrend = iota // 1 for a rising leg, -1 for a falling one, 0 before the first
	legFar          // the furthest price of the running leg, and its bar
	legFarX
	legSpan     // the average true range at that bar
	legOpposite // before the first leg: the furthest price the other way, and its bar
	legOppositeX
	legEnd // the end of the leg before, which is confirmed
	legEndX
	legFrom // the end of the leg before that
	legFromX
	legSeen // 1 once there was a bar
	legCells
)

func newLegs(m *calc.Slab, v Values) *legs {
	return &legs{deviation: v.Num("deviation"), percent: v.Text("unit") == "percent", atr: m.ATR(legATR), cells: m.Cells(legCells)}
}

// rising reports whether the running leg rises.
func (z *legs) rising() bool { return z.cells.Mem()[legTrend] > 0 }

// next takes a bar and reports whether it confirmed the end of a leg that has a start.
func (z *legs) next(r *Row) bool {
	b, c, x := r.Bar, z.cells.Mem(), float64(r.Index)
	span := z.atr.Step(b.H, b.L, b.C)
	if away := b.H - b.L; away-away != 0 {
		return false // a price is missing
	}
	switch {
	case c[legSeen] == 0:
		c[legSeen], c[legFar], c[legOpposite], c[legFarX], c[legOppositeX] = 1, b.H, b.L, x, x
		return false
	case c[legTrend] == 0:
		z.start(c, b.H, b.L, x, span)
		return false
	}
	far, opposite := b.H, b.L
	if c[legTrend] < 0 {
		far, opposite = b.L, b.H
	}
	if c[legTrend]*(far-c[legFar]) > 0 {
		c[legFar], c[legFarX], c[legSpan] = far, x, span
		return false
	}
	if !z.reached(float64(c[legTrend]*(c[legFar]-opposite)), c[legFar], c[legSpan]) {
		return false
	}
	c[legFrom], c[legFromX] = c[legEnd], c[legEndX]
	c[legEnd], c[legEndX] = c[legFar], c[legFarX]
	c[legFar], c[legFarX], c[legSpan], c[legTrend] = opposite, x, span, -c[legTrend]
	return true
}

// start looks for the first leg between the highest and the lowest price so far.
func (z *legs) start(c []float64, high, low, x, span float64) {
	if high > c[legFar] {
		c[legFar], c[legFarX] = high, x
	}
	if low < c[legOpposite] {
		c[legOpposite], c[legOppositeX] = low, x
	}
	top, bottom, topX, bottomX := c[legFar], c[legOpposite], c[legFarX], c[legOppositeX]
	switch {
	case topX == x && topX > bottomX && z.reached(top-bottom, bottom, span):
		c[legTrend], c[legEnd], c[legEndX] = 1, bottom, bottomX
	case bottomX == x && bottomX > topX && z.reached(top-bottom, top, span):
		c[legTrend], c[legEnd], c[legEndX], c[legFar], c[legFarX] = -1, top, topX, bottom, bottomX
	default:
		return
	}
	c[legSpan] = span
}

// reached reports whether the price has come back far enough from an extreme.
func (z *legs) reached(distance, from, span float64) bool {
	if z.percent {
		return distance >= float64(z.deviation/100*math.Abs(from))
	}
	return distance >= float64(z.deviation*span)
}
