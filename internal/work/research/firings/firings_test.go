package firings

import (
	"math"
	"testing"

	"candela/internal/alerting/alert"
	"candela/internal/testkit/sharedtest"
	"candela/lib/market"
	"candela/lib/ta"
)

// The figures were measured with numpy on the same bars.
func TestAsk_RSILeavesOversold(t *testing.T) {
	bars := sharedtest.Bars(t, "data/BTCUSDT_1h.csv")
	a := alert.Alert{
		Symbol: market.Symbol{}, Interval: market.Hour1,
		Condition: alert.Condition{Type: alert.IndicatorSignal, Indicator: "rsi", Signal: "rsi_oversold"},
	}
	if err := a.Normalize(ta.Library{}); err != nil {
		t.Fatal(err)
	}
	got, err := Ask(t.Context(), Question{Alert: a, From: 15, Horizons: []int{1, 5, 20}, Seed: 1}, &bars)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Firings) != 53 {
		t.Fatalf("%d firings, want 53", len(got.Firings))
	}
	want := []Forward{
		{Bars: 1, N: 53, Apart: 53, Mean: 0.086, Median: 0.171, Hit: 56.6, BaseMean: 0.028, BaseHit: 51.7, Edge: 0.057, EdgeLow: -0.280, EdgeHigh: 0.351},
		{Bars: 5, N: 53, Apart: 42, Mean: 0.190, Median: 0.438, Hit: 64.2, BaseMean: 0.139, BaseHit: 53.3, Edge: 0.051, EdgeLow: -0.671, EdgeHigh: 0.766},
		{Bars: 20, N: 53, Apart: 29, Mean: 0.592, Median: 1.318, Hit: 69.8, BaseMean: 0.560, BaseHit: 55.9, Edge: 0.032, EdgeLow: -1.206, EdgeHigh: 1.256},
	}
	for i, w := range want {
		g := got.Forward[i]
		if g.N != w.N || g.Apart != w.Apart {
			t.Errorf("%d bars: %d firings, %d apart; want %d and %d", w.Bars, g.N, g.Apart, w.N, w.Apart)
		}
		for _, c := range []struct {
			name           string
			got, want, tol float64
		}{
			{"mean", g.Mean, w.Mean, 6e-4},
			{"median", g.Median, w.Median, 6e-4},
			{"hit", g.Hit, w.Hit, 0.06},
			{"base mean", g.BaseMean, w.BaseMean, 6e-4},
			{"base hit", g.BaseHit, w.BaseHit, 0.06},
			{"edge", g.Edge, w.Edge, 1.1e-3},
			{"low", g.EdgeLow, w.EdgeLow, 0.12},
			{"high", g.EdgeHigh, w.EdgeHigh, 0.12},
		} {
			if !(math.Abs(c.got-c.want) <= c.tol) {
				t.Errorf("%d bars: %s is %v, want %v", w.Bars, c.name, c.got, c.want)
			}
		}
	}
	if got.Reading() != "no edge shown: every interval holds 0" {
		t.Error(got.Reading())
	}
}
