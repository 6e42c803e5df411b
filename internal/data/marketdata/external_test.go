package marketdata_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/lib/market"
)

// TestAlignToBars_LastKnownAtTheClose holds the join against a search for each bar.
func TestAlignToBars_LastKnownAtTheClose(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		bars := market.MakeBars(20, false)
		for i := range rapid.IntRange(1, 20).Draw(rt, "bars") {
			if i == 0 || rapid.IntRange(0, 3).Draw(rt, "hole") > 0 {
				bars.Append(market.Bar{T: int64(i) * 300, TakerBuy: math.NaN()})
			}
		}
		var points []provider.Point
		for t, i := int64(0), 0; i < 30; i++ {
			t += rapid.Int64Range(1, 700).Draw(rt, "step")
			points = append(points, provider.Point{T: t, V: float64(i)})
		}
		asOf := bars.T[bars.Len()-1] + rapid.Int64Range(1, 600).Draw(rt, "age")
		got := marketdata.AlignToBars(points, &bars, market.Minute5, market.Calendar{}, time.Unix(asOf, 0))
		want := make([]float64, bars.Len())
		for k, open := range bars.T {
			want[k] = math.NaN()
			for _, p := range points {
				if p.T <= open+300 && (k < bars.Len()-1 || p.T <= asOf) {
					want[k] = p.V
				}
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// publisher returns a rising value each hour.
type publisher struct {
	name, series string
	err          error
	queries      []provider.SeriesQuery
}

func (p *publisher) Name() string          { return p.name }
func (p *publisher) SeriesNames() []string { return []string{p.series} }

func (p *publisher) Series(_ context.Context, q provider.SeriesQuery) ([]provider.Point, error) {
	p.queries = append(p.queries, q)
	var points []provider.Point
	for t := q.From - q.From%3600; t <= q.To; t += 3600 {
		points = append(points, provider.Point{T: t, V: float64(t)})
	}
	return points, p.err
}

func TestBars_BringOutsideSeries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		funding := &publisher{name: "binance", series: "funding_rate"}
		sentiment := &publisher{name: "elsewhere", series: "fear_greed"}
		broken := &publisher{name: "binance", series: "open_interest", err: errors.New("down")}
		s := service(t, func(c *marketdata.Config) { c.Series = []provider.SeriesSource{funding, sentiment, broken} },
			&venue{name: "binance"}, &venue{name: "coinbase"})
		all := []market.SeriesName{market.FundingRate, market.FearGreed, market.OpenInterest, market.LongAccounts}
		r := btc(30, 0)
		r.Series = all
		for _, bars := range []int{30, 20, 40} {
			r.Bars = bars
			set, err := s.Bars(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range all[:2] {
				values := set.Series[name]
				if len(values) != set.Bars.Len() {
					t.Fatalf("%s has %d values for %d bars", name, len(values), set.Bars.Len())
				}
				for i, open := range set.Bars.T {
					if end := open + 300; values[i] != float64(end-end%3600) {
						t.Errorf("%s of bar %d is %v", name, i, values[i])
					}
				}
			}
			for _, name := range all[2:] {
				if _, there := set.Series[name]; there {
					t.Errorf("%s could not be had and is there", name)
				}
			}
		}
		if len(funding.queries) != 2 || len(sentiment.queries) != 2 || !sentiment.queries[0].Symbol.IsZero() || funding.queries[0].Symbol.Name != "BTCUSDT" {
			t.Errorf("asked %+v and %+v", funding.queries, sentiment.queries)
		}
		r.Symbol = market.Symbol{Venue: "coinbase", Name: "BTC-USD"}
		if set, err := s.Bars(t.Context(), r); err != nil || len(set.Series) != 1 {
			t.Errorf("another venue's funding stands beside these bars: %v, %v", set.Series, err)
		}
		r.Symbol = market.Symbol{}
		if set, err := s.Bars(t.Context(), r); err != nil || len(set.Series) != 0 {
			t.Errorf("real values stand beside made-up bars: %v, %v", set.Series, err)
		}
	})
}
