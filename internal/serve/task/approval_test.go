package task_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/task"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// desk has one order, which waits for the owner, and counts how often one is placed.
type desk struct {
	mu        sync.Mutex
	order     order.Order
	placed    int
	withdrawn int
}

func newDesk() *desk {
	now := time.Now()
	o := order.Order{Status: order.PendingApproval, Approval: order.Approval{Asked: now, Expires: now.Add(10 * time.Minute)}, Updated: now}
	o.ID, o.Token, o.Side, o.Quantity, o.Symbol = "01a1-7f", "a", order.Buy, decimal.RequireFromString("0.1"), market.Symbol{Venue: "binance", Name: "BTCUSDT"}
	return &desk{order: o}
}

func (*desk) Tools() []mcp.Tool {
	return []mcp.Tool{{Name: "place_order", InputSchema: json.RawMessage(`{}`)}, {Name: "other", InputSchema: json.RawMessage(`{}`)}}
}

func (d *desk) Call(ctx context.Context, _ principal.Caller, _ string, _ json.RawMessage) (mcp.Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.placed++
	result, err := render(ctx, order.Placed{Order: d.order}, nil)
	result.Task = task.OfOrder(&d.order)
	return result, err
}

func (d *desk) Asked(_ context.Context, by principal.Caller, id string) (order.Placed, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if id != d.order.ID || by.Key != d.order.Token {
		return order.Placed{}, fault.New(fault.NotFound, "unknown_order", "no order")
	}
	return order.Placed{Order: d.order}, nil
}

func (d *desk) Withdraw(ctx context.Context, by principal.Caller, id string) error {
	if _, err := d.Asked(ctx, by, id); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.order.Status == order.PendingApproval {
		d.withdrawn++
		d.order.Status, d.order.NotSent = order.Canceled, true
	}
	return nil
}

func (d *desk) become(s order.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.order.Status = s
}

func render(_ context.Context, p order.Placed, failed error) (mcp.Result, error) {
	return mcp.Result{IsError: failed != nil, Content: []mcp.Content{{Text: []byte(`order ` + p.Status.String())}}}, nil
}

// approving is a server over a desk whose owner decides on a page.
func approving(t *testing.T, d *desk, secret string) *bench {
	t.Helper()
	b := &bench{tasks: task.New(task.Config{Orders: d, Render: render})}
	t.Cleanup(b.tasks.Close)
	var err error
	b.server, err = mcp.NewServer(d, mcp.Config{
		Name: "candela", Version: "test", Modern: true, Tasks: b.tasks, Log: slog.New(slog.DiscardHandler),
		Approvals: "https://candela.test/console/approvals", Secret: func() []byte { return []byte(secret) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	secret   = "0123456789abcdef0123456789abcdef"
	showsURL = `{"elicitation":{"form":{},"url":{}}}`
	both     = `{"elicitation":{"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	question = `"inputRequests":{"approval":{"method":"elicitation/create","params":{"mode":"url","url":"https://candela.test/console/approvals/01a1-7f","message":"Approve buy 0.1 BTCUSDT?"}}}`
	placing  = `"name":"place_order","arguments":{"symbol":"BTCUSDT","quantity":0.1}`
)

// stateOf returns the state that an answer asks the client to bring back.
func stateOf(t *testing.T, answer string) string {
	t.Helper()
	_, rest, _ := strings.Cut(answer, `"requestState":"`)
	state, _, ok := strings.Cut(rest, `"`)
	if !ok || state == "" || strings.Contains(answer, "taskId") {
		t.Fatal(answer)
	}
	return state
}

func retry(call, state string) string {
	return call + `,"requestState":"` + state + `","inputResponses":{"approval":{"action":"accept"}}`
}

func TestApproval_IsAskedForOnAPage(t *testing.T) {
	t.Parallel()
	d := newDesk()
	b, ann := approving(t, d, secret), caller("ann", "a")
	answer := b.ask(t, ann, request(showsURL, "tools/call", placing))
	wantIn(t, answer, `"resultType":"input_required"`, question)
	state := stateOf(t, answer)
	for _, status := range []order.Status{order.PendingApproval, order.Filled} { // opened is not approved
		d.become(status)
		wantIn(t, b.ask(t, ann, request(showsURL, "tools/call", retry(placing, state))), `"resultType":"complete"`, "order "+status.String())
	}
	spaced := `"arguments":{ "quantity":0.1, "symbol":"BTCUSDT" },"name":"place_order"`
	wantIn(t, b.ask(t, ann, request(silent, "tools/call", retry(spaced, state))), "order filled")
	wantIn(t, approving(t, d, secret).ask(t, ann, request(showsURL, "tools/call", retry(placing, state))), "order filled") // after a restart
	if d.placed != 1 {
		t.Errorf("%d orders were placed", d.placed)
	}
}

func TestApproval_TakesNoOtherState(t *testing.T) {
	t.Parallel()
	d := newDesk()
	b, ann := approving(t, d, secret), caller("ann", "a")
	state := stateOf(t, b.ask(t, ann, request(showsURL, "tools/call", placing)))
	want := b.ask(t, ann, request(showsURL, "tools/call", retry(placing, "x")))
	wantIn(t, want, `"code":-32602`, "nothing was executed")
	for name, got := range map[string]string{
		"another token":     b.ask(t, caller("ann", "b"), request(showsURL, "tools/call", retry(placing, state))),
		"other arguments":   b.ask(t, ann, request(showsURL, "tools/call", retry(strings.Replace(placing, "0.1", "0.2", 1), state))),
		"another tool":      b.ask(t, ann, request(showsURL, "tools/call", retry(strings.Replace(placing, "place_order", "other", 1), state))),
		"another secret":    approving(t, d, strings.Repeat("x", 32)).ask(t, ann, request(showsURL, "tools/call", retry(placing, state))),
		"a changed byte":    b.ask(t, ann, request(showsURL, "tools/call", retry(placing, strings.ToUpper(state[:8])+"_"+state[9:]))),
		"a short one":       b.ask(t, ann, request(showsURL, "tools/call", retry(placing, state[:20]))),
		"an empty one":      b.ask(t, ann, request(showsURL, "tools/call", retry(placing, ""))),
		"a very long one":   b.ask(t, ann, request(showsURL, "tools/call", retry(placing, strings.Repeat("A", 100_000)))),
		"a number":          b.ask(t, ann, request(showsURL, "tools/call", placing+`,"requestState":5`)),
		"no secret at all":  approving(t, d, "").ask(t, ann, request(showsURL, "tools/call", retry(placing, state))),
		"an order gone now": approving(t, &desk{}, secret).ask(t, ann, request(showsURL, "tools/call", retry(placing, state))),
	} {
		if got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if d.placed != 1 {
		t.Errorf("%d orders were placed", d.placed)
	}
}

func TestApproval_StateEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		b, ann := approving(t, d, secret), caller("ann", "a")
		again := request(showsURL, "tools/call", retry(placing, stateOf(t, b.ask(t, ann, request(showsURL, "tools/call", placing)))))
		time.Sleep(69 * time.Minute)
		wantIn(t, b.ask(t, ann, again), "order pending_approval")
		time.Sleep(2 * time.Minute)
		wantIn(t, b.ask(t, ann, again), `"code":-32602`)
	})
}

func TestApproval_OfATask(t *testing.T) {
	t.Parallel()
	d := newDesk()
	b, ann := approving(t, d, secret), caller("ann", "a")
	for capabilities, status := range map[string]string{both: `"status":"input_required"`, declared: `"status":"working"`} {
		answer := b.ask(t, ann, request(capabilities, "tools/call", placing))
		wantIn(t, answer, `"resultType":"task"`, `"taskId":"01a1-7f"`, status)
		if strings.Contains(answer, "requestState") || strings.Contains(answer, "inputRequests") {
			t.Error(answer)
		}
		wantIn(t, b.ask(t, ann, request(capabilities, "tasks/get", `"taskId":"01a1-7f"`)), status)
	}
	wantIn(t, b.ask(t, ann, request(both, "tasks/get", `"taskId":"01a1-7f"`)), `,`+question+`}}`)
	wantIn(t, b.ask(t, ann, request(both, "tasks/update", `"taskId":"01a1-7f","inputResponses":{"approval":{"action":"decline"},"more":{}}`)), `"resultType":"complete"`)
	wantIn(t, b.ask(t, ann, request(both, "tasks/get", `"taskId":"01a1-7f"`)), `"status":"input_required"`)
	for _, capabilities := range []string{silent, `{"elicitation":{}}`, `{"elicitation":{"form":{}}}`} {
		wantIn(t, b.ask(t, ann, request(capabilities, "tools/call", placing)), `"resultType":"complete"`, "order pending_approval")
	}
	reader := ann
	reader.Scope = principal.Read
	wantIn(t, b.ask(t, reader, request(both, "tasks/cancel", `"taskId":"01a1-7f"`)), `"code":-32602`)
	for range 2 {
		wantIn(t, b.ask(t, ann, request(both, "tasks/cancel", `"taskId":"01a1-7f"`)), `"resultType":"complete"`)
	}
	wantIn(t, b.ask(t, ann, request(both, "tasks/get", `"taskId":"01a1-7f"`)), `"status":"cancelled"`)
	for status, want := range map[order.Status]string{order.Submitted: "working", order.Accepted: "completed", order.Uncertain: "completed", order.Denied: "completed"} {
		d.become(status)
		wantIn(t, b.ask(t, ann, request(both, "tasks/cancel", `"taskId":"01a1-7f"`)), `"resultType":"complete"`)
		wantIn(t, b.ask(t, ann, request(both, "tasks/get", `"taskId":"01a1-7f"`)), `"status":"`+want+`"`)
	}
	if d.withdrawn != 1 {
		t.Errorf("withdrawn %d times", d.withdrawn)
	}
}
