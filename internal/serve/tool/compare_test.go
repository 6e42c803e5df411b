package tool_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/chart"
	"candela/lib/market"
)

// markets serves recorded bars by name, as a venue would: the newest that were requested,
// before the end.
type markets map[string]marketdata.BarSet

func (m markets) Bars(_ context.Context, r marketdata.Request) (marketdata.BarSet, error) {
	set, ok := m[r.Symbol.Name]
	if !ok {
		return set, provider.UnknownSymbol("test", r.Symbol)
	}
	if r.End != 0 {
		set.Bars = set.Bars.Slice(0, set.Bars.Search(r.End))
		set.Forming = false
	}
	set.Symbol, set.Bars = r.Symbol, set.Bars.Tail(r.Bars+r.Warmup)
	return set, nil
}

// twoCalendars has a market that never closes, a stock, one that is listed late and one
// that was delisted, at 1h, up to a Wednesday afternoon.
func twoCalendars(t *testing.T) markets {
	t.Helper()
	stocks, err := market.NewCalendar(market.USEquities())
	if err != nil {
		t.Fatal(err)
	}
	first, now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).Unix(), time.Date(2026, 3, 25, 15, 10, 0, 0, time.UTC)
	fill := func(c market.Calendar, from, to int64, price float64) marketdata.BarSet {
		b := market.MakeBars(600, false)
		for t := c.Next(market.Hour1, from-1).Open; t < to; t = c.Next(market.Hour1, t).Open {
			price *= 1 + 0.01*math.Sin(float64(t)/9000)
			b.Append(market.Bar{T: t, O: price, H: price * 1.01, L: price * 0.99, C: price * 1.001, V: 1, TakerBuy: math.NaN()})
		}
		return marketdata.BarSet{Provider: "test", Bars: b, Calendar: c, AsOf: now, Forming: to == now.Unix()}
	}
	all := markets{
		"COIN": fill(market.Calendar{}, first, now.Unix(), 65000), "STOCK": fill(stocks, first, now.Unix(), 190),
		"LATE": fill(market.Calendar{}, now.Unix()-20*3600, now.Unix(), 3), "GONE": fill(market.Calendar{}, first, first+40*3600, 7),
	}
	for name, set := range all {
		set.Instrument = market.Symbol{Venue: "test", Name: name}
		all[name] = set
	}
	again := all["COIN"]
	all["COIN-ALIAS"] = again // another spelling of the same instrument
	return all
}

func (m markets) registry(t *testing.T) *tool.Registry {
	t.Helper()
	r, err := tool.New(tool.Config{Charting: tooltest.Charts(m, chart.NewRenderer(), nil), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type comparedChart struct {
	Bars    []struct{ T int64 }
	Compare []struct {
		Symbol, Provider, Since string
		Stale                   bool
		Change                  json.RawMessage `json:"change_pct"`
		Values                  []json.RawMessage
	}
}

func TestCompare_EqualsANaiveComputationToTheBit(t *testing.T) {
	t.Parallel()
	source := twoCalendars(t)
	registry := source.registry(t)
	for _, c := range []struct{ symbol, others, more string }{
		{"COIN", `"STOCK","LATE"`, ""},
		{"STOCK", `"COIN"`, ""},
		{"STOCK", `"COIN","LATE"`, `,"bars":100`},
		{"COIN", `"STOCK"`, `,"end":"2026-03-21","bars":60`},
		{"STOCK", `"COIN"`, `,"start":"2026-03-16","end":"2026-03-20"`},
	} {
		arguments := `{"symbol":"` + c.symbol + `","interval":"1h","indicators":[],"format":"series","compare":[` + c.others + `]` + c.more + `}`
		var got comparedChart
		text := call(t, registry, "generate_chart", arguments).Content[0].Text
		if err := json.Unmarshal(text, &got); err != nil || len(got.Compare) != strings.Count(c.others, ",")+1 {
			t.Fatalf("%s: %v %.300s", arguments, err, text)
		}
		for _, other := range got.Compare {
			set, main := source[other.Symbol], source[c.symbol]
			base, numbers := math.NaN(), 0
			for i, bar := range got.Bars {
				// The naive form: among all bars, the last that closed no later than this one.
				end, known := closeOf(main.Calendar, bar.T), math.NaN()
				for k, at := range set.Bars.T {
					if closed := closeOf(set.Calendar, at); closed <= end || set.Forming && k == set.Bars.Len()-1 && set.AsOf.Unix() <= end {
						known = set.Bars.C[k]
					}
				}
				if base != base {
					base = known
				}
				want := string(strictjson.AppendFloat(nil, (known-base)/math.Abs(base)*100))
				if string(other.Values[i]) != want {
					t.Fatalf("%s: %s at bar %d is %s, want %s", arguments, other.Symbol, i, other.Values[i], want)
				}
				if want == "null" {
					continue
				}
				if numbers++; numbers == 1 && other.Since != time.Unix(bar.T, 0).UTC().Format(time.RFC3339) {
					t.Errorf("%s: %s since %s", arguments, other.Symbol, other.Since)
				}
			}
			if last := other.Values[len(other.Values)-1]; numbers < 2 || string(other.Change) != string(last) || other.Provider != "test" {
				t.Errorf("%s: %s has %d values, change %s, last %s", arguments, other.Symbol, numbers, other.Change, last)
			}
		}
	}
}

func closeOf(c market.Calendar, t int64) int64 {
	span, _ := c.Bucket(market.Hour1, t)
	return span.Close
}

func TestCompare_SummaryAndPicture(t *testing.T) {
	t.Parallel()
	source := twoCalendars(t)
	old := source["STOCK"]
	old.Stale = true
	source["STOCK"] = old
	registry := source.registry(t)
	result := call(t, registry, "generate_chart", `{"symbol":"COIN","interval":"1h","format":"both","compare":["STOCK","LATE"],"width":400,"height":300}`)
	if len(result.Content) != 2 || len(result.Content[0].Image) == 0 {
		t.Fatalf("%.300s", result.Content[0].Text)
	}
	text := string(result.Content[1].Text)
	if !strings.Contains(text, `"compare":[{"symbol":"STOCK","provider":"test","change_pct":`) || !strings.Contains(text, `"stale":true}`) || strings.Contains(text, `"values"`) {
		t.Errorf("%.900s", text)
	}
}

func TestCompare_Refusals(t *testing.T) {
	t.Parallel()
	registry := twoCalendars(t).registry(t)
	for arguments, want := range map[string]string{
		`{"compare":["COIN"]}`:                               "compare needs one, because sample data has no dates",
		`{"symbol":"COIN","compare":["coin"]}`:               "each symbol once",
		`{"symbol":"COIN","compare":["A","A"]}`:              "each symbol once",
		`{"symbol":"COIN","compare":7}`:                      "a list of symbols",
		`{"symbol":"COIN","compare":[5]}`:                    "symbols such as ETHUSDT",
		`{"symbol":"COIN","compare":["A B"]}`:                `"field":"compare"`,
		`{"symbol":"COIN","compare":["NOPE"]}`:               "compare NOPE: ",
		`{"symbol":"COIN","compare":["GONE"]}`:               "no 1h bars of it from",
		`{"symbol":"STOCK","compare":["COIN","COIN-ALIAS"]}`: "each symbol once",
		`{"symbol":"COIN","compare":["COIN-ALIAS"]}`:         "not the symbol of the chart",
		`{"symbol":"COIN","compare":["A","B","C","D","E"]}`:  "at most 4",
	} {
		arguments = strings.TrimSuffix(arguments, "}") + `,"interval":"1h","format":"summary"}`
		result := call(t, registry, "generate_chart", arguments)
		text := string(result.Content[0].Text)
		if !result.IsError || !strings.Contains(text, want) || !strings.Contains(text, `"field":`) {
			t.Errorf("%s: %.400s, want %q", arguments, text, want)
		}
	}
}
