package eval_test

import (
	"testing"

	"candela/lib/ta/calc"
)

// plainScript and loopScript are those of the design's measurements.
const (
	plainScript = `//@version=6
indicator("plain")
fast = ta.ema(close, 12)
slow = ta.ema(close, 26)
[line, signal, hist] = ta.macd(close, 12, 26, 9)
up = ta.crossover(fast, slow)
plot(fast)
plot(slow)
plot(line)
plot(signal)
plot(hist)
plot(up ? 1 : 0)
`
	loopScript = plainScript + `acc = 0.0
for i = 0 to 19
    acc += close[i] * (20 - i)
plot(acc)
`
)

func TestKeep_AllocatesNothing(t *testing.T) {
	bars := walk(1200, 1)
	for name, source := range map[string]string{"plain": plainScript, "loop": loopScript} {
		m := compile(t, source, hourly())
		for _, b := range bars[:1000] {
			if err := m.Keep(b); err != nil {
				t.Fatal(err)
			}
		}
		at := 1000
		if n := testing.AllocsPerRun(100, func() {
			if err := m.Keep(bars[at]); err != nil {
				t.Fatal(err)
			}
			at++
		}); n > 0 {
			t.Errorf("%s allocates %v times a bar", name, n)
		}
		at = 1100
		if n := testing.AllocsPerRun(50, func() {
			if err := m.Try(bars[at], true, false); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s allocates %v times a try", name, n)
		}
	}
}

func BenchmarkKeep(b *testing.B) {
	bars := walk(5_000, 1)
	for name, source := range map[string]string{"plain": plainScript, "loop": loopScript} {
		b.Run(name, func(b *testing.B) {
			m := compile(b, source, hourly())
			for i := 0; b.Loop(); i++ {
				if err := m.Keep(bars[i%len(bars)]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/try", func(b *testing.B) {
			m := compile(b, source, hourly())
			for _, bar := range bars[:100] {
				if err := m.Keep(bar); err != nil {
					b.Fatal(err)
				}
			}
			for i := 0; b.Loop(); i++ {
				if err := m.Try(bars[i%len(bars)], true, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkKernels steps the five averages of the plain script by hand.
func BenchmarkKernels(b *testing.B) {
	bars := walk(5_000, 1)
	slab := calc.NewSlab()
	fast, slow, macd, cross := slab.EMA(12), slab.EMA(26), slab.MACD(12, 26, 9), slab.Cross()
	var sink float64
	for i := 0; b.Loop(); i++ {
		bar := &bars[i%len(bars)]
		x, y := fast.Step(bar.C), slow.Step(bar.C)
		line, signal, hist := macd.Step(bar.C)
		if up, _ := cross.Step(x, y); up {
			sink++
		}
		sink += line + signal + hist
	}
	_ = sink
}
