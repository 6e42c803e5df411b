package calc

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestKernels_AllocateNothing(t *testing.T) {
	b := walkBars(21, 4096, 0.05)
	out := make([][]float64, 3)
	for i := range out {
		out[i] = make([]float64, len(b.c))
	}
	x, y, z := out[0], out[1], out[2]
	for name, f := range map[string]func(){
		"EMA":        func() { EMA(x, b.c, 20) },
		"MACD":       func() { MACD(x, y, z, b.c, 12, 26, 9) },
		"RSI":        func() { RSI(x, b.c, 14) },
		"Bollinger":  func() { Bollinger(x, y, z, b.c, 20, 2, b.slots) },
		"Max":        func() { extreme(x, b.h, 14, highest) },
		"Min":        func() { extreme(x, b.l, 14, lowest) },
		"Stochastic": func() { Stochastic(x, y, b.h, b.l, b.c, 14, 3, 3, b.slots) },
		"ATR":        func() { ATR(x, b.h, b.l, b.c, 14) },
		"ADX":        func() { ADX(x, y, z, b.h, b.l, b.c, 14) },
	} {
		if n := testing.AllocsPerRun(3, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func TestStates_AllocateNothing(t *testing.T) {
	b := walkBars(22, 300, 0.05)
	for _, k := range kernels() {
		s := NewSlab()
		step, out := k.stream(s, 14), make([]float64, k.outs)
		saved := s.Snapshot(nil)
		i := 0
		bar := func() { step(b, i%len(b.c), out) }
		s.Peek(bar)
		if n := testing.AllocsPerRun(100, func() {
			bar()
			s.Peek(bar)
			saved = s.Snapshot(saved)
			i++
		}); n != 0 {
			t.Errorf("%s allocates %v times a bar", k.name, n)
		}
	}
}

// Peek returns the same as Step and changes nothing; a snapshot restores the states.
func TestSlab_PeekAndRestoreLeaveNoTrace(t *testing.T) {
	t.Parallel()
	all := kernels()
	rapid.Check(t, func(t *rapid.T) {
		k := all[rapid.IntRange(0, len(all)-1).Draw(t, "kernel")]
		n := rapid.IntRange(1, 40).Draw(t, "n")
		b := walkBars(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(2, 160).Draw(t, "bars"), 0.2)
		back := rapid.IntRange(0, len(b.c)-1).Draw(t, "snapshot at")
		s := NewSlab()
		step := k.stream(s, n)
		want, got := make([]float64, k.outs), make([]float64, k.outs)
		var saved []float64
		history := make([][]float64, len(b.c))
		run := func(i int) {
			s.Peek(func() { step(b, len(b.c)-1-i, got) }) // a bar that never closes
			s.Peek(func() { step(b, i, got) })
			step(b, i, want)
			for o := range want {
				if !sameBits(got[o], want[o]) {
					t.Fatalf("%s(%d) output %d at bar %d: peek %v, step %v", k.name, n, o, i, got[o], want[o])
				}
			}
		}
		for i := range b.c {
			if i == back {
				saved = s.Snapshot(saved)
			}
			run(i)
			history[i] = append([]float64(nil), want...)
		}
		if err := s.Restore(saved); err != nil {
			t.Fatal(err)
		}
		for i := back; i < len(b.c); i++ {
			run(i)
			for o := range want {
				if !sameBits(want[o], history[i][o]) {
					t.Fatalf("%s(%d) output %d at bar %d: %v after restoring, %v before", k.name, n, o, i, want[o], history[i][o])
				}
			}
		}
	})
}

func TestSlab_RefusesAForeignSnapshot(t *testing.T) {
	t.Parallel()
	s := NewSlab()
	mean := s.SMA(3)
	mean.Step(1, 5)
	if err := s.Restore(make([]float64, len(s.mem)+1)); err == nil {
		t.Error("a snapshot of another length was taken")
	}
	before := s.Snapshot(nil)
	if err := s.Restore(make([]float64, len(s.mem))); err != nil {
		t.Fatal(err)
	}
	if got := mean.Step(1, 5); got == got {
		t.Errorf("after a restart the first value is %v", got)
	}
	for i, x := range s.Snapshot(nil) {
		if x != before[i] {
			t.Errorf("number %d is %v after a restart and the same bar, was %v", i, x, before[i])
		}
	}
}

func TestSlab_MayGrowBetweenSteps(t *testing.T) {
	t.Parallel()
	s := NewSlab()
	a := s.EMA(2)
	a.Step(1)
	b := s.SMA(500) // moves the memory of a
	b.Step(0, 1)
	if got := a.Step(3); got != 2 {
		t.Errorf("mean of 1 and 3 is %v", got)
	}
}

func TestCumulative_Restarts(t *testing.T) {
	t.Parallel()
	c := NewSlab().Cumulative()
	c.Step(3)
	c.Restart()
	if got := c.Step(4); got != 4 {
		t.Errorf("total after a restart is %v", got)
	}
}

// Scaling by a power of two is exact but for the smallest numbers there are, which
// have fewer bits, so every mean must scale with its input to the bit; and a mean
// lies between the extremes of its window.
func TestMeans_ScaleAndStayInside(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		x := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), n, 120).Draw(t, "values")
		scaled := make([]float64, len(x))
		for i := range x {
			if math.Abs(x[i]) < 1e-200 {
				x[i] = 0 // a sum or a share of it may be too small for all its bits
			}
			scaled[i] = 8 * x[i]
		}
		low, high := make([]float64, len(x)), make([]float64, len(x))
		extreme(low, x, n, lowest)
		extreme(high, x, n, highest)
		sma := func(dst, src []float64) {
			state := NewSlab().SMA(n)
			for i, v := range src {
				dst[i] = state.Step(Slot(i), v)
			}
		}
		for _, mean := range []func(dst, src []float64){
			sma,
			func(dst, src []float64) {
				wma := NewSlab().WMA(n)
				for i, v := range src {
					dst[i] = wma.Step(Slot(i), v)
				}
			},
			func(dst, src []float64) { centred(dst, src, n, Slots{}) },
			func(dst, src []float64) { EMA(dst, src, n) },
		} {
			a, b := make([]float64, len(x)), make([]float64, len(x))
			mean(a, x)
			mean(b, scaled)
			for i := range a {
				if !sameBits(8*a[i], b[i]) {
					t.Fatalf("bar %d: mean %v, of eightfold values %v", i, a[i], b[i])
				}
			}
		}
		sma(scaled, x)
		for i := n - 1; i < len(x); i++ {
			if slack := 1e-14 * float64(n) * 1e6; scaled[i] < low[i]-slack || scaled[i] > high[i]+slack {
				t.Fatalf("bar %d: mean %v outside %v to %v", i, scaled[i], low[i], high[i])
			}
		}
	})
}
