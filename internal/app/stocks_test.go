package app

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"candela/internal/config"
	fakealpaca "candela/internal/fake/alpaca"
	fakeyahoo "candela/internal/fake/yahoo"
	"candela/internal/upstream"
)

// TestTools_StocksEndToEnd asks the tools for stocks over the program's own
// sources and the fake venues: where the bars come from is told, and the last
// value does not depend on the range.
func TestTools_StocksEndToEnd(t *testing.T) {
	t.Parallel()
	start := time.Now()
	still := func() time.Time { return start } // so that no trade comes between two questions
	quotes := fakeyahoo.New(fakeyahoo.Config{Now: still, Seed: 5})
	stocks := fakealpaca.New(fakealpaca.Config{Now: still, Seed: 5})
	yahoo, alpaca := httptest.NewServer(quotes), httptest.NewServer(stocks)
	t.Cleanup(yahoo.Close)
	t.Cleanup(alpaca.Close)
	cfg, err := config.Load(config.Input{
		Args:    []string{"--mcp", "--home", t.TempDir(), "--yahoo-url", yahoo.URL, "--alpaca-url", alpaca.URL, "--alpaca-data-url", alpaca.URL},
		Environ: []string{"CANDELA_ALPACA_KEY_ID=" + fakealpaca.KeyID, "CANDELA_ALPACA_SECRET_KEY=" + fakealpaca.Secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	providers, err := sources(cfg, upstream.NewHosts(nil))
	if err != nil {
		t.Fatal(err)
	}
	r := registry(t, open(t, providers[1:]...)) // open brings the sample along
	for symbol, venue := range map[string]string{"AAPL": "yahoo", "^GSPC": "yahoo", "EURUSD=X": "yahoo", "BTC-USD": "yahoo", "alpaca:BRK.B": "alpaca"} {
		for _, interval := range []string{"30m", "4h", "1d"} {
			if text, isError := call(t, r, "generate_chart", map[string]any{"symbol": symbol, "interval": interval, "format": "both", "bars": 60}); isError ||
				!strings.Contains(text, `"source":"fetched","provider":"`+venue+`"`) || !strings.Contains(text, `"bars":60`) {
				t.Errorf("%s %s: %.300s", symbol, interval, text)
			}
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
	quotes := fakeyahoo.New(fakeyahoo.Config{Now: time.Now})
	web := httptest.NewServer(quotes)
	t.Cleanup(web.Close)
	cfg, err := config.Load(config.Input{Args: []string{"--mcp", "--home", t.TempDir(), "--yahoo-url", web.URL}})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]fakeyahoo.Fault{
		"a page": fakeyahoo.HTML, "half": fakeyahoo.Truncated, "text": fakeyahoo.WrongTypes, "another": fakeyahoo.OtherSymbol, "refused": fakeyahoo.Unwanted,
	} {
		quotes.SetFault(f)
		providers, err := sources(cfg, upstream.NewHosts(nil))
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
	}
}
