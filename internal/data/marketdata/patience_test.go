package marketdata_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/lib/market"
)

// stuck never answers.
type stuck struct{ *publisher }

func (s stuck) Series(ctx context.Context, q provider.SeriesQuery) ([]provider.Point, error) {
	s.queries = append(s.queries, q)
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestBars_DoNotWaitLongForAnOutsideSeries has a source that does not answer: the bars
// come without it after three seconds, and then at once, until it is asked again after a minute.
func TestBars_DoNotWaitLongForAnOutsideSeries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dead := stuck{&publisher{name: "elsewhere", series: "fear_greed"}}
		s := service(t, func(c *marketdata.Config) { c.Series = []provider.SeriesSource{dead} }, &venue{name: "binance"})
		r := btc(30, 0)
		r.Series = []market.SeriesName{market.FearGreed}
		for _, want := range []time.Duration{3 * time.Second, 0, 0, time.Minute, 3 * time.Second, 0} {
			if want == time.Minute {
				time.Sleep(want)
				continue
			}
			begin := time.Now()
			set, err := s.Bars(t.Context(), r)
			if err != nil || set.Bars.Len() != 30 || len(set.Series) != 0 {
				t.Errorf("%d bars, %v, %v", set.Bars.Len(), set.Series, err)
			}
			if waited := time.Since(begin); waited != want {
				t.Errorf("the bars came after %v, want %v", waited, want)
			}
		}
		synctest.Wait()
		if len(dead.queries) != 2 {
			t.Errorf("asked %d times, want 2", len(dead.queries))
		}
	})
}
