package ta_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"candela/lib/market"
	"candela/lib/ta"
)

// TestContinues_OnlyWhereBeginSaysSo follows windows over bars with holes, which lose old bars and
// now and then get older ones back: a beginning that continues is the one that Begin finds.
func TestContinues_OnlyWhereBeginSaysSo(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		all := market.MakeBars(6000, false)
		for i := range 6000 {
			if r.Float64() < 0.97 || seed%2 == 0 {
				all.Append(market.Bar{T: 1_600_000_000 + int64(i)*3600, O: 1, H: 1, L: 1, C: 1})
			}
		}
		h := ta.History{Interval: market.Hour1, Shown: 1, Stable: 1 + r.IntN(900)}
		first, continued := r.IntN(500), 0
		var known ta.Beginning
		for n := first + 1; n <= all.Len(); n++ {
			if r.Float64() < 0.01 {
				first = max(0, min(n-1, n-h.Len()+r.IntN(400)-200))
			}
			seen := all.Slice(first, n)
			want := seen.T[h.Begin(&seen, false)]
			if h.Continues(known, &seen) {
				continued++
			} else {
				known, _ = h.Beginning(&seen)
			}
			if known.Time != want {
				t.Fatalf("seed %d, %d bars of %d: begins at %d, want %d", seed, seen.Len(), n, known.Time, want)
			}
		}
		if continued < 1000 {
			t.Errorf("seed %d: continued only %d times", seed, continued)
		}
	}
}

// randomBars returns bars around 100, each at its hour.
func randomBars(n int, seed uint64, hour func(i int) int) market.Bars {
	bars := market.MakeBars(n, false)
	r := rand.New(rand.NewPCG(seed, seed+1))
	for i := range n {
		p := 100 + r.Float64()
		bars.Append(market.Bar{T: int64(hour(i)) * 3600, O: p, H: p + r.Float64(), L: p - r.Float64(), C: p + 0.1, V: r.Float64()})
	}
	return bars
}

// TestWarm_EqualsSteps holds that a stream that passed over a history is one that stepped through
// it, in every bit of its memory.
func TestWarm_EqualsSteps(t *testing.T) {
	t.Parallel()
	bars := randomBars(400, 3, func(i int) int { return i })
	for _, name := range ta.Names() {
		s, err := (ta.Library{}).Resolve(ta.Request{Name: name})
		if err != nil {
			t.Fatal(name, err)
		}
		env := ta.Env{Interval: market.Hour1}
		if s.Stream(env) == nil {
			continue
		}
		for _, n := range []int{0, 1, 2, 5, 400} {
			warmed, stepped := s.Stream(env), s.Stream(env)
			head := bars.Slice(0, n)
			warmed.Warm(&head)
			for i := range n {
				stepped.Step(bars.At(i))
			}
			if a, b := warmed.Snapshot(nil), stepped.Snapshot(nil); !slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }) {
				t.Errorf("%s after %d bars: %v, want %v", name, n, a, b)
			}
		}
	}
}

// TestReset_EqualsNew holds that a stream that was reset is a new one: in every bit of its memory,
// and in its rows.
func TestReset_EqualsNew(t *testing.T) {
	t.Parallel()
	bars := randomBars(300, 5, func(i int) int { return i + i/50 }) // an hour is missing now and then
	same := func(a, b []float64) bool {
		return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
	}
	for _, name := range ta.Names() {
		s, err := (ta.Library{}).Resolve(ta.Request{Name: name})
		if err != nil {
			t.Fatal(name, err)
		}
		for _, interval := range []market.Interval{market.Hour1, market.Month1} {
			env := ta.Env{Interval: interval}
			used, fresh := s.Stream(env), s.Stream(env)
			if used == nil {
				continue
			}
			for i := range bars.Len() {
				used.Step(bars.At(i))
			}
			if !used.Reset() || !same(used.Snapshot(nil), fresh.Snapshot(nil)) {
				t.Fatalf("%s: a stream that was reset has other memory than a new one", name)
			}
			for i := range bars.Len() {
				a, b := used.Step(bars.At(i)), fresh.Step(bars.At(i))
				if !same(a.Values, b.Values) || !same(a.Prev, b.Prev) || !slices.Equal(a.Signals, b.Signals) || a.Slot != b.Slot {
					t.Fatalf("%s: bar %d after a reset: %+v, want %+v", name, i, a, b)
				}
			}
		}
	}
}
