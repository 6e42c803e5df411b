package scripts

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"candela/e2e/remote"
	"candela/internal/operate/control"
	"candela/internal/testkit/longtest"
)

// mostAfter is the processor time that each call may take after nobody waits for it any more.
const mostAfter = 100 * time.Millisecond

// patient are calls that take seconds of processor time each.
func patient() []string {
	heavy := attack{name: "heavy", source: "x = 0.0\n" + loop(90000, "x += math.sin(i)")}
	tested := heavy
	tested.source += "if x > 1e9\n    strategy.entry(\"e\", strategy.long)\n"
	tested.tool, tested.args = "run_backtest", `{"symbol":"BTCUSDT","interval":"1h","bars":5000,"script":%s}`
	swept := tested
	swept.source = "n = input.int(1)\n" + swept.source
	swept.args = `{"symbol":"BTCUSDT","interval":"1h","bars":5000,"sweep":{"n":[1,2,3]},"script":%s}`
	drawn := heavy
	drawn.form = "png"
	return []string{heavy.body(), drawn.body(), tested.body(), swept.body()}
}

// TestGone_CallsEndWithWhoWaitsForThem begins calls that take long, lets their client leave, ends its token or stops the
// program, and measures how much processor time the program takes after that.
func TestGone_CallsEndWithWhoWaitsForThem(t *testing.T) {
	t.Parallel()
	onLinux(t)
	_, at := newVenue(t)
	tg := start(t, at)
	for range longtest.Pick(2, 20) {
		for name, leave := range map[string]func(tg *target, hangUp func()){
			"the client leaves": func(_ *target, hangUp func()) { hangUp() },
			"the token ends": func(tg *target, _ func()) {
				if _, err := control.RevokeAll(t.Context(), tg.home); err != nil {
					t.Error(err)
				}
			},
		} {
			took := tg.after(t, name, leave)
			t.Logf("%s: %v of processor time afterwards", name, took)
		}
	}
	took := tg.after(t, "the program stops", func(tg *target, _ func()) {
		if err := tg.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		<-tg.over
	})
	t.Logf("the program stops: %v of processor time afterwards", took)
	if code := tg.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the program ended with %d", code)
	}
}

// idle is how much the program may take for everything else in the second in which it is measured.
const idle = 300 * time.Millisecond

// after begins the calls, lets leave end them, and returns how much processor time the program has taken since.
func (tg *target) after(t *testing.T, name string, leave func(tg *target, hangUp func())) time.Duration {
	t.Helper()
	c := tg.client(name)
	must(t, c, "generate_chart", `{"symbol":"BTCUSDT","interval":"1h","bars":500,"format":"summary"}`)
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	var calls sync.WaitGroup
	defer calls.Wait()
	bodies := patient()
	before := tg.processor()
	for _, body := range bodies {
		calls.Go(func() { tg.ask(ctx, c, body) })
	}
	for tg.processor() < before+400*time.Millisecond { // until they work
		select {
		case <-tg.over:
			t.Fatal("the program has ended")
		case <-time.After(10 * time.Millisecond):
		}
	}
	since := tg.processor()
	leave(tg, hangUp)
	var took time.Duration
	select {
	case <-tg.over:
		took = tg.cmd.ProcessState.SystemTime() + tg.cmd.ProcessState.UserTime() - since
	case <-time.After(time.Second): // in which they would take much
		took = tg.processor() - since
	}
	if allowed := time.Duration(len(bodies))*mostAfter + idle; took > allowed {
		t.Errorf("%s: %d calls took %v of processor time afterwards, which must be under %v", name, len(bodies), took, allowed)
	}
	return took
}

// ask sends a call that is not waited for to its end.
func (tg *target) ask(ctx context.Context, c *remote.Client, body string) {
	_, _, _ = exchange(ctx, c, body) // it is interrupted
}
