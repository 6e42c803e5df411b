package ta

import (
	"math/rand/v2"
	"slices"
	"testing"

	"candela/lib/market"
)

// TestSignals_NeverRepaint computes every indicator over 50 beginnings of the bars. The
// signals that a beginning confirms are exactly those that all bars have confirmed by
// then: none vanishes, moves or appears later.
func TestSignals_NeverRepaint(t *testing.T) {
	t.Parallel()
	const n, beginnings = 900, 50
	for _, d := range All() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			s, err := ResolveAlert(d.Name)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(3, 5))
			for _, b := range []*market.Bars{jumpy(n, 9), nasty(n, 4)} {
				in := input(b, market.Hour1)
				all := s.Compute(in)
				rows := rowsOf(s, in)
				for range beginnings {
					k := 1 + random.IntN(n)
					part := beginning(in, k)
					got, want := confirmed(s.Compute(part), k), confirmed(all, k)
					if !slices.Equal(got, want) {
						t.Fatalf("%d bars: signals %v, of all bars %v", k, got, want)
					}
					sameRows(t, rowsOf(s, part), rows)
				}
			}
		})
	}
}

// beginning cuts an input to its first k bars.
func beginning(in Input, k int) Input {
	bars := in.Bars.Slice(0, k)
	out := Input{Env: in.Env, Bars: &bars, Series: map[market.SeriesName][]float64{}}
	for name, values := range in.Series {
		out.Series[name] = values[:k]
	}
	return out
}

// confirmed returns the signals that bars before k confirm, in one order.
func confirmed(r *Result, k int) []Signal {
	out := slices.DeleteFunc(slices.Clone(r.Signals), func(s Signal) bool { return s.Confirmed >= k })
	slices.SortFunc(out, func(a, b Signal) int {
		switch {
		case a.Confirmed != b.Confirmed:
			return a.Confirmed - b.Confirmed
		case a.Label != b.Label && a.Label < b.Label, a.Label == b.Label && a.X < b.X, a.Label == b.Label && a.X == b.X && a.Y < b.Y:
			return -1
		case a == b:
			return 0
		}
		return 1
	})
	return out
}

// rowsOf returns the columns of an indicator that streams, nil for others.
func rowsOf(s *Selection, in Input) [][]float64 {
	if inst, ok := s.Instance.(*series); ok {
		return inst.rows(in)
	}
	return nil
}

// sameRows requires that the columns of a beginning are the beginning of the columns.
func sameRows(t *testing.T, part, all [][]float64) {
	t.Helper()
	for c := range part {
		for i, x := range part[c] {
			if !same(x, all[c][i]) {
				t.Fatalf("column %d at bar %d of %d: %v, of all bars %v", c, i, len(part[c]), x, all[c][i])
			}
		}
	}
}

// jumpy makes bars that sometimes open far from the close before.
func jumpy(n int, seed uint64) *market.Bars {
	random := rand.New(rand.NewPCG(seed, 13))
	b := walk(n, seed)
	level := 1.0
	for i := range n {
		if random.IntN(12) == 0 {
			level *= 1 + 0.3*(random.Float64()-0.5)
		}
		b.O[i], b.H[i], b.L[i], b.C[i] = level*b.O[i], level*b.H[i], level*b.L[i], level*b.C[i]
	}
	return b
}
