package ta

import (
	"math"
	"testing"

	"candela/lib/market"
)

// The tests of this file derive signals a second time from the finished lines,
// with plain loops over the whole history.

func lineOf(t *testing.T, r *Result, label string) []float64 {
	t.Helper()
	for _, l := range r.Lines {
		if l.Label == label {
			return l.Values
		}
	}
	t.Fatalf("no line %q", label)
	return nil
}

func signalsOf(r *Result, label string) []Signal {
	var out []Signal
	for _, s := range r.Signals {
		if s.Label == label {
			out = append(out, s)
		}
	}
	return out
}

// expect compares the bars of a signal with the ones a rule gives.
func expect(t *testing.T, r *Result, label string, n int, rule func(i int) bool) {
	t.Helper()
	var want []int
	for i := 1; i < n; i++ {
		if rule(i) {
			want = append(want, i)
		}
	}
	got := signalsOf(r, label)
	if len(got) != len(want) {
		t.Errorf("%s: %d signals, want %d", label, len(got), len(want))
		return
	}
	if len(want) == 0 {
		t.Errorf("%s: the bars never raise it, so the test shows nothing", label)
	}
	for k := range want {
		if got[k].Confirmed != want[k] {
			t.Errorf("%s: signal %d at %d, want %d", label, k, got[k].Confirmed, want[k])
		}
	}
}

const signalBars = 20_000

func computed(t *testing.T, text string) (*market.Bars, *Result) {
	t.Helper()
	s, err := Resolve(request(t, text))
	if err != nil {
		t.Fatal(err)
	}
	b := walk(signalBars, 21)
	return b, s.Compute(input(b, market.Hour1))
}

func TestSignals_OscillatorsLeaveTheirZones(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line, low, high string
		bottom, top           float64
	}{
		{"rsi", "RSI", "rsi_oversold", "rsi_overbought", 30, 70},
		{"cci", "CCI", "cross_up_os", "cross_down_ob", -100, 100},
		{"mfi", "MFI", "cross_up_os", "cross_down_ob", 20, 80},
		{"williams_r", "%R", "cross_up_os", "cross_down_ob", -80, -20},
		{"combo", "RSI", "rsi_oversold", "rsi_overbought", 30, 70},
		{"cipher_b", "RSI", "rsi_oversold", "rsi_overbought", 30, 60},
	} {
		_, r := computed(t, c.name)
		x := lineOf(t, r, c.line)
		expect(t, r, c.low, len(x), func(i int) bool { return x[i-1] < c.bottom && x[i] >= c.bottom })
		expect(t, r, c.high, len(x), func(i int) bool { return x[i-1] > c.top && x[i] <= c.top })
	}
}

func TestSignals_EntryAndExitOfAZoneAreTwo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line, prefix string
		bottom, top        float64
	}{
		{"rsi", "RSI", "rsi_", 30, 70},
		{"cci", "CCI", "", -100, 100},
		{"mfi", "MFI", "", 20, 80},
		{"williams_r", "%R", "", -80, -20},
		{"combo", "RSI", "rsi_", 30, 70},
		{"cipher_b", "RSI", "rsi_", 30, 60},
	} {
		_, r := computed(t, c.name+` {"zone_signals":true}`)
		x := lineOf(t, r, c.line)
		expect(t, r, c.prefix+"oversold_enter", len(x), func(i int) bool { return x[i-1] >= c.bottom && x[i] < c.bottom })
		expect(t, r, c.prefix+"oversold_exit", len(x), func(i int) bool { return x[i-1] < c.bottom && x[i] >= c.bottom })
		expect(t, r, c.prefix+"overbought_enter", len(x), func(i int) bool { return x[i-1] <= c.top && x[i] > c.top })
		expect(t, r, c.prefix+"overbought_exit", len(x), func(i int) bool { return x[i-1] > c.top && x[i] <= c.top })
		if _, plain := computed(t, c.name); len(signalsOf(plain, c.prefix+"oversold_enter")) != 0 {
			t.Errorf("%s: charts show entries that were not asked for", c.name)
		}
	}
}

func TestSignals_LinesCross(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, a, b string }{
		{"macd", "MACD", "Signal"},
		{"ema_stack", "EMA 8", "EMA 21"},
		{"ichimoku", "Tenkan", "Kijun"},
		{"adx", "+DI", "-DI"},
	} {
		_, r := computed(t, c.name)
		a, b := lineOf(t, r, c.a), lineOf(t, r, c.b)
		expect(t, r, "cross_up", len(a), func(i int) bool { return a[i-1] <= b[i-1] && a[i] > b[i] })
		expect(t, r, "cross_down", len(a), func(i int) bool { return a[i-1] >= b[i-1] && a[i] < b[i] })
	}
}

func TestSignals_ZeroIsCrossed(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{"roc": "ROC", "cmf": "CMF"} {
		_, r := computed(t, name)
		x := lineOf(t, r, line)
		expect(t, r, "cross_up", len(x), func(i int) bool { return x[i-1] <= 0 && x[i] > 0 })
		expect(t, r, "cross_down", len(x), func(i int) bool { return x[i-1] >= 0 && x[i] < 0 })
	}
}

func TestSignals_PriceBreaksOut(t *testing.T) {
	t.Parallel()
	for name, short := range map[string]string{"bbands": "BB", "keltner": "KC"} {
		b, r := computed(t, name)
		up, low := lineOf(t, r, short+" Upper"), lineOf(t, r, short+" Lower")
		expect(t, r, "breakout_up", len(up), func(i int) bool { return b.C[i-1] <= up[i-1] && b.C[i] > up[i] })
		expect(t, r, "breakout_down", len(up), func(i int) bool { return b.C[i-1] >= low[i-1] && b.C[i] < low[i] })
	}
	b, r := computed(t, "donchian")
	up, low := lineOf(t, r, "DC Upper"), lineOf(t, r, "DC Lower")
	above := func(i int) bool { return i > 0 && b.C[i] > up[i-1] }
	below := func(i int) bool { return i > 0 && b.C[i] < low[i-1] }
	expect(t, r, "breakout_up", len(up), func(i int) bool { return above(i) && !above(i-1) })
	expect(t, r, "breakout_down", len(up), func(i int) bool { return below(i) && !below(i-1) })
}

func TestSignals_StochasticTurnsInItsZones(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, k, d string }{{"stoch", "%K", "%D"}, {"combo", "Stoch K", "Stoch D"}} {
		_, r := computed(t, c.name)
		k, d := lineOf(t, r, c.k), lineOf(t, r, c.d)
		expect(t, r, "stoch_oversold", len(k), func(i int) bool { return k[i-1] <= d[i-1] && k[i] > d[i] && k[i] < 20 })
		expect(t, r, "stoch_overbought", len(k), func(i int) bool { return k[i-1] >= d[i-1] && k[i] < d[i] && k[i] > 80 })
	}
}

func TestSignals_WavesCross(t *testing.T) {
	t.Parallel()
	_, r := computed(t, "wavetrend")
	a, b := lineOf(t, r, "WT1"), lineOf(t, r, "WT2")
	up := func(i int) bool { return a[i-1] <= b[i-1] && a[i] > b[i] }
	down := func(i int) bool { return a[i-1] >= b[i-1] && a[i] < b[i] }
	expect(t, r, "cross_up_os", len(a), func(i int) bool { return up(i) && b[i] <= -53 })
	expect(t, r, "cross_up", len(a), func(i int) bool { return up(i) && b[i] > -53 })
	expect(t, r, "cross_down_ob", len(a), func(i int) bool { return down(i) && b[i] >= 53 })
	expect(t, r, "cross_down", len(a), func(i int) bool { return down(i) && b[i] < 53 })

	_, r = computed(t, "cipher_b")
	expect(t, r, "buy", len(a), func(i int) bool { return up(i) && b[i] <= -53 })
	expect(t, r, "buy_small", len(a), func(i int) bool { return up(i) && b[i] > -53 })
	expect(t, r, "sell", len(a), func(i int) bool { return down(i) && b[i] >= 53 })
	expect(t, r, "sell_small", len(a), func(i int) bool { return down(i) && b[i] < 53 })

	_, r = computed(t, `cipher_b {"dot_mode":"strict"}`)
	rsi, k := lineOf(t, r, "RSI"), lineOf(t, r, "Stoch K")
	expect(t, r, "buy_small", len(a), func(i int) bool { return up(i) && b[i] > -53 && rsi[i] < 40 })
	expect(t, r, "sell_small", len(a), func(i int) bool { return down(i) && b[i] < 53 && rsi[i] > 60 })
	for _, s := range signalsOf(r, "buy") {
		if rsi[s.X] >= 30 || k[s.X] >= 20 {
			t.Errorf("strict buy at %d with RSI %v, K %v", s.X, rsi[s.X], k[s.X])
		}
	}
}

func TestSignals_TrendsFlip(t *testing.T) {
	t.Parallel()
	b, r := computed(t, "supertrend")
	line := lineOf(t, r, "Supertrend")
	up := func(i int) bool { return b.C[i] >= line[i] }
	expect(t, r, "flip_up", len(line), func(i int) bool { return !math.IsNaN(line[i-1]) && up(i) && !up(i-1) })
	expect(t, r, "flip_down", len(line), func(i int) bool { return !math.IsNaN(line[i-1]) && !up(i) && up(i-1) })

	b, r = computed(t, "sar")
	line = lineOf(t, r, "SAR")
	expect(t, r, "flip_up", len(line), func(i int) bool { return i > 1 && line[i] <= b.L[i] && line[i-1] >= b.H[i-1] })
	expect(t, r, "flip_down", len(line), func(i int) bool { return i > 1 && line[i] >= b.H[i] && line[i-1] <= b.L[i-1] })

	_, r = computed(t, "ha")
	o, c := lineOf(t, r, "HA Open"), lineOf(t, r, "HA Close")
	expect(t, r, "flip_up", len(o), func(i int) bool { return c[i] >= o[i] && c[i-1] < o[i-1] })
	expect(t, r, "flip_down", len(o), func(i int) bool { return c[i] < o[i] && c[i-1] >= o[i-1] })
}

// TestSignals_FractalDivergences finds Cipher B's divergences by looking back
// over the whole history for the previous fractal beyond the same limit.
func TestSignals_FractalDivergences(t *testing.T) {
	t.Parallel()
	b, r := computed(t, "cipher_b")
	w, rsi := lineOf(t, r, "WT2"), lineOf(t, r, "RSI")
	bottom := func(c int) bool {
		return c >= 2 && c+2 < len(w) && w[c-2] > w[c] && w[c-1] > w[c] && w[c] < w[c+1] && w[c] < w[c+2]
	}
	top := func(c int) bool {
		return c >= 2 && c+2 < len(w) && w[c-2] < w[c] && w[c-1] < w[c] && w[c] > w[c+1] && w[c] > w[c+2]
	}
	previous := func(c int, is func(int) bool) int {
		for p := c - 1; p >= 0; p-- {
			if is(p) {
				return p
			}
		}
		return -1
	}
	bull := func(c int, limit float64) (int, bool) {
		in := func(p int) bool { return bottom(p) && w[p] <= limit }
		p := previous(c, in)
		return p, in(c) && p >= 0 && b.L[c] < b.L[p] && w[c] > w[p]
	}
	bear := func(c int, limit float64) bool {
		in := func(p int) bool { return top(p) && w[p] >= limit }
		p := previous(c, in)
		return in(c) && p >= 0 && b.H[c] > b.H[p] && w[c] < w[p]
	}
	either := func(i int) bool {
		_, a := bull(i-2, -65)
		_, z := bull(i-2, -40)
		return a || z
	}
	expect(t, r, "wt_bull_div", len(w), func(i int) bool { return i > 4 && either(i) })
	expect(t, r, "any_bull_div", len(w), func(i int) bool { return i > 4 && either(i) })
	expect(t, r, "wt_bear_div", len(w), func(i int) bool { return i > 4 && (bear(i-2, 45) || bear(i-2, 15)) })
	for _, s := range signalsOf(r, "wt_bull_div") {
		if s.X != s.Confirmed-2 {
			t.Errorf("drawn at %d, confirmed at %d", s.X, s.Confirmed)
		}
	}
	expect(t, r, "gold_buy", len(w), func(i int) bool {
		if i <= 4 {
			return false
		}
		p, found := bull(i-2, -65)
		return found && w[p] <= -75 && w[i] > -75 && w[p]-w[i] <= -5 && rsi[p] < 30
	})
}

// TestSignals_PivotDivergences finds the RSI's divergences from all pivots of
// the finished line.
func TestSignals_PivotDivergences(t *testing.T) {
	t.Parallel()
	b, r := computed(t, `rsi {"show_divergences":true}`)
	x := lineOf(t, r, "RSI")
	pivot := func(c int, sign float64) bool {
		if c < 5 || c+5 >= len(x) {
			return false
		}
		for d := 1; d <= 5; d++ {
			if !(sign*x[c] > sign*x[c-d]) || !(sign*x[c] > sign*x[c+d]) {
				return false
			}
		}
		return true
	}
	found := func(i int, sign float64, price []float64) bool {
		c := i - 5
		if !pivot(c, sign) {
			return false
		}
		for p := c - 1; p >= 5; p-- {
			if pivot(p, sign) {
				return c-p >= 6 && c-p <= 61 && sign*x[c] < sign*x[p] && sign*price[c] > sign*price[p]
			}
		}
		return false
	}
	expect(t, r, "rsi_bull_div", len(x), func(i int) bool { return found(i, -1, b.L) })
	expect(t, r, "rsi_bear_div", len(x), func(i int) bool { return found(i, 1, b.H) })
	if len(r.DivLines) != len(signalsOf(r, "rsi_bull_div"))+len(signalsOf(r, "rsi_bear_div")) {
		t.Errorf("%d segments for the divergences", len(r.DivLines))
	}
}
