package ta_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"candela/internal/testkit/sharedtest"
	"candela/lib/market"
	"candela/lib/ta"
)

// skenderComputed computes an indicator of ours over Skender's bars.
func skenderComputed(t *testing.T, name, params string) (*market.Bars, *ta.Result) {
	t.Helper()
	r := ta.Request{Name: name}
	if err := json.Unmarshal([]byte(params), &r.Params); err != nil {
		t.Fatal(err)
	}
	s, err := ta.Resolve(r)
	if err != nil {
		t.Fatal(err)
	}
	bars := skenderBars(t)
	return bars, s.Compute(ta.Input{Env: ta.Env{Interval: market.Day1}, Bars: bars})
}

// skenderPoints returns the numbers of a field by bar.
func skenderPoints(t *testing.T, file, field string) map[int]float64 {
	t.Helper()
	s := skenderSeries(t, file, field, 0)
	points := make(map[int]float64)
	for i, x := range s.Values {
		if !math.IsNaN(x) {
			points[s.First+i] = x
		}
	}
	if len(points) == 0 {
		t.Fatalf("%s has no %s", file, field)
	}
	return points
}

// TestFractals_Skender: all of Skender's fractals are ours. Ours that Skender lacks have
// an equal bar among the two before, which TradingView allows.
func TestFractals_Skender(t *testing.T) {
	t.Parallel()
	bars, r := skenderComputed(t, "fractals", `{}`)
	for label, c := range map[string]struct {
		field string
		price []float64
	}{"fractal_up": {"fractalBear", bars.H}, "fractal_down": {"fractalBull", bars.L}} {
		want := skenderPoints(t, "fractal", c.field)
		for _, s := range r.Signals {
			if s.Label != label {
				continue
			}
			x, ok := want[s.X]
			tied := c.price[s.X] == c.price[s.X-1] || c.price[s.X] == c.price[s.X-2]
			if ok && x != s.Y || !ok && !tied {
				t.Errorf("%s at bar %d: %v, Skender has %v %v", label, s.X, s.Y, x, ok)
			}
			delete(want, s.X)
		}
		if len(want) != 0 {
			t.Errorf("%s: Skender also has %v", label, want)
		}
	}
}

// TestSwings_Skender: with two bars on each side the swings are Skender's pivots.
func TestSwings_Skender(t *testing.T) {
	t.Parallel()
	_, r := skenderComputed(t, "swings", `{"length":2}`)
	for kind, c := range map[string]struct {
		labels [2]string
	}{"highPoint": {[2]string{"higher_high", "lower_high"}}, "lowPoint": {[2]string{"higher_low", "lower_low"}}} {
		want := skenderPoints(t, "pivots", kind)
		unlabelled := len(want)
		for _, s := range r.Signals {
			if s.Label != c.labels[0] && s.Label != c.labels[1] {
				continue
			}
			if x, ok := want[s.X]; !ok || x != s.Y {
				t.Errorf("%s at bar %d: %v, Skender has %v %v", s.Label, s.X, s.Y, x, ok)
			}
			unlabelled--
		}
		if unlabelled != 1 { // the first has none before it to be compared with
			t.Errorf("%s: Skender has %d that are not ours", kind, unlabelled-1)
		}
	}
}

// TestLinRegChannel_Skender compares the line with the last one of Skender's standard
// deviation channels, whose width is another.
func TestLinRegChannel_Skender(t *testing.T) {
	t.Parallel()
	bars, r := skenderComputed(t, "linreg_channel", `{"length":20}`)
	want := skenderPoints(t, "stdev-channels", "centerline")
	for i := bars.Len() - 20; i < bars.Len(); i++ {
		if got := r.Lines[0].Values[i]; math.Abs(got-want[i]) > 1e-10*want[i] {
			t.Errorf("bar %d: %v, Skender has %v", i, got, want[i])
		}
	}
}

// TestZigZag_Skender gives the closes alone, from which Skender's is computed, and
// expects the ends of all legs that are confirmed.
func TestZigZag_Skender(t *testing.T) {
	t.Parallel()
	bars := skenderBars(t)
	copy(bars.H, bars.C)
	copy(bars.L, bars.C)
	s, err := ta.Resolve(ta.Request{Name: "zigzag"})
	if err != nil {
		t.Fatal(err)
	}
	var want []struct {
		ZigZag    *float64
		PointType *string
	}
	raw, err := os.ReadFile(sharedtest.Path(t, skenderDir+"/zigzag.standard.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	var ends []ta.DivLine
	for i, p := range want {
		if p.PointType != nil {
			ends = append(ends, ta.DivLine{X2: i, Y2: *p.ZigZag, Bull: *p.PointType == "H"})
		}
	}
	legs := s.Compute(ta.Input{Env: ta.Env{Interval: market.Day1}, Bars: bars}).DivLines
	if len(legs) != len(ends)+1 { // and the running one
		t.Fatalf("%d legs, Skender has %d ends", len(legs), len(ends))
	}
	for i, e := range ends {
		if d := legs[i]; d.X2 != e.X2 || d.Y2 != e.Y2 || d.Bull != e.Bull {
			t.Errorf("leg %+v, Skender's ends %+v", d, e)
		}
	}
}
