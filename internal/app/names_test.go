package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/binance"
	"candela/internal/data/provider/sample"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/chart"
	"candela/lib/market"
)

// spelled is a venue that takes several spellings of a symbol, as binance does.
type spelled struct{ live }

func (spelled) Canonical(_ context.Context, s market.Symbol) (market.Symbol, error) {
	return provider.SymbolMapper(binance.Spell).Canonical("binance", s)
}

func (v spelled) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	s, err := v.Canonical(ctx, s)
	return provider.Instrument{Symbol: s}, err
}

// spellings are ways to write one instrument.
func spellings() []string {
	return []string{"btcusdt", "BTC/USDT", "btc-usdt", "BTC_USDT", "binance:BTC/USDT", "BINANCE:btcusdt"}
}

// named runs a test with the tools over such a venue.
func named(t *testing.T, test func(b *bars, call func(name, arguments string) string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, tr, stop := trade(t, t.TempDir(), spelled{live{sample.New(sample.Config{Seed: 7, Now: time.Now})}})
		defer stop()
		r, err := tool.New(tool.Config{Charting: tooltest.Charts(b, chart.NewRenderer(), tr.tools()), Trading: tr.tools(), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		test(b, func(name, arguments string) string {
			t.Helper()
			result, err := r.Call(t.Context(), localCaller(), name, json.RawMessage(arguments))
			if err != nil || result.IsError {
				t.Fatalf("%s %s: %v %s", name, arguments, err, result.Content[0].Text)
			}
			return string(result.Content[0].Text)
		})
	})
}

func TestNames_AFilterMatchesEverySpellingOfItsInstrument(t *testing.T) {
	t.Parallel()
	named(t, func(_ *bars, call func(name, arguments string) string) {
		for _, filter := range spellings() {
			for _, asked := range spellings() {
				call("unsubscribe_notifications", `{}`)
				call("subscribe_notifications", fmt.Sprintf(`{"symbols":[%q]}`, filter))
				set := call("set_alert", fmt.Sprintf(`{"symbol":%q,"condition":{"price_above":0.000001}}`, asked))
				if want := strings.ToUpper(asked[strings.IndexByte(asked, ':')+1:]); !strings.Contains(set, want) {
					t.Errorf("the alert on %s is shown as %s", asked, set)
				}
				if got := call("list_subscriptions", `{}`); !strings.Contains(got, `"offline_queue_size":1`) {
					t.Errorf("the filter %s misses an alert on %s: %s", filter, asked, got)
				}
			}
		}
		call("unsubscribe_notifications", `{}`)
		call("subscribe_notifications", `{"symbols":["ETH/USDT"]}`)
		call("set_alert", `{"symbol":"BTC/USDT","condition":{"price_above":0.000001}}`)
		if got := call("list_subscriptions", `{}`); !strings.Contains(got, `"offline_queue_size":0`) || !strings.Contains(got, `["ETH/USDT"]`) {
			t.Errorf("a filter on another instrument: %s", got)
		}
	})
}

func TestNames_OrdersInEverySpellingAreInOnePosition(t *testing.T) {
	t.Parallel()
	named(t, func(_ *bars, call func(name, arguments string) string) {
		for i, asked := range spellings() {
			order := fmt.Sprintf(`{"symbol":%q,"side":"buy","type":"market","quantity":%d,"idempotency_key":"k%d"}`, asked, i+1, i)
			first := call("place_order", order)
			if !strings.Contains(first, `"symbol":"BTCUSDT","venue":"binance"`) {
				t.Errorf("%s: %s", asked, first)
			}
			if again := call("place_order", order); orderID(t, again) != orderID(t, first) {
				t.Errorf("%s: the same key gives %s and then %s", asked, first, again)
			}
			time.Sleep(5 * time.Second) // two alike orders within two seconds are a mistake
		}
		got := call("get_positions", `{}`)
		if strings.Count(got, `"quantity"`) != 1 || !strings.Contains(got, `"quantity":21,`) {
			t.Errorf("positions: %s", got)
		}
	})
}

func orderID(t *testing.T, order string) string {
	t.Helper()
	var record struct {
		ID string `json:"order_id"`
	}
	if err := json.Unmarshal([]byte(order), &record); err != nil || record.ID == "" {
		t.Fatalf("%v %s", err, order)
	}
	return record.ID
}

func TestNames_AChartInAnySpellingShowsTheSame(t *testing.T) {
	t.Parallel()
	named(t, func(b *bars, call func(name, arguments string) string) {
		call("set_alert", `{"symbol":"BTC-USDT","condition":{"price_above":1e9}}`)
		call("place_order", `{"symbol":"btc/usdt","side":"buy","type":"market","quantity":1}`)
		_, before := b.CacheSize()
		for _, asked := range spellings() {
			got := call("generate_chart", fmt.Sprintf(`{"symbol":%q,"interval":"1d","format":"summary","bars":20}`, asked))
			shown, err := market.ParseSymbol(asked)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{`"symbol":"` + shown.String() + `"`, `"price_above"`, `"position":{`} {
				if !strings.Contains(got, part) {
					t.Errorf("%s: no %s in %s", asked, part, got)
				}
			}
		}
		if _, after := b.CacheSize(); after-before != 1 {
			t.Errorf("%d series are kept for one instrument", after-before)
		}
	})
}

// The venue that serves a symbol decides: where a dash is part of the name it stays.
func TestNames_OtherVenuesKeepTheirSpelling(t *testing.T) {
	t.Parallel()
	v := live{sample.New(sample.Config{Seed: 7})}
	for _, name := range []string{"BTC-USD", "BRK-B", "EURUSD=X"} {
		got, err := provider.Canonical(t.Context(), v, market.Symbol{Name: name})
		if err != nil || got.Name != name {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
