package calc

import (
	"math"
	"testing"
	"time"
)

// benchBars is how many bars a benchmark passes over: more than any cache but the
// last level holds, as in a long history.
const benchBars = 1_000_000

// BenchmarkKernels reports the best pass in ns per bar, with copy as the floor. The
// mean would depend on other work of the machine.
func BenchmarkKernels(b *testing.B) {
	d := walkBars(42, benchBars, 0)
	out := make([][]float64, 3)
	for i := range out {
		out[i] = make([]float64, benchBars)
	}
	for _, k := range []struct {
		name string
		run  func()
	}{
		{"copy", func() { copy(out[0], d.c) }},
		{"EMA20", func() { EMA(out[0], d.c, 20) }},
		{"RSI14", func() { RSI(out[0], d.c, 14) }},
		{"MACD", func() { MACD(out[0], out[1], out[2], d.c, 12, 26, 9) }},
		{"BBANDS20", func() { Bollinger(out[0], out[1], out[2], d.c, 20, 2, d.slots) }},
		{"ATR14", func() { ATR(out[0], d.h, d.l, d.c, 14) }},
		{"STOCH", func() { Stochastic(out[0], out[1], d.h, d.l, d.c, 14, 3, 3, d.slots) }},
		{"ADX14", func() { ADX(out[0], out[1], out[2], d.h, d.l, d.c, 14) }},
		{"MAX14", func() { extreme(out[0], d.h, 14, highest) }},
		{"MAX200", func() { extreme(out[0], d.h, 200, highest) }},
	} {
		b.Run(k.name, func(b *testing.B) {
			b.ReportAllocs()
			best := time.Duration(math.MaxInt64)
			for b.Loop() {
				start := time.Now()
				k.run()
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(best.Nanoseconds())/benchBars, "ns/bar")
		})
	}
}

// BenchmarkStates reports what one bar costs a stream.
func BenchmarkStates(b *testing.B) {
	d := walkBars(42, 10_000, 0)
	for _, k := range kernels() {
		b.Run(k.name, func(b *testing.B) {
			b.ReportAllocs()
			step := k.stream(NewSlab(), 20)
			out := make([]float64, k.outs)
			i := 0
			for b.Loop() {
				step(d, i, out)
				if i++; i == len(d.c) {
					i = 0
				}
			}
		})
	}
}
