package calc

import (
	"flag"
	"fmt"
	"math"
	"testing"
)

func makeOuts(k kernel, n int) [][]float64 {
	out := make([][]float64, k.outs)
	for i := range out {
		out[i] = make([]float64, n)
	}
	return out
}

// sameBits treats all NaNs as one: their payload is the processor's choice.
func sameBits(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || (a != a && b != b)
}

// checkStream fails the test unless the state gives the kernel's bits at every
// bar.
func checkStream(t *testing.T, k kernel, b *bars, n int) {
	t.Helper()
	batch := makeOuts(k, len(b.c))
	k.run(b, n, batch) // nothing but the steps again where there is no batch kernel
	s := NewSlab()
	step := k.stream(s, n)
	got := make([]float64, k.outs)
	for i := range b.c {
		step(b, i, got)
		for o := range got {
			if !sameBits(got[o], batch[o][i]) {
				t.Fatalf("%s(%d) output %d at bar %d of %d: stream %v (%x), batch %v (%x)", k.name, n, o, i, len(b.c),
					got[o], math.Float64bits(got[o]), batch[o][i], math.Float64bits(batch[o][i]))
			}
		}
	}
}

var streamBars = flag.Int("bars", 100_000, "bars that each state is compared over; the full checks use 1000000")

func TestStates_GiveTheBitsOfTheKernels(t *testing.T) {
	t.Parallel()
	size := *streamBars
	regular, holey := walkBars(7, size, 0), walkBars(8, size/10, 0.2)
	counted := walkBars(9, size/10, 0)
	counted.slots = Slots{}
	for _, k := range kernels() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			checkStream(t, k, regular, 20)
			for _, n := range []int{1, 2, 3, 5, 14, 50, 200} {
				checkStream(t, k, holey, n)
				checkStream(t, k, counted, n)
			}
		})
	}
}

// closeTo compares with a relative bound, or an absolute one near the scale of
// the series where the value itself cancels.
func closeTo(got, want, scale, bound float64) bool {
	if got != got || want != want {
		return got != got && want != want
	}
	return math.Abs(got-want) <= bound*max(math.Abs(want), scale)
}

// comparePlain fails the test unless the kernel is within bound of its plain
// definition.
func comparePlain(t *testing.T, k kernel, b *bars, n int, bound float64) {
	t.Helper()
	got, want := makeOuts(k, len(b.c)), makeOuts(k, len(b.c))
	k.run(b, n, got)
	k.plain(b, n, want)
	for o := range got {
		for i := range got[o] {
			if !closeTo(got[o][i], want[o][i], 1, bound) {
				t.Fatalf("output %d at bar %d: %v, want %v", o, i, got[o][i], want[o][i])
			}
		}
	}
}

func TestKernels_MatchPlainDefinitions(t *testing.T) {
	t.Parallel()
	for _, k := range kernels() {
		if k.plain == nil {
			continue
		}
		for _, n := range []int{1, 2, 3, 7, 14, 20, 50} {
			for _, holes := range []float64{0, 0.3} {
				t.Run(fmt.Sprintf("%s of %d, holes %v", k.name, n, holes), func(t *testing.T) {
					t.Parallel()
					comparePlain(t, k, walkBars(uint64(n), 700, holes), n, 1e-12)
				})
			}
		}
	}
}

// A windowed value depends on the bars in its window only: it must not matter
// where the history begins.
func TestWindowedKernels_AreIndependentOfTheStart(t *testing.T) {
	t.Parallel()
	for _, k := range kernels() {
		if k.reach == nil {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for _, holes := range []float64{0, 0.2} {
				b := walkBars(11, 6000, holes)
				for _, n := range []int{1, 3, 14, 40} {
					whole := makeOuts(k, len(b.c))
					k.run(b, n, whole)
					for _, start := range []int{1, 2, 17, 1280, 2561} {
						late := b.from(start)
						got := makeOuts(k, len(late.c))
						k.run(late, n, got)
						for o := range got {
							for i := k.reach(n) - 1; i < len(late.c); i++ {
								if !sameBits(got[o][i], whole[o][start+i]) {
									t.Fatalf("n %d, start %d, output %d, bar %d: %v, with more history %v",
										n, start, o, i, got[o][i], whole[o][start+i])
								}
							}
						}
					}
				}
			}
		})
	}
}

func TestCentredMean_OfAFlatSeriesIsTheSeries(t *testing.T) {
	t.Parallel()
	b := seriesBars([]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1})
	got := make([]float64, len(b.c))
	centred(got, b.c, 3, b.slots)
	for i, x := range got[2:] {
		if x != 0.1 {
			t.Errorf("bar %d: %v", i+2, x)
		}
	}
}
