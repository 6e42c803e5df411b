package calc

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// nasty returns extreme series by name.
func nasty() map[string][]float64 {
	const size = 400
	fill := func(f func(i int) float64) []float64 {
		x := make([]float64, size)
		for i := range x {
			x[i] = f(i)
		}
		return x
	}
	walk := walkBars(3, size, 0).c
	return map[string][]float64{
		"none": {}, "one": {5}, "two": {5, 6},
		"flat": fill(func(int) float64 { return 0.1 }),
		"zero": fill(func(int) float64 { return 0 }),
		"both zeros": fill(func(i int) float64 {
			if i%3 == 0 {
				return math.Copysign(0, -1)
			}
			return 0
		}),
		"tiny":     fill(func(i int) float64 { return walk[i] * 1e-290 }),
		"denormal": fill(func(i int) float64 { return walk[i] * 1e-320 }),
		"huge":     fill(func(i int) float64 { return walk[i] * 1e150 }),
		"overflow": fill(func(i int) float64 { return walk[i] * 1e306 * float64(1-2*(i&1)) }),
		"negative": fill(func(i int) float64 { return -walk[i] }),
		"spikes": fill(func(i int) float64 {
			if i%37 == 5 {
				return 1e12
			}
			return walk[i]
		}),
		"late start": fill(func(i int) float64 {
			if i < 23 {
				return math.NaN()
			}
			return walk[i]
		}),
		"gaps": fill(func(i int) float64 {
			if i%29 == 7 || (i > 200 && i < 245) {
				return math.NaN()
			}
			return walk[i]
		}),
		"missing": fill(func(int) float64 { return math.NaN() }),
		"infinite": fill(func(i int) float64 {
			if i%41 == 3 {
				return math.Inf(1 - 2*(i&1))
			}
			return walk[i]
		}),
	}
}

func TestStates_GiveTheBitsOfTheKernelsOnNastySeries(t *testing.T) {
	t.Parallel()
	for name, series := range nasty() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := seriesBars(series)
			for _, k := range kernels() {
				for _, n := range []int{1, 2, 3, 14, 21, 300} {
					checkStream(t, k, b, n)
				}
			}
		})
	}
}

// Values are missing exactly where the definition says: a leading gap moves the first
// value, a gap in the middle has no effect after its window.
func TestKernels_TreatMissingValuesAsDefined(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"late start", "gaps", "missing", "flat", "zero", "one", "two", "none"} {
		b := seriesBars(nasty()[name])
		for _, k := range kernels() {
			if k.plain == nil {
				continue
			}
			for _, n := range []int{1, 3, 14} {
				t.Run(fmt.Sprintf("%s, %s of %d", name, k.name, n), func(t *testing.T) {
					t.Parallel()
					comparePlain(t, k, b, n, 1e-11)
				})
			}
		}
	}
}

// A spike of 1e12 does not affect windows without it. With naive running sums the
// deviation after it is wrong in the first digit.
func TestWindowedKernels_ForgetSpikes(t *testing.T) {
	t.Parallel()
	b := seriesBars(nasty()["spikes"])
	for _, k := range windowKernels() {
		for _, n := range []int{2, 14, 20} {
			got, want := makeOuts(k, len(b.c)), makeOuts(k, len(b.c))
			k.run(b, n, got)
			k.plain(b, n, want)
			for o := range got {
				for i := range got[o] {
					// Inside the spike's reach the error is measured against the spike.
					scale := slices.Max(b.c[max(0, i-k.reach(n)+1) : i+1])
					if !closeTo(got[o][i], want[o][i], scale, 2e-12) {
						t.Fatalf("%s(%d) output %d at bar %d: %v, want %v", k.name, n, o, i, got[o][i], want[o][i])
					}
				}
			}
		}
	}
}

// The relative error of the deviation itself, on calm prices far from zero, where
// sums of squares cancel.
func TestDeviation_KeepsItsDigits(t *testing.T) {
	t.Parallel()
	b := walkBars(5, 3000, 0)
	for i := range b.c {
		b.c[i] = 1e6 + 1e-3*b.c[i]
	}
	for _, n := range []int{2, 20, 200} {
		state, worst := NewSlab().Deviation(n), 0.0
		for i, x := range b.c {
			_, dev := state.Step(b.slots.At(i), x)
			if i < n-1 {
				continue
			}
			want := plainDeviation(b.c[i-n+1 : i+1])
			worst = max(worst, math.Abs(dev-want)/want)
		}
		if bound := 1e-15 * float64(n+10); worst > bound {
			t.Errorf("n %d: relative error %.1e, bound %.1e", n, worst, bound)
		}
	}
}

func TestKernels_KnownFirstIndex(t *testing.T) {
	t.Parallel()
	b := walkBars(6, 200, 0)
	first := func(x []float64) int {
		return slices.IndexFunc(x, func(v float64) bool { return v == v })
	}
	out := makeOuts(kernel{outs: 3}, len(b.c))
	for name, c := range map[string]struct {
		run  func()
		want []int
	}{
		"EMA 20":       {func() { EMA(out[0], b.c, 20) }, []int{19}},
		"RSI 14":       {func() { RSI(out[0], b.c, 14) }, []int{14}},
		"ATR 14":       {func() { ATR(out[0], b.h, b.l, b.c, 14) }, []int{13}},
		"MACD":         {func() { MACD(out[0], out[1], out[2], b.c, 12, 26, 9) }, []int{25, 33, 33}},
		"ADX 14":       {func() { ADX(out[0], out[1], out[2], b.h, b.l, b.c, 14) }, []int{27, 14, 14}},
		"stochastic":   {func() { Stochastic(out[0], out[1], b.h, b.l, b.c, 14, 3, 3, b.slots) }, []int{15, 17}},
		"Bollinger 20": {func() { Bollinger(out[0], out[1], out[2], b.c, 20, 2, b.slots) }, []int{19, 19, 19}},
		"ROC 9":        {func() { kernelNamed(t, "ROC").run(b, 9, out[:1]) }, []int{9}},
	} {
		c.run()
		for o, want := range c.want {
			if got := first(out[o]); got != want {
				t.Errorf("%s output %d begins at %d, want %d", name, o, got, want)
			}
		}
	}
}

// ATR is the RMA of the true range, MACD the difference of two EMAs: fused kernels
// give the same bits as their parts.
func TestFusedKernels_EqualTheirParts(t *testing.T) {
	t.Parallel()
	b := walkBars(12, 5000, 0.1)
	x, y := make([]float64, len(b.c)), make([]float64, len(b.c))
	out := makeOuts(kernel{outs: 3}, len(b.c))
	same := func(name string, got, want []float64) {
		t.Helper()
		for i := range got {
			if !sameBits(got[i], want[i]) {
				t.Fatalf("%s at bar %d: %v, parts give %v", name, i, got[i], want[i])
			}
		}
	}
	tr, rma := NewSlab().TrueRange(), NewSlab().RMA(14)
	for i, c := range b.c {
		y[i] = rma.Step(tr.Step(b.h[i], b.l[i], c))
	}
	ATR(out[0], b.h, b.l, b.c, 14)
	same("ATR", out[0], y)

	EMA(x, b.c, 12)
	EMA(y, b.c, 26)
	for i := range x {
		x[i] -= y[i]
	}
	EMA(y, x, 9)
	MACD(out[0], out[1], out[2], b.c, 12, 26, 9)
	same("MACD", out[0], x)
	same("MACD signal", out[1], y)

	kernelNamed(t, "Deviation").run(b, 20, [][]float64{x, y})
	Bollinger(out[0], out[1], out[2], b.c, 20, 2, b.slots)
	same("Bollinger middle", out[1], x)
}

// After the documented number of bars, recursive kernels give the same bits as with a
// longer history.
func TestRecursiveKernels_Converge(t *testing.T) {
	t.Parallel()
	b := walkBars(13, 20_000, 0)
	for _, c := range []struct {
		name   string
		n      int
		stable int
	}{{"EMA", 20, 60 * 20}, {"RMA", 14, 90 * 14}, {"RSI", 14, 90 * 14}, {"ATR", 14, 90 * 14}, {"ADX", 14, 120 * 14}} {
		k := kernelNamed(t, c.name)
		whole := makeOuts(k, len(b.c))
		k.run(b, c.n, whole)
		late := b.from(3001)
		got := makeOuts(k, len(late.c))
		k.run(late, c.n, got)
		last := 0
		for o := range got {
			for i := range got[o] {
				if !sameBits(got[o][i], whole[o][3001+i]) {
					last = max(last, i)
				}
			}
		}
		t.Logf("%s(%d): bits agree after %d bars", c.name, c.n, last+1)
		if last >= c.stable {
			t.Errorf("%s(%d): bits still differ at bar %d", c.name, c.n, last)
		}
	}
}

func kernelNamed(t *testing.T, name string) kernel {
	t.Helper()
	for _, k := range kernels() {
		if k.name == name {
			return k
		}
	}
	t.Fatalf("no kernel %s", name)
	return kernel{}
}

func TestKernels_PanicOnImpossibleWindows(t *testing.T) {
	t.Parallel()
	x := make([]float64, 4)
	for name, f := range map[string]func(){
		"SMA of 0":            func() { NewSlab().SMA(0) },
		"EMA of -1":           func() { EMA(x, make([]float64, 4), -1) },
		"Max of 0":            func() { extreme(x, make([]float64, 4), 0, highest) },
		"pivot of nothing":    func() { NewSlab().Pivot(0, 0) },
		"times without step":  func() { centred(x, make([]float64, 4), 7, Slots{T: make([]int64, 4)}) },
		"slot without a step": func() { SlotOf(60, 0) },
		"short destination":   func() { EMA(x, make([]float64, 5), 2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ t, step, want int64 }{{0, 60, 0}, {59, 60, 0}, {60, 60, 1}, {-1, 60, -1}, {-60, 60, -1}, {-61, 60, -2}} {
		if got := SlotOf(c.t, c.step); int64(got) != c.want {
			t.Errorf("SlotOf(%d, %d) = %d, want %d", c.t, c.step, got, c.want)
		}
	}
	if got := (Slots{}).At(7); got != 7 {
		t.Errorf("without times bar 7 is in slot %d", got)
	}
}
