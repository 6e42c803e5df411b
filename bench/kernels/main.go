// Command kernels measures the kernels of lib/ta/calc beside copy, go-talib,
// TA-Lib and Tulip. All run in one process, on the same memory, in turns, and the
// best pass of each counts. See run.sh.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"text/tabwriter"

	"candela/lib/ta/calc"

	talib "github.com/markcheno/go-talib"
)

// bars are the inputs of every run and, in out, the memory they write to.
type bars struct {
	h, l, c []float64
	slots   calc.Slots
	out     [3][]float64
}

// makeBars makes a seeded random walk of one-minute bars.
func makeBars(n int) *bars {
	r := rand.New(rand.NewPCG(42, 1))
	b := &bars{h: make([]float64, n), l: make([]float64, n), c: make([]float64, n)}
	b.slots = calc.Slots{T: make([]int64, n), Step: 60}
	price := 100.0
	for i := range n {
		open := price
		price *= 1 + (r.Float64()-0.5)*0.02
		b.slots.T[i] = 1_600_000_020 + 60*int64(i)
		b.c[i] = price
		b.h[i] = max(open, price) * (1 + 0.004*r.Float64())
		b.l[i] = min(open, price) * (1 - 0.004*r.Float64())
	}
	for i := range b.out {
		b.out[i] = make([]float64, n)
	}
	return b
}

func rows() []string {
	return []string{"EMA 20", "RSI 14", "MACD 12 26 9", "BBANDS 20", "ATR 14", "STOCH 14 3 3", "ADX 14"}
}

func candela(b *bars) map[string]func() {
	x, y, z := b.out[0], b.out[1], b.out[2]
	return map[string]func(){
		"EMA 20":       func() { calc.EMA(x, b.c, 20) },
		"RSI 14":       func() { calc.RSI(x, b.c, 14) },
		"MACD 12 26 9": func() { calc.MACD(x, y, z, b.c, 12, 26, 9) },
		"BBANDS 20":    func() { calc.Bollinger(x, y, z, b.c, 20, 2, b.slots) },
		"ATR 14":       func() { calc.ATR(x, b.h, b.l, b.c, 14) },
		"STOCH 14 3 3": func() { calc.Stochastic(x, y, b.h, b.l, b.c, 14, 3, 3, b.slots) },
		"ADX 14":       func() { calc.ADX(x, y, z, b.h, b.l, b.c, 14) },
	}
}

func goTalib(b *bars) map[string]func() {
	return map[string]func(){
		"EMA 20":       func() { talib.Ema(b.c, 20) },
		"RSI 14":       func() { talib.Rsi(b.c, 14) },
		"MACD 12 26 9": func() { talib.Macd(b.c, 12, 26, 9) },
		"BBANDS 20":    func() { talib.BBands(b.c, 20, 2, 2, talib.SMA) },
		"ATR 14":       func() { talib.Atr(b.h, b.l, b.c, 14) },
		"STOCH 14 3 3": func() { talib.Stoch(b.h, b.l, b.c, 14, 3, talib.SMA, 3, talib.SMA) },
		"ADX 14":       func() { talib.Adx(b.h, b.l, b.c, 14) },
	}
}

// column is one implementation.
type column struct {
	name string
	runs map[string]func()
}

func columns(b *bars) ([]column, error) {
	all := []column{{"candela", candela(b)}}
	for _, c := range []struct {
		name, file string
		runs       func(library, *bars) (map[string]func(), error)
	}{
		{"TA-Lib -O2", "libta2.so", taLib},
		{"TA-Lib -O3", "libta3.so", taLib},
		{"Tulip -O2", "libti2.so", tulip},
		{"Tulip -O3", "libti3.so", tulip},
	} {
		lib, err := open(c.name, c.file)
		if err != nil {
			return nil, err
		}
		runs, err := c.runs(lib, b)
		if err != nil {
			return nil, err
		}
		all = append(all, column{c.name, runs})
	}
	return append(all, column{"go-talib", goTalib(b)}), nil
}

func run(w io.Writer, args []string) error {
	flags := flag.NewFlagSet("kernels", flag.ContinueOnError)
	n := flags.Int("bars", 1_000_000, "bars in the series")
	passes := flags.Int("passes", 40, "passes over it, of which the best counts")
	if err := flags.Parse(args); err != nil {
		return err
	}
	runtime.LockOSThread()
	b := makeBars(*n)
	all, err := columns(b)
	if err != nil {
		return err
	}
	floor := math.Inf(1)
	best := make(map[string][]float64)
	for _, row := range rows() {
		best[row] = make([]float64, len(all))
		for i := range all {
			best[row][i] = math.Inf(1)
		}
	}
	for range *passes {
		floor = min(floor, pass(func() { copy(b.out[0], b.c) }))
		for _, row := range rows() {
			for i, c := range all {
				best[row][i] = min(best[row][i], pass(c.runs[row]))
			}
		}
	}
	return table(w, all, best, floor, *n, *passes)
}

// pass returns the processor time of one run in nanoseconds. A warm-up run before it
// puts the same memory into the caches for every kernel.
func pass(f func()) float64 {
	f()
	start := cpuNS()
	f()
	return cpuNS() - start
}

func table(w io.Writer, all []column, best map[string][]float64, floor float64, n, passes int) error {
	size := float64(n)
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprint(t, "| ns/bar\t")
	for _, c := range all {
		fmt.Fprintf(t, "| %s\t", c.name)
	}
	fmt.Fprint(t, "| allocations\t| x copy\t| beats C\t|\n")
	for _, row := range rows() {
		fmt.Fprintf(t, "| %s\t", row)
		c := math.Inf(1)
		for i, ns := range best[row] {
			fmt.Fprintf(t, "| %.2f\t", ns/size)
			if i > 0 && i < len(all)-1 {
				c = min(c, ns)
			}
		}
		allocs := testing.AllocsPerRun(1, all[0].runs[row])
		fmt.Fprintf(t, "| %.0f\t| %.1f\t| %v\t|\n", allocs, best[row][0]/floor, best[row][0] <= c)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\ncopy: %.2f ns/bar; %d bars, best of %d passes of each, processor time, %s\n", floor/size, n, passes, runtime.Version())
	return err
}

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
