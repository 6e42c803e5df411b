package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"candela/internal/data/marketdata"
	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/kit/principal"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/chart"
	"candela/lib/market"
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

// polledBars are bars at hand of which the newest forms: each request finds it changed, in memory of its own.
type polledBars struct {
	keptBars
	reads *int
}

func (p polledBars) Bars(ctx context.Context, want marketdata.Request) (marketdata.BarSet, error) {
	asked := want.Symbol
	want.Symbol = market.Symbol{Name: "BTCUSDT"}
	set, err := p.keptBars.Bars(ctx, want)
	n := set.Bars.Len()
	bars := set.Bars
	bars.C = slices.Clone(bars.C)
	*p.reads++
	bars.C[n-1] = bars.L[n-1] + (bars.H[n-1]-bars.L[n-1])*float64(*p.reads%100)/100
	set.Symbol, set.Bars, set.Forming = asked, bars, true
	return set, err
}

// BenchmarkSummary measures summaries of symbols that nobody has asked for, of one symbol that one owner polls,
// and of 50 symbols that 1,000 owners poll, with what is kept of them.
func BenchmarkSummary(b *testing.B) {
	for _, c := range []struct {
		name            string
		owners, symbols int
	}{{"cold", 1, 1 << 30}, {"asked again", 1, 1}, {"asked again by one owner, 50 symbols", 1, 50}, {"asked again by 1,000 owners, 50 symbols", 1000, 50}} {
		b.Run(c.name, func(b *testing.B) {
			reads := 0
			charts := tooltest.Charts(polledBars{keptBars{map[int]marketdata.BarSet{}}, &reads}, chart.NewRenderer(), nil)
			registry, err := tool.New(tool.Config{Charting: charts, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			call := func() {
				who := caller()
				who.Subject = principal.Owner(fmt.Sprint("owner", reads%c.owners))
				arguments := fmt.Sprintf(`{"symbol":"SYM%d","format":"summary"}`, reads/min(c.owners, 20)%c.symbols)
				if result, err := registry.Call(b.Context(), who, "generate_chart", json.RawMessage(arguments)); err != nil || result.IsError {
					b.Fatal(err)
				}
			}
			if c.symbols <= 50 {
				for range 3 * c.symbols * min(c.owners, 20) {
					call()
				}
			}
			for b.Loop() {
				call()
			}
			bytes, series := charts.States.Held()
			b.ReportMetric(float64(bytes)/float64(series), "kept-B/symbol")
		})
	}
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
		{"small summary", "generate_chart", `{"symbol":"BTCUSDT","format":"summary","indicators":["ema","bbands","rsi","macd"]}`},
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
