package marketdata_test

import (
	"strings"
	"testing"

	"candela/internal/data/marketdata"
	"candela/lib/fault"
	"candela/lib/market"
)

// A symbol at a venue that is off because its data may not be shown says why and what the operator can do, with and
// without the venue's name. Others are not affected.
func TestBars_AWithheldVenueSaysSo(t *testing.T) {
	t.Parallel()
	s := service(t, func(c *marketdata.Config) { c.Routes.Withheld = []string{"yahoo"} }, &venue{name: "binance"})
	for _, symbol := range []market.Symbol{{Name: "AAPL"}, {Venue: "yahoo", Name: "AAPL"}} {
		q := btc(10, 0)
		q.Symbol = symbol
		_, err := s.Bars(t.Context(), q)
		f := fault.Of(err)
		if f == nil || f.Code != "venue_off" || f.Kind != fault.NotFound || !strings.Contains(f.Message, "personal use") || !strings.Contains(f.Message, "--licensed-venues yahoo") || !strings.Contains(f.Message, "binance") {
			t.Errorf("%s: %v", symbol, err)
		}
	}
	if _, err := s.Bars(t.Context(), btc(10, 0)); err != nil {
		t.Error(err)
	}
	q := btc(10, 0)
	q.Symbol = market.Symbol{Venue: "alpaca", Name: "AAPL"}
	if _, err := s.Bars(t.Context(), q); fault.Of(err) == nil || fault.Of(err).Code == "venue_off" {
		t.Errorf("a venue that is not there for another reason: %v", err)
	}
}
