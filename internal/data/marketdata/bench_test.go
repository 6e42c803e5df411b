package marketdata_test

import (
	"testing"
	"time"

	"candela/internal/data/marketdata"
)

// BenchmarkBars_Kept answers from what is kept: 200 bars to show and the warm-up
// of a chart's default indicators.
func BenchmarkBars_Kept(b *testing.B) {
	s := service(b, func(c *marketdata.Config) { c.MaxAge = time.Hour }, &venue{name: "binance"})
	r := btc(200, 4200)
	if _, err := s.Bars(b.Context(), r); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Bars(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
