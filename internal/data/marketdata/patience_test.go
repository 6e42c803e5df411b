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

func (stuck) Series(ctx context.Context, _ provider.SeriesQuery) ([]provider.Point, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestBars_DoNotWaitLongForAnOutsideSeries has a source that does not answer: the bars
// come without it after three seconds.
func TestBars_DoNotWaitLongForAnOutsideSeries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := service(t, func(c *marketdata.Config) {
			c.Series = []provider.SeriesSource{stuck{&publisher{name: "elsewhere", series: "fear_greed"}}}
		}, &venue{name: "binance"})
		r := btc(30, 0)
		r.Series = []market.SeriesName{market.FearGreed}
		begin := time.Now()
		set, err := s.Bars(t.Context(), r)
		if err != nil || set.Bars.Len() != 30 || len(set.Series) != 0 {
			t.Errorf("%d bars, %v, %v", set.Bars.Len(), set.Series, err)
		}
		if waited := time.Since(begin); waited > 3*time.Second {
			t.Errorf("the bars came after %v", waited)
		}
	})
}
