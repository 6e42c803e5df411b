package ta

import (
	"math"
	"slices"
	"testing"
	"time"

	"candela/lib/market"
)

// The tests of this file derive values a second time, with loops over the bars of each
// window.

// derive compares a line with f(i) from the first bar that has a value on: NaN before.
func derive(t *testing.T, text, line string, b *market.Bars, first int, f func(i int) float64) {
	t.Helper()
	got := lineOf(t, resolved(t, text, b), line)
	for i, x := range got {
		want := math.NaN()
		if i >= first {
			want = f(i)
		}
		if math.IsNaN(x) != math.IsNaN(want) || math.Abs(x-want) > 1e-10*max(1, math.Abs(want)) {
			t.Fatalf("%s at %d: %v, want %v", text, i, x, want)
		}
	}
}

// meanOf is the mean of f over the n bars that end at i.
func meanOf(i, n int, f func(k int) float64) float64 {
	sum := 0.0
	for k := i - n + 1; k <= i; k++ {
		sum += f(k)
	}
	return sum / float64(n)
}

// sampleVariance is the variance of f over the n bars that end at i.
func sampleVariance(i, n int, f func(k int) float64) float64 {
	mean := meanOf(i, n, f)
	return meanOf(i, n, func(k int) float64 { return (f(k) - mean) * (f(k) - mean) }) * float64(n) / float64(n-1)
}

func TestRangeVolatility_SecondDerivation(t *testing.T) {
	t.Parallel()
	const n, barsAYear = 7, 365 * 24
	b := walk(200, 3)
	for i := 1; i < b.Len(); i += 5 { // gaps between bars
		b.O[i] = (b.H[i] + b.L[i]) / 2
	}
	year := func(variance float64) float64 { return 100 * math.Sqrt(variance*barsAYear) }
	ln := math.Log
	rs := func(k int) float64 {
		return ln(b.H[k]/b.C[k])*ln(b.H[k]/b.O[k]) + ln(b.L[k]/b.C[k])*ln(b.L[k]/b.O[k])
	}
	derive(t, `parkinson {"length":7}`, "Parkinson", b, n-1, func(i int) float64 {
		return year(meanOf(i, n, func(k int) float64 { return math.Pow(ln(b.H[k])-ln(b.L[k]), 2) }) / (4 * ln(2)))
	})
	derive(t, `garman_klass {"length":7}`, "GK", b, n-1, func(i int) float64 {
		return year(meanOf(i, n, func(k int) float64 {
			return math.Pow(ln(b.H[k])-ln(b.L[k]), 2)/2 - (2*ln(2)-1)*math.Pow(ln(b.C[k])-ln(b.O[k]), 2)
		}))
	})
	derive(t, `rogers_satchell {"length":7}`, "RS", b, n-1, func(i int) float64 { return year(meanOf(i, n, rs)) })
	derive(t, `yang_zhang {"length":7}`, "YZ", b, n, func(i int) float64 {
		night := sampleVariance(i, n, func(k int) float64 { return ln(b.O[k]) - ln(b.C[k-1]) })
		day := sampleVariance(i, n, func(k int) float64 { return ln(b.C[k]) - ln(b.O[k]) })
		k := 0.34 / (1.34 + 8.0/6)
		return year(night + k*day + (1-k)*meanOf(i, n, rs))
	})
}

// TestHurst_SecondDerivation fits the line through the five points with the general
// formula, and knows the exponent of a straight line.
func TestHurst_SecondDerivation(t *testing.T) {
	t.Parallel()
	const n = 40
	b := walk(150, 4)
	derive(t, `hurst {"length":40}`, "Hurst", b, n-1, func(i int) float64 {
		var sx, sy, sxx, sxy float64
		for lag := 1; lag <= 16; lag *= 2 {
			squares := meanOf(i, n-lag, func(k int) float64 { return math.Pow(math.Log(b.C[k]/b.C[k-lag]), 2) })
			x, y := math.Log(float64(lag)), math.Log(math.Sqrt(squares))
			sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
		}
		return (5*sxy - sx*sy) / (5*sxx - sx*sx)
	})
	for i := range b.C {
		b.C[i] = math.Exp(float64(i) / 100)
	}
	derive(t, "hurst", "Hurst", b, 99, func(int) float64 { return 1 })
	for i := range b.C {
		b.C[i] = 100
	}
	derive(t, "hurst", "Hurst", b, 99, func(int) float64 { return math.NaN() })
}

func TestUpDownVolume_SecondDerivation(t *testing.T) {
	t.Parallel()
	const n = 9
	b := walk(300, 5)
	b.C[50] = b.C[49]
	derive(t, `up_down_volume {"length":9}`, "U/D", b, n, func(i int) float64 {
		up, down := 0.0, 0.0
		for k := i - n + 1; k <= i; k++ {
			if b.C[k] > b.C[k-1] {
				up += b.V[k]
			}
			if b.C[k] < b.C[k-1] {
				down += b.V[k]
			}
		}
		if down == 0 {
			return math.NaN()
		}
		return up / down
	})
}

func TestVolumeDelta_SecondDerivation(t *testing.T) {
	t.Parallel()
	b := walk(100, 6)
	b.TakerBuy[7] = math.NaN()
	derive(t, "volume_delta", "Delta", b, 0, func(i int) float64 { return b.TakerBuy[i] - (b.V[i] - b.TakerBuy[i]) })
	b.TakerBuy = nil
	if r := resolved(t, "volume_delta", b); r.Label != "Volume delta (no data)" {
		t.Errorf("without taker-buy volume it is called %q", r.Label)
	}
}

// TestTWAP_SecondDerivation averages from the last midnight of UTC on; the bars begin at
// one.
func TestTWAP_SecondDerivation(t *testing.T) {
	t.Parallel()
	b := walk(100, 7)
	derive(t, "twap", "TWAP", b, 0, func(i int) float64 {
		return meanOf(i, i%24+1, func(k int) float64 { return (b.O[k] + b.H[k] + b.L[k] + b.C[k]) / 4 })
	})
	derive(t, `twap {"anchor":"week","source":"close"}`, "TWAP", b, 0, func(i int) float64 {
		return meanOf(i, i+1, func(k int) float64 { return b.C[k] })
	})
}

// TestADR_CountsWholeDays averages the ranges of the days before the bar's own, without
// the first.
func TestADR_CountsWholeDays(t *testing.T) {
	t.Parallel()
	whole := walk(24*8, 8)
	b := whole.Slice(5, whole.Len()) // the first day lacks five hours
	day := func(i int) (high, low float64) {
		return slices.Max(whole.H[24*i : 24*i+24]), slices.Min(whole.L[24*i : 24*i+24])
	}
	ranges := func(f func(high, low float64) float64) func(int) float64 {
		return func(i int) float64 {
			today := (i + 5) / 24
			return (f(day(today-1)) + f(day(today-2)) + f(day(today-3))) / 3
		}
	}
	derive(t, `adr {"length":3}`, "ADR", &b, 4*24-5, ranges(func(high, low float64) float64 { return high - low }))
	derive(t, `adr {"length":3,"unit":"percent"}`, "ADR", &b, 4*24-5, ranges(func(high, low float64) float64 { return 100 * (high/low - 1) }))
}

// TestDist52w_SecondDerivation looks at all bars of the last 364 dates, over daily bars
// with holes, hours and weeks.
func TestDist52w_SecondDerivation(t *testing.T) {
	t.Parallel()
	const day = 24 * 3600
	for interval, n := range map[market.Interval]int{market.Day1: 900, market.Hour4: 2600, market.Week1: 130} {
		b := walk(n, 9)
		at := int64(testStart)
		for i := range b.T {
			b.T[i] = at
			at += interval.Seconds()
			if interval == market.Day1 && i%7 == 4 {
				at += 2 * day // a weekend
			}
		}
		s, err := Resolve(Request{Name: "dist_52w"})
		if err != nil {
			t.Fatal(err)
		}
		r := s.Compute(Input{Env: Env{Interval: interval}, Bars: b})
		highs, lows := lineOf(t, r, "From high"), lineOf(t, r, "From low")
		known := 0
		for i := range b.T {
			high, low := b.H[i], b.L[i]
			for k := i; k >= 0 && b.T[k]/day > b.T[i]/day-364; k-- {
				high, low = max(high, b.H[k]), min(low, b.L[k])
			}
			last := (b.T[i]+interval.Seconds()-1)/day - b.T[0]/day // dates after the first one
			if last < 363 {
				if !math.IsNaN(highs[i]) || !math.IsNaN(lows[i]) {
					t.Fatalf("%v: a value at %d, after %d days", interval, i, last)
				}
				continue
			}
			known++
			if math.Abs(highs[i]-100*(b.C[i]-high)/high) > 1e-9 || math.Abs(lows[i]-100*(b.C[i]-low)/low) > 1e-9 {
				t.Fatalf("%v at %d: %v below %v, %v above %v", interval, i, highs[i], high, lows[i], low)
			}
		}
		if first, _ := s.Warmup(Env{Interval: interval}); known == 0 || interval != market.Day1 && !math.IsNaN(highs[first-1]) || math.IsNaN(highs[first]) {
			t.Errorf("%v: %d values, the first is not at %d", interval, known, first)
		}
	}
}

func TestDrawdown_OfTheLastBars(t *testing.T) {
	t.Parallel()
	b := walk(200, 10)
	derive(t, `drawdown {"length":20}`, "Drawdown", b, 19, func(i int) float64 {
		high := slices.Max(b.C[i-19 : i+1])
		return 100 * (b.C[i] - high) / high
	})
}

// TestSignals_ExtremesBreak derives the new highs of minmax, and the band exits of %b.
func TestSignals_ExtremesBreak(t *testing.T) {
	t.Parallel()
	b, r := computed(t, "minmax")
	top, bottom := lineOf(t, r, "Highest"), lineOf(t, r, "Lowest")
	high := func(i int) bool { return i > 0 && b.C[i] > top[i-1] }
	low := func(i int) bool { return i > 0 && b.C[i] < bottom[i-1] }
	expect(t, r, "breakout_up", b.Len(), func(i int) bool { return high(i) && !high(i-1) })
	expect(t, r, "breakout_down", b.Len(), func(i int) bool { return low(i) && !low(i-1) })

	_, r = computed(t, "bb_percent")
	_, bands := computed(t, "bbands")
	for _, label := range []string{"breakout_up", "breakout_down"} {
		own, theirs := signalsOf(r, label), signalsOf(bands, label)
		if len(own) == 0 || len(own) != len(theirs) {
			t.Fatalf("%s: %d signals of %%b, %d of the bands", label, len(own), len(theirs))
		}
		for i := range own {
			if own[i].X != theirs[i].X {
				t.Fatalf("%s: at %d, the bands have it at %d", label, own[i].X, theirs[i].X)
			}
		}
	}
}

// TestChaikinOsc_ForgetsTheTotal: the running total before the window is not part of the
// values, so a jump of 1e15 leaves no trace of rounding.
func TestChaikinOsc_ForgetsTheTotal(t *testing.T) {
	t.Parallel()
	b := walk(600, 11)
	want := lineOf(t, resolved(t, "chaikin_osc", b), "CO")
	late := b.Slice(1, b.Len())
	got := lineOf(t, resolved(t, "chaikin_osc", &late), "CO")
	for i := 300; i < late.Len(); i++ {
		if !same(got[i], want[i+1]) {
			t.Fatalf("bar %d: %v, want %v", i, got[i], want[i+1])
		}
	}
}

// TestADR_InTheMarketsOwnDays counts sessions of New York, which do not end at midnight
// of UTC.
func TestADR_InTheMarketsOwnDays(t *testing.T) {
	t.Parallel()
	c, err := market.NewCalendar(market.Hours{Zone: "Asia/Tokyo", Close: 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	b := walk(24*5, 12)
	s, err := Resolve(request(t, `adr {"length":1}`))
	if err != nil {
		t.Fatal(err)
	}
	got := lineOf(t, s.Compute(Input{Env: Env{Interval: market.Hour1, Calendar: c}, Bars: b}), "ADR")
	// Midnight in Tokyo is 15:00 UTC: bars 15 to 38 are its second date.
	if want := slices.Max(b.H[15:39]) - slices.Min(b.L[15:39]); !math.IsNaN(got[38]) || math.Abs(got[39]-want) > 1e-12 {
		t.Errorf("ADR goes from %v to %v, want %v", got[38], got[39], want)
	}
}
