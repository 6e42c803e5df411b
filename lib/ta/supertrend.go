package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

func supertrend() Def {
	return Def{
		Name: "supertrend", Aliases: []string{"st"}, Kind: Overlay, Group: GroupTrend,
		Doc: "Supertrend: a trailing stop in average true ranges; below the price in an uptrend and above it in a downtrend.",
		Formula: "Bands = (h+l)/2 +- multiplier x ATR(period). The lower band only rises while the close stays above it, the upper only falls while the close stays below. " +
			"The line is the upper band until a close above it, then the lower band until a close below it. It starts down.",
		Truth: "TradingView ta.supertrend (Skender leaves the first bar out of the range and agrees within 1e-6 from bar 200 on)",
		Params: []Param{
			Int("period", 10, 1, 5000, "bars in the average true range").As("length", "atr_length"),
			Num("multiplier", 3, 0.01, 100, "band distance in average true ranges").As("mult", "factor", "std_dev"),
		},
		Order: []string{"period", "multiplier"},
		Lines: []string{"Supertrend"},
		Signals: []Trigger{
			{"flip_up", "the close went above the upper band and the trend turned up; y is the lower band"},
			{"flip_down", "the close went below the lower band and the trend turned down; y is the upper band"},
		},
		New: func(v Values) Instance {
			n, k := v.Int("period"), v.Num("multiplier")
			return &series{
				label: fmt.Sprintf("Supertrend(%d, %s)", n, number(k)), first: n - 1,
				// The bands depend on their start until a flip.
				stable: wilderStable(n) + 500, columns: 1, lines: styled(Trend, "Supertrend"),
				begin: func(m *calc.Slab, _ Env) step {
					t := trendStop{atr: m.ATR(n), k: k, cells: m.Cells(trendCells)}
					return t.next
				},
			}
		},
	}
}

// trendStop is the state of a Supertrend.
type trendStop struct {
	atr   calc.ATRState
	k     float64
	cells calc.Cells
}

// The cells of trendStop, all of the previous bar.
const (
	trendKnown = iota // 1 once there are bands
	trendUpper
	trendLower
	trendLine
	trendClose
	trendRising // 1 or 0
	trendCells
)

func (t *trendStop) next(r *Row) {
	m, b := t.cells.Mem(), r.Bar
	width := float64(t.k * t.atr.Step(b.H, b.L, b.C))
	if math.IsNaN(width) || math.IsNaN(b.C) {
		m[trendClose] = b.C
		return
	}
	mid := (b.H + b.L) / 2
	upper, lower := mid+width, mid-width
	rising := false
	if m[trendKnown] == 1 {
		if lower <= m[trendLower] && m[trendClose] >= m[trendLower] {
			lower = m[trendLower]
		}
		if upper >= m[trendUpper] && m[trendClose] <= m[trendUpper] {
			upper = m[trendUpper]
		}
		// The line's value shows which band it was on, as in the public script: where both
		// bands meet it counts as the upper one.
		if m[trendLine] == m[trendUpper] {
			rising = b.C > upper
		} else {
			rising = b.C >= lower
		}
		if was := m[trendRising] == 1; rising && !was {
			r.Signal("flip_up", lower)
		} else if was && !rising {
			r.Signal("flip_down", upper)
		}
	}
	line, up := upper, 0.0
	if rising {
		line, up = lower, 1
	}
	m[trendKnown], m[trendUpper], m[trendLower], m[trendLine], m[trendClose], m[trendRising] = 1, upper, lower, line, b.C, up
	r.Values[0] = line
}
