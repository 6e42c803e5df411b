package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/sample"
	"candela/internal/serve/mcp"
	"candela/internal/serve/rpc"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/testkit/longtest"
	"candela/lib/chart"
	"candela/lib/market"
)

// one is a venue that has BTCUSDT and nothing else.
type one struct{ spelled }

func (v one) Canonical(ctx context.Context, s market.Symbol) (market.Symbol, error) {
	named, err := v.spelled.Canonical(ctx, s)
	if err == nil && named.Name != btc.Name {
		err = provider.UnknownSymbol("binance", s)
	}
	return named, err
}

func (v one) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	s, err := v.Canonical(ctx, s)
	return provider.Instrument{Symbol: s}, err
}

// checked is a painter that checks what it is to draw, because this is about
// arguments.
type checked struct{}

func (checked) PNG(spec *chart.Spec) ([]byte, error) { return []byte("\x89PNG"), spec.Check() }

// fuzzCalls are right calls, from which wrong ones are made.
func fuzzCalls() map[string][]string {
	return map[string][]string{
		"generate_chart":            {`{"symbol":"BTCUSDT","interval":"1h","format":"summary","bars":20,"indicators":["rsi",{"name":"bbands","period":9}]}`, `{"ticker":"btc/usdt","timeframe":"1d","bars":5,"panels":[],"width":300,"height":300,"theme":"light","scale":2,"log":true}`},
		"list_indicators":           {`{}`},
		"get_indicators":            {`{"symbol":"BTCUSDT","interval":"15m","indicators":["macd",{"name":"rsi","length":7}]}`},
		"place_order":               {`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.1,"idempotency_key":"a"}`, `{"symbol":"BTC-USDT","side":"sell","type":"limit","quantity":0.1,"price":1000,"dry_run":false}`},
		"cancel_order":              {`{"order_id":"00000000-0000-7000-8000-000000000000"}`},
		"get_orders":                {`{"filter":"all","limit":5}`},
		"get_positions":             {`{"limit":5}`},
		"get_balance":               {`{}`},
		"set_alert":                 {`{"symbol":"BTCUSDT","condition":{"price_above":1}}`, `{"symbol":"btc/usdt","interval":"1h","condition":{"indicator_signal":{"indicator":"rsi","signal":"rsi_oversold"}},"note":"n","expires_at":"2000-01-02T00:00:00Z"}`},
		"list_alerts":               {`{"limit":5}`},
		"cancel_alert":              {`{"alert_id":"00000000-0000-7000-8000-000000000000"}`},
		"get_notifications":         {`{"limit":5,"wait_seconds":0}`},
		"subscribe_notifications":   {`{"symbols":["BTCUSDT"],"alert_types":["price_above"]}`},
		"unsubscribe_notifications": {`{}`},
		"list_subscriptions":        {`{}`},
	}
}

// mutator makes wrong arguments of right ones.
type mutator struct{ *rand.Rand }

// value is any JSON value.
func (m mutator) value(depth int) any {
	odd := []any{
		nil, true, false, 0, -1, 1, 1e308, -1e-308, 5e-324, 0.1, 1 << 53, "", " ", "0", "-1", "1e9", "NaN", "null", "true", "\x00", "\u202e", "日本語", "../../etc", "%00",
		"BTCUSDT", "btc/usdt", "binance:BTCUSDT", "csv:X", "^GSPC", "EURUSD=X", "1h", "1M", "buy", "limit", "open", "png", "rsi", "price_above",
		"2026-01-31T16:00:00Z", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", strings.Repeat("x", 70), strings.Repeat("A", 5000), "Z2V0X29yZGVycyAw",
		json.Number("1e400"), json.Number("-0"), json.Number("123456789012345678901234567890"), json.Number("0.000000000000000000000000001"), json.Number("1e-9999"),
	}
	switch n := m.IntN(10); {
	case n == 0 && depth > 0:
		list := make([]any, m.IntN(4))
		for i := range list {
			list[i] = m.value(depth - 1)
		}
		return list
	case n == 1 && depth > 0:
		object := map[string]any{}
		for range m.IntN(4) {
			object[m.key()] = m.value(depth - 1)
		}
		return object
	}
	return odd[m.IntN(len(odd))]
}

func (m mutator) key() string {
	keys := []string{
		"symbol", "ticker", "interval", "indicators", "name", "length", "period", "bars", "limit", "cursor", "price", "quantity", "side", "type", "condition",
		"price_above", "price_below", "indicator_signal", "indicator", "signal", "note", "expires_at", "symbols", "alert_types", "wait_seconds", "x", "", "stop_loss",
	}
	return keys[m.IntN(len(keys))]
}

// change changes something somewhere in v.
func (m mutator) change(v any) any {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		switch n := m.IntN(6); {
		case len(keys) == 0 || n == 0:
			v[m.key()] = m.value(2)
		case n == 1:
			delete(v, keys[m.IntN(len(keys))])
		default:
			key := keys[m.IntN(len(keys))]
			v[key] = m.change(v[key])
		}
		return v
	case []any:
		if len(v) == 0 || m.IntN(3) == 0 {
			return append(v, m.value(2))
		}
		i := m.IntN(len(v))
		v[i] = m.change(v[i])
		return v
	}
	return m.value(2)
}

// arguments makes those of a call: right, changed in a few places, or random.
func (m mutator) arguments(t *testing.T, right string) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(right), &v); err != nil {
		t.Fatal(err)
	}
	switch n := m.IntN(10); {
	case n == 0:
		v = map[string]any{m.key(): m.value(3), m.key(): m.value(3)}
	case n > 2:
		for range 1 + m.IntN(3) {
			v = m.change(v)
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFuzz_NoCallIsAnInternalError sends random and changed calls of all tools through
// the server, with paper trading: none may fail for a reason of ours, and memory must
// not grow with their number. It runs alone, because it counts what is allocated.
func TestFuzz_NoCallIsAnInternalError(t *testing.T) {
	calls := longtest.Pick(3000, 100_000)
	seed := longtest.Seed()
	synctest.Test(t, func(t *testing.T) {
		b, tr, stop := trade(t, t.TempDir(), one{spelled{live{sample.New(sample.Config{Seed: 7, Now: time.Now})}}})
		defer stop()
		registry, err := tool.New(tool.Config{Charting: tooltest.Charts(b, checked{}, tr.tools()), Symbols: b, Trading: tr.tools(), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		server, err := mcp.NewServer(registry, mcp.Config{Name: "test", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		m := mutator{rand.New(rand.NewPCG(seed, 0))}
		right := fuzzCalls()
		names := make([]string, 0, len(right))
		for _, each := range registry.Tools() {
			names = append(names, each.Name)
		}
		if len(names) != len(right) {
			t.Fatalf("%d tools, and calls of %d", len(names), len(right))
		}
		var early uint64
		for i := range calls {
			name := names[m.IntN(len(names))]
			arguments := m.arguments(t, right[name][m.IntN(len(right[name]))])
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, i, name, arguments)
			if answer := sendTo(t, server, body); strings.Contains(answer, `-32603`) || strings.Contains(answer, `\"code\":\"internal\"`) {
				t.Fatalf("seed %d, call %d: %s\n%s", seed, i, body, answer)
			}
			if i == calls/5 {
				early = heap()
			}
		}
		if late := heap(); late > early+early/2+(8<<20) {
			t.Errorf("the heap has %d bytes after a fifth of the calls and %d after all", early, late)
		}
	})
}

// heap returns the bytes in use after a collection.
func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// sendTo answers a body as a transport does.
func sendTo(t *testing.T, server *mcp.Server, body string) string {
	t.Helper()
	read, failure := rpc.Read([]byte(body))
	if failure != nil {
		return failure.Message
	}
	job := server.Receive(t.Context(), mcp.Origin{Caller: localCaller(), RequestID: "r"}, read)
	answer := string(job.Append(nil))
	job.ReportSent(true)
	return answer
}
