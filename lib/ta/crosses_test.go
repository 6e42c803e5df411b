package ta

import (
	"fmt"
	"math"
	"testing"

	"candela/lib/market"
)

// TestAverageSets_SecondDerivation computes what is made of several averages by their
// definitions.
func TestAverageSets_SecondDerivation(t *testing.T) {
	t.Parallel()
	in := input(walk(700, 51), market.Hour1)
	middle := make([]float64, in.Bars.Len())
	for i := range middle {
		middle[i] = (in.Bars.H[i] + in.Bars.L[i]) / 2
	}
	back := func(x []float64, k int) []float64 {
		out := make([]float64, len(x))
		for i := range out {
			out[i] = math.NaN()
			if i >= k {
				out[i] = x[i-k]
			}
		}
		return out
	}
	average := func(kind string, n int) []float64 { return plainMean(kind, in.Bars.C, in.Bars.V, n) }
	for text, want := range map[string][][]float64{
		`golden_cross`:                          {average("sma", 50), average("sma", 200)},
		`ma_cross(9,21) {"type":"ema"}`:         {average("ema", 9), average("ema", 21)},
		`ma_ribbon {"type":"wma","length4":70}`: {average("wma", 20), average("wma", 50), average("wma", 100), average("wma", 70)},
		`envelope(10,2.5)`: {
			combine([]float64{1.025}, average("sma", 10)), average("sma", 10), combine([]float64{0.975}, average("sma", 10)),
		},
		`alligator`: {
			back(plainMean("rma", middle, nil, 13), 8), back(plainMean("rma", middle, nil, 8), 5), back(plainMean("rma", middle, nil, 5), 3),
		},
	} {
		s, err := Resolve(request(t, text))
		if err != nil {
			t.Fatal(err)
		}
		r := s.Compute(in)
		for c := range want {
			for i, x := range r.Lines[c].Values {
				if math.IsNaN(x) != math.IsNaN(want[c][i]) || math.Abs(x-want[c][i]) > 1e-11*math.Abs(x) {
					t.Fatalf("%s line %d at %d: %v, want %v", text, c, i, x, want[c][i])
				}
			}
		}
	}
}

// TestMACross_SignalsAreTheCrosses finds each cross again from the two lines.
func TestMACross_SignalsAreTheCrosses(t *testing.T) {
	t.Parallel()
	s, err := Resolve(request(t, `ma_cross {"fast":5,"slow":20}`))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Compute(input(walk(900, 52), market.Hour1))
	var want []string
	fast, slow := r.Lines[0].Values, r.Lines[1].Values
	for i := 20; i < len(fast); i++ {
		switch was, is := fast[i-1]-slow[i-1], fast[i]-slow[i]; {
		case was <= 0 && is > 0:
			want = append(want, fmt.Sprint("golden_cross ", i))
		case was >= 0 && is < 0:
			want = append(want, fmt.Sprint("death_cross ", i))
		}
	}
	var got []string
	for _, signal := range r.Signals {
		got = append(got, fmt.Sprint(signal.Label, " ", signal.Confirmed))
	}
	if len(want) < 20 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}
