package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"candela/internal/kit/budget"
	"candela/internal/serve/mcp"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/store/scripts"
	"candela/internal/work/charting"
	"candela/internal/work/research"
	"candela/lib/chart"
	"candela/lib/pine"
	"candela/lib/ta"
)

// holding holds 2.4 MB from its first bar on, and has a condition for alerts.
const holding = `//@version=6
indicator("holding")
var a = array.new<float>(100000, 0)
var b = array.new<float>(0)
var c = array.new<float>(0)
if bar_index == 1
    b := array.new<float>(100000, 0)
if bar_index == 2
    c := array.new<float>(100000, 0)
array.set(a, bar_index, close)
plot(array.get(a, bar_index), "p")
alertcondition(close > open, "up", "up")
`

const holdingStrategy = `"script":"//@version=6\nstrategy(\"holding\")\nlength = input.int(5)\nvar a = array.new<float>(100000, 0)\nvar b = array.new<float>(0)\nvar c = array.new<float>(0)\nif bar_index == 1\n    b := array.new<float>(100000, 0)\nif bar_index == 2\n    c := array.new<float>(100000, 0)\narray.set(a, bar_index, close)\nif close > array.get(a, math.max(0, bar_index - length))\n    strategy.entry(\"L\", strategy.long)\nelse\n    strategy.close(\"L\")\n"`

// scriptCalls are calls of each tool that runs scripts.
func scriptCalls() map[string][2]string {
	const rules = `"long":{"enter":{"indicator_signal":{"indicator":"holding","signal":"up"}},"max_bars":`
	return map[string][2]string{
		"a chart":                      {"generate_chart", `{"symbol":"BTCUSDT","interval":"1h","bars":200,"format":"summary","indicators":["holding"]}`},
		"indicators":                   {"get_indicators", `{"symbol":"BTCUSDT","interval":"1h","indicators":["holding"]}`},
		"a back-test":                  {"run_backtest", `{"symbol":"BTCUSDT","interval":"1h","bars":400,` + holdingStrategy + `}`},
		"a sweep":                      {"run_backtest", `{"symbol":"BTCUSDT","interval":"1h","bars":400,"sweep":{"length":[2,3,4]},` + holdingStrategy + `}`},
		"a back-test of rules":         {"run_backtest", `{"symbol":"BTCUSDT","interval":"1h","bars":400,` + rules + `10}}`},
		"a sweep of rules":             {"run_backtest", `{"symbol":"BTCUSDT","interval":"1h","bars":400,"sweep":{"n":[5,10]},` + rules + `"$n"}}`},
		"a test of an alert":           {"test_alert", `{"symbol":"BTCUSDT","interval":"1h","bars":400,"condition":{"indicator_signal":{"indicator":"holding","signal":"up"}}}`},
		"a scan":                       {"scan_symbols", `{"symbols":["BTCUSDT","ETHUSDT"],"interval":"1h","condition":{"indicator_signal":{"indicator":"holding","signal":"up"}}}`},
		"a scan with a script's value": {"scan_symbols", `{"symbols":["BTCUSDT"],"interval":"1h","columns":["holding"]}`},
	}
}

// scripted returns tools over waves with the script holding, whose scripts share a pool.
func scripted(t *testing.T, pool *budget.Pool, bars charting.BarSource) *tool.Registry {
	t.Helper()
	shelf := scripts.Open(t.TempDir(), scripts.Unshared, pine.Compile)
	for name, source := range map[string]string{"holding": holding, "endless": strings.ReplaceAll(endlessIndicator, `\n`, "\n")} {
		if _, err := shelf.Save(name, source); err != nil {
			t.Fatal(err)
		}
	}
	charts := charting.New(charting.Config{Bars: bars, Renderer: chart.NewRenderer(), Log: slog.New(slog.DiscardHandler), Turns: charting.NewTurns(charting.Sharing{ScriptMemory: pool})})
	library := ta.Library{Scripts: shelf}
	asked := research.New(research.Config{Charting: charts, Library: library, Scripts: shelf})
	r, err := tool.New(tool.Config{
		Charting: charts, Research: asked, Log: slog.New(slog.DiscardHandler), Toolsets: []string{tool.ResearchSet, tool.ScriptsSet},
		Scripts: shelf, Library: library,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(asked.Close)
	return r
}

// TestScriptMemory_IsSharedByAllCalls holds that the scripts of every tool draw on one memory, give it back,
// and that one that does not fit is refused with the limit.
func TestScriptMemory_IsSharedByAllCalls(t *testing.T) {
	t.Parallel()
	for name, c := range scriptCalls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, room := range []struct {
				all, each int64
				want      string
			}{
				{64 << 20, 32 << 20, ""},
				{64 << 20, 1 << 20, "the scripts of this owner hold 1 MiB together"},
				{2 << 20, 2 << 20, "hold 2 MiB together"},
			} {
				pool := budget.NewPool(room.all, room.each)
				result := call(t, scripted(t, pool, waves{}), c[0], c[1])
				text := textOf(result)
				if refused := strings.Contains(text, budget.MemoryCode); refused != (room.want != "") || !strings.Contains(text, room.want) {
					t.Errorf("with %d and %d bytes: %.600s", room.all, room.each, text)
				}
				if held := pool.Held(); held != 0 {
					t.Errorf("with %d and %d bytes: %d are still held", room.all, room.each, held)
				}
			}
		})
	}
}

// textOf returns the texts of a result.
func textOf(r mcp.Result) string {
	var out strings.Builder
	for _, c := range r.Content {
		out.Write(c.Text)
	}
	return out.String()
}

// TestScriptMemory_BeyondTheNumberOfCallsTheyWait holds that more calls than may run at a time are all answered.
func TestScriptMemory_BeyondTheNumberOfCallsTheyWait(t *testing.T) {
	t.Parallel()
	pool := budget.NewPool(64<<20, 64<<20)
	r := scripted(t, pool, waves{})
	c := scriptCalls()["a back-test"]
	answers := make(chan string, 2*charting.ScriptStudies)
	for range cap(answers) {
		go func() { answers <- textOf(call(t, r, c[0], c[1])) }()
	}
	for range cap(answers) {
		if text := <-answers; !strings.Contains(text, `"result"`) {
			t.Errorf("%.600s", text)
		}
	}
	if held := pool.Held(); held != 0 {
		t.Errorf("%d bytes are still held", held)
	}
}

// endless takes seconds of processor time in all.
const (
	endless = `for i = 0 to 90000\n    x := x + math.sin(i)\n`

	endlessIndicator = `//@version=6\nindicator("x")\nvar x = 0.0\nvar a = array.new<float>(100000, 0)\n` + endless + `plot(x)\nalertcondition(x > 0, "up", "up")\n`
)

// TestScriptCalls_EndWithTheirClient holds that each call with scripts ends when its client has gone, and gives
// its memory back.
func TestScriptCalls_EndWithTheirClient(t *testing.T) {
	t.Parallel()
	gone := errors.New("the client has gone")
	for name, c := range map[string][2]string{
		"a chart":              {"generate_chart", `{"symbol":"BTCUSDT","interval":"1h","bars":2000,"format":"png","indicators":["endless"]}`},
		"a back-test":          {"run_backtest", `{"symbol":"BTCUSDT","interval":"1h","bars":2000,"script":"//@version=6\nstrategy(\"x\")\nvar x = 0.0\nvar a = array.new<float>(100000, 0)\n` + endless + `"}`},
		"a test of an alert":   {"test_alert", `{"symbol":"BTCUSDT","interval":"1h","bars":2000,"condition":{"indicator_signal":{"indicator":"endless","signal":"up"}}}`},
		"a scan":               {"scan_symbols", `{"symbols":["BTCUSDT"],"interval":"1h","condition":{"indicator_signal":{"indicator":"endless","signal":"up"}}}`},
		"a back-test of rules": {"run_backtest", `{"symbol":"BTCUSDT","interval":"1h","bars":2000,"long":{"enter":{"indicator_signal":{"indicator":"endless","signal":"up"}},"max_bars":10}}`},
		"a sweep":              {"run_backtest", `{"symbol":"BTCUSDT","interval":"1h","bars":400,"sweep":{"n":[1,2]},"script":"//@version=6\nstrategy(\"x\")\nn = input.int(1)\nvar x = 0.0\nvar a = array.new<float>(100000, 0)\n` + endless + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := budget.NewPool(64<<20, 64<<20)
			r := scripted(t, pool, waves{})
			ctx, leave := context.WithCancelCause(t.Context())
			ended := make(chan string)
			go func() {
				result, err := r.Call(tooltest.Patient(ctx), caller(), c[0], json.RawMessage(c[1]))
				ended <- fmt.Sprint(textOf(result), err)
			}()
			for pool.Held() == 0 { // until the script runs
				select {
				case said := <-ended:
					t.Fatalf("it ended before its client left: %s", said)
				default:
					runtime.Gosched()
				}
			}
			leave(gone)
			if said := <-ended; !strings.Contains(said, `"code":"cancelled"`) {
				t.Errorf("it ended with %s", said)
			}
			if held := pool.Held(); held != 0 {
				t.Errorf("%d bytes are still held", held)
			}
		})
	}
}
