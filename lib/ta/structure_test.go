package ta

import (
	"math"
	"slices"
	"testing"

	"candela/lib/market"
)

// The tests of this file derive swings, breaks and gaps a second time with plain
// loops over the whole history.

// computedOn computes an indicator over bars of an hour.
func computedOn(t *testing.T, text string, b *market.Bars) *Result {
	t.Helper()
	s, err := Resolve(request(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Compute(input(b, market.Hour1))
}

// isSwing reports whether bar c is above, or with sign -1 below, n bars on each side.
func isSwing(x []float64, c, n int, sign float64) bool {
	if c < n || c+n >= len(x) {
		return false
	}
	for d := 1; d <= n; d++ {
		if !(sign*x[c] > sign*x[c-d]) || !(sign*x[c] > sign*x[c+d]) {
			return false
		}
	}
	return true
}

// lastSwing returns the last swing that bar i knows, -1 for none.
func lastSwing(x []float64, i, n int, sign float64) int {
	for c := i - n; c >= 0; c-- {
		if isSwing(x[:i+1], c, n, sign) {
			return c
		}
	}
	return -1
}

// at returns x[i], NaN for no index.
func at(x []float64, i int) float64 {
	if i < 0 {
		return math.NaN()
	}
	return x[i]
}

// sameLine compares a line with a rule for each bar.
func sameLine(t *testing.T, name string, got []float64, want func(i int) float64) {
	t.Helper()
	values := 0
	for i := range got {
		w := want(i)
		if w == w {
			values++
		}
		if !(math.Abs(got[i]-w) <= 1e-10*math.Abs(w)) && !(math.IsNaN(got[i]) && math.IsNaN(w)) {
			t.Fatalf("%s at bar %d is %v, want %v", name, i, got[i], w)
		}
	}
	if values == 0 {
		t.Errorf("%s has no values, so the test shows nothing", name)
	}
}

const structureBars = 1_200

func TestSwings_SecondDerivation(t *testing.T) {
	t.Parallel()
	b := walk(structureBars, 31)
	r := computedOn(t, `swings {"length":3}`, b)
	sameLine(t, "high", lineOf(t, r, "Swing High"), func(i int) float64 { return at(b.H, lastSwing(b.H, i, 3, 1)) })
	sameLine(t, "low", lineOf(t, r, "Swing Low"), func(i int) float64 { return at(b.L, lastSwing(b.L, i, 3, -1)) })
	compared := func(x []float64, sign float64, higher bool) func(int) bool {
		return func(i int) bool {
			c := i - 3
			if !isSwing(x, c, 3, sign) {
				return false
			}
			before := lastSwing(x, i-1, 3, sign)
			return before >= 0 && (x[c] > x[before]) == higher
		}
	}
	expect(t, r, "higher_high", structureBars, compared(b.H, 1, true))
	expect(t, r, "lower_high", structureBars, compared(b.H, 1, false))
	expect(t, r, "higher_low", structureBars, compared(b.L, -1, true))
	expect(t, r, "lower_low", structureBars, compared(b.L, -1, false))
	for _, s := range r.Signals {
		if s.X != s.Confirmed-3 {
			t.Errorf("%s drawn at %d, confirmed at %d", s.Label, s.X, s.Confirmed)
		}
	}
}

// plainBreaks lists for each bar 1 if its close is the first above the last swing
// high, -1 for the last swing low.
func plainBreaks(b *market.Bars, n int) []int {
	out := make([]int, b.Len())
	first := func(i, swing int, sign float64, x []float64) bool {
		if swing < 0 || !(sign*b.C[i] > sign*x[swing]) {
			return false
		}
		for k := swing + n; k < i; k++ {
			if sign*b.C[k] > sign*x[swing] {
				return false
			}
		}
		return true
	}
	for i := range out {
		switch {
		case first(i, lastSwing(b.H, i, n, 1), 1, b.H):
			out[i] = 1
		case first(i, lastSwing(b.L, i, n, -1), -1, b.L):
			out[i] = -1
		}
	}
	return out
}

func TestStructure_SecondDerivation(t *testing.T) {
	t.Parallel()
	b := walk(structureBars, 32)
	r := computedOn(t, `structure {"length":4}`, b)
	broken := plainBreaks(b, 4)
	before := func(i int) int {
		for k := i - 1; k >= 0; k-- {
			if broken[k] != 0 {
				return broken[k]
			}
		}
		return 0
	}
	rule := func(side int, turn bool) func(int) bool {
		return func(i int) bool { return broken[i] == side && (before(i) == -side) == turn }
	}
	expect(t, r, "bos_up", structureBars, rule(1, false))
	expect(t, r, "bos_down", structureBars, rule(-1, false))
	expect(t, r, "choch_up", structureBars, rule(1, true))
	expect(t, r, "choch_down", structureBars, rule(-1, true))
	if len(r.DivLines) != len(r.Signals) {
		t.Fatalf("%d segments for %d breaks", len(r.DivLines), len(r.Signals))
	}
	for k, d := range r.DivLines {
		price := b.H
		if !d.Bull {
			price = b.L
		}
		if d.X2 != r.Signals[k].X || d.Y1 != price[d.X1] || d.Y2 != d.Y1 {
			t.Errorf("segment %+v of signal %+v", d, r.Signals[k])
		}
	}
}

func TestSweeps_SecondDerivation(t *testing.T) {
	t.Parallel()
	b := walk(structureBars, 33)
	r := computedOn(t, `sweeps {"length":4}`, b)
	rule := func(x []float64, sign float64) func(int) bool {
		return func(i int) bool {
			swing := lastSwing(x, i, 4, sign)
			if swing < 0 {
				return false
			}
			swept := func(k int) bool { return sign*x[k] > sign*x[swing] }
			closed := func(k int) bool { return sign*b.C[k] > sign*x[swing] }
			for k := swing + 4; k < i; k++ {
				if swept(k) {
					return false // by this wick, or by the close that broke it
				}
			}
			return swept(i) && !closed(i)
		}
	}
	expect(t, r, "sweep_high", structureBars, rule(b.H, 1))
	expect(t, r, "sweep_low", structureBars, rule(b.L, -1))
}

// plainZone is a zone with the bars between which it is open.
type plainZone struct {
	up          bool
	from, to    int // the bar that made it, and the one that filled it or the end
	top, bottom float64
}

// plainGaps finds all gaps between bars that far apart, and the bar that fills each.
func plainGaps(b *market.Bars, back int) []plainZone {
	var out []plainZone
	for i := back; i < b.Len(); i++ {
		z := plainZone{from: i, to: b.Len()}
		switch {
		case b.L[i] > b.H[i-back]:
			z.up, z.top, z.bottom = true, b.L[i], b.H[i-back]
		case b.H[i] < b.L[i-back]:
			z.top, z.bottom = b.L[i-back], b.H[i]
		default:
			continue
		}
		for k := i + 1; k < b.Len(); k++ {
			if z.up && b.L[k] <= z.bottom || !z.up && b.H[k] >= z.top {
				z.to = k
				break
			}
		}
		out = append(out, z)
	}
	return out
}

func TestGaps_SecondDerivation(t *testing.T) {
	t.Parallel()
	// Fewer bars than a gap is followed, and more zones than are ever open, so that
	// none is given up.
	b := jumpy(450, 34)
	for name, back := range map[string]int{"fvg": 2, "gap": 1} {
		r := computedOn(t, map[string]string{"fvg": "fvg", "gap": "gaps"}[name]+` {"max_zones":20}`, b)
		all := plainGaps(b, back)
		newest := func(i int, up bool) int {
			for k, z := range slices.Backward(all) {
				if z.up == up && z.from <= i && i < z.to {
					return k
				}
			}
			return -1
		}
		edge := func(up, top bool) func(int) float64 {
			return func(i int) float64 {
				k := newest(i, up)
				switch {
				case k < 0:
					return math.NaN()
				case top:
					return all[k].top
				}
				return all[k].bottom
			}
		}
		sameLine(t, name, lineOf(t, r, "Up Top"), edge(true, true))
		sameLine(t, name, lineOf(t, r, "Up Bottom"), edge(true, false))
		sameLine(t, name, lineOf(t, r, "Down Top"), edge(false, true))
		sameLine(t, name, lineOf(t, r, "Down Bottom"), edge(false, false))
		made := func(up bool) func(int) bool {
			return func(i int) bool {
				for _, z := range all {
					if z.from == i && z.up == up {
						return true
					}
				}
				return false
			}
		}
		expect(t, r, name+"_up", b.Len(), made(true))
		expect(t, r, name+"_down", b.Len(), made(false))
		filled := 0
		for _, z := range all {
			if z.to < b.Len() {
				filled++
			}
		}
		if got := len(signalsOf(r, name+"_filled")); got != filled || filled == 0 {
			t.Errorf("%s: %d filled, want %d", name, got, filled)
		}
		checkZones(t, r, all)
	}
}

// checkZones holds the drawn areas against the zones: every bar of every zone is in
// exactly one area.
func checkZones(t *testing.T, r *Result, all []plainZone) {
	t.Helper()
	want := 0
	for _, z := range all {
		for i := z.from; i < z.to; i++ {
			want++
			found := 0
			for _, f := range r.Fills {
				if f.Y1[i] == z.top && f.Y2[i] == z.bottom && z.up || f.Y1[i] == z.bottom && f.Y2[i] == z.top && !z.up {
					found++
				}
			}
			if found != 1 {
				t.Fatalf("bar %d of zone %+v is in %d areas", i, z, found)
			}
		}
	}
	drawn := 0
	for _, f := range r.Fills {
		for _, y := range f.Y1 {
			if y == y {
				drawn++
			}
		}
	}
	if drawn != want {
		t.Errorf("%d bars of zones are drawn, want %d", drawn, want)
	}
}

// TestZones_AreBounded: a zone ends after 500 bars, and the oldest of a side gives way.
func TestZones_AreBounded(t *testing.T) {
	t.Parallel()
	b := market.MakeBars(600, false)
	price := 100.0
	for i := range 600 {
		if i == 3 || i == 5 || i == 7 || i == 9 {
			price += 10
		}
		b.Append(market.Bar{T: testStart + int64(i)*3600, O: price, H: price + 1, L: price - 1, C: price, V: 1})
	}
	r := computedOn(t, `gaps {"max_zones":3}`, &b)
	bottom := lineOf(t, r, "Up Bottom")
	if bottom[508] != 131 || !math.IsNaN(bottom[509]) {
		t.Errorf("500 bars after the last gap it is at %v, then %v", bottom[508], bottom[509])
	}
	open := 0
	for _, f := range r.Fills {
		if f.Y1[20] == f.Y1[20] {
			open++
		}
	}
	if open != 3 {
		t.Errorf("%d zones are open, want the newest 3", open)
	}
}
