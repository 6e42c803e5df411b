package ta

import (
	"testing"

	"candela/lib/market"
)

// computedShort is computed over fewer bars.
func computedShort(t *testing.T, name string) (*market.Bars, *Result) {
	t.Helper()
	b := walk(4_000, 22)
	return b, resolved(t, name, b)
}

func TestSignals_VolumeCrosses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, a, b string }{
		{"pvo", "PVO", "Signal"}, {"klinger", "KVO", "Signal"},
	} {
		_, r := computedShort(t, c.name)
		a, b := lineOf(t, r, c.a), lineOf(t, r, c.b)
		expect(t, r, "cross_up", len(a), func(i int) bool { return a[i-1] <= b[i-1] && a[i] > b[i] })
		expect(t, r, "cross_down", len(a), func(i int) bool { return a[i-1] >= b[i-1] && a[i] < b[i] })
	}
	for name, line := range map[string]string{"force": "EFI", "eom": "EOM", "chaikin_osc": "CO"} {
		_, r := computedShort(t, name)
		x := lineOf(t, r, line)
		expect(t, r, "cross_up", len(x), func(i int) bool { return x[i-1] <= 0 && x[i] > 0 })
		expect(t, r, "cross_down", len(x), func(i int) bool { return x[i-1] >= 0 && x[i] < 0 })
	}
	b, r := computedShort(t, "accbands")
	up, low := lineOf(t, r, "ACC Upper"), lineOf(t, r, "ACC Lower")
	expect(t, r, "breakout_up", len(up), func(i int) bool { return b.C[i-1] <= up[i-1] && b.C[i] > up[i] })
	expect(t, r, "breakout_down", len(up), func(i int) bool { return b.C[i-1] >= low[i-1] && b.C[i] < low[i] })
}

// TestSignals_NoneInAMarketThatStandsStill: rounding of averages that meet is no cross.
func TestSignals_NoneInAMarketThatStandsStill(t *testing.T) {
	t.Parallel()
	const moving, still = 300, 6_000
	for _, name := range []string{
		"pvo", "klinger", "force", "eom", "chaikin_osc", "accbands", "bb_percent", "minmax", "chandelier", "volatility_stop", "ut_bot",
	} {
		for seed := range uint64(4) {
			for _, perUnit := range []float64{10, 1000} {
				for _, s := range resolved(t, name, priced(stopped(moving, still, seed, seed%2 == 1), perUnit)).Signals {
					// The longest average needs this long to come to rest.
					if s.Confirmed > moving+1_000 {
						t.Errorf("%s, seed %d, %v ticks a unit: %s %d bars after the market stopped", name, seed, perUnit, s.Label, s.Confirmed-moving)
					}
				}
			}
		}
	}
}
