package tool_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/rpc"
	"candela/internal/serve/task"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/work/research"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

// gated serves a sine for each symbol, once its gate is open.
type gated struct {
	gate *atomic.Pointer[chan struct{}]
}

func (g gated) Bars(ctx context.Context, want marketdata.Request) (marketdata.BarSet, error) {
	set := marketdata.BarSet{Symbol: want.Symbol, Instrument: want.Symbol, Provider: "waves", AsOf: time.Unix(1735689600, 0)}
	select {
	case <-*g.gate.Load():
	case <-ctx.Done():
		return set, context.Cause(ctx)
	}
	if strings.HasPrefix(want.Symbol.Name, "NONE") {
		return set, fault.New(fault.NotFound, "unknown_symbol", "there is no %s", want.Symbol.Name)
	}
	n := want.Bars + want.Warmup
	for i := range n {
		c := 100 + 10*math.Sin(float64(i-n)/9)
		set.Bars.Append(market.Bar{T: 1735689600 - int64(n-i)*4*3600, O: c, H: c + 1, L: c - 1, C: c, V: 5})
	}
	return set, nil
}

func (g gated) set(open bool) (release func()) {
	gate := make(chan struct{})
	g.gate.Store(&gate)
	if open {
		close(gate)
		return nil
	}
	return func() { close(gate) }
}

// longCalls are calls of every tool that may become a task, right and wrong ones.
func longCalls() (all []string) {
	for i := range 50 {
		all = append(all,
			fmt.Sprintf(`"name":"scan_symbols","arguments":{"symbols":["S%d","NONE%d"],"columns":["close",{"percent_change":{"bars":%d}}]}`, i, i, i%20+1),
			fmt.Sprintf(`"name":"run_backtest","arguments":{"symbol":"S%d","interval":"4h","bars":%d,"long":{"enter":{"value":{"indicator":"rsi","op":"<","value":%d}},"exit":{"value":{"indicator":"rsi","op":">","value":60}}}}`, i, 200+i, 20+i%20),
			fmt.Sprintf(`"name":"test_alert","arguments":{"symbol":"S%d","interval":"4h","bars":%d,"condition":{"value":{"indicator":"rsi","op":"<","value":30}}}`, i, 150+i),
			fmt.Sprintf(`"name":"run_backtest","arguments":{"symbol":"NONE%d","tf":"4h","long":{"enter":{"value":{"indicator":"rsi","op":"<","value":30}},"exit":{"value":{"indicator":"rsi","op":">","value":60}}}}`, i),
		)
	}
	return all
}

const declaredTasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

func callerOf(owner principal.Owner) principal.Caller {
	return principal.Caller{Subject: owner, Key: string(owner), Scope: principal.Trade}
}

// askModern sends a request of the newer revision.
func askModern(t *testing.T, server *mcp.Server, by principal.Caller, capabilities, method, members string) string {
	t.Helper()
	body, failure := rpc.Read(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":7,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s},%s}}`, method, capabilities, members))
	if failure != nil {
		t.Fatal(failure)
	}
	return string(server.Receive(t.Context(), mcp.Origin{Caller: by}, body).Append(nil))
}

// endedTask returns a task once it has ended.
func endedTask(t *testing.T, server *mcp.Server, by principal.Caller, id string) (answer string) {
	t.Helper()
	for range 6000 {
		if answer = askModern(t, server, by, declaredTasks, "tasks/get", `"taskId":"`+id+`"`); !strings.Contains(answer, `"status":"working"`) {
			return answer
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the task works for a minute")
	return ""
}

// The result of a task has the bytes of the answer to the same call without tasks.
func TestTask_200RunsEqualDirectOnes(t *testing.T) {
	t.Parallel()
	source := gated{&atomic.Pointer[chan struct{}]{}}
	charts := tooltest.Charts(source, chart.NewRenderer(), nil)
	asked := research.New(research.Config{Charting: charts})
	registry, err := tool.New(tool.Config{Charting: charts, Research: asked, Log: slog.New(slog.DiscardHandler), Toolsets: []string{tool.ResearchSet}})
	if err != nil {
		t.Fatal(err)
	}
	tasks := task.New(task.Config{Wait: time.Nanosecond})
	server, err := mcp.NewServer(registry, mcp.Config{Name: "candela", Version: "test", Modern: true, Structured: true, Tasks: tasks, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tasks.Close(); asked.Close() })
	ann, bob, wrong := callerOf("ann"), callerOf("bob"), 0 // two, because an answer counts what its owner has tried
	for _, call := range longCalls() {
		source.set(true)
		_, direct, _ := strings.Cut(askModern(t, server, ann, "{}", "tools/call", call), `"result":`)
		if strings.Contains(direct, `"isError":true`) {
			wrong++
		}
		release := source.set(false)
		created := askModern(t, server, bob, declaredTasks, "tools/call", call)
		release()
		_, id, isTask := strings.Cut(created, `"taskId":"`)
		id, _, _ = strings.Cut(id, `"`)
		if !isTask {
			t.Fatalf("%s is answered with %.300s", call, created)
		}
		if got := endedTask(t, server, bob, id); !strings.HasSuffix(got, `,"result":`+direct+"}") {
			t.Fatalf("%s\ndirect  %.500s\nas task %.800s", call, direct, got)
		}
	}
	if wrong != 50 {
		t.Errorf("%d of the calls are wrong ones", wrong)
	}
}
