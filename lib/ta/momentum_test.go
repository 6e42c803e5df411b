package ta

import (
	"math"
	"slices"
	"testing"

	"candela/lib/market"
)

// The tests of this file derive indicators a second time, with plain loops over the whole
// history.

// agrees requires a line within 1e-9 of the values a second derivation gives, NaN in the
// same places.
func agrees(t *testing.T, name string, got, want []float64) {
	t.Helper()
	known := 0
	for i, y := range want {
		x := got[i]
		if math.IsNaN(x) != math.IsNaN(y) || math.Abs(x-y) > 1e-9*max(1, math.Abs(y)) {
			t.Fatalf("%s: bar %d is %v, want %v", name, i, x, y)
		}
		if !math.IsNaN(y) {
			known++
		}
	}
	if known < len(want)/2 {
		t.Fatalf("%s: only %d of %d values were compared", name, known, len(want))
	}
}

// plainEMA is an EMA seeded with the mean of the first n values of x from the first on.
func plainEMA(x []float64, n int) []float64 {
	out := slices.Repeat([]float64{math.NaN()}, len(x))
	from := slices.IndexFunc(x, func(v float64) bool { return !math.IsNaN(v) })
	if from < 0 || from+n > len(x) {
		return out
	}
	mean := 0.0
	for _, v := range x[from : from+n] {
		mean += v / float64(n)
	}
	out[from+n-1] = mean
	for i := from + n; i < len(x); i++ {
		mean += (x[i] - mean) * 2 / float64(n+1)
		out[i] = mean
	}
	return out
}

// plainPlace is where each value lies within its last n, smoothed; the place before holds
// where there is no range.
func plainPlace(x []float64, n int, factor float64) []float64 {
	out := slices.Repeat([]float64{math.NaN()}, len(x))
	place, mean := 0.0, math.NaN()
	for i := n - 1; i < len(x); i++ {
		window := x[i-n+1 : i+1]
		if math.IsNaN(window[0]) {
			continue
		}
		low, high := slices.Min(window), slices.Max(window)
		if high-low > 1e-12*max(math.Abs(high), math.Abs(low)) {
			place = 100 * (x[i] - low) / (high - low)
		}
		if math.IsNaN(mean) {
			mean = place
		}
		mean = (1-factor)*mean + factor*place
		out[i] = mean
	}
	return out
}

func TestSTC_SecondDerivation(t *testing.T) {
	t.Parallel()
	for text, p := range map[string]struct {
		n, fast, slow int
		factor        float64
	}{
		"stc": {10, 23, 50, 0.5},
		`stc {"length":5,"fast":4,"slow":9,"factor":0.25}`: {5, 4, 9, 0.25},
	} {
		b := walk(1_500, 4)
		fast, slow := plainEMA(b.C, p.fast), plainEMA(b.C, p.slow)
		for i := range fast {
			fast[i] -= slow[i]
		}
		want := plainPlace(plainPlace(fast, p.n, p.factor), p.n, p.factor)
		agrees(t, text, lineOf(t, resolved(t, text, b), "STC"), want)
	}
}

// TestRCI_SecondDerivation takes the places among the sorted prices; TestOracles_TradingView
// has equal prices.
func TestRCI_SecondDerivation(t *testing.T) {
	t.Parallel()
	for text, n := range map[string]int{"rci": 10, `rci {"length":37}`: 37} {
		b := walk(800, 6)
		want := slices.Repeat([]float64{math.NaN()}, b.Len())
		for i := n - 1; i < b.Len(); i++ {
			window := b.C[i-n+1 : i+1]
			sorted := slices.Sorted(slices.Values(window))
			sum, square, mean := 0.0, 0.0, float64(n-1)/2
			for k, x := range window {
				place := slices.Index(sorted, x)
				sum += (float64(k) - mean) * (float64(place) - mean)
				square += (float64(k) - mean) * (float64(k) - mean)
			}
			want[i] = 100 * sum / square
		}
		agrees(t, text, lineOf(t, resolved(t, text, b), "RCI"), want)
	}
	if got, want := rankCorrelation([]float64{1, 2, 2, 3}), 100*4.5/math.Sqrt(5*4.5); math.Abs(got-want) > 1e-12 {
		t.Errorf("two equal prices give %v, want %v", got, want)
	}
	if got := rankCorrelation([]float64{2, 2, 2}); !math.IsNaN(got) {
		t.Errorf("prices that stand still give %v, want none", got)
	}
	if up, down := rankCorrelation([]float64{1, 2, 5}), rankCorrelation([]float64{5, 2, 1}); up != 100 || down != -100 {
		t.Errorf("steady prices give %v and %v, want 100 and -100", up, down)
	}
}

// TestMomentum_StandsStillWithTheMarket requires that oscillators around zero raise no
// signal from rounding where the price does not move.
func TestMomentum_StandsStillWithTheMarket(t *testing.T) {
	t.Parallel()
	const moving, still = 200, 600
	for _, name := range []string{"momentum", "ao", "ac", "apo", "dpo", "qstick", "coppock", "fosc", "squeeze", "aroon_osc", "cmo", "bop", "trix", "fisher", "rci", "mama", "ht_sine", "anchored_vwap"} {
		for seed := range uint64(3) {
			for _, perUnit := range []float64{10, 1000} {
				r := resolved(t, name, priced(stopped(moving, still, seed, false), perUnit))
				for _, s := range r.Signals {
					if s.Confirmed > moving+300 {
						t.Errorf("%s, seed %d, %v ticks a unit: %s %d bars after the market stopped", name, seed, perUnit, s.Label, s.Confirmed-moving)
					}
				}
			}
		}
	}
}

// TestCVI_HasNoValueAfterAMarketWithoutRange starts a market again after hundreds of bars
// without a range, of which the average range is a rest of rounding.
func TestCVI_HasNoValueAfterAMarketWithoutRange(t *testing.T) {
	t.Parallel()
	b := priced(append(stopped(100, 300, 1, false), stopped(60, 0, 2, false)...), 100)
	for i, x := range lineOf(t, resolved(t, "cvi", b), "CVI") {
		if math.Abs(x) > 1e6 {
			t.Fatalf("bar %d: the range changed by %g percent", i, x)
		}
	}
}

// TestChandelier_TurnsAtItsFirstBar has closes that fall: the first close is below its own
// long stop, so that the trend is down from there.
func TestChandelier_TurnsAtItsFirstBar(t *testing.T) {
	t.Parallel()
	b := market.MakeBars(8, false)
	for i := range 8 {
		c := float64(100 - i)
		b.Append(market.Bar{T: testStart + int64(i)*market.Hour1.Seconds(), O: c, H: c, L: c, C: c, V: 1, TakerBuy: math.NaN()})
	}
	r := resolved(t, `chandelier {"length": 5, "multiplier": 1}`, &b)
	if got, want := lineOf(t, r, "Chandelier")[4], 96+0.8; math.Abs(got-want) > 1e-12 {
		t.Errorf("the first stop is %v, want the short one, %v", got, want)
	}
	if len(r.Signals) != 1 || r.Signals[0].Label != "flip_down" || r.Signals[0].Confirmed != 4 {
		t.Errorf("signals %v, want flip_down at 4", r.Signals)
	}
}

// TestSignals_Squeeze finds the signals from the strip and the momentum.
func TestSignals_Squeeze(t *testing.T) {
	t.Parallel()
	_, r := computed(t, "squeeze")
	momentum, on := lineOf(t, r, "Momentum"), lineOf(t, r, "Squeeze")
	leaves := func(i int) bool { return on[i-1] == 1 && on[i] == 0 }
	expect(t, r, "squeeze_on", len(on), func(i int) bool { return on[i-1] == 0 && on[i] == 1 })
	expect(t, r, "squeeze_off", len(on), leaves)
	expect(t, r, "squeeze_fire_up", len(on), func(i int) bool { return leaves(i) && momentum[i] > 0 })
	expect(t, r, "squeeze_fire_down", len(on), func(i int) bool { return leaves(i) && momentum[i] < 0 })
}

// TestSignals_OscillatorsOfMomentum finds the crosses and the exits of zones from the
// finished lines.
func TestSignals_OscillatorsOfMomentum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, a, b string }{
		{"ppo", "PPO", "Signal"},
		{"tsi", "TSI", "Signal"},
		{"smi", "SMI", "Signal"},
		{"kst", "KST", "Signal"},
		{"pmo", "PMO", "Signal"},
		{"rvgi", "RVGI", "Signal"},
		{"kdj", "K", "D"},
		{"aroon", "Aroon Up", "Aroon Down"},
		{"vortex", "VI+", "VI-"},
		{"dm", "+DM", "-DM"},
		{"fisher", "Fisher", "Trigger"},
		{"mama", "MAMA", "FAMA"},
		{"ht_sine", "Sine", "Lead Sine"},
	} {
		_, r := computed(t, c.name)
		a, b := lineOf(t, r, c.a), lineOf(t, r, c.b)
		expect(t, r, "cross_up", len(a), func(i int) bool { return a[i-1] <= b[i-1] && a[i] > b[i] })
		expect(t, r, "cross_down", len(a), func(i int) bool { return a[i-1] >= b[i-1] && a[i] < b[i] })
	}
	for name, line := range map[string]string{
		"momentum": "Mom", "ao": "AO", "ac": "AC", "apo": "APO", "cmo": "CMO", "coppock": "Coppock", "dpo": "DPO", "bop": "BOP",
		"qstick": "QStick", "fosc": "FOSC", "trix": "TRIX", "aroon_osc": "Aroon Osc",
	} {
		_, r := computed(t, name)
		x := lineOf(t, r, line)
		expect(t, r, "cross_up", len(x), func(i int) bool { return x[i-1] <= 0 && x[i] > 0 })
		expect(t, r, "cross_down", len(x), func(i int) bool { return x[i-1] >= 0 && x[i] < 0 })
	}
	for _, c := range []struct {
		name, line  string
		bottom, top float64
	}{{"ultimate", "UO", 30, 70}, {"imi", "IMI", 30, 70}, {"psl", "PSL", 25, 75}, {"stc", "STC", 25, 75}, {"rci", "RCI", -80, 80}, {"connors_rsi", "CRSI", 30, 70}} {
		_, r := computed(t, c.name)
		x := lineOf(t, r, c.line)
		expect(t, r, "cross_up_os", len(x), func(i int) bool { return x[i-1] < c.bottom-levelNoise && x[i] >= c.bottom-levelNoise })
		expect(t, r, "cross_down_ob", len(x), func(i int) bool { return x[i-1] > c.top+levelNoise && x[i] <= c.top+levelNoise })
	}
	_, r := computed(t, "stoch_rsi")
	k, d := lineOf(t, r, "K"), lineOf(t, r, "D")
	expect(t, r, "stoch_oversold", len(k), func(i int) bool { return k[i-1] <= d[i-1] && k[i] > d[i] && k[i] < 20 })
	expect(t, r, "stoch_overbought", len(k), func(i int) bool { return k[i-1] >= d[i-1] && k[i] < d[i] && k[i] > 80 })
}
