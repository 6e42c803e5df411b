package indicator

import (
	"math"
	"math/rand/v2"
	"testing"

	"candela/internal/market"
)

// The tests of this file work on bars whose prices are whole ticks, and derive what
// holds on paper from the ticks, in integers.

// tickBar is a bar in ticks.
type tickBar struct{ o, h, l, c, v int64 }

// coarse makes n bars that move by a few ticks of a price of some hundred.
func coarse(n int, seed uint64) []tickBar {
	r := rand.New(rand.NewPCG(seed, 13))
	bars, price := make([]tickBar, n), int64(300)
	for i := range bars {
		o := price
		price = max(price+r.Int64N(7)-3, 100)
		bars[i] = tickBar{
			o: o, h: max(o, price) + r.Int64N(3), l: min(o, price) - r.Int64N(3), c: price,
			v: 1 + r.Int64N(50),
		}
	}
	return bars
}

// priced turns ticks into prices of a market with perUnit ticks to the unit.
func priced(ticks []tickBar, perUnit float64) *market.Bars {
	b := market.MakeBars(len(ticks), false)
	for i, k := range ticks {
		b.Append(market.Bar{
			T: testStart + int64(i)*market.Hour1.Seconds(),
			O: float64(k.o) / perUnit, H: float64(k.h) / perUnit, L: float64(k.l) / perUnit, C: float64(k.c) / perUnit,
			V: float64(k.v), TakerBuy: math.NaN(),
		})
	}
	return &b
}

// resolved computes an indicator over bars of an hour.
func resolved(t *testing.T, text string, b *market.Bars) *Result {
	t.Helper()
	s, err := Resolve(request(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Compute(input(b, market.Hour1))
}

func TestMFI_EqualTypicalPricesAreNoChange(t *testing.T) {
	t.Parallel()
	const n = 7
	ticks := coarse(3_000, 1)
	for _, perUnit := range []float64{10, 100, 1000} {
		for name, line := range map[string]string{`mfi {"period":7}`: "MFI", `combo {"mfi_length":7}`: "MFI"} {
			got := lineOf(t, resolved(t, name, priced(ticks, perUnit)), line)
			equal := 0
			for i := n; i < len(ticks); i++ {
				up, down := int64(0), int64(0)
				for k := i - n + 1; k <= i; k++ {
					before, now := ticks[k-1], ticks[k]
					sum := now.h + now.l + now.c
					switch last := before.h + before.l + before.c; {
					case sum > last:
						up += sum * now.v
					case sum < last:
						down += sum * now.v
					default:
						equal++
					}
				}
				if up+down == 0 {
					if !math.IsNaN(got[i]) {
						t.Fatalf("%s bar %d: %v where nothing flows", name, i, got[i])
					}
					continue
				}
				if want := 100 * float64(up) / float64(up+down); math.Abs(got[i]-want) > 1e-9 {
					t.Fatalf("%s, %v ticks a unit, bar %d: %v, want %v", name, perUnit, i, got[i], want)
				}
			}
			if equal == 0 {
				t.Fatal("no two typical prices are equal, so the test shows nothing")
			}
		}
	}
}

// stopped makes a market that moves for a while and then stands still, each bar at
// one price or, where spread is set, with a range that leaves the typical price
// where it is.
func stopped(moving, still int, seed uint64, spread bool) []tickBar {
	bars := coarse(moving, seed)
	c := bars[moving-1].c
	for i := range still {
		k := int64(0)
		if spread {
			k = int64(i % 3)
		}
		bars = append(bars, tickBar{o: c, h: c + k, l: c - k, c: c, v: 10})
	}
	return bars
}

func TestWaveTrend_StandsStillWithTheMarket(t *testing.T) {
	t.Parallel()
	const moving, still = 300, 3_000
	for seed := range uint64(10) {
		for _, perUnit := range []float64{10, 100, 1000} {
			b := priced(stopped(moving, still, seed, seed%2 == 1), perUnit)
			for _, name := range []string{"wavetrend", "cipher_b"} {
				r := resolved(t, name, b)
				for i, x := range lineOf(t, r, "WT1") {
					// The average needs 150 bars to come within rounding of the price.
					if i > moving+400 && math.Abs(x) > 1e-6 {
						t.Fatalf("%s, seed %d, %v ticks a unit: WT1 is %v %d bars after the market stopped", name, seed, perUnit, x, i-moving)
					}
				}
				for _, s := range r.Signals {
					if s.Confirmed > moving+50 {
						t.Errorf("%s, seed %d, %v ticks a unit: %s %d bars after the market stopped", name, seed, perUnit, s.Label, s.Confirmed-moving)
					}
				}
			}
		}
	}
}

func TestCipherB_StochasticOfAStillRSIHasNoValue(t *testing.T) {
	t.Parallel()
	const moving, still = 300, 3_000
	for seed := range uint64(10) {
		r := resolved(t, "cipher_b", priced(stopped(moving, still, seed, false), 100))
		for _, line := range []string{"Stoch K", "Stoch D"} {
			for i, x := range lineOf(t, r, line) {
				if i > moving+30 && !math.IsNaN(x) {
					t.Fatalf("seed %d: %s is %v %d bars after the market stopped", seed, line, x, i-moving)
				}
			}
		}
	}
}
