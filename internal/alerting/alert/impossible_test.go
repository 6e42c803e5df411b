package alert_test

import (
	"testing"

	"candela/internal/alerting/alert"
	"candela/internal/data/provider"
	"candela/internal/data/provider/sample"
	"candela/lib/market"
	"candela/lib/ta"
)

// TestBounds_OfIndicatorsHold computes every indicator that conditions take for
// bounded and holds that its lines stay there: otherwise a condition that can come true
// would be refused.
func TestBounds_OfIndicatorsHold(t *testing.T) {
	t.Parallel()
	page, err := sample.New(sample.Config{Seed: 3}).Bars(t.Context(), provider.BarQuery{Interval: market.Hour1, Limit: 2000})
	if err != nil {
		t.Fatal(err)
	}
	bounded := 0
	for _, def := range ta.All() {
		s, err := ta.Resolve(ta.Request{Name: def.Name})
		if err != nil || def.Kind == ta.External {
			continue
		}
		r := s.Compute(ta.Input{Env: ta.Env{Interval: market.Hour1}, Bars: &page.Bars})
		of, lo, hi := alert.Operand{Indicator: def.Name}.Bounds(ta.Library{})
		if of == nil {
			continue
		}
		bounded++
		for _, line := range r.Lines {
			for i, v := range line.Values {
				if v < lo-1e-9 || v > hi+1e-9 {
					t.Errorf("%s has %s %v at bar %d, outside of %v to %v", def.Name, line.Label, v, i, lo, hi)
					break
				}
			}
		}
	}
	if bounded < 5 {
		t.Errorf("%d indicators are bounded", bounded)
	}
	t.Logf("%d indicators are bounded", bounded)
}
