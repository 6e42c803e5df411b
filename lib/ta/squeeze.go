package ta

import (
	"fmt"

	"candela/lib/ta/calc"
)

// The columns of a squeeze.
const (
	squeezeMomentum = iota
	squeezeOn       // 1 while the squeeze is on, else 0
	squeezeColumns
)

func squeeze() Def {
	return Def{
		Name: "squeeze", Aliases: []string{"ttm_squeeze", "sqzmom"}, Kind: Panel, Group: GroupVolatility,
		Doc: "Squeeze momentum: Bollinger bands within Keltner's; a strip marks the squeeze.",
		Formula: "On while the Bollinger bands (SMA and bb_mult population deviations of `length` bars) lie within the channel of that SMA and kc_mult x SMA(true range, length). " +
			"Momentum = the end of the line of least squares through `length` values of close - ((highest high + lowest low) / 2 + SMA(close)) / 2; below 1e-12 of the price it is zero.",
		Truth: "LazyBear's Squeeze Momentum on TradingView, with bb_mult for the bands, as pandas-ta squeeze",
		Params: []Param{
			Int("length", 20, 2, 5000, "bars of all parts").As("period"),
			Num("bb_mult", 2, 0, 100, "Bollinger bands in deviations"), Num("kc_mult", 1.5, 0, 100, "channel in average ranges"),
		},
		Lines: []string{"Momentum", "Squeeze"},
		Signals: []Trigger{
			{"squeeze_on", "the bands go inside the channel; y is the momentum"},
			{"squeeze_off", "the bands leave the channel; y is the momentum"},
			{"squeeze_fire_up", "the bands leave the channel while the momentum is above zero; y is the momentum"},
			{"squeeze_fire_down", "the bands leave the channel while the momentum is below zero; y is the momentum"},
		},
		New: func(v Values) Instance {
			n, bands, channel := v.Int("length"), v.Num("bb_mult"), v.Num("kc_mult")
			return &series{
				label: fmt.Sprintf("Squeeze(%d, %s, %s)", n, number(bands), number(channel)), first: 2*n - 2, stable: 2 * n, columns: squeezeColumns,
				lines: styled(Hidden, "Momentum", "Squeeze"), levels: []HLine{{Y: 0, Style: Zero}},
				begin:  func(m *calc.Slab, _ Env) step { return newSqueeze(m, n, bands, channel).next },
				detect: detectSqueeze,
				byBar:  true,
				present: func(r *Result, col [][]float64) {
					r.Hist = []Hist{
						{Label: "Momentum", Values: col[squeezeMomentum], Style: Momentum},
						{Label: "Squeeze", Values: col[squeezeOn], Style: State},
					}
				},
			}
		},
	}
}

func detectSqueeze(r *Row) {
	y := r.Values[squeezeMomentum]
	switch r.Values[squeezeOn] - r.Prev[squeezeOn] {
	case 1:
		r.Signal("squeeze_on", y)
	case -1:
		r.Signal("squeeze_off", y)
		switch {
		case y > 0:
			r.Signal("squeeze_fire_up", y)
		case y < 0:
			r.Signal("squeeze_fire_down", y)
		}
	}
}

// squeezing computes the momentum and whether the bands are inside the channel.
type squeezing struct {
	bands, channel float64
	deviation      calc.DeviationState
	tr             calc.TrueRangeState
	ranges         calc.SMAState
	top, low       calc.ExtremeState
	line           calc.LinRegState
}

func newSqueeze(m *calc.Slab, n int, bands, channel float64) *squeezing {
	return &squeezing{
		bands: bands, channel: channel, deviation: m.Deviation(n), tr: m.TrueRange(), ranges: m.SMA(n),
		top: m.Max(n), low: m.Min(n), line: m.LinReg(n),
	}
}

func (s *squeezing) next(r *Row) {
	b := r.Bar
	mean, dev := s.deviation.Step(r.Slot, b.C)
	reach := s.ranges.Step(r.Slot, s.tr.Step(b.H, b.L, b.C))
	middle := (s.top.Step(b.H) + s.low.Step(b.L)) / 2
	_, _, end := s.line.Step(r.Slot, b.C-(middle+mean)/2)
	r.Values[squeezeMomentum] = unless(end, b.C)
	// Both are around the same mean, so one side decides.
	switch {
	case end != end:
	case s.bands*dev < s.channel*reach:
		r.Values[squeezeOn] = 1
	default:
		r.Values[squeezeOn] = 0
	}
}
