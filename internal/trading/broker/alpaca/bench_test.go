package alpaca_test

import (
	"net/http/httptest"
	"testing"
	"time"

	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/data/upstream"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/trading/broker/alpaca"
	"candela/lib/market"
)

// BenchmarkSubmit sends orders over loopback, next to a bare read of the same host,
// which is what the network and the fake cost.
func BenchmarkSubmit(b *testing.B) {
	venue := fakealpaca.New(fakealpaca.Config{Now: noon})
	venue.SetQuote("AAPL", "1", "1")
	venue.SetUnlimited()
	web := httptest.NewServer(venue)
	defer web.Close()
	open := func() *alpaca.Broker {
		// A broker keeps to 200 requests a minute, so that one does not last.
		broker, err := alpaca.New(upstream.NewHosts(nil), alpaca.Config{Keys: stocks.NewKeys(fakealpaca.KeyID, fakealpaca.Secret), URL: web.URL, DataURL: web.URL, Now: time.Now})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := broker.Instrument(b.Context(), market.Symbol{Name: "AAPL"}); err != nil {
			b.Fatal(err) // which also opens the connection of reads
		}
		return broker
	}
	for _, name := range []string{"floor", "submit"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var broker *alpaca.Broker
			for i := 0; b.Loop(); i++ {
				if i%150 == 0 {
					b.StopTimer()
					venue.Wipe()
					broker = open()
					if _, err := broker.Submit(b.Context(), buy("AAPL", "1", "")); err != nil {
						b.Fatal(err) // opens the connection of orders
					}
					b.StartTimer()
				}
				var err error
				if name == "floor" {
					_, err = broker.Skew(b.Context())
				} else {
					_, err = broker.Submit(b.Context(), buy("AAPL", "1", ""))
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
