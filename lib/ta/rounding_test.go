package ta

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"candela/lib/market"
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

func TestWaveTrend_HasAValueHoweverLongTheMarketStandsStill(t *testing.T) {
	t.Parallel()
	const moving, still = 300, 10_000 // the spread is too small for a float64 after some 3,400
	for _, name := range []string{"wavetrend", "cipher_b"} {
		r := resolved(t, name, priced(stopped(moving, still, 1, false), 100))
		for _, line := range []string{"WT1", "WT2"} {
			if x := lineOf(t, r, line)[moving+still-1]; !(math.Abs(x) < 1e-6) {
				t.Errorf("%s: %s ends at %v", name, line, x)
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

// paper compares a bar's value with the lower and the upper level; ok is false where
// there is no value.
type paper func(ticks []tickBar, i int) (bottom, top int, ok bool)

func williamsOnPaper(ticks []tickBar, i int) (bottom, top int, ok bool) {
	if i < 13 {
		return 0, 0, false
	}
	high, low := ticks[i].h, ticks[i].l
	for _, b := range ticks[i-13 : i+1] {
		high, low = max(high, b.h), min(low, b.l)
	}
	value := 100 * (ticks[i].c - high)
	return cmp.Compare(value, -80*(high-low)), cmp.Compare(value, -20*(high-low)), high > low
}

func channelOnPaper(ticks []tickBar, i int) (bottom, top int, ok bool) {
	const n = 20
	if i < n-1 {
		return 0, 0, false
	}
	sum, away := int64(0), int64(0)
	for _, b := range ticks[i-n+1 : i+1] {
		sum += b.h + b.l + b.c
	}
	for _, b := range ticks[i-n+1 : i+1] {
		d := n*(b.h+b.l+b.c) - sum
		away += max(d, -d)
	}
	value := 1000 * n * (n*(ticks[i].h+ticks[i].l+ticks[i].c) - sum) // in parts of 15 x away
	return cmp.Compare(value, -100*15*away), cmp.Compare(value, 100*15*away), away > 0
}

func chaikinOnPaper(ticks []tickBar, i int) (bottom, top int, ok bool) {
	if i < 19 {
		return 0, 0, false
	}
	flow := int64(0)
	for _, b := range ticks[i-19 : i+1] {
		if b.h > b.l {
			flow += b.v * (parts / (b.h - b.l)) * ((b.c - b.l) - (b.h - b.c))
		}
	}
	return cmp.Compare(flow, 0), cmp.Compare(flow, 0), true
}

// TestSignals_LevelsInANarrowRange moves the bars of williams_r, which divides by the
// range alone, to where it is a millionth of the price.
func TestSignals_LevelsInANarrowRange(t *testing.T) {
	t.Parallel()
	ticks := coarse(2_000, 4)
	for i := range ticks {
		b := &ticks[i]
		const up = 10_000_000
		b.o, b.h, b.l, b.c = b.o+up, b.h+up, b.l+up, b.c+up
	}
	r := resolved(t, "williams_r", priced(ticks, 100))
	expect(t, r, "cross_up_os", len(ticks), func(i int) bool {
		was, _, before := williamsOnPaper(ticks, i-1)
		is, _, now := williamsOnPaper(ticks, i)
		return before && now && was < 0 && is >= 0
	})
}

// TestSignals_LevelsMetOnPaper compares the signals on coarse ticks with the ones
// that integers give.
func TestSignals_LevelsMetOnPaper(t *testing.T) {
	t.Parallel()
	leavesLow := func(was, is int) bool { return was < 0 && is >= 0 }
	leavesHigh := func(was, is int) bool { return was > 0 && is <= 0 }
	risesAbove := func(was, is int) bool { return was <= 0 && is > 0 }
	fallsBelow := func(was, is int) bool { return was >= 0 && is < 0 }
	ticks := coarse(6_000, 3)
	for i := range ticks {
		ticks[i].v = 10 // as much in each bar, so that more values meet their levels
	}
	for _, c := range []struct {
		name, low, high       string
		paper                 paper
		raisesLow, raisesHigh func(was, is int) bool
	}{
		{"williams_r", "cross_up_os", "cross_down_ob", williamsOnPaper, leavesLow, leavesHigh},
		{"cci", "cross_up_os", "cross_down_ob", channelOnPaper, leavesLow, leavesHigh},
		{"cmf", "cross_up", "cross_down", chaikinOnPaper, risesAbove, fallsBelow},
	} {
		met := 0
		for _, perUnit := range []float64{10, 100, 1000} {
			r := resolved(t, c.name, priced(ticks, perUnit))
			raised := func(i int, rule func(was, is int) bool, upper bool) bool {
				b0, t0, ok0 := c.paper(ticks, i-1)
				b1, t1, ok1 := c.paper(ticks, i)
				if ok1 && (b1 == 0 || t1 == 0) {
					met++
				}
				if upper {
					b0, b1 = t0, t1
				}
				return ok0 && ok1 && rule(b0, b1)
			}
			expect(t, r, c.low, len(ticks), func(i int) bool { return raised(i, c.raisesLow, false) })
			expect(t, r, c.high, len(ticks), func(i int) bool { return raised(i, c.raisesHigh, true) })
		}
		if met == 0 {
			t.Errorf("%s never meets a level, so the test shows nothing", c.name)
		}
	}
}

func TestCCI_HasNoValueInAMarketThatStandsStill(t *testing.T) {
	t.Parallel()
	const moving = 100
	for seed := range uint64(20) {
		for _, perUnit := range []float64{10, 100, 1000} {
			r := resolved(t, "cci", priced(stopped(moving, 300, seed, true), perUnit))
			for i, x := range lineOf(t, r, "CCI") {
				if i > moving+20 && !math.IsNaN(x) {
					t.Fatalf("seed %d, %v ticks a unit: CCI is %v %d bars after the market stopped", seed, perUnit, x, i-moving)
				}
			}
			for _, s := range r.Signals {
				if s.Confirmed > moving+20 {
					t.Errorf("seed %d, %v ticks a unit: %s %d bars after the market stopped", seed, perUnit, s.Label, s.Confirmed-moving)
				}
			}
		}
	}
}
