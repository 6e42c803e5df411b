package ta

import (
	"encoding/json"
	"strconv"
	"testing"

	"candela/lib/market"
)

// BenchmarkSessionVPDeveloping24 computes the developing levels of 24 settings over one
// session of 5,000 bars of which each makes a new high, as many as one call may ask for.
func BenchmarkSessionVPDeveloping24(b *testing.B) {
	all := make([]*Selection, 24)
	for i := range all {
		var err error
		all[i], err = Resolve(Request{Name: "session_vp", Params: map[string]json.RawMessage{
			"developing": json.RawMessage("true"), "bars_per_session": json.RawMessage("5000"), "bins": json.RawMessage(strconv.Itoa(20 + i)),
		}})
		if err != nil {
			b.Fatal(err)
		}
	}
	in := input(rising(5_000), market.Hour1)
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range all {
			s.Compute(in)
		}
	}
}

// rising returns n bars of which each makes a new high.
func rising(n int) *market.Bars {
	b := market.MakeBars(n, false)
	for i := range n {
		price := 100 + float64(i)/8
		b.Append(market.Bar{T: testStart + int64(i)*3600, O: price, H: price + 1, L: price - 1, C: price + 0.5, V: 10})
	}
	return &b
}

// BenchmarkSessionVPDeveloping computes the developing levels of one session of
// 5,000 bars: in a market that wanders, and in one where each bar makes a new high.
func BenchmarkSessionVPDeveloping(b *testing.B) {
	s, err := Resolve(Request{Name: "session_vp", Params: map[string]json.RawMessage{
		"developing": json.RawMessage("true"), "bars_per_session": json.RawMessage("5000"),
	}})
	if err != nil {
		b.Fatal(err)
	}
	for name, bars := range map[string]*market.Bars{"wandering": walk(5_000, 1), "rising": rising(5_000)} {
		b.Run(name, func(b *testing.B) {
			in := input(bars, market.Hour1)
			b.ReportAllocs()
			for b.Loop() {
				s.Compute(in)
			}
		})
	}
}
