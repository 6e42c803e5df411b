package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

func ichimoku() Def {
	return Def{
		Name: "ichimoku", Aliases: []string{"ichi"}, Kind: Overlay, Group: GroupTrend,
		Doc: "Ichimoku cloud: two lines, two spans, lagging close; the lines are conversion and base.",
		Formula: "Tenkan, Kijun and Senkou B are midpoints of highest high and lowest low over their lengths; Senkou A is the mean of Tenkan and Kijun. " +
			"The spans are drawn displacement - 1 bars ahead, Chikou (the close) displacement - 1 bars back. Span values beyond the last bar are drawn, not given.",
		Truth: "TradingView Ichimoku cloud",
		Params: []Param{
			Int("tenkan", 9, 1, 5000, "bars of the conversion line"),
			Int("kijun", 26, 1, 5000, "bars of the base line"),
			Int("senkou_b", 52, 1, 5000, "bars of the slow span"),
			Int("displacement", 26, 1, 1000, "how far the spans are drawn ahead and the close back, counting the bar itself"),
		},
		Order:   []string{"tenkan", "kijun", "senkou_b", "displacement"},
		Lines:   []string{"Tenkan", "Kijun", "Senkou A", "Senkou B", "Chikou"},
		Signals: crossTriggers("Tenkan", "Kijun"),
		New: func(v Values) Instance {
			n, ahead := [3]int{v.Int("tenkan"), v.Int("kijun"), v.Int("senkou_b")}, v.Int("displacement")-1
			const tenkan, kijun, spanA, spanB, closes, nextA, nextB = 0, 1, 2, 3, 4, 5, 6
			return &series{
				label: fmt.Sprintf("Ichimoku(%d, %d, %d, %d)", n[0], n[1], n[2], ahead+1),
				first: n[0] - 1, stable: max(n[0], n[1], n[2]) + ahead, columns: 7,
				lines: append(solid("Tenkan", "Kijun"), styled(Band, "Senkou A", "Senkou B", "Chikou")...),
				begin: func(m *calc.Slab, _ Env) step {
					var high, low [3]calc.ExtremeState
					for i := range n {
						high[i], low[i] = m.Max(n[i]), m.Min(n[i])
					}
					a, b := m.Lag(ahead), m.Lag(ahead)
					return func(r *Row) {
						var mid [3]float64
						for i := range n {
							mid[i] = (high[i].Step(r.Bar.H) + low[i].Step(r.Bar.L)) / 2
						}
						r.Values[tenkan], r.Values[kijun], r.Values[closes] = mid[0], mid[1], r.Bar.C
						r.Values[nextA], r.Values[nextB] = (mid[0]+mid[1])/2, mid[2]
						r.Values[spanA], r.Values[spanB] = a.Step(r.Values[nextA]), b.Step(r.Values[nextB])
					}
				},
				detect: func(r *Row) { r.crosses(tenkan, kijun) },
				present: func(r *Result, col [][]float64) {
					drawBack(col[closes], ahead)
					from := max(0, len(col[nextA])-ahead)
					aheadA, aheadB := col[nextA][from:], col[nextB][from:]
					r.Lines[spanA].Ahead, r.Lines[spanB].Ahead = aheadA, aheadB
					r.Fills = []Fill{{Y1: col[spanA], Y2: col[spanB], Style: Cloud, Ahead1: aheadA, Ahead2: aheadB}}
				},
			}
		},
	}
}

// drawBack moves a column k bars to the left; the last k bars have no value yet.
func drawBack(values []float64, k int) {
	k = min(k, len(values))
	copy(values, values[k:])
	setAll(values[len(values)-k:], math.NaN())
}
