package marketdata_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/data/listing"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/data/provider/binance"
	"candela/internal/data/provider/csv"
	"candela/internal/data/provider/yahoo"
	"candela/internal/data/upstream"
	"candela/lib/fault"
	"candela/lib/market"
)

// opened returns a service over venues that are not asked, and over a folder of files.
func opened(t *testing.T, files ...string) *marketdata.Service {
	t.Helper()
	dir := t.TempDir()
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte("time,open,high,low,close,volume\n1704067200,1,2,1,2,3\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg := marketdata.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler), Routes: marketdata.Routes{Preferred: []string{"csv"}, Crypto: "binance", Other: "yahoo"}}
	cfg.Routes.Venues = []provider.Descriptor{binance.Descriptor(), yahoo.Descriptor(), csv.Descriptor()}
	hosts := upstream.NewHosts(nil)
	t.Cleanup(func() { _ = hosts.Close() })
	for _, d := range cfg.Routes.Venues[:2] {
		p, err := d.Open(provider.Env{Hosts: hosts, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Providers = append(cfg.Providers, p)
	}
	folder, err := csv.New(csv.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	cfg.Providers = append(cfg.Providers, folder)
	s, err := marketdata.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func uses(all []listing.Instrument) string {
	var names []string
	for _, one := range all {
		names = append(names, one.Use)
	}
	return strings.Join(names, " ")
}

// A name alone is offered only where it leads to the instrument's venue.
func TestNear_SaysHowToAsk(t *testing.T) {
	t.Parallel()
	s := opened(t, "ETHUSDT_1d.csv", "MYCOIN_1d.csv")
	for text, want := range map[string]string{
		"bitcoin": "BTCUSDT BTC-USD", "BTCUSTD": "BTCUSDT", "ethereum": "binance:ETHUSDT ETH-USD", "mycion": "MYCOIN", "BTCEUR": "BTC-EUR binance:BTCEUR",
	} {
		near, _ := s.Near(t.Context(), text)
		if got := uses(near); got != want && !strings.HasPrefix(got, want+" ") {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		for _, one := range near {
			parsed, err := market.ParseSymbol(one.Use)
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Route(t.Context(), parsed)
			if err != nil || p.Name() != one.Symbol.Venue {
				t.Errorf("%s: %s leads to %v, %v", text, one.Use, p, err)
			}
		}
	}
	if found, total := s.Find(t.Context(), listing.Query{Text: "ETHUSDT", Limit: 9}); uses(found) != "ETHUSDT binance:ETHUSDT ETH-USD ETHUSDC ETHFDUSD ETHUSDT.P ETHUSDC.P" || total != 7 {
		t.Errorf("found %s of %d", uses(found), total)
	}
}

// A coin's code alone is not taken for the security with that ticker, unless there is a
// file of that name.
func TestRoute_ACoinAloneIsAmbiguous(t *testing.T) {
	t.Parallel()
	s := opened(t, "ETH_1d.csv")
	for _, name := range []string{"BTC", "GOLD", "XBT"} {
		_, err := s.Bars(t.Context(), marketdata.Request{Symbol: market.Symbol{Name: name}, Interval: market.Day1, Bars: 1})
		if f := fault.Of(err); f == nil || f.Kind != fault.Invalid || f.Code != marketdata.AmbiguousCode {
			t.Errorf("%s: %v", name, err)
		}
	}
	set, err := s.Bars(t.Context(), marketdata.Request{Symbol: market.Symbol{Name: "ETH"}, Interval: market.Day1, Bars: 1})
	if err != nil || set.Provider != "csv" {
		t.Errorf("a file of that name: %s, %v", set.Provider, err)
	}
	if p, err := s.Route(t.Context(), market.Symbol{Venue: "yahoo", Name: "BTC"}); err != nil || p.Name() != "yahoo" {
		t.Errorf("with its venue: %v, %v", p, err)
	}
}
