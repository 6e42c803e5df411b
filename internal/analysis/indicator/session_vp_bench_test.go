package indicator

import (
	"encoding/json"
	"testing"

	"candela/internal/market"
)

// BenchmarkSessionVPDeveloping computes the developing levels of one session of
// 5,000 bars: in a market that wanders, and in one where each bar makes a new high.
func BenchmarkSessionVPDeveloping(b *testing.B) {
	rising := market.MakeBars(5_000, false)
	for i := range 5_000 {
		price := 100 + float64(i)/8
		rising.Append(market.Bar{T: testStart + int64(i)*3600, O: price, H: price + 1, L: price - 1, C: price + 0.5, V: 10})
	}
	s, err := Resolve(Request{Name: "session_vp", Params: map[string]json.RawMessage{
		"developing": json.RawMessage("true"), "bars_per_session": json.RawMessage("5000"),
	}})
	if err != nil {
		b.Fatal(err)
	}
	for name, bars := range map[string]*market.Bars{"wandering": walk(5_000, 1), "rising": &rising} {
		b.Run(name, func(b *testing.B) {
			in := input(bars, market.Hour1)
			b.ReportAllocs()
			for b.Loop() {
				s.Compute(in)
			}
		})
	}
}
