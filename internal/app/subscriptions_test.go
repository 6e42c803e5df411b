package app

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/sample"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/chart"
)

// enumerated is a venue with a list that lacks most of what it has.
type enumerated struct{ spelled }

func (enumerated) Loaded() []provider.Listing { return []provider.Listing{{Name: "BTCUSDT"}} }

// A filter on a symbol that no alert can be on is refused, before it is stored.
func TestSubscribe_RefusesSymbolsThatNoAlertCanBeOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, tr, stop := trade(t, t.TempDir(), enumerated{spelled{live{sample.New(sample.Config{Seed: 7, Now: time.Now})}}})
		defer stop()
		r, err := tool.New(tool.Config{Charting: tooltest.Charts(b, chart.NewRenderer(), tr.tools()), Trading: tr.tools(), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		call := func(name, arguments string) (string, bool) {
			t.Helper()
			result, err := r.Call(t.Context(), localCaller(), name, json.RawMessage(arguments))
			if err != nil {
				t.Fatal(err)
			}
			return string(result.Content[0].Text), !result.IsError
		}
		subscribe := func(symbol, refusal string) {
			t.Helper()
			text, ok := call("subscribe_notifications", `{"symbols":["BTCUSDT","`+symbol+`"]}`)
			switch {
			case refusal == "" && ok:
			case !ok && strings.Contains(text, refusal) && strings.Contains(text, `"field":"symbols"`) && strings.Contains(text, `"value":"`+symbol+`"`):
			default:
				t.Errorf("%s: %s", symbol, text)
			}
		}
		subscribe("BTC/USDT", "")
		subscribe("NOPEUSDT", "unknown_symbol")
		subscribe("nowhere:BTCUSDT", "a venue that is set up here")
		subscribe("BTC", "ambiguous_symbol")
		if text, _ := call("list_subscriptions", `{}`); strings.Contains(text, "NOPE") || !strings.Contains(text, "BTC/USDT") {
			t.Errorf("the subscription is %s", text)
		}
		if text, ok := call("set_alert", `{"symbol":"NOPEUSDT","condition":{"price_above":1000000000}}`); !ok {
			t.Fatal(text)
		}
		subscribe("NOPEUSDT", "")
	})
}
