package market_test

import (
	"testing"

	"candela/lib/market"
)

// BenchmarkAggregate builds 4h bars from a million minutes. The copy beside it
// reads the same columns once and is the floor that memory sets.
func BenchmarkAggregate(b *testing.B) {
	const n = 1_000_000
	crypto := series(market.Calendar{}, market.Minute1, 1_600_000_000, n, true)
	newYork := calendar(b, market.USEquities())
	stocks := series(newYork, market.Minute1, 1_400_000_000, n, false)
	for name, tc := range map[string]struct {
		src market.Bars
		cal market.Calendar
		to  market.Interval
	}{
		"4h":          {crypto, market.Calendar{}, market.Hour4},
		"1M":          {crypto, market.Calendar{}, market.Month1},
		"sessions-1h": {stocks, newYork, market.Hour1},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := market.Aggregate(&tc.src, market.Minute1, tc.to, tc.cal); err != nil {
					b.Fatal(err)
				}
			}
			perBar(b, n)
		})
	}
	b.Run("floor-copy", func(b *testing.B) {
		dst := market.MakeBars(n, true)
		dst = market.Bars{T: dst.T[:n], O: dst.O[:n], H: dst.H[:n], L: dst.L[:n], C: dst.C[:n], V: dst.V[:n], TakerBuy: dst.TakerBuy[:n]}
		for b.Loop() {
			copy(dst.T, crypto.T)
			copy(dst.O, crypto.O)
			copy(dst.H, crypto.H)
			copy(dst.L, crypto.L)
			copy(dst.C, crypto.C)
			copy(dst.V, crypto.V)
			copy(dst.TakerBuy, crypto.TakerBuy)
		}
		perBar(b, n)
	})
}

func perBar(b *testing.B, bars int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(bars), "ns/bar")
}

// TestAggregate_AllocatesPerResultNotPerBar holds the number of allocations:
// the output's columns and the lists, however long the source is.
func TestAggregate_AllocatesPerResultNotPerBar(t *testing.T) {
	src := series(market.Calendar{}, market.Minute1, 1_600_000_000, 100_000, true)
	allocs := testing.AllocsPerRun(5, func() {
		if _, err := market.Aggregate(&src, market.Minute1, market.Hour4, market.Calendar{}); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 8 {
		t.Errorf("%v allocations for 100,000 bars", allocs)
	}
}

func BenchmarkCalendar_Bucket(b *testing.B) {
	newYork := calendar(b, market.USEquities())
	for name, c := range map[string]market.Calendar{"round-the-clock": {}, "new-york": newYork} {
		for _, iv := range []market.Interval{market.Hour1, market.Month1} {
			b.Run(name+"-"+iv.String(), func(b *testing.B) {
				for b.Loop() {
					c.Bucket(iv, 1_710_000_000)
				}
			})
		}
	}
}
