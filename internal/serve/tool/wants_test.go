package tool_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"testing"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/work/charting"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// venue serves two symbols at any interval, built from the same minutes, and keeps what
// was asked for.
type venue struct{ asked []marketdata.Request }

const venueNow = 1_772_000_000 // within a day and an hour

func (v *venue) Bars(_ context.Context, r marketdata.Request) (marketdata.BarSet, error) {
	v.asked = append(v.asked, r)
	phase := map[string]float64{"COIN": 0, "OTHER": 1}
	at, known := phase[r.Symbol.Name]
	if !known {
		return marketdata.BarSet{}, provider.UnknownSymbol("test", r.Symbol)
	}
	length := r.Interval.Seconds()
	last := int64(venueNow) / length * length
	if r.End != 0 {
		last = min(last, (r.End-1)/length*length)
	}
	set := marketdata.BarSet{
		Symbol: r.Symbol, Instrument: market.Symbol{Venue: "test", Name: r.Symbol.Name}, Provider: "test",
		Bars: market.MakeBars(r.Bars+r.Warmup, false), Forming: last+length > venueNow,
	}
	price := func(t int64) float64 {
		return 100 + 20*math.Sin(float64(t)/400_000+at) + 5*math.Sin(float64(t)/30_000+2*at)
	}
	for t := last - int64(r.Bars+r.Warmup-1)*length; t <= last; t += length {
		o, c := price(t), price(min(t+length, venueNow))
		set.Bars.Append(market.Bar{T: t, O: o, H: max(o, c) + 1, L: min(o, c) - 1, C: c, V: 5, TakerBuy: math.NaN()})
	}
	return set, nil
}

func venueRegistry(t *testing.T) (*tool.Registry, *venue) {
	t.Helper()
	v := &venue{}
	r, err := tool.New(tool.Config{Charting: tooltest.Charts(v, chart.NewRenderer(), nil), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return r, v
}

// TestWants_ALongerIntervalIsThatOfItsOwnChart holds that each hour has the value which
// the daily chart has for the last day that closed by then, to the last bit.
func TestWants_ALongerIntervalIsThatOfItsOwnChart(t *testing.T) {
	t.Parallel()
	compute := func(i market.Interval, request ta.Request) (*market.Bars, *ta.Result) {
		s, err := ta.Resolve(request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := charting.Compute(t.Context(), &venue{}, charting.Request{
			Symbol: market.Symbol{Name: "COIN"}, Interval: i, Bars: 300, Indicators: []charting.NamedIndicator{{Name: request.Name, Selection: s}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !got.WarmupOK {
			t.Error("the warm-up is not complete")
		}
		return got.Bars, got.Indicators[0].Result
	}
	day := map[string]json.RawMessage{"interval": json.RawMessage(`"1d"`)}
	hours, steps := compute(market.Hour1, ta.Request{Name: "EMA(20)", Params: day})
	days, daily := compute(market.Day1, ta.Request{Name: "EMA(20)"})
	if steps.Label != "EMA(20) 1d" || !steps.Overlay || steps.Shown {
		t.Errorf("%+v", steps)
	}
	for k, open := range hours.T {
		i := days.Search(open+3600-86400+1) - 1 // the newest day with close <= close of the hour
		if got, want := steps.Lines[0].Values[k], daily.Lines[0].Values[i]; got != want {
			t.Fatalf("hour %d has %v, and day %d %v", open, got, days.T[i], want)
		}
	}
}

func TestWants_ThroughTheTools(t *testing.T) {
	t.Parallel()
	registry, v := venueRegistry(t)
	for arguments, want := range map[string]string{
		`{"symbol":"COIN","interval":"1h","indicators":[{"name":"ema","length":50,"interval":"1d"},"ema_20"]}`:             `"label":"EMA(50) 1d"`,
		`{"symbol":"COIN","interval":"1h","indicators":[{"name":"rsi","timeframe":"4h"},{"name":"rsi","timeframe":"1d"}]}`: `"label":"RSI(14) 1d"`,
		`{"symbol":"COIN","interval":"1h","indicators":[{"name":"correlation","symbol":"OTHER"}]}`:                         `"label":"Correlation(OTHER, 20)"`,
		`{"symbol":"COIN","interval":"1h","indicators":[{"name":"beta","symbol":"other","interval":"4h"}]}`:                `"label":"Beta(OTHER, 20) 4h"`,
		`{"symbol":"COIN","interval":"1h","indicators":[{"name":"sma","source":"rsi"}],"end":"2026-02-01"}`:                `"label":"SMA(9, RSI(14))"`,
		`{"symbol":"COIN","interval":"1h","indicators":[{"name":"sma200","interval":"1d"}],"end":"2026-02-01"}`:            `"label":"SMA(200) 1d"`,
		`{"symbol":"COIN","interval":"1h","indicators":[{"name":"sma","length":50},{"name":"sma","length":200}]}`:          `"sma_50"`,
	} {
		text := string(call(t, registry, "get_indicators", arguments).Content[0].Text)
		if !strings.Contains(text, want) || strings.Contains(text, "no data") {
			t.Errorf("%s lacks %s: %.600s", arguments, want, text)
		}
	}
	for _, r := range v.asked {
		if r.Bars+r.Warmup > 16_000 {
			t.Errorf("%+v asks for too many bars", r)
		}
	}
	if got := call(t, registry, "generate_chart", `{"symbol":"COIN","interval":"1h","indicators":[{"name":"ema","length":20,"interval":"1d"},{"name":"correlation","symbol":"OTHER"}]}`); got.IsError {
		t.Errorf("%s", got.Content[0].Text)
	}
	for arguments, want := range map[string][]string{
		`{"symbol":"COIN","interval":"1h","indicators":[{"name":"ema","length":50,"interval":"1h"}]}`:                                                 {"ema.interval", "that of the bars"},
		`{"symbol":"COIN","interval":"1d","indicators":[{"name":"rsi","interval":"15m"}]}`:                                                            {"rsi.interval", "15m", "longer than that of the bars, 1d"},
		`{"symbol":"COIN","indicators":[{"name":"correlation","symbol":"NONE"}]}`:                                                                     {"correlation.symbol", "NONE"},
		`{"symbol":"COIN","indicators":[{"name":"correlation","symbol":"COIN"}]}`:                                                                     {"correlation.symbol", "another symbol"},
		`{"symbol":"COIN","indicators":[{"name":"correlation","symbol":"test:COIN"}]}`:                                                                {"correlation.symbol", "another symbol"},
		`{"symbol":"COIN","indicators":[{"name":"correlation","symbol":5}]}`:                                                                          {"correlation.symbol", "such as ETHUSDT"},
		`{"symbol":"COIN","interval":"1m","indicators":[` + strings.Repeat(`{"name":"rsi","interval":"1h"},`, 8) + `{"name":"rsi","interval":"4h"}]}`: {"at most 8"},
	} {
		result := call(t, registry, "get_indicators", arguments)
		for _, part := range want {
			if text := string(result.Content[0].Text); !result.IsError || !strings.Contains(text, part) {
				t.Errorf("%s does not say %q: %.400s", arguments, part, text)
			}
		}
	}
	sample := call(t, registry, "generate_chart", `{"indicators":[{"name":"rsi","interval":"1d"}]}`)
	if text := string(sample.Content[0].Text); !sample.IsError || !strings.Contains(text, "symbol") {
		t.Errorf("%.300s", text)
	}
	if _, err := charting.Compute(t.Context(), v, charting.Request{Symbol: market.Symbol{Name: "NONE"}, Interval: market.Hour1, Bars: 5}); fault.Of(err) == nil {
		t.Error(err)
	}
}
