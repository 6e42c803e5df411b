package ta

import (
	"math"
	"slices"
	"strings"
	"testing"

	"candela/lib/market"
)

func TestOrderBlocks_SecondDerivation(t *testing.T) {
	t.Parallel()
	const n = 3
	b := walk(450, 61) // fewer bars than a zone lasts
	r := computedOn(t, `order_blocks {"length":3,"max_zones":20}`, b)
	broken := plainBreaks(b, n)
	var all []plainZone
	for i, side := range broken {
		if side == 0 {
			continue
		}
		swing := lastSwing(b.H, i, n, 1)
		if side < 0 {
			swing = lastSwing(b.L, i, n, -1)
		}
		for k := i - 1; k >= swing; k-- {
			if float64(side)*(b.C[k]-b.O[k]) < 0 {
				z := plainZone{up: side > 0, from: i, to: b.Len(), top: b.H[k], bottom: b.L[k]}
				for j := i + 1; j < z.to; j++ {
					if z.up && b.C[j] <= z.bottom || !z.up && b.C[j] >= z.top {
						z.to = j
					}
				}
				all = append(all, z)
				break
			}
		}
	}
	checkZones(t, r, all)
	made := func(up bool) func(int) bool {
		return func(i int) bool {
			return slices.ContainsFunc(all, func(z plainZone) bool { return z.from == i && z.up == up })
		}
	}
	expect(t, r, "ob_up", b.Len(), made(true))
	expect(t, r, "ob_down", b.Len(), made(false))
}

func TestDivergence_SecondDerivation(t *testing.T) {
	t.Parallel()
	const left, right = 4, 3
	b := walk(4_000, 62)
	for _, o := range diverging() {
		d := o.def()
		r := computedOn(t, `divergence {"osc":"`+d.Name+`","left":4,"right":3,"hidden":true}`, b)
		x := computedOn(t, d.Name, b).Lines[0].Values
		if !slices.EqualFunc(lineOf(t, r, "Osc"), x, same) {
			t.Fatalf("%s: the line differs from the oscillator's", d.Name)
		}
		pivot := func(c int, sign float64) bool {
			if c < left || c+right >= len(x) {
				return false
			}
			for k := c - left; k <= c+right; k++ {
				if k != c && !(sign*x[c] > sign*x[k]) {
					return false
				}
			}
			return true
		}
		found := func(sign float64, price []float64, hidden bool) func(int) bool {
			return func(i int) bool {
				c := i - right
				if !pivot(c, sign) {
					return false
				}
				for p := c - 1; p >= 0; p-- {
					if pivot(p, sign) {
						higher, up := sign*x[c] > sign*x[p], sign*price[c] > sign*price[p]
						return c-p >= 6 && c-p <= 61 && higher != up && higher == hidden
					}
				}
				return false
			}
		}
		expect(t, r, "bull_div", b.Len(), found(-1, b.L, false))
		expect(t, r, "bear_div", b.Len(), found(1, b.H, false))
		expect(t, r, "hidden_bull_div", b.Len(), found(-1, b.L, true))
		expect(t, r, "hidden_bear_div", b.Len(), found(1, b.H, true))
		if len(r.DivLines) != len(r.Signals) {
			t.Errorf("%s: %d segments for %d divergences", d.Name, len(r.DivLines), len(r.Signals))
		}
	}
}

func TestSupportResistance_SecondDerivation(t *testing.T) {
	t.Parallel()
	const n, lookback, width, touches = 2, 120, 0.08, 2
	b := walk(700, 63)
	r := computedOn(t, `support_resistance {"length":2,"lookback":120,"width":8,"touches":2}`, b)
	levelsAt := func(i int) []float64 {
		var prices []float64
		for c := max(0, i-lookback+1); c+n <= i; c++ {
			if isSwing(b.H, c, n, 1) {
				prices = append(prices, b.H[c])
			}
			if isSwing(b.L, c, n, -1) {
				prices = append(prices, b.L[c])
			}
		}
		prices = prices[max(0, len(prices)-64):]
		slices.Sort(prices)
		var levels []float64
		all := slices.Clone(prices)
		for len(prices) > 0 {
			near := slices.DeleteFunc(slices.Clone(prices), func(p float64) bool { return p-prices[0] > width*(all[len(all)-1]-all[0]) })
			if len(near) >= touches {
				sum := 0.0
				for _, p := range near {
					sum += p
				}
				levels = append(levels, sum/float64(len(near)))
			}
			prices = prices[len(near):]
		}
		return levels
	}
	nearest := func(above bool, rank int) func(int) float64 {
		return func(i int) float64 {
			levels := slices.DeleteFunc(levelsAt(i), func(l float64) bool { return (l > b.C[i]) != above })
			if !above {
				slices.Reverse(levels)
			}
			if rank < len(levels) {
				return levels[rank]
			}
			return math.NaN()
		}
	}
	r1, s1 := lineOf(t, r, "R1"), lineOf(t, r, "S1")
	sameLine(t, "R1", r1, nearest(true, 0))
	sameLine(t, "S1", s1, nearest(false, 0))
	sameLine(t, "R2", lineOf(t, r, "R2"), nearest(true, 1))
	sameLine(t, "S2", lineOf(t, r, "S2"), nearest(false, 1))
	expect(t, r, "breakout_up", b.Len(), func(i int) bool { return b.C[i] > r1[i-1] })
	expect(t, r, "breakout_down", b.Len(), func(i int) bool { return b.C[i] < s1[i-1] })
}

func TestTrendlines_SecondDerivation(t *testing.T) {
	t.Parallel()
	const n, slope = 5, 1.5
	b := walk(structureBars, 64)
	r := computedOn(t, `trendlines {"length":5,"slope":1.5}`, b)
	atr := lineOf(t, computedOn(t, `atr {"period":5}`, b), "ATR")
	// line returns the value at bar i of the line from the last swing, and whether the
	// close is the first beyond it.
	line := func(x []float64, sign float64, i int) (level float64, first bool) {
		swing := lastSwing(x, i, n, sign)
		if swing < 0 {
			return math.NaN(), false
		}
		at := func(k int) float64 { return x[swing] - sign*slope*atr[swing+n]/n*float64(k-swing) }
		for k := swing + n; k < i; k++ {
			if sign*b.C[k] > sign*at(k) {
				return math.NaN(), false
			}
		}
		return at(i), sign*b.C[i] > sign*at(i)
	}
	value := func(x []float64, sign float64) func(int) float64 {
		return func(i int) float64 { level, _ := line(x, sign, i); return level }
	}
	broken := func(x []float64, sign float64) func(int) bool {
		return func(i int) bool { _, first := line(x, sign, i); return first }
	}
	sameLine(t, "upper", lineOf(t, r, "Upper"), value(b.H, 1))
	sameLine(t, "lower", lineOf(t, r, "Lower"), value(b.L, -1))
	expect(t, r, "breakout_up", b.Len(), broken(b.H, 1))
	expect(t, r, "breakout_down", b.Len(), broken(b.L, -1))
}

func TestDarvas_SecondDerivation(t *testing.T) {
	t.Parallel()
	const n = 3
	b := walk(structureBars, 65)
	r := computedOn(t, "darvas", b)
	top, bottom, up, down := undefined(Input{Bars: b}), undefined(Input{Bars: b}), map[int]bool{}, map[int]bool{}
	for from := 0; from < b.Len(); {
		high, i := from, from
		for ; i < b.Len() && i-high < n; i++ { // a high that holds
			if b.H[i] > b.H[high] {
				high = i
			}
		}
		// i is the bar after the first n-1 that held; look for the bar that completes n.
		i = high + n
		low := high
		for k := high; k <= min(i, b.Len()-1); k++ {
			if b.L[k] < b.L[low] {
				low = k
			}
		}
		if i >= b.Len() {
			break
		}
		if highestOf(b.H[high+1:i+1]) > b.H[high] {
			from = high + 1
			for b.H[from] <= b.H[high] {
				from++
			}
			continue
		}
		held, restart := 0, -1
		for i++; i < b.Len() && held < n; i++ { // a low that holds
			switch {
			case b.H[i] > b.H[high]:
				restart = i
			case b.L[i] < b.L[low]:
				low, held = i, 0
			default:
				held++
			}
			if restart >= 0 {
				break
			}
		}
		if restart >= 0 {
			from = restart
			continue
		}
		if held < n {
			break
		}
		for i--; ; i++ { // the box
			if i == b.Len() {
				from = i
				break
			}
			if b.C[i] > b.H[high] || b.C[i] < b.L[low] {
				up[i], down[i] = b.C[i] > b.H[high], b.C[i] < b.L[low]
				from = i
				break
			}
			top[i], bottom[i] = b.H[high], b.L[low]
		}
	}
	sameLine(t, "top", lineOf(t, r, "Box Top"), func(i int) float64 { return top[i] })
	sameLine(t, "bottom", lineOf(t, r, "Box Bottom"), func(i int) float64 { return bottom[i] })
	expect(t, r, "breakout_up", b.Len(), func(i int) bool { return up[i] })
	expect(t, r, "breakout_down", b.Len(), func(i int) bool { return down[i] })
}

func TestVixFix_SecondDerivation(t *testing.T) {
	t.Parallel()
	b := walk(structureBars, 66)
	r := computedOn(t, "wvf", b)
	x, band, peak := undefined(Input{Bars: b}), undefined(Input{Bars: b}), undefined(Input{Bars: b})
	for i := 21; i < b.Len(); i++ {
		top := highestOf(b.C[i-21 : i+1])
		x[i] = (top - b.L[i]) / top * 100
		if i < 21+19 {
			continue
		}
		mean, squares := 0.0, 0.0
		for _, v := range x[i-19 : i+1] {
			mean += v / 20
		}
		for _, v := range x[i-19 : i+1] {
			squares += (v - mean) * (v - mean) / 20
		}
		band[i] = mean + 2*math.Sqrt(squares)
		if i >= 21+49 {
			peak[i] = 0.85 * highestOf(x[i-49:i+1])
		}
	}
	sameLine(t, "wvf", lineOf(t, r, "WVF"), func(i int) float64 { return x[i] })
	sameLine(t, "band", lineOf(t, r, "Band"), func(i int) float64 { return band[i] })
	sameLine(t, "range", lineOf(t, r, "Range"), func(i int) float64 { return peak[i] })
	spikes := func(i int) bool { return x[i] >= band[i] || x[i] >= peak[i] }
	expect(t, r, "oversold_enter", b.Len(), func(i int) bool { return x[i-1] == x[i-1] && spikes(i) && !spikes(i-1) })
	expect(t, r, "oversold_exit", b.Len(), func(i int) bool { return !spikes(i) && spikes(i-1) })
	flat := market.MakeBars(200, false)
	for i := range 200 {
		flat.Append(market.Bar{T: testStart + int64(i)*3600, O: 5, H: 5, L: 5, C: 5, V: 1})
	}
	if s := computedOn(t, "wvf", &flat).Signals; len(s) != 0 {
		t.Errorf("a flat price spikes: %v", s)
	}
}

func TestLinRegChannel_SecondDerivation(t *testing.T) {
	t.Parallel()
	b := walk(300, 67)
	r := computedOn(t, `linreg_channel {"length":80,"std_dev":1.5,"source":"hl2"}`, b)
	const n = 80
	var sx, sy, sxx, sxy, syy float64
	y := make([]float64, n)
	for i := range n {
		y[i] = (b.H[220+i] + b.L[220+i]) / 2
		x := float64(i)
		sx, sy, sxx, sxy, syy = sx+x, sy+y[i], sxx+x*x, sxy+x*y[i], syy+y[i]*y[i]
	}
	slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	first := (sy - slope*sx) / n
	rest := 0.0
	for i := range n {
		rest += math.Pow(y[i]-first-slope*float64(i), 2)
	}
	away := math.Sqrt(rest / (n - 1))
	correlation := (n*sxy - sx*sy) / math.Sqrt((n*sxx-sx*sx)*(n*syy-sy*sy))
	line := func(k float64) func(int) float64 {
		return func(i int) float64 {
			if i < 220 {
				return math.NaN()
			}
			return first + slope*float64(i-220) + k*away
		}
	}
	sameLine(t, "mid", lineOf(t, r, "LRC"), line(0))
	sameLine(t, "upper", lineOf(t, r, "LRC Upper"), line(1.5))
	sameLine(t, "lower", lineOf(t, r, "LRC Lower"), line(-1.5))
	_, _, _, got := regression(y)
	if math.Abs(got-correlation) > 1e-9 || !strings.Contains(r.Label, "R ") {
		t.Errorf("R is %v, want %v; the label is %s", got, correlation, r.Label)
	}
}
