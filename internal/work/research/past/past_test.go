package past

import (
	"context"
	"errors"
	"testing"

	"candela/internal/data/marketdata"
	"candela/internal/work/charting"
	"candela/lib/market"
)

// asking notes what is asked of it.
type asking struct{ bars, warmup int }

func (a *asking) Bars(_ context.Context, q marketdata.Request) (marketdata.BarSet, error) {
	a.bars, a.warmup = q.Bars, q.Warmup
	return marketdata.BarSet{}, errors.New("no bars")
}

// TestRead_StaysWithinOneRequest holds that the longest span and the longest warm-up fit into one request.
func TestRead_StaysWithinOneRequest(t *testing.T) {
	t.Parallel()
	for _, s := range []Span{{Bars: MostBars}, {Bars: 500}, {Bars: 500, Time: charting.TimeRange{Start: 1_600_000_000}}} {
		var a asking
		_, _ = s.Read(t.Context(), &a, market.Symbol{Name: "BTCUSDT"}, market.Hour1, 9_999)
		if a.bars+a.warmup > marketdata.MaxRequestBars || a.warmup < MostWarmup-2 {
			t.Errorf("%+v: %d bars and %d before them", s, a.bars, a.warmup)
		}
	}
}
