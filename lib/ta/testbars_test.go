package ta

import (
	"math"
	"math/rand/v2"
	"testing"

	"candela/lib/market"
)

// testStart is a Monday, so that weeks and days begin where the bars do.
const testStart = 1_704_067_200

// walk makes n plausible bars: a random walk with changing volatility.
func walk(n int, seed uint64) *market.Bars {
	r := rand.New(rand.NewPCG(seed, 7))
	b := market.MakeBars(n, true)
	price, vol := 100.0, 0.01
	for i := range n {
		vol = min(max(vol*math.Exp(0.1*r.NormFloat64()), 0.002), 0.05)
		open := price
		price *= math.Exp(vol * r.NormFloat64())
		high := max(open, price) * (1 + vol*r.Float64())
		low := min(open, price) * (1 - vol*r.Float64())
		v := 1000 * math.Exp(0.5*r.NormFloat64())
		b.Append(market.Bar{T: testStart + int64(i)*market.Hour1.Seconds(), O: open, H: high, L: low, C: price, V: v, TakerBuy: v * r.Float64()})
	}
	return &b
}

// nasty makes extreme bars: flat stretches, spikes, holes in time, missing prices,
// inverted ranges, negative volume.
func nasty(n int, seed uint64) *market.Bars {
	r := rand.New(rand.NewPCG(seed, 11))
	b := walk(n, seed)
	t := int64(testStart)
	for i := range n {
		t += market.Hour1.Seconds() * int64(1+r.IntN(3)/2)
		b.T[i] = t
		switch r.IntN(20) {
		case 0:
			b.O[i], b.H[i], b.L[i], b.C[i] = 100, 100, 100, 100
		case 1:
			b.H[i] *= 1e6
		case 2:
			b.C[i] = math.NaN()
		case 3:
			b.V[i] = 0
		case 4:
			b.V[i] = -b.V[i]
		case 5:
			b.H[i], b.L[i] = b.L[i], b.H[i]
		case 6:
			b.C[i] = -b.C[i]
		case 7:
			b.C[i], b.H[i] = math.Inf(1), math.Inf(1)
		case 8:
			b.TakerBuy[i] = math.NaN()
		}
	}
	return b
}

// input joins bars with every outside series.
func input(b *market.Bars, interval market.Interval) Input {
	in := Input{Env: Env{Interval: interval}, Bars: b, Series: map[market.SeriesName][]float64{}}
	for k, name := range []market.SeriesName{market.FundingRate, market.OpenInterest, market.LongAccounts, market.FearGreed} {
		values := make([]float64, b.Len())
		for i := range values {
			values[i] = math.NaN()
			if i > 3 {
				values[i] = 0.5 + float64(k)*math.Sin(float64(i)/10)
			}
		}
		in.Series[name] = values
	}
	return in
}

// defaults is every indicator and every member of a family with its default parameters.
// The candle patterns are there together instead of each.
func defaults(t *testing.T) map[string]*Selection {
	t.Helper()
	all := map[string]*Selection{}
	for _, name := range Names() {
		s, err := Resolve(Request{Name: name})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s.Def.Family().Name == "candles" {
			if s, err = ResolveAlert("candles"); err != nil {
				t.Fatal(err)
			}
			name = s.Def.Name
		}
		all[name] = s
	}
	return all
}

// same reports whether two values are equal to the bit, any NaN being equal to
// any other.
func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}
