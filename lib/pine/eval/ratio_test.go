package eval_test

import (
	"math"
	"testing"
	"time"

	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
	"candela/lib/ta/calc"
)

// BenchmarkRatios runs the plain and the loop script and the same kernels by hand in turns,
// and reports the shortest time of each in ns a bar: other work on the machine then counts
// for little, and the ratios of one run can be trusted.
func BenchmarkRatios(b *testing.B) {
	bars := walk(4_309, 1)
	env := announced(bars)
	out := newColumns(len(bars))
	table := []struct {
		name string
		run  func()
		best time.Duration
	}{
		{name: "hand", run: func() { plainByHand(env.Bars, out) }},
		{name: "hand-fresh", run: func() { plainByHand(env.Bars, newColumns(len(bars))) }},
		{name: "hand-loop", run: func() { loopByHand(env.Bars, out) }},
		{name: "plain", run: fullRun(b, plainScript, env, bars)},
		{name: "plain-stepped", run: fullRun(b, plainScript, hourly(), bars)},
		{name: "loop", run: fullRun(b, loopScript, env, bars)},
		{name: "loop-stepped", run: fullRun(b, loopScript, hourly(), bars)},
	}
	for b.Loop() {
		for i := range table {
			start := time.Now()
			table[i].run()
			if took := time.Since(start); table[i].best == 0 || took < table[i].best {
				table[i].best = took
			}
		}
	}
	for _, t := range table {
		b.ReportMetric(float64(t.best.Nanoseconds())/float64(len(bars)), t.name+"-ns/bar")
	}
	b.ReportMetric(0, "ns/op")
}

// fullRun compiles a checked script and runs it over all bars.
func fullRun(b *testing.B, source string, env eval.Env, bars []market.Bar) func() {
	b.Helper()
	p, found := check.Check(source, check.Options{})
	if p == nil {
		b.Fatal(found)
	}
	columns := make([][]float64, len(p.Plots))
	return func() {
		m, err := eval.New(p, env)
		if err != nil {
			b.Fatal(err)
		}
		out, stepped := m.Outputs(), make([]int, 0, len(columns))
		for k := range columns {
			if all := m.Column(k); all != nil {
				columns[k] = all
			} else {
				columns[k] = make([]float64, len(bars))
				stepped = append(stepped, k)
			}
		}
		for i := range bars {
			if err := m.Keep(bars[i]); err != nil {
				b.Fatal(err)
			}
			for _, k := range stepped {
				columns[k][i] = out[k].Values[0]
			}
		}
	}
}

func newColumns(n int) *[7][]float64 {
	var out [7][]float64
	for i := range out {
		out[i] = make([]float64, n)
	}
	return &out
}

// plainByHand is the plain script written with batch kernels.
func plainByHand(bars *market.Bars, out *[7][]float64) {
	fast, slow, up := out[0], out[1], out[5]
	calc.EMA(fast, bars.C, 12)
	calc.EMA(slow, bars.C, 26)
	calc.MACD(out[2], out[3], out[4], bars.C, 12, 26, 9)
	for i := 1; i < len(up); i++ {
		up[i] = 0
		if fast[i] > slow[i] && fast[i-1] <= slow[i-1] {
			up[i] = 1
		}
	}
}

// loopByHand adds the loop of the second script.
func loopByHand(bars *market.Bars, out *[7][]float64) {
	plainByHand(bars, out)
	for i := range out[6] {
		sum := 0.0
		for k := range 20 {
			x := math.NaN()
			if i >= k {
				x = bars.C[i-k]
			}
			sum += float64(x * float64(20-k))
		}
		out[6][i] = sum
	}
}
