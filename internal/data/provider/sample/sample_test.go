package sample_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"candela/internal/data/provider"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/provider/sample"
	"candela/internal/testkit/longtest"
	"candela/lib/fault"
	"candela/lib/market"
)

const frozen = 1735689600 // 2025-01-01

func at(unix int64) func() time.Time { return func() time.Time { return time.Unix(unix, 0) } }

func read(tb testing.TB, p *sample.Provider, q provider.BarQuery) provider.BarPage {
	tb.Helper()
	page, err := p.Bars(tb.Context(), q)
	if err != nil {
		tb.Fatal(err)
	}
	if err := page.Bars.Check(); err != nil {
		tb.Fatal(err)
	}
	return page
}

func TestProvider_KeepsTheContract(t *testing.T) {
	for _, iv := range []market.Interval{market.Minute1, market.Minute3, market.Hour4, market.Day1, market.Week1, market.Month1} {
		for name, config := range map[string]sample.Config{"still": {}, "live": {Seed: 7, Now: at(frozen + 12345)}} {
			t.Run(iv.String()+" "+name, func(t *testing.T) {
				to := frozen - frozen%iv.Seconds()
				providertest.Run(t, providertest.Target{
					New:    func(tb testing.TB) provider.Provider { tb.Helper(); return sample.New(config) },
					Symbol: market.Symbol{Name: "SAMPLE"}, Unknown: market.Symbol{Name: "BTCUSDT"},
					Interval: iv, From: to - 50*iv.Seconds(), To: to,
				})
			})
		}
	}
}

func TestProvider_KnowsSampleSymbolsOnly(t *testing.T) {
	t.Parallel()
	p := sample.New(sample.Config{})
	for symbol, known := range map[market.Symbol]bool{
		{}:               true,
		{Name: "SAMPLE"}: true, {Venue: "sample", Name: "SAMPLE"}: true, {Name: "SAMPLE-1"}: true, {Name: "SAMPLE-999999"}: true,
		{Name: "SAMPLE-0"}: false, {Name: "SAMPLE-01"}: false, {Name: "SAMPLE-1000000"}: false, {Name: "SAMPLE-"}: false, {Name: "SAMPLE-X"}: false,
		{Name: "SAMPLE1"}: false, {Name: "AAPL"}: false, {Venue: "binance", Name: "SAMPLE"}: false, {Name: "SAMPLE-+1"}: false,
	} {
		inst, err := p.Instrument(t.Context(), symbol)
		if (err == nil) != known {
			t.Errorf("%v: %v", symbol, err)
		}
		if err != nil && fault.KindOf(err) != fault.NotFound {
			t.Errorf("%v: %v", symbol, err)
		}
		if known && !inst.Tick.IsPositive() {
			t.Errorf("%v has tick %v", symbol, inst.Tick)
		}
	}
}

// TestProvider_CoarserBarsAreTheFinerOnesAddedUp compares pairs of intervals at
// any time, the running bar included.
func TestProvider_CoarserBarsAreTheFinerOnesAddedUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		iv := rapid.SampledFrom(market.Intervals())
		fine, coarse := iv.Draw(rt, "fine"), iv.Draw(rt, "coarse")
		if !fine.Divides(coarse) || coarse.Seconds()/fine.Seconds() > 5000 {
			rt.Skip()
		}
		now := rapid.Int64Range(100*86400, 3e9).Draw(rt, "now")
		p := sample.New(sample.Config{Seed: rapid.Uint64().Draw(rt, "seed"), Now: at(now)})
		symbol := market.Symbol{Name: fmt.Sprintf("SAMPLE-%d", rapid.IntRange(1, 999_999).Draw(rt, "symbol"))}
		long, err := p.Bars(t.Context(), provider.BarQuery{Symbol: symbol, Interval: coarse, Limit: 2})
		if err != nil || long.Bars.Len() != 2 {
			rt.Fatalf("%d bars, %v", long.Bars.Len(), err)
		}
		q := provider.BarQuery{Symbol: symbol, Interval: fine, From: long.Bars.T[1]}
		if rapid.Bool().Draw(rt, "closed") {
			q.From, q.To = long.Bars.T[0], long.Bars.T[1]
		}
		short, err := p.Bars(t.Context(), q)
		if err != nil || short.More {
			rt.Fatalf("%d bars and more, %v", short.Bars.Len(), err)
		}
		sum, err := market.Aggregate(&short.Bars, fine, coarse, market.Calendar{})
		if err != nil || sum.Bars.Len() != 1 {
			rt.Fatalf("%d bars, %v", sum.Bars.Len(), err)
		}
		want := long.Bars.At(long.Bars.Search(q.From))
		if got := sum.Bars.At(0); !got.Equal(want) {
			rt.Fatalf("%v of %v add up to %+v, want %+v", short.Bars.Len(), fine, got, want)
		}
		if err := short.Bars.Check(); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestProvider_ABarDoesNotDependOnTheQuery(t *testing.T) {
	t.Parallel()
	p := sample.New(sample.Config{Seed: 3})
	for _, iv := range append(market.Intervals(), 7*market.Minute1, 11*market.Hour1, 2*market.Day1, 2*market.Week1) {
		page := read(t, p, provider.BarQuery{Interval: iv, Limit: 300})
		for _, i := range []int{0, 1, 77, 150, 298} {
			q := provider.BarQuery{Interval: iv, From: page.Bars.T[i], Limit: 1}
			alone := read(t, p, q)
			if !alone.Bars.At(0).Equal(page.Bars.At(i)) {
				t.Errorf("%v bar %d is %+v alone and %+v among others", iv, i, alone.Bars.At(0), page.Bars.At(i))
			}
		}
	}
}

func TestProvider_SeedsAndSymbolsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[market.Bar]string{}
	for seed := range uint64(5) {
		for _, name := range []string{"SAMPLE", "SAMPLE-1", "SAMPLE-2"} {
			page := read(t, sample.New(sample.Config{Seed: seed}), provider.BarQuery{Symbol: market.Symbol{Name: name}, Interval: market.Hour1, Limit: 1})
			bar := page.Bars.At(0)
			if before, ok := seen[bar]; ok {
				t.Errorf("%s of seed %d equals %s", name, seed, before)
			}
			seen[bar] = fmt.Sprintf("%s of seed %d", name, seed)
		}
	}
}

func TestProvider_ARunningBarGrowsIntoTheClosedOne(t *testing.T) {
	t.Parallel()
	open := int64(frozen)
	q := provider.BarQuery{Interval: market.Minute15, From: open, Limit: 1}
	before := market.Bar{}
	for second := int64(4); second <= 900; second += 4 {
		page := read(t, sample.New(sample.Config{Now: at(open + second)}), q)
		bar := page.Bars.At(0)
		if page.Running != (second < 900) {
			t.Fatalf("after %d s running is %v", second, page.Running)
		}
		if before.T != 0 && (bar.O != before.O || bar.H < before.H || bar.L > before.L || bar.V < before.V) {
			t.Fatalf("after %d s %+v became %+v", second, before, bar)
		}
		before = bar
	}
	if page := read(t, sample.New(sample.Config{Now: at(open + 3)}), q); page.Bars.Len() != 0 {
		t.Error("a bar runs before its first step is over")
	}
}

// TestProvider_IsPlausible holds the bars to what traded markets show.
func TestProvider_IsPlausible(t *testing.T) {
	t.Parallel()
	for _, iv := range []market.Interval{market.Minute1, market.Hour1, market.Day1} {
		for _, name := range []string{"SAMPLE", "SAMPLE-1", "SAMPLE-2", "SAMPLE-3"} {
			t.Run(iv.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				bars := read(t, sample.New(sample.Config{}), provider.BarQuery{Symbol: market.Symbol{Name: name}, Interval: iv, Limit: 5000}).Bars
				var returns, sizes, ranges, volumes []float64
				wicks := 0
				for i := 1; i < bars.Len(); i++ {
					b := bars.At(i)
					if b.O != bars.C[i-1] {
						t.Fatalf("bar %d opens at %v, the one before closed at %v", i, b.O, bars.C[i-1])
					}
					r := math.Log(b.C / b.O)
					returns, sizes = append(returns, r), append(sizes, math.Abs(r))
					ranges, volumes = append(ranges, (b.H-b.L)/b.O), append(volumes, b.V)
					if b.H > max(b.O, b.C) || b.L < min(b.O, b.C) {
						wicks++
					}
				}
				n := len(returns)
				if share := float64(wicks) / float64(n); share < 0.75 {
					t.Errorf("only %.2f of the bars have wicks", share)
				}
				if c := correlation(ranges, volumes); c < 0.35 {
					t.Errorf("volume follows the range with %.2f", c)
				}
				if c := correlation(sizes[:n-1], sizes[1:]); c < 0.05 {
					t.Errorf("volatility does not cluster: %.3f", c)
				}
				if k := kurtosis(returns); k < 3.3 {
					t.Errorf("returns have thin tails: kurtosis %.2f", k)
				}
				// A page of minutes is a few days, which may be calm or wild.
				perDay := deviation(returns) * math.Sqrt(86400/float64(iv.Seconds()))
				if perDay < 0.004 || perDay > 0.15 {
					t.Errorf("a day's deviation is %.4f", perDay)
				}
			})
		}
	}
}

// TestProvider_TheLastReturnDoesNotPredictTheNext takes many symbols together: one
// page of fat-tailed returns shows a correlation only to within a tenth. Traded
// minutes bounce a little between bid and ask, and so may these.
func TestProvider_TheLastReturnDoesNotPredictTheNext(t *testing.T) {
	t.Parallel()
	for _, iv := range []market.Interval{market.Minute1, market.Hour1, market.Day1} {
		sum, symbols := 0.0, longtest.Pick(12, 40)
		for k := range symbols {
			name := fmt.Sprintf("SAMPLE-%d", k+1)
			bars := read(t, sample.New(sample.Config{}), provider.BarQuery{Symbol: market.Symbol{Name: name}, Interval: iv, Limit: 5000}).Bars
			returns := make([]float64, bars.Len())
			for i := range returns {
				returns[i] = math.Log(bars.C[i] / bars.O[i])
			}
			sum += correlation(returns[1:], returns[:len(returns)-1])
		}
		if c := sum / float64(symbols); c < -0.1 || c > 0.05 {
			t.Errorf("%v: correlation %.3f", iv, c)
		}
		t.Logf("%v: correlation of a return with the next %.3f", iv, sum/float64(symbols))
	}
}

func mean(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s / float64(len(x))
}

func correlation(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	var xy, xx, yy float64
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
	}
	return xy / math.Sqrt(xx*yy)
}

func deviation(x []float64) float64 {
	m, s := mean(x), 0.0
	for _, v := range x {
		s += (v - m) * (v - m)
	}
	return math.Sqrt(s / float64(len(x)))
}

func kurtosis(x []float64) float64 {
	m, d, s := mean(x), deviation(x), 0.0
	for _, v := range x {
		s += math.Pow((v-m)/d, 4)
	}
	return s / float64(len(x))
}

func BenchmarkBars(b *testing.B) {
	p := sample.New(sample.Config{})
	for _, iv := range []market.Interval{market.Minute1, market.Minute15, market.Hour1, market.Hour4, market.Day1, market.Week1} {
		b.Run(iv.String()+"-5000", func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				page, err := p.Bars(b.Context(), provider.BarQuery{Interval: iv, Limit: 5000})
				if err != nil {
					b.Fatal(err)
				}
				n = page.Bars.Len()
			}
			b.ReportMetric(float64(n), "bars")
		})
	}
}
