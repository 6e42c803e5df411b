package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/config"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/data/provider/sample"
	"candela/internal/data/upstream"
	"candela/internal/kit/principal"
	"candela/internal/kit/setting"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/testkit/longtest"
	"candela/internal/work/charting"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// venue serves sample bars under the name of a venue, as real ones.
type venue struct {
	*sample.Provider
	fail error

	mu    sync.Mutex
	calls int
}

func (*venue) Name() string { return "binance" }

func (v *venue) Capabilities() provider.Caps {
	c := v.Provider.Capabilities()
	c.Synthetic, c.PageSize = false, 1000
	return c
}

func (v *venue) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	v.mu.Lock()
	v.calls++
	v.mu.Unlock()
	if v.fail != nil {
		return provider.BarPage{}, v.fail
	}
	q.Symbol = market.Symbol{}
	q, err := v.Capabilities().Normalize("binance", q)
	if err != nil {
		return provider.BarPage{}, err
	}
	page, err := v.Provider.Bars(ctx, q)
	page.Synthetic = false
	return page, err
}

// venuesOf declares providers as the table does. Where a venue has the same name, its
// declaration is kept.
func venuesOf[P provider.Provider](providers ...P) []provider.Descriptor {
	var all []provider.Descriptor
	for _, p := range providers {
		d := provider.Descriptor{Part: setting.Part{Name: p.Name()}}
		for _, known := range Venues() {
			if known.Name == p.Name() {
				d.Kind, d.Separator = known.Kind, known.Separator
			}
		}
		d.Open = func(provider.Env) (provider.Provider, error) { return p, nil }
		all = append(all, d)
	}
	return all
}

func open(t *testing.T, providers ...provider.Provider) *bars {
	t.Helper()
	rt := Runtime{Config: &config.Config{Data: config.Data{CryptoVenue: "binance", StockVenue: "yahoo"}}, Log: slog.New(slog.DiscardHandler)}
	rt.Venues = append(venuesOf(sample.New(sample.Config{})), venuesOf(providers...)...)
	b, err := rt.openBars()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	return b
}

func registry(t *testing.T, b *bars) *tool.Registry {
	t.Helper()
	r, err := tool.New(tool.Config{Charting: tooltest.Charts(b, chart.NewRenderer(), nil), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// call runs a tool and returns its last text.
func call(t *testing.T, r *tool.Registry, name string, arguments any) (text string, isError bool) {
	t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Call(t.Context(), principal.Caller{Subject: "local", Key: "local", Scope: principal.Trade}, name, raw)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(result.Content[len(result.Content)-1].Text), result.IsError
}

func TestBars_NeverMadeUpForARealSymbol(t *testing.T) {
	t.Parallel()
	source := open(t)
	want := marketdata.Request{Interval: market.Hour4, Bars: 10, Warmup: 7000}
	set, err := source.Bars(t.Context(), want)
	if err != nil || !set.Synthetic || set.Bars.Len() != 7010 || set.Symbol.String() != "SAMPLE" {
		t.Fatalf("%d bars of %s from %s as of %s, %v", set.Bars.Len(), set.Symbol, set.Provider, set.AsOf, err)
	}
	want.Symbol = market.Symbol{Name: "BTCUSDT"}
	if _, err := source.Bars(t.Context(), want); fault.KindOf(err) != fault.NotFound {
		t.Fatalf("BTCUSDT without a source: %v", err)
	}
}

func TestTools_AFailedReadIsAnErrorInEveryToolThatReadsBars(t *testing.T) {
	t.Parallel()
	questions := []struct {
		tool      string
		arguments map[string]any
	}{
		{"generate_chart", map[string]any{}},
		{"generate_chart", map[string]any{"format": "png"}},
		{"generate_chart", map[string]any{"format": "summary"}},
		{"generate_chart", map[string]any{"format": "both"}},
		{"generate_chart", map[string]any{"format": "series"}},
		{"get_indicators", map[string]any{"indicators": []string{"rsi"}}},
	}
	for name, err := range map[string]error{
		"down":    fault.Unreachable(errors.New("dial"), 3*time.Second, "binance BTCUSDT: the venue does not answer"),
		"refused": &fault.Error{Kind: fault.Unavailable, Code: "region_refused", Message: "binance BTCUSDT: HTTP 451"},
		"broken":  errors.New("unexpected end of JSON input"),
		"unknown": provider.UnknownSymbol("binance", market.Symbol{Name: "BTCUSDT"}),
	} {
		r := registry(t, open(t, &venue{Provider: sample.New(sample.Config{}), fail: err}))
		for _, q := range questions {
			q.arguments["symbol"] = "BTCUSDT"
			text, isError := call(t, r, q.tool, q.arguments)
			if !isError || !strings.Contains(text, "binance") || !strings.Contains(text, "BTCUSDT") || strings.Contains(text, `"source"`) {
				t.Errorf("%s: %s %v answers %s", name, q.tool, q.arguments, text)
			}
		}
	}
}

func TestTools_ManyChartsMakeOneRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // where no time passes: an answer stands for 1.5 s
		v := &venue{Provider: sample.New(sample.Config{})}
		r := registry(t, open(t, v))
		var all sync.WaitGroup
		for range longtest.Pick(100, 500) {
			all.Go(func() {
				text, isError := call(t, r, "generate_chart", map[string]any{"symbol": "BTCUSDT", "format": "summary", "indicators": []string{"rsi"}})
				if isError || !strings.Contains(text, `"source":"fetched","provider":"binance"`) {
					t.Errorf("answer: %s", text)
				}
			})
		}
		all.Wait()
		// One read serves them all: two pages, because a history with its warm-up has
		// more bars than the venue gives at once.
		if v.calls != 2 {
			t.Errorf("%d requests, want 2", v.calls)
		}
	})
}

// TestTools_TheLastValueDoesNotDependOnTheRange asks for the whole catalogue over
// 50, 200 and 1000 bars: every last value must be the same to the last bit, but those
// of sums, which begin at the first bar shown and say so.
func TestTools_TheLastValueDoesNotDependOnTheRange(t *testing.T) {
	t.Parallel()
	source := open(t, &venue{Provider: sample.New(sample.Config{Seed: 11})})
	symbol := market.Symbol{Name: "ETHUSDT"} // not BTCUSDT, with which correlation compares
	sums := []string{"obv", "ad", "pvt", "nvi", "pvi", "wad", "drawdown"}
	values := map[string]map[int]float64{} // by indicator and line, then by bars
	for _, n := range []int{50, 200, 1000} {
		for _, def := range ta.All() {
			s, err := ta.Resolve(ta.Request{Name: def.Name})
			if err != nil {
				t.Fatal(err)
			}
			got, err := charting.Compute(t.Context(), source, charting.Request{
				Symbol: symbol, Interval: market.Hour4, Bars: n, Indicators: []charting.NamedIndicator{{Name: def.Name, Selection: s}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if !got.WarmupOK {
				t.Errorf("%s over %d bars: the warm-up is cut", def.Name, n)
			}
			result := got.Indicators[0].Result
			if sum := slices.Contains(sums, def.Name); sum != (result.Anchored == got.Bars.T[0]) || sum != (result.Anchored != 0) {
				t.Errorf("%s over %d bars begins at %d", def.Name, n, result.Anchored)
			}
			if result.Anchored != 0 {
				continue
			}
			for _, line := range result.Lines {
				note(values, def.Name+" "+line.Label, n, line.Values[len(line.Values)-1])
			}
			for _, h := range result.Hist {
				note(values, def.Name+" histogram "+h.Label, n, h.Values[len(h.Values)-1])
			}
		}
	}
	for key, by := range values {
		if a, b, c := by[50], by[200], by[1000]; !same(a, b) || !same(b, c) {
			t.Errorf("%s is %v over 50 bars, %v over 200 and %v over 1000", key, a, b, c)
		}
	}
	if len(values) < 40 {
		t.Errorf("only %d values compared: %v", len(values), slices.Sorted(maps.Keys(values)))
	}
}

func note(values map[string]map[int]float64, key string, n int, v float64) {
	if values[key] == nil {
		values[key] = map[int]float64{}
	}
	values[key][n] = v
}

func same(a, b float64) bool { return a == b || a != a && b != b }

// TestBars_CloseEndsTheSharedConnections holds that nothing stays open behind a
// reader that is done: the connections belong to no provider.
func TestBars_CloseEndsTheSharedConnections(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 1)
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
	web.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			gone <- struct{}{}
		}
	}
	web.Start()
	t.Cleanup(web.Close)
	rt := Runtime{Config: &config.Config{}, Log: slog.New(slog.DiscardHandler)}
	rt.Venues = []provider.Descriptor{{Open: func(env provider.Env) (provider.Provider, error) {
		_, err := env.Hosts.Client(upstream.Config{Venue: "test", Base: web.URL}).Do(t.Context(), upstream.Request{Path: "/"})
		return sample.New(sample.Config{}), err
	}}}
	b, err := rt.openBars()
	if err != nil {
		t.Fatal(err)
	}
	b.close()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the connection is still open")
	}
}
