package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/config"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/data/provider/sample"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/principal"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/store/statedir"
	"candela/internal/work/charting"
	"candela/internal/work/charting/payload"
	"candela/lib/market"
	"candela/lib/ta"
)

// live serves sample bars as a venue does, over REST and as they form.
type live struct{ *sample.Provider }

func (live) Name() string { return "binance" }

func (v live) Capabilities() provider.Caps {
	c := v.Provider.Capabilities()
	c.Synthetic, c.PageSize = false, 1000
	return c
}

func (v live) Instrument(_ context.Context, s market.Symbol) (provider.Instrument, error) {
	return provider.Instrument{Symbol: s}, nil
}

func (v live) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	q.Symbol = market.Symbol{}
	q, err := v.Capabilities().Normalize("binance", q)
	if err != nil {
		return provider.BarPage{}, err
	}
	page, err := v.Provider.Bars(ctx, q)
	page.Synthetic = false
	return page, err
}

func (v live) Stream(ctx context.Context, subs []provider.Sub, changes <-chan provider.Change, emit provider.Emit) error {
	symbol := subs[0].Symbol // the tests follow one
	asked := make([]provider.Sub, len(subs))
	for i, s := range subs {
		asked[i] = provider.Sub{Interval: s.Interval}
	}
	return v.Provider.Stream(ctx, asked, changes, func(ctx context.Context, e provider.Event) error {
		e.Symbol = symbol
		return emit(ctx, e)
	})
}

// trade runs the parts of --trade over a venue in virtual time.
func trade(t *testing.T, home string, v provider.Provider) (*bars, *trading, func()) {
	t.Helper()
	rt := Runtime{Log: slog.New(slog.DiscardHandler), Config: &config.Config{
		Home: home, Trade: true, Data: config.Data{CryptoVenue: "binance"},
		Trading: config.Trading{
			Broker: "paper", Policy: filepath.Join(home, statedir.PolicyName),
		},
	}}
	*rt.Config.Values.TextVar("paper-cash") = "USD=100000"
	rt.Venues, rt.Brokers, rt.Sinks, rt.Stores = venuesOf(v), Brokers(), Sinks(), stores()
	b, err := rt.openBars()
	if err != nil {
		t.Fatal(err)
	}
	node, err := rt.openLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rt.node = node
	tr, err := rt.newTrading(b)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	last := lifecycle.Part{Name: "last", Run: func(ctx, _ context.Context, ok func()) error {
		ok()
		close(ready)
		<-ctx.Done()
		return nil
	}}
	go func() { done <- lifecycle.Run(ctx, append(tr.parts(rt), last), 10*time.Second, rt.Log) }()
	<-ready
	return b, tr, func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		b.close()
	}
}

var btc = market.Symbol{Name: "BTCUSDT"}

func localCaller() principal.Caller {
	return principal.Caller{Subject: "owner", Key: "local", Scope: principal.Trade}
}

func onSignal(i market.Interval, name, label string) alert.Alert {
	return alert.Alert{Symbol: btc, Interval: i, Condition: alert.Condition{Type: alert.IndicatorSignal, Indicator: name, Signal: label}}
}

// TestTrade_TheEnginesBarsAreThoseThatAreRead asks for every indicator that streams
// from the engine's window and from the venue at the same moment: everything they
// say must be equal to the last bit.
func TestTrade_TheEnginesBarsAreThoseThatAreRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, tr, stop := trade(t, t.TempDir(), live{sample.New(sample.Config{Seed: 5, Now: time.Now})})
		defer stop()
		fetched, kept := &bars{Service: b.Service}, historyOf(t, "ema_stack")
		compared := 0
		for range 2 {
			// The one that was set before may have fired.
			if _, err := tr.engine.Set(t.Context(), localCaller(), onSignal(market.Minute1, "ema_stack", "cross_up")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(51 * time.Second)                                                                // and what it needed is followed for a minute more
			time.Sleep(time.Until(time.Unix((time.Now().Unix()/4+1)*4, 0).Add(100 * time.Millisecond))) // both have the newest price
			for _, def := range ta.All() {
				s, err := ta.Resolve(ta.Request{Name: def.Name})
				if err != nil {
					t.Fatal(err)
				}
				if s.Stream(ta.Env{Interval: market.Minute1}) == nil || historyOf(t, def.Name) > kept {
					continue
				}
				q := charting.Request{Symbol: btc, Interval: market.Minute1, Bars: 200, Indicators: []charting.NamedIndicator{{Name: def.Name, Selection: s}}}
				cached, err := charting.Compute(t.Context(), b, q)
				if err != nil || cached.Source != payload.Cache {
					t.Fatalf("%s from the engine: %v, source %s %v %+v", def.Name, err, cached.Source, time.Now(), tr.engine.Status())
				}
				read, err := charting.Compute(t.Context(), fetched, q)
				if err != nil || read.Source != payload.Fetch {
					t.Fatalf("%s read: %v, source %s", def.Name, err, read.Source)
				}
				if a, b := bitsOf(cached), bitsOf(read); a != b {
					t.Errorf("%s differs:\n%.300s\n%.300s", def.Name, a, b)
				}
				if !cached.WarmupOK || cached.LastBarClosed != read.LastBarClosed || cached.Provider != read.Provider {
					t.Errorf("%s: %+v, read %+v", def.Name, cached.Provenance, read.Provenance)
				}
				compared++
			}
		}
		if compared < len(ta.All()) {
			t.Errorf("%d comparisons", compared)
		}
	})
}

// historyOf returns how many bars an indicator needs, which the engine keeps for an
// alert on it. Some need more than others leave in the engine: a year of days, say.
func historyOf(t *testing.T, name string) int {
	t.Helper()
	s, err := ta.Resolve(ta.Request{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	_, stable := s.Warmup(ta.Env{Interval: market.Minute1})
	return ta.History{Interval: market.Minute1, Shown: 200, Stable: stable}.Len()
}

// bitsOf writes everything that a chart shows, numbers by their bits.
func bitsOf(c *payload.Chart) string {
	var b strings.Builder
	var write func(v reflect.Value)
	write = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Float64:
			fmt.Fprintf(&b, "%x ", math.Float64bits(v.Float()))
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				write(v.Index(i))
			}
		case reflect.Struct:
			for _, field := range v.Fields() {
				write(field)
			}
		case reflect.Pointer:
			if !v.IsNil() {
				write(v.Elem())
			}
		default:
			fmt.Fprintf(&b, "%v ", v)
		}
	}
	write(reflect.ValueOf(*c.Bars))
	for _, i := range c.Indicators {
		write(reflect.ValueOf(*i.Result))
	}
	return b.String()
}

// TestTrade_AnAlertHasTheValueOfTheChart fires every signal of the catalogue it
// can and looks each up on a chart drawn at that moment: the values are equal to
// the last bit.
func TestTrade_AnAlertHasTheValueOfTheChart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, tr, stop := trade(t, t.TempDir(), live{sample.New(sample.Config{Seed: 6, Now: time.Now})})
		defer stop()
		for _, def := range ta.All() {
			for _, label := range def.Labels() {
				if _, err := tr.engine.Set(t.Context(), localCaller(), onSignal(market.Minute1, def.Name, label)); err != nil {
					t.Fatal(err)
				}
			}
		}
		found := 0
		for range 240 {
			time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 4100*time.Millisecond)))
			batch, err := tr.inbox.Poll(t.Context(), localCaller(), 0, notify.Bound{})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range batch.Entries {
				b.look(t, e.Data)
				found++
			}
			batch.Settle(true)
		}
		if found < 40 {
			t.Errorf("%d signals came", found)
		}
	})
}

// look finds a notification on the chart of the moment.
func (b *bars) look(t *testing.T, data []byte) {
	t.Helper()
	var n struct {
		Condition struct{ Indicator, Signal string }
		Value     float64
		Triggered time.Time `json:"triggered_at"`
		Late      bool
	}
	if err := json.Unmarshal(data, &n); err != nil {
		t.Fatal(err)
	}
	s, err := ta.ResolveAlert(n.Condition.Indicator)
	if err != nil {
		t.Fatal(err)
	}
	chart, err := charting.Compute(t.Context(), b, charting.Request{Symbol: btc, Interval: market.Minute1, Bars: 200, Indicators: []charting.NamedIndicator{{Name: n.Condition.Indicator, Selection: s}}})
	if err != nil {
		t.Fatal(err)
	}
	last := chart.Bars.Len() - 1
	if !chart.LastBarClosed {
		last--
	}
	for _, signal := range chart.Indicators[0].Result.Signals {
		if signal.Confirmed == last && signal.Label == n.Condition.Signal {
			if math.Float64bits(signal.Y) != math.Float64bits(n.Value) || n.Triggered.Unix() != chart.Bars.T[last]+60 || n.Late {
				t.Errorf("%s says %v at %v, the chart %v", data, n.Value, n.Triggered, signal.Y)
			}
			return
		}
	}
	t.Errorf("%s is not on the chart", data)
}

// A restart keeps alerts, what was fired and not fetched, and who has subscribed.
func TestTrade_ARestartKeepsWhatWasPromised(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		v := live{sample.New(sample.Config{Seed: 7, Now: time.Now})}
		b, tr, stop := trade(t, home, v)
		set, err := b.Service.Bars(t.Context(), marketdata.Request{Symbol: btc, Interval: market.Minute1, Bars: 1})
		if err != nil {
			t.Fatal(err)
		}
		price := set.Bars.C[0]
		call := func(tr *trading, name, arguments string) string {
			t.Helper()
			r, err := tool.New(tool.Config{Charting: tooltest.Charts(b, nil, tr.tools()), Trading: tr.tools(), Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			result, err := r.Call(t.Context(), localCaller(), name, json.RawMessage(arguments))
			if err != nil {
				t.Fatal(err)
			}
			return string(result.Content[0].Text)
		}
		call(tr, "subscribe_notifications", `{"symbols":["BTCUSDT"]}`)
		fired := call(tr, "set_alert", fmt.Sprintf(`{"symbol":"BTCUSDT","condition":{"price_below":%v}}`, price*2))
		waits := call(tr, "set_alert", fmt.Sprintf(`{"symbol":"BTCUSDT","condition":{"price_below":%v}}`, price/1000))
		stop()
		time.Sleep(time.Minute)
		b, tr, stop = trade(t, home, v)
		defer stop()
		var first, second struct {
			AlertID string `json:"alert_id"`
		}
		for text, to := range map[string]any{fired: &first, waits: &second} {
			if err := json.Unmarshal([]byte(text), to); err != nil {
				t.Fatal(err)
			}
		}
		if got := call(tr, "list_alerts", `{}`); !strings.Contains(got, second.AlertID) || strings.Contains(got, first.AlertID) {
			t.Errorf("active %s", got)
		}
		if got := call(tr, "list_subscriptions", `{}`); !strings.Contains(got, `"subscribed":true,"symbols":["BTCUSDT"]`) || !strings.Contains(got, `"offline_queue_size":1`) {
			t.Errorf("subscribed %s", got)
		}
		if got := call(tr, "get_notifications", `{}`); !strings.Contains(got, first.AlertID) {
			t.Errorf("notifications %s", got)
		}
	})
}
