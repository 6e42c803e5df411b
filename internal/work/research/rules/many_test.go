package rules_test

import (
	"fmt"
	"runtime"
	"testing"

	"candela/internal/testkit/longtest"
	"candela/internal/work/research/replay"
	"candela/internal/work/research/rules"
	"candela/internal/work/research/sweep"
	"candela/lib/backtest"
	"candela/lib/market"
)

// pairs are so many crosses of two averages, which are ready to run.
func pairs(tb testing.TB, n int) []*rules.Rules {
	tb.Helper()
	out := make([]*rules.Rules, n)
	for i := range out {
		out[i] = cross(tb, 5+i%25, 40+i/25)
	}
	return out
}

// try sweeps all pairs over the bars of one symbol, and returns the number of trades.
func try(tb testing.TB, programs []*rules.Rules, bars *market.Bars) int {
	tb.Helper()
	columns, axis := &replay.Columns{Bars: bars}, sweep.Axis{Name: "pair"}
	for i := range programs {
		axis.Values = append(axis.Values, float64(i))
	}
	q := &sweep.Question{Grid: sweep.Grid{axis}, Bars: bars, Program: func(point []float64) (backtest.Program, error) {
		r := *programs[int(point[0])]
		r.Columns = columns
		return &r, nil
	}}
	trials, err := q.All(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	trades := 0
	for i := range trials {
		trades += trials[i].Trades
	}
	return trades
}

// BenchmarkMany sweeps pairs of averages over symbols of 2,000 bars each, at three sizes that grow
// tenfold. The cost of a bar of a run and the memory in use should stay the same.
func BenchmarkMany(b *testing.B) {
	const bars = 2000
	for _, size := range []struct{ symbols, pairs int }{{50, 100}, {500, 100}, {500, 1000}} {
		b.Run(fmt.Sprintf("%dx%d", size.symbols, size.pairs), func(b *testing.B) {
			programs, peak, trades := pairs(b, size.pairs), uint64(0), 0
			began := processorTime()
			for b.Loop() {
				for s := range size.symbols {
					trades += try(b, programs, walkOf(bars, uint64(s)))
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapInuse)
				}
			}
			if trades == 0 {
				b.Fatal("no trades")
			}
			used := (processorTime() - began).Seconds() / float64(b.N)
			b.ReportMetric(used*1e9/float64(size.symbols*size.pairs*bars), "cpu-ns/bar")
			b.ReportMetric(used, "cpu-s/op")
			b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
		})
	}
}

// TestMany_MemoryStaysFlat holds that symbols that were tried leave nothing behind.
func TestMany_MemoryStaysFlat(t *testing.T) {
	programs := pairs(t, longtest.Pick(30, 200))
	inUse := func(symbols int) uint64 {
		for s := range symbols {
			if try(t, programs, walkOf(1000, uint64(s))) == 0 {
				t.Fatal("no trades")
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	few := inUse(2)
	if many := inUse(longtest.Pick(10, 200)); many > few+1<<20 {
		t.Errorf("%d bytes after 2 symbols, %d after many", few, many)
	}
}
