package payload_test

import (
	"strings"
	"testing"
	"time"

	"candela/internal/work/charting/payload"
	"candela/lib/market"
)

// TestLast holds that the change of a day is counted from a bar that closed a day before, and left out
// where there is none.
func TestLast(t *testing.T) {
	t.Parallel()
	const noon = 1_700_049_600 // 2023-11-15 12:00
	const hours = 3600
	for name, row := range map[string]struct {
		interval market.Interval
		bars     int
		hole     int // bars that are missing before the newest one
		running  int64
		source   payload.Source
		want     string
	}{
		"closed":              {market.Hour4, 8, 0, 0, payload.Cache, `"last":{"bar":"2023-11-15T12:00:00Z","closed":true,"close":107,"change_24h_pct":5.9406}`},
		"running":             {market.Hour4, 8, 0, 3 * hours, payload.Cache, `"last":{"bar":"2023-11-15T12:00:00Z","closed":false,"close":107,"change_24h_pct":5.9406}`},
		"running, just begun": {market.Hour4, 8, 0, 1, payload.Cache, `"last":{"bar":"2023-11-15T12:00:00Z","closed":false,"close":107,"change_24h_pct":7}`},
		"too few bars":        {market.Hour4, 5, 0, 0, payload.Cache, `"last":{"bar":"2023-11-15T12:00:00Z","closed":true,"close":104}`},
		"short bars":          {market.Minute1, 200, 0, 0, payload.Cache, `"last":{"bar":"2023-11-15T12:00:00Z","closed":true,"close":299}`},
		"days":                {market.Day1, 5, 0, 0, payload.Cache, `"closed":true,"close":104,"change_24h_pct":0.9709}`},
		"a running day":       {market.Day1, 5, 0, 12 * hours, payload.Cache, `"closed":false,"close":104}`},
		"weeks":               {market.Week1, 5, 0, 0, payload.Cache, `"closed":true,"close":104}`},
		"a hole":              {market.Hour1, 30, 30, 0, payload.Cache, `"closed":true,"close":129}`},
		"sample":              {market.Hour4, 8, 0, 0, payload.Sample, `"last":{"bar":null,"closed":true,"close":107}`},
		"one bar":             {market.Hour4, 1, 0, 0, payload.Cache, `"closed":true,"close":100}`},
	} {
		b := market.MakeBars(row.bars, false)
		for i := range row.bars {
			back := int64(row.bars-1-i) * row.interval.Seconds()
			if back > 0 {
				back += int64(row.hole) * row.interval.Seconds()
			}
			price := float64(100 + i)
			b.Append(market.Bar{T: noon - back, O: price, H: price, L: price, C: price, V: 1})
		}
		c := &payload.Chart{Symbol: "X", Interval: row.interval, Bars: &b, Provenance: payload.Provenance{Source: row.source, LastBarClosed: row.running == 0, AsOf: time.Unix(noon+row.running, 0)}}
		if got := string(payload.AppendComputed(nil, c)); !strings.Contains(got, row.want) {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}
