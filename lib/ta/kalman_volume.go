package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

// The fixed figures of the Kalman volume filter.
const (
	kvfZone   = 0.6 // where it counts as overbought, and its negative as oversold
	kvfWindow = 200 // bars that the values are scaled over
	kvfCap    = 0.8 // longest volume bar drawn
)

func kalmanVolume() Def {
	return Def{
		Name: "kalman_volume", Aliases: []string{"kalman", "kvf"}, Kind: Panel, Group: GroupVolume,
		Doc: "Kalman volume filter: signed volume, smoothed; crosses with its signal line give entries, beyond 0.6 is extreme.",
		Formula: "v = volume, negative when the close is not above that of two bars before (the first two count as up); " +
			"z = HMA(v, vzo_length) / HMA(volume, vzo_length), divided by its population standard deviation over 200 bars; KVF moves to z by k of the distance, from 0; " +
			"Signal = SMA(KVF, sig_length). Volume bars are volume / its deviation over 200 bars / 10, at most 0.8. No value before 200 bars.",
		Truth: "own definition after the public one; second derivation in the tests",
		Params: []Param{
			Int("vzo_length", 70, 2, 2000, "bars of the Hull averages").As("length", "period"),
			Num("k", 0.06, 0.0001, 1, "gain of the filter"),
			Int("sig_length", 10, 1, 1000, "bars of the signal line").As("signal"),
		},
		Lines: []string{"KVF", "Signal"},
		Signals: []Trigger{
			{"buy_oversold", "KVF goes from at or below Signal to above it from below -0.6; drawn at the bar before, confirmed at this one; y is the KVF there"},
			{"sell_overbought", "KVF goes from at or above Signal to below it from above 0.6; drawn at the bar before, confirmed at this one; y is the KVF there"},
			{"buy", "KVF goes from at or below Signal to above it from between -0.6 and 0.6; drawn at the bar before, confirmed at this one; y is the KVF there"},
			{"sell", "KVF goes from at or above Signal to below it from between -0.6 and 0.6; drawn at the bar before, confirmed at this one; y is the KVF there"},
		},
		New: newKalmanVolume,
	}
}

func newKalmanVolume(v Values) Instance {
	n, gain, sig := v.Int("vzo_length"), v.Num("k"), v.Int("sig_length")
	const kvf, signal, up, down, zoneTop, zoneBottom, columns = 0, 1, 2, 3, 4, 5, 6
	hull := n - 1 + int(math.Sqrt(float64(n))) - 1
	first := hull + kvfWindow - 1
	return &series{
		label: fmt.Sprintf("KVF(%d, %s, %d)", n, number(gain), sig), first: first,
		// Each bar multiplies the start by (1-k); 1e-16 of it is left after 37/k bars.
		stable: first + sig + int(40/gain), columns: columns,
		lines: solid("KVF", "Signal"), levels: []HLine{{Y: 0, Style: Zero}}, yRange: &[2]float64{-2.5, 2.5},
		begin: func(m *calc.Slab, _ Env) step {
			f := newVolumeFilter(m, n, gain)
			mean := m.SMA(sig)
			return func(r *Row) {
				value, height := f.next(r)
				r.Values[kvf], r.Values[signal] = value, mean.Step(r.Slot, value)
				r.Values[up], r.Values[down] = height, -height
				r.Values[zoneTop], r.Values[zoneBottom] = kvfZone+0*value, -kvfZone+0*value
			}
		},
		detect: func(r *Row) { detectKVF(r, kvf, signal) },
		byBar:  true,
		present: func(r *Result, col [][]float64) {
			r.Hist = []Hist{{Label: "Volume", Values: col[up], Style: Plain}, {Label: "Volume", Values: col[down], Style: Plain}}
			r.Fills = []Fill{
				{Y1: col[kvf], Y2: col[signal], Style: Cloud},
				{Y1: level(col[kvf], 2), Y2: col[zoneTop], Style: Zone},
				{Y1: col[zoneBottom], Y2: level(col[kvf], -2), Style: Zone},
			}
		},
	}
}

func detectKVF(r *Row, kvf, signal int) {
	was := r.Prev[kvf]
	raise := func(extreme bool, far, near string) {
		switch {
		case extreme:
			r.SignalAt(r.Index-1, far, was)
		case math.Abs(was) < kvfZone:
			r.SignalAt(r.Index-1, near, was)
		}
	}
	if r.CrossedUp(kvf, signal) {
		raise(was < -kvfZone, "buy_oversold", "buy")
	}
	if r.CrossedDown(kvf, signal) {
		raise(was > kvfZone, "sell_overbought", "sell")
	}
}

// volumeFilter is the arithmetic of the KVF.
type volumeFilter struct {
	gain           float64
	signed, volume calc.HMAState
	spread, scale  calc.DeviationState
	back           calc.LagState
	value          calc.Cells
}

func newVolumeFilter(m *calc.Slab, n int, gain float64) *volumeFilter {
	return &volumeFilter{
		gain: gain, signed: m.HMA(n), volume: m.HMA(n),
		spread: m.Deviation(kvfWindow), scale: m.Deviation(kvfWindow), back: m.Lag(2), value: m.Cells(1),
	}
}

func (f *volumeFilter) next(r *Row) (value, height float64) {
	before, v := f.back.Step(r.Bar.C), r.Bar.V
	if r.Bar.C <= before {
		v = -v
	}
	zone := f.signed.Step(r.Slot, v) / f.volume.Step(r.Slot, r.Bar.V)
	if math.IsInf(zone, 0) {
		zone = math.NaN() // no volume to compare with
	}
	_, spread := f.spread.Step(r.Slot, zone)
	_, scale := f.scale.Step(r.Slot, r.Bar.V)
	z, state := zone/spread, f.value.Mem()
	if math.IsNaN(z) || math.IsInf(z, 0) {
		return math.NaN(), math.NaN()
	}
	state[0] = float64(f.gain*z) + float64((1-f.gain)*state[0])
	return state[0], min(r.Bar.V/scale/10, kvfCap)
}
