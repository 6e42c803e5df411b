package ta_test

import (
	"math"
	"testing"

	"candela/lib/market"
	"candela/lib/ta"
)

// TestCVD_WithoutTakerVolumeSaysSo computes it over bars of a venue without taker
// volume.
func TestCVD_WithoutTakerVolumeSaysSo(t *testing.T) {
	t.Parallel()
	selection, err := ta.Resolve(ta.Request{Name: "cvd"})
	if err != nil {
		t.Fatal(err)
	}
	for taker, want := range map[float64]string{math.NaN(): "CVD(session) (no data)", 4: "CVD(session)"} {
		bars := market.MakeBars(10, true)
		for i := range int64(10) {
			bars.Append(market.Bar{T: i * 3600, O: 1, H: 2, L: 1, C: 2, V: 10, TakerBuy: taker})
		}
		if got := selection.Compute(ta.Input{Env: ta.Env{Interval: market.Hour1}, Bars: &bars}).Label; got != want {
			t.Errorf("taker volume %v: the label is %q, want %q", taker, got, want)
		}
	}
}
