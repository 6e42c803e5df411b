package tool_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"candela/internal/data/marketdata"
	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/chart"
)

// keptBars returns the bars of its first request each time, as a warm cache does.
type keptBars struct{ sets map[int]marketdata.BarSet }

func (k keptBars) Bars(ctx context.Context, want marketdata.Request) (marketdata.BarSet, error) {
	set, ok := k.sets[want.Bars]
	if !ok {
		var err error
		if set, err = (marketdatatest.Bars{}).Bars(ctx, want); err != nil {
			return set, err
		}
		k.sets[want.Bars] = set
	}
	return set, nil
}

// BenchmarkCall measures calls from arguments to result with bars that are at hand.
func BenchmarkCall(b *testing.B) {
	registry, err := tool.New(tool.Config{
		Charting: tooltest.Charts(keptBars{map[int]marketdata.BarSet{}}, chart.NewRenderer(), nil), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, tool, arguments string }{
		{"default chart", "generate_chart", `{"symbol":"BTCUSDT"}`},
		{"summary of 200 bars", "generate_chart", `{"symbol":"BTCUSDT","format":"summary"}`},
		{"summary of 500 bars", "generate_chart", `{"symbol":"BTCUSDT","format":"summary","bars":500}`},
		{"get_indicators", "get_indicators", `{"symbol":"BTCUSDT","indicators":["ema_stack","cipher_b","macd"]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				result, err := registry.Call(b.Context(), caller(), c.tool, json.RawMessage(c.arguments))
				if err != nil {
					b.Fatal(err)
				}
				size = len(result.Content[0].Image) + len(result.Content[0].Text)
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
