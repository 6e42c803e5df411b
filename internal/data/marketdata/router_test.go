package marketdata_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider/csv"
	"candela/lib/fault"
	"candela/lib/market"
)

// TestBars_AFailureNamesNoFileThatIsNotThere has a folder without the symbol and a
// venue that is down: the folder was asked already and is no way out.
func TestBars_AFailureNamesNoFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	down := fault.Unreachable(nil, 0, "yahoo: the venue does not answer")
	s := service(t, func(c *marketdata.Config) { c.Routes.Preferred = []string{"csv"} },
		&folder{&venue{name: "csv"}}, &venue{name: "yahoo", fail: down}, &venue{name: "alpaca"})
	for name, want := range map[string]string{"NOPE": "name another venue: alpaca:NOPE", "yahoo:FILED": "name another venue: csv:FILED, alpaca:FILED"} {
		symbol, err := market.ParseSymbol(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Bars(t.Context(), marketdata.Request{Symbol: symbol, Interval: market.Hour1, Bars: 5})
		if f := fault.Of(err); f == nil || !strings.HasSuffix(f.Message, want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestBars_ARefusedRegionNamesThePairElsewhere has a venue that serves nobody here: the
// error names the pair as other venues write it.
func TestBars_ARefusedRegionNamesThePairElsewhere(t *testing.T) {
	t.Parallel()
	refused := &fault.Error{Kind: fault.Unavailable, Code: "region_refused", Message: "no service in this region"}
	s := service(t, nil, &venue{name: "binance", fail: refused}, &venue{name: "coinbase"}, &venue{name: "kraken"}, &venue{name: "yahoo"})
	for _, name := range []string{"BTCUSDT", "binance:BTC/USDT"} {
		symbol, err := market.ParseSymbol(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Bars(t.Context(), marketdata.Request{Symbol: symbol, Interval: market.Hour1, Bars: 5})
		f := fault.Of(err)
		if f == nil || f.Code != "region_refused" || !slices.Equal(f.Suggestions, []string{"coinbase:BTC-USDT", "kraken:BTC/USDT"}) ||
			!strings.HasSuffix(f.Message, "name another venue: coinbase:BTC-USDT, kraken:BTC/USDT") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// first is a folder of files that is asked before another.
type first struct{ *csv.Provider }

func (first) Name() string { return "first" }

// TestBars_TheSourceOfASymbolIsAlone asks a source that has the symbol for bars of a time that it does not have, as a replay before the
// first bar of a file: the next source, which knows what comes later, does not answer in its place.
func TestBars_TheSourceOfASymbolIsAlone(t *testing.T) {
	t.Parallel()
	dir, later := t.TempDir(), t.TempDir()
	for folder, body := range map[string]string{dir: "2024-03-01,1,2,0.5,1.5,10\n", later: "2024-01-01,1,2,0.5,1.5,10\n"} {
		if err := os.WriteFile(filepath.Join(folder, "AAPL_1d.csv"), []byte("time,open,high,low,close,volume\n"+body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open := func(folder string) *csv.Provider {
		files, err := csv.New(csv.Config{Dir: folder, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = files.Close() })
		return files
	}
	s := service(t, func(c *marketdata.Config) { c.Routes.Preferred = []string{"first", "csv"} }, first{open(dir)}, open(later))
	asked := marketdata.Request{Symbol: market.Symbol{Name: "AAPL"}, Interval: market.Day1, Bars: 5, End: time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC).Unix()}
	if set, err := s.Bars(t.Context(), asked); fault.Of(err) == nil || fault.Of(err).Code != "no_bars" {
		t.Errorf("%s answers: %v", set.Provider, err)
	}
}

// TestBars_ABadFileIsReportedAsItIs reads a file with a broken row: the answer has
// file, line, column and what to write, and says neither to wait nor to go elsewhere.
func TestBars_ABadFileIsReportedAsItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	body := "time,open,high,low,close,volume\n2024-01-01,1,2,0.5,1.5,10\n2024-01-02,1,two,0.5,1.5,10\n"
	if err := os.WriteFile(filepath.Join(dir, "AAPL_1d.csv"), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := csv.New(csv.Config{Dir: dir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	s := service(t, func(c *marketdata.Config) { c.Routes.Preferred, c.Log = []string{"csv"}, slog.New(slog.DiscardHandler) }, files, &venue{name: "yahoo"})
	_, err = s.Bars(t.Context(), marketdata.Request{Symbol: market.Symbol{Name: "AAPL"}, Interval: market.Day1, Bars: 5})
	const want = `csv: AAPL_1d.csv line 3, column high: "two" is not a finite decimal number; write one such as 1234.5`
	if f := fault.Of(err); f == nil || f.Code != "bad_file" || f.Retryable || f.Public() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
