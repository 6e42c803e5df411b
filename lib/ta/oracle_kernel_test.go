package ta_test

import (
	"testing"

	"candela/lib/ta/calc"
)

// kernels names what the answers of testdata/oracle/calc.json are about: each kernel as
// it steps through the bars.
func kernels(closes []float64, slots calc.Slots) map[string][]float64 {
	steps := func(step func(at calc.Slot, x float64) float64) []float64 {
		dst := make([]float64, len(closes))
		for i, x := range closes {
			dst[i] = step(slots.At(i), x)
		}
		return dst
	}
	anywhere := func(step func(x float64) float64) []float64 {
		return steps(func(_ calc.Slot, x float64) float64 { return step(x) })
	}
	m := calc.NewSlab()
	sum, sma, ema, rma := m.Sum(20), m.SMA(20), m.EMA(20), m.RMA(14)
	wma, hma, top, bottom := m.WMA(20), m.HMA(20), m.Max(14), m.Min(14)
	deviation, mean, line := m.Deviation(14), m.MeanDeviation(14), m.LinReg(14)
	return map[string][]float64{
		"SUM 20": steps(sum.Step), "SMA 20": steps(sma.Step),
		"EMA 20": anywhere(ema.Step), "RMA 14": anywhere(rma.Step),
		"WMA 20": steps(wma.Step), "HMA 20": steps(hma.Step),
		"MAX 14": anywhere(top.Step), "MIN 14": anywhere(bottom.Step),
		"DEVIATION 14": steps(func(at calc.Slot, x float64) float64 { _, d := deviation.Step(at, x); return d }),
		"MEANDEV 14":   steps(func(at calc.Slot, x float64) float64 { _, d := mean.Step(at, x); return d }),
		"LINREG 14":    steps(func(at calc.Slot, x float64) float64 { _, _, y := line.Step(at, x); return y }),
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
				var w worst
				for _, p := range c.series(label, got, want, &w) {
					t.Error(p)
				}
				keepWorst(table, c.Oracle+" "+label, w)
			}
		}
	}
	if len(table) == 0 {
		t.Fatal("no answer about the kernels was read")
	}
	logWorst(t, "calc", table)
}
