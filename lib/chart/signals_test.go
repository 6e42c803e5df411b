package chart

import (
	"slices"
	"strings"
	"testing"

	"candela/lib/ta"
)

// crowded is a result with a signal at every other bar, and one that is gold.
func crowded(n int, label string) *ta.Result {
	r := &ta.Result{Label: "X", Overlay: true}
	for x := 0; x < n; x += 2 {
		r.Signals = append(r.Signals, ta.Signal{X: x, Confirmed: x, Y: 50_000, Label: label})
	}
	r.Signals = append(r.Signals, ta.Signal{X: n - 1, Confirmed: n - 1, Y: 50_000, Label: "gold_buy"})
	return r
}

func TestSignals_KeepTheirDistanceWhereBarsShareAColumn(t *testing.T) {
	t.Parallel()
	const n = 5000
	spec := few(n)
	spec.Results = []Named{{Name: "x", Result: crowded(n, "wt_bull_div")}}
	scene := layoutOf(t, spec)
	var xs []float64
	gold := 0
	for _, m := range scene.Marks {
		if m.Shape == ArrowUp {
			gold++
			continue
		}
		xs = append(xs, m.X)
	}
	slices.Sort(xs)
	xs = slices.Compact(xs) // a dot has a rim of the same place
	for i := 1; i < len(xs); i++ {
		if xs[i]-xs[i-1] < markPitch {
			t.Fatalf("dots at %v and %v", xs[i-1], xs[i])
		}
	}
	if newest := scene.Columns.x(n - 2); len(xs) == 0 || xs[len(xs)-1] != newest {
		t.Errorf("the newest dot is not at %v: %v", newest, xs)
	}
	if gold != 1 {
		t.Errorf("%d rare signals", gold)
	}
	if !slices.ContainsFunc(textsOf(scene), func(text string) bool { return strings.HasSuffix(text, " signals not drawn") }) {
		t.Error("the header does not say that signals are missing")
	}
}

// TestSignals_MinorOnesLeaveDensePricesAlone: a panel keeps its dots.
func TestSignals_MinorOnesLeaveDensePricesAlone(t *testing.T) {
	t.Parallel()
	for _, overlay := range []bool{true, false} {
		spec := few(1000)
		r := crowded(1000, "cross_up")
		r.Overlay, r.Signals = overlay, r.Signals[:500]
		spec.Results = []Named{{Name: "x", Result: r}}
		if marks := layoutOf(t, spec).Marks; (len(marks) == 0) != overlay {
			t.Errorf("%d marks, overlay %t", len(marks), overlay)
		}
	}
}

func TestSignals_AllAreDrawnWhereEachBarHasItsColumn(t *testing.T) {
	t.Parallel()
	spec := few(200)
	spec.Results = []Named{{Name: "x", Result: crowded(200, "cross_up")}}
	scene := layoutOf(t, spec)
	drawn := make(map[float64]bool)
	for _, m := range scene.Marks {
		drawn[m.X] = true
	}
	if len(drawn) != 101 {
		t.Errorf("signals at %d places, want 101", len(drawn))
	}
}
