package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/config"
	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakeyahoo "candela/internal/testkit/fake/yahoo"
	"candela/internal/testkit/longtest"
)

// stockHosts leads to fake venues of stocks at the two addresses, in a bubble of virtual
// time: however slow the machine, they answer in time. The venues are open.
func stockHosts(t *testing.T, quotes, stocks http.Handler) *upstream.Hosts {
	t.Helper()
	network := fake.NewNetwork()
	hosts := upstream.NewHosts(network.Dial)
	t.Cleanup(func() { _ = hosts.Close() })
	t.Cleanup(network.Serve(yahooAddress, quotes))
	t.Cleanup(network.Serve(alpacaAddress, stocks))
	time.Sleep(time.Until(time.Date(2026, 5, 20, 16, 0, 0, 0, time.UTC)))
	return hosts
}

const (
	yahooAddress  = "127.0.0.1:1"
	alpacaAddress = "127.0.0.1:2"
)

// stockConfig has both venues, with keys.
func stockConfig(t *testing.T) *config.Config {
	t.Helper()
	cfg, err := LoadConfig(config.Input{
		Args:    []string{"--mcp", "--home", t.TempDir(), "--yahoo-url", "http://" + yahooAddress, "--alpaca-url", "http://" + alpacaAddress, "--alpaca-data-url", "http://" + alpacaAddress},
		Environ: []string{"CANDELA_ALPACA_KEY_ID=" + fakealpaca.KeyID, "CANDELA_ALPACA_SECRET_KEY=" + fakealpaca.Secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestTools_StocksEndToEnd asks the tools for stocks over the program's own
// sources and the fake venues: the source of the bars is reported, and the last
// value does not depend on the range.
func TestTools_StocksEndToEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, stocksEndToEnd)
}

func stocksEndToEnd(t *testing.T) {
	hosts := stockHosts(t, fakeyahoo.New(fakeyahoo.Config{Now: time.Now, Seed: 5}), fakealpaca.New(fakealpaca.Config{Now: time.Now, Seed: 5}))
	providers, _, err := openVenues(Venues(), stockConfig(t), provider.Env{Hosts: hosts, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	r := registry(t, open(t, providers[1:]...)) // open brings the sample along
	// The fakes make every day from its minutes, and a chart of days reads years of them.
	long := longtest.On()
	for symbol, of := range map[string]struct {
		venue string
		days  bool
	}{"AAPL": {"yahoo", true}, "^GSPC": {"yahoo", long}, "EURUSD=X": {"yahoo", true}, "BTC-USD": {"yahoo", long}, "alpaca:BRK.B": {"alpaca", true}} {
		venue := of.venue
		for _, interval := range []string{"30m", "4h", "1d"} {
			if interval == "1d" && !of.days {
				continue
			}
			chart := map[string]any{"symbol": symbol, "interval": interval, "format": "both", "bars": 60, "width": 400, "height": 300, "indicators": []string{"rsi"}}
			if long {
				delete(chart, "indicators") // the usual ones look further back
			}
			if text, isError := call(t, r, "generate_chart", chart); isError ||
				!strings.Contains(text, `"source":"fetched","provider":"`+venue+`"`) || !strings.Contains(text, `"bars":60`) {
				t.Errorf("%s %s: %.300s", symbol, interval, text)
			}
		}
		if !of.days {
			continue
		}
		last := map[string]int{}
		for _, bars := range []int{50, 200, 1000} {
			text, isError := call(t, r, "generate_chart", map[string]any{"symbol": symbol, "interval": "1d", "format": "summary", "bars": bars, "indicators": []string{"rsi", "ema_stack", "macd"}})
			var answer struct {
				Indicators json.RawMessage `json:"indicators"`
			}
			if err := json.Unmarshal([]byte(text), &answer); err != nil || isError || len(answer.Indicators) < 20 {
				t.Fatalf("%s: %.300s", symbol, text)
			}
			var parsed any
			if err := json.Unmarshal(answer.Indicators, &parsed); err != nil {
				t.Fatal(err)
			}
			lastValues("", parsed, last)
		}
		if len(last) == 0 {
			t.Errorf("%s: no value was compared", symbol)
		}
		for line, n := range last {
			if n != 3 {
				t.Errorf("%s: %s is the last value over %d of 3 ranges", symbol, line, n)
			}
		}
	}
}

// lastValues counts every last_value with its place and number.
func lastValues(place string, v any, count map[string]int) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if key == "last_value" {
				count[fmt.Sprintf("%s %v", place, inner)]++
				continue
			}
			lastValues(place+"/"+key, inner, count)
		}
	case []any:
		for i, inner := range v {
			lastValues(fmt.Sprintf("%s/%d", place, i), inner, count)
		}
	}
}

// TestTools_AStockThatFailsIsNeverMadeUp switches the venues' faults on: each
// answer is an error that names venue and symbol.
func TestTools_AStockThatFailsIsNeverMadeUp(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fakeyahoo.Fault{
		"a page": fakeyahoo.HTML, "half": fakeyahoo.Truncated, "text": fakeyahoo.WrongTypes, "another": fakeyahoo.OtherSymbol, "refused": fakeyahoo.Unwanted,
	} {
		synctest.Test(t, func(t *testing.T) {
			quotes := fakeyahoo.New(fakeyahoo.Config{Now: time.Now})
			quotes.SetFault(f)
			providers, _, err := openVenues(Venues(), stockConfig(t), provider.Env{Hosts: stockHosts(t, quotes, http.NotFoundHandler()), Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			r := registry(t, open(t, providers[1:]...))
			for _, tool := range []string{"generate_chart", "get_indicators"} {
				text, isError := call(t, r, tool, map[string]any{"symbol": "AAPL", "interval": "1d", "indicators": []string{"rsi"}})
				if !isError || !strings.Contains(text, "yahoo") || !strings.Contains(text, "AAPL") || strings.Contains(text, `"source"`) {
					t.Errorf("%s: %s answers %s", name, tool, text)
				}
			}
		})
	}
}
