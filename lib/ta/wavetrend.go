package ta

import (
	"fmt"
	"math"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

func waveTrend() Def {
	return Def{
		Name: "wavetrend", Aliases: []string{"wt"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "WaveTrend oscillator: a smoothed channel index; crosses of its two lines in the extreme zones mark turns.",
		Formula: waveFormula + " WT2 = SMA(WT1, ma_len).",
		Truth:   "TradingView, after the public WaveTrend definition",
		Params: []Param{
			Int("ch_len", 9, 1, 1000, "bars of the channel averages").As("channel_length"),
			Int("avg_len", 12, 1, 1000, "bars of the smoothing").As("average_length"),
			Int("ma_len", 3, 1, 1000, "bars of the second line"),
			Num("overbought", 53, -1000, 1000, "upper level"),
			Num("oversold", -53, -1000, 1000, "lower level"),
		},
		Lines: []string{"WT1", "WT2"},
		Signals: []Trigger{
			{"cross_up_os", "WT1 goes from at or below WT2 to above it while WT2 is at or below `oversold`; y is WT2"},
			{"cross_down_ob", "WT1 goes from at or above WT2 to below it while WT2 is at or above `overbought`; y is WT2"},
			{"cross_up", "WT1 goes from at or below WT2 to above it while WT2 is above `oversold`; y is WT2"},
			{"cross_down", "WT1 goes from at or above WT2 to below it while WT2 is below `overbought`; y is WT2"},
		},
		New: func(v Values) Instance {
			channel, average, second := v.Int("ch_len"), v.Int("avg_len"), v.Int("ma_len")
			top, bottom := v.Num("overbought"), v.Num("oversold")
			const wt1, wt2, difference, zero = 0, 1, 2, 3
			return &series{
				label: fmt.Sprintf("WaveTrend(%d, %d)", channel, average),
				first: waveFirst(channel, average), stable: waveStable(channel, average) + second, columns: 4,
				lines: solid("WT1", "WT2"), yRange: &[2]float64{-105, 105},
				levels: []HLine{{Y: top, Label: "overbought"}, {Y: bottom, Label: "oversold"}, {Y: 0, Style: Zero}},
				begin: func(m *calc.Slab, _ Env) step {
					w := newWave(m, channel, average, second)
					return func(r *Row) {
						a, b := w.next(r)
						r.Values[wt1], r.Values[wt2], r.Values[difference], r.Values[zero] = a, b, a-b, 0*(a-b)
					}
				},
				batch: func(in Input, col [][]float64) {
					waveBatch(in, col[wt1], col[wt2], channel, average, second)
					for i, a := range col[wt1] {
						d := a - col[wt2][i]
						col[difference][i], col[zero][i] = d, 0*d
					}
				},
				detect: func(r *Row) { detectWave(r, wt1, wt2, top, bottom) },
				byBar:  true,
				present: func(r *Result, col [][]float64) {
					r.Fills = []Fill{
						{Y1: col[wt1], Y2: col[wt2], Style: Cloud},
						{Y1: col[difference], Y2: col[zero], Style: Area},
					}
				},
			}
		},
	}
}

const waveFormula = "esa = EMA(hlc3, channel); d = EMA(|hlc3 - esa|, channel); ci = (hlc3 - esa) / (0.015 d), 0 while d is 0; hlc3 - esa below 1e-12 of the price is 0; WT1 = EMA(ci, average)."

func detectWave(r *Row, wt1, wt2 int, top, bottom float64) {
	y := r.Values[wt2]
	switch {
	case r.CrossedUp(wt1, wt2) && !above(y, bottom):
		r.Signal("cross_up_os", y)
	case r.CrossedUp(wt1, wt2):
		r.Signal("cross_up", y)
	case r.CrossedDown(wt1, wt2) && !below(y, top):
		r.Signal("cross_down_ob", y)
	case r.CrossedDown(wt1, wt2):
		r.Signal("cross_down", y)
	}
}

// wave is the WaveTrend arithmetic, shared with Cipher B.
type wave struct {
	esa, deviation, first calc.EMAState
	second                calc.SMAState
}

func newWave(m *calc.Slab, channel, average, second int) *wave {
	return &wave{esa: m.EMA(channel), deviation: m.EMA(channel), first: m.EMA(average), second: m.SMA(second)}
}

// next treats the price and its average as equal when they differ only by rounding.
// With an unchanged price the average stays a few last bits away; the spread shrinks
// to the same size, and their quotient would approach 1/0.015.
func (w *wave) next(r *Row) (wt1, wt2 float64) {
	price := hlc3(r.Bar)
	away := calc.Difference(price, w.esa.Step(price))
	wt1 = w.first.Step(waveIndex(away, w.deviation.Step(math.Abs(away))))
	return wt1, w.second.Step(r.Slot, wt1)
}

// waveIndex is the channel index of a price that is away from its average.
func waveIndex(away, deviation float64) float64 {
	scale := float64(0.015 * deviation)
	if scale == 0 { // also for a nearly vanished spread, thousands of bars after the last move
		return 0
	}
	return away / scale
}

// waveBatch is next over all bars.
func waveBatch(in Input, wt1, wt2 []float64, channel, average, second int) {
	b := in.Bars
	away := in.Memory.take(b.Len())
	for i := range away {
		away[i] = hlc3(market.Bar{H: b.H[i], L: b.L[i], C: b.C[i]})
	}
	esa := wt1 // the two results hold other columns first
	calc.EMA(esa, away, channel)
	spread, deviation := wt2, wt1
	for i, price := range away {
		away[i] = calc.Difference(price, esa[i])
		spread[i] = math.Abs(away[i])
	}
	calc.EMA(deviation, spread, channel)
	for i, d := range deviation {
		away[i] = waveIndex(away[i], d)
	}
	calc.EMA(wt1, away, average)
	calc.SMA(wt2, wt1, second, in.slots())
}

func waveFirst(channel, average int) int { return 2*(channel-1) + average - 1 }
func waveStable(channel, average int) int {
	return 2*emaStable(channel) + emaStable(average)
}
