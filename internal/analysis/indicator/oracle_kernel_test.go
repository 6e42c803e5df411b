package indicator_test

import (
	"testing"

	"candela/internal/analysis/calc"
)

// kernels names what the answers of testdata/oracle/calc.json are about: each
// kernel over a whole column, and as it steps through the bars.
func kernels(closes []float64, slots calc.Slots) map[string][2][]float64 {
	batch := func(fill func(dst []float64)) []float64 {
		dst := make([]float64, len(closes))
		fill(dst)
		return dst
	}
	steps := func(step func(at calc.Slot, x float64) float64) []float64 {
		return batch(func(dst []float64) {
			for i, x := range closes {
				dst[i] = step(slots.At(i), x)
			}
		})
	}
	m, n := calc.NewSlab(), len(closes)
	sum, sma, ema, rma := m.Sum(20), m.SMA(20), m.EMA(20), m.RMA(14)
	wma, hma, top, bottom := m.WMA(20), m.HMA(20), m.Max(14), m.Min(14)
	deviation, mean, line := m.Deviation(14), m.MeanDeviation(14), m.LinReg(14)
	unused := func() []float64 { return make([]float64, n) }
	return map[string][2][]float64{
		"SUM 20": {batch(func(d []float64) { calc.Sum(d, closes, 20, slots) }), steps(sum.Step)},
		"SMA 20": {batch(func(d []float64) { calc.SMA(d, closes, 20, slots) }), steps(sma.Step)},
		"EMA 20": {batch(func(d []float64) { calc.EMA(d, closes, 20) }), steps(func(_ calc.Slot, x float64) float64 { return ema.Step(x) })},
		"RMA 14": {batch(func(d []float64) { calc.RMA(d, closes, 14) }), steps(func(_ calc.Slot, x float64) float64 { return rma.Step(x) })},
		"WMA 20": {batch(func(d []float64) { calc.WMA(d, closes, 20, slots) }), steps(wma.Step)},
		"HMA 20": {batch(func(d []float64) { calc.HMA(d, unused(), closes, 20, slots) }), steps(hma.Step)},
		"MAX 14": {batch(func(d []float64) { calc.Max(d, closes, 14) }), steps(func(_ calc.Slot, x float64) float64 { return top.Step(x) })},
		"MIN 14": {batch(func(d []float64) { calc.Min(d, closes, 14) }), steps(func(_ calc.Slot, x float64) float64 { return bottom.Step(x) })},
		"DEVIATION 14": {
			batch(func(d []float64) { calc.Deviation(unused(), d, closes, 14, slots) }),
			steps(func(at calc.Slot, x float64) float64 { _, d := deviation.Step(at, x); return d }),
		},
		"MEANDEV 14": {
			batch(func(d []float64) { calc.MeanDeviation(unused(), d, closes, 14, slots) }),
			steps(func(at calc.Slot, x float64) float64 { _, d := mean.Step(at, x); return d }),
		},
		"LINREG 14": {
			batch(func(d []float64) { calc.LinReg(unused(), unused(), d, closes, 14, slots) }),
			steps(func(at calc.Slot, x float64) float64 { _, _, y := line.Step(at, x); return y }),
		},
	}
}

func TestOracles_Kernels(t *testing.T) {
	t.Parallel()
	sets := oracleBars()
	table := make(map[string]worst)
	for _, f := range oracleFiles(t) {
		if f.Indicator != kernelFile {
			continue
		}
		for _, c := range f.Cases {
			set := sets[c.Set]
			ours := kernels(set.C, calc.Slots{T: set.T, Step: set.Interval.Seconds()})
			for label, want := range c.Lines {
				got, ok := ours[label]
				if !ok {
					t.Fatalf("nothing is named %s", label)
				}
				for i, way := range [...]string{"batch", "steps"} {
					var w worst
					for _, p := range c.series(label+" "+way, got[i], want, &w) {
						t.Error(p)
					}
					keepWorst(table, c.Oracle+" "+label, w)
				}
			}
		}
	}
	if len(table) == 0 {
		t.Fatal("no answer about the kernels was read")
	}
	logWorst(t, "calc", table)
}
