package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/config"
	"candela/internal/data/provider"
	"candela/internal/data/provider/csv"
	"candela/internal/data/provider/replay"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/chart"
	"candela/lib/market"
)

// callTools returns a function that calls tools of the program.
func callTools(t *testing.T, b *bars, tr *trading) func(name, arguments string) string {
	t.Helper()
	r, err := tool.New(tool.Config{Charting: tooltest.Charts(b, chart.NewRenderer(), tr.tools()), Trading: tr.tools(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return func(name, arguments string) string {
		t.Helper()
		result, err := r.Call(t.Context(), localCaller(), name, json.RawMessage(arguments))
		if err != nil || result.IsError {
			t.Fatalf("%s %s: %v %s", name, arguments, err, result.Content[0].Text)
		}
		return string(result.Content[0].Text)
	}
}

// writeFall writes bars of a minute, from an hour before to an hour after a time: the price
// stays at 49,000 for ten minutes after it and then falls by 100 a minute, of which the first
// minute is missing.
func writeFall(t *testing.T, dir string, start time.Time) {
	t.Helper()
	var file strings.Builder
	file.WriteString("time,open,high,low,close,volume\n")
	price := func(minute int) float64 { return 49000 - 100*float64(max(0, minute-10)) }
	for minute := -60; minute < 60; minute++ {
		if first, last := price(minute), price(minute+1); minute != 10 {
			fmt.Fprintf(&file, "%d,%g,%g,%g,%g,10\n", start.Unix()+60*int64(minute), first, first, last, last)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "BTCUSDT_1m.csv"), []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A bar that a replay lacks delays neither stops nor alerts.
func TestTrade_AMissingBarOfAReplayDelaysNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir, start := t.TempDir(), time.Date(2021, time.March, 1, 0, 30, 0, 0, time.UTC)
		writeFall(t, dir, start)
		source, err := csv.New(csv.Config{Dir: dir, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		p, err := replay.New(replay.Config{Source: source, Start: start, Speed: 60, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		b, tr, stop := trade(t, t.TempDir(), p)
		defer stop()
		call := callTools(t, b, tr)
		call("place_order", `{"symbol":"replay:BTCUSDT","side":"buy","type":"market","quantity":0.05,"stop_loss":48500}`)
		call("set_alert", `{"symbol":"replay:BTCUSDT","condition":{"price_below":48505}}`)
		call("set_alert", `{"symbol":"replay:BTCUSDT","interval":"1m","condition":{"value":{"price":"close","op":"<","value":48750}}}`)
		at := func(minute int) {
			time.Sleep(time.Until(began.Add(time.Duration(minute)*time.Second + 100*time.Millisecond)))
		}
		at(13) // the close is 48,700
		if got := call("get_notifications", `{}`); strings.Count(got, "alert_id") != 1 || !strings.Contains(got, `"value":48700`) || strings.Contains(got, "late") {
			t.Errorf("after 13 minutes: %s", got)
		}
		if got := call("get_orders", `{"filter":"open"}`); !strings.Contains(got, "stop_loss") {
			t.Errorf("after 13 minutes open are %s", got)
		}
		at(15) // the low is 48,500
		if got := call("get_notifications", `{}`); strings.Count(got, "alert_id") != 1 || !strings.Contains(got, `"value":48500`) || strings.Contains(got, "late") {
			t.Errorf("after 15 minutes: %s", got)
		}
		if got := call("get_orders", `{}`); !strings.Contains(got, `"avg_fill_price":"48475.75"`) {
			t.Errorf("after 15 minutes: %s", got)
		}
	})
}

// quoted is a venue whose price stands still until it is set, and whose bars have all their
// volume from the beginning.
type quoted struct {
	name  string
	price *atomic.Int64
}

func (v quoted) Name() string { return v.name }

func (quoted) Capabilities() provider.Caps {
	return provider.Caps{Intervals: []market.Interval{market.Minute1}, PageSize: 1000, Live: true, Dynamic: true}
}

func (quoted) Instrument(_ context.Context, s market.Symbol) (provider.Instrument, error) {
	return provider.Instrument{Symbol: s, Base: "BTC", Quote: "USD"}, nil
}

func (v quoted) bar(open int64) market.Bar {
	p := float64(v.price.Load())
	return market.Bar{T: open, O: p, H: p, L: p, C: p, V: 1}
}

func (v quoted) Bars(_ context.Context, q provider.BarQuery) (provider.BarPage, error) {
	q, err := v.Capabilities().Normalize(v.name, q)
	if err != nil {
		return provider.BarPage{}, err
	}
	now := time.Now().Unix() / 60 * 60
	last := now
	if q.To != 0 {
		last = min(now, (q.To-1)/60*60)
	}
	page := provider.BarPage{Bars: market.MakeBars(q.Limit, false)}
	for open := max(q.From, last-60*int64(q.Limit-1)); open <= last; open += 60 {
		page.Bars.Append(v.bar(open))
		page.Running = open == now
	}
	return page, nil
}

func (v quoted) Stream(ctx context.Context, subs []provider.Sub, _ <-chan provider.Change, emit provider.Emit) error {
	for {
		now := time.Now()
		for _, sub := range subs {
			bar := v.bar(now.Unix() / 60 * 60)
			if err := emit(ctx, provider.Event{Sub: sub, Kind: provider.Forming, Bar: bar, Price: bar.C, At: now}); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// A stop that the price passed while the program was stopped fills at the first price after
// its start, though nothing more is traded.
func TestTrade_AStopThatWasPassedFillsAtTheFirstPrice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, home := quoted{"binance", new(atomic.Int64)}, t.TempDir()
		v.price.Store(50000)
		b, tr, stop := trade(t, home, v)
		call := callTools(t, b, tr)
		call("place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.05,"stop_loss":48000}`)
		time.Sleep(10 * time.Second)
		stop()
		v.price.Store(47000)
		time.Sleep(time.Until(time.Unix(time.Now().Unix()/60*60+65, 0))) // early in a minute
		b, tr, stop = trade(t, home, v)
		defer func() { stop() }()
		time.Sleep(5 * time.Second)
		if got := callTools(t, b, tr)("get_orders", `{}`); !strings.Contains(got, `"avg_fill_price":"46976.5"`) {
			t.Errorf("5 seconds after the start: %s", got)
		}
	})
}

// An alert whose venue is gone says so where it is listed and counted.
func TestTrade_AnAlertOnAVenueThatIsGoneSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, home := quoted{"replay", new(atomic.Int64)}, t.TempDir()
		v.price.Store(50000)
		run := func(test func(call func(name, arguments string) string, tr *trading)) {
			b, tr, stop := trade(t, home, v)
			defer stop()
			test(callTools(t, b, tr), tr)
		}
		run(func(call func(name, arguments string) string, _ *trading) {
			call("set_alert", `{"symbol":"replay:BTCUSDT","condition":{"price_above":60000}}`)
			if got := call("list_alerts", `{}`); strings.Contains(got, "not_evaluated") {
				t.Errorf("with the venue: %s", got)
			}
		})
		v.name = "binance"
		run(func(call func(name, arguments string) string, tr *trading) {
			if got := call("list_alerts", `{}`); !strings.Contains(got, `"not_evaluated":"the venue replay is not set up`) {
				t.Errorf("without the venue: %s", got)
			}
			rt := Runtime{Config: &config.Config{Home: home, Trading: config.Trading{Broker: "paper"}}}
			rt.Brokers = Brokers()
			s, err := tr.statusOf(rt, nil)(t.Context())
			if err != nil || s.Alerts != 1 || s.NotEvaluated != 1 {
				t.Errorf("status %+v, %v", s, err)
			}
		})
		v.name = "replay"
		v.price.Store(61000)
		run(func(call func(name, arguments string) string, _ *trading) {
			time.Sleep(5 * time.Second)
			if got := call("get_notifications", `{}`); !strings.Contains(got, `"value":61000`) {
				t.Errorf("with the venue again: %s", got)
			}
		})
	})
}
