package candle

import (
	"maps"
	"math"
	"slices"
	"testing"

	"candela/lib/ta/calc"
)

// TestState_DependsOnTheLastBarsOnly starts at other bars, and steps over a missing
// price, which is a start as well.
func TestState_DependsOnTheLastBarsOnly(t *testing.T) {
	t.Parallel()
	const settled = 20
	bars := priced(walk(7, 3_000, 12), 100)
	whole := run(bars)
	for _, from := range []int{1, 2, 3, 500, 1_007} {
		checkTail(t, whole, run(bars[from:]), from, from+settled)
		for k := range 4 {
			for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				broken := slices.Clone(bars)
				broken[from][k] = x
				checkTail(t, whole, run(broken), 0, from+1+settled)
			}
		}
	}
}

// checkTail compares columns from a bar on; those of part are shifted.
func checkTail(t *testing.T, whole, part map[string]*column, shift, from int) {
	t.Helper()
	tail := func(c *column, shift int) map[int]int {
		values := map[int]int{}
		if c != nil {
			for i, v := range c.values {
				if at := c.bars[i] + shift; at >= from {
					values[at] = v
				}
			}
		}
		return values
	}
	for p := range Count {
		if !maps.Equal(tail(whole[p.Name()], 0), tail(part[p.Name()], shift)) {
			t.Fatalf("%s depends on the bars before %d", p.Name(), from)
		}
	}
}

func TestState_MissingPriceHasNoPattern(t *testing.T) {
	t.Parallel()
	s := New(calc.NewSlab())
	for _, b := range priced(walk(8, 300, 6), 1) {
		s.Step(b[0], b[1], b[2], b[3])
	}
	s.Step(1, math.NaN(), 1, 1)
	for p := range Count {
		if v := s.Value(p); v != 0 {
			t.Errorf("%s has %d at a bar without a high", p.Name(), v)
		}
	}
}

// TestState_LivesInItsSlab steps with peeks and restarts from snapshots.
func TestState_LivesInItsSlab(t *testing.T) {
	t.Parallel()
	bars := priced(walk(9, 2_000, 12), 2)
	slab := calc.NewSlab()
	s, plain := New(slab), New(calc.NewSlab())
	for i, b := range bars {
		if i%37 == 5 {
			saved := slab.Snapshot(nil)
			slab = calc.NewSlab()
			s = New(slab)
			if err := slab.Restore(saved); err != nil {
				t.Fatal(err)
			}
		}
		slab.Peek(func() { s.Step(b[0], b[1]+3, b[2]-1, b[1]) })
		s.Step(b[0], b[1], b[2], b[3])
		plain.Step(b[0], b[1], b[2], b[3])
		for p := range Count {
			if got, want := s.Value(p), plain.Value(p); got != want {
				t.Fatalf("%s at %d: %d after a restart, %d without", p.Name(), i, got, want)
			}
		}
	}
}

func TestState_AllocatesNothing(t *testing.T) {
	s, i := New(calc.NewSlab()), 0
	bars := priced(walk(10, 1_000, 12), 1)
	if n := testing.AllocsPerRun(100, func() { i += sumOf(s, bars[i%len(bars)]) & 1 }); n != 0 {
		t.Errorf("%v allocations per bar", n)
	}
}

// sumOf steps and adds up all values.
func sumOf(s *State, b bar) int {
	s.Step(b[0], b[1], b[2], b[3])
	total := 0
	for p := range Count {
		total += s.Value(p)
	}
	return total
}

func BenchmarkState(b *testing.B) {
	bars := priced(walk(11, 10_000, 40), 100)
	s, total, i := New(calc.NewSlab()), 0, 0
	b.ReportAllocs()
	for b.Loop() {
		total += sumOf(s, bars[i])
		if i++; i == len(bars) {
			i = 0
		}
	}
	if total == 0 {
		b.Error("no pattern was found")
	}
}

func FuzzState(f *testing.F) {
	f.Add(1.0, 2.0, 0.5, 1.5, 3.0)
	f.Add(math.NaN(), math.Inf(1), 0.0, -1.0, 1e308)
	f.Fuzz(func(t *testing.T, o, h, l, c, d float64) {
		s := New(calc.NewSlab())
		prices := []float64{o, h, l, c, d, -o, 2 * h, l / 3, c + d}
		for i := range 60 {
			at := func(k int) float64 { return prices[(i*k+k)%len(prices)] }
			s.Step(at(1), at(2), at(4), at(5))
			for p := range Count {
				if v := s.Value(p); !slices.Contains([]int{0, 80, 100, 200}, max(v, -v)) {
					t.Fatalf("%s is %d", p.Name(), v)
				}
			}
		}
	})
}
