package deploy_test

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/deploy"
	"candela/lib/fault"
)

// begun starts a strategy of which so many bars have closed.
func begun(t *testing.T, j *journals, v *venue, source string) (*process, deploy.Deployment) {
	t.Helper()
	p := start(t, j, v)
	terms := termsOf(v, 60)
	terms.Program.Script = source
	d, err := p.Propose(t.Context(), "agent", deploy.Deployment{Name: "x", Terms: terms})
	if err == nil {
		d, err = p.Start(t.Context(), "owner", d.ID, deploy.Shadow, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p, d
}

// until closes bars up to one and delivers them.
func (p *process) until(t *testing.T, v *venue, d *deploy.Deployment, n int) deploy.Deployment {
	t.Helper()
	for i := v.closed + 1; i <= n; i++ {
		p.Deliver(deploy.Sub{Symbol: d.Terms.Symbol, Interval: d.Terms.Interval}, v.close(i))
	}
	return p.settled(t, d.ID, 0)
}

// TestPause_ScriptThatFailsStopsAlone lets one of two strategies be wrong, slow or large at a bar.
func TestPause_ScriptThatFailsStopsAlone(t *testing.T) {
	t.Parallel()
	for says, body := range map[string]string{
		"out of ideas": `runtime.error("out of ideas")`,
		"steps":        "for i = 0 to 100000000\n        sum += i",
		"elements":     "array.concat(many, array.new_float(50000))",
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			failsAlone(t, says, strings.Replace(script, "if close <", "sum = 0.0\nvar many = array.new_float(0)\nif bar_index >= 200\n    "+body+"\nif close <", 1))
		})
	}
}

func failsAlone(t *testing.T, says, source string) {
	t.Helper()
	j, v := newJournals(), &venue{bars: walk(300, 3), closed: 120}
	p, bad := begun(t, j, v, source)
	good, err := p.Propose(t.Context(), "agent", deploy.Deployment{Name: "y", Terms: termsOf(v, 60)})
	if err == nil {
		good, err = p.Start(t.Context(), "owner", good.ID, deploy.Shadow, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	bad = p.until(t, v, &bad, 300)
	if bad.State != deploy.Paused || bad.Cause != deploy.ScriptFailed || !strings.Contains(bad.Detail, says) {
		t.Errorf("%+v", bad)
	}
	if good = p.settled(t, good.ID, v.bars[299].T); good.State != deploy.Running || good.Through != v.bars[299].T {
		t.Errorf("the other one: %+v", good)
	}
	p.kill()
	p = start(t, j, v)
	if bad, err = p.Get(t.Context(), bad.ID); err != nil || bad.State != deploy.Paused || bad.Cause != deploy.ScriptFailed {
		t.Errorf("after a restart: %+v %v", bad, err)
	}
}

// TestPause_OtherIntentsThanRecorded changes what was recorded, as a defect would.
func TestPause_OtherIntentsThanRecorded(t *testing.T) {
	t.Parallel()
	j, v := newJournals(), &venue{bars: walk(300, 3), closed: 120}
	p, d := begun(t, j, v, script)
	p.until(t, v, &d, 300)
	p.kill()
	name := "strategy " + d.ID
	for i, e := range j.entries[name] {
		if changed := bytes.Replace(e, []byte(`"side":"buy"`), []byte(`"side":"sell"`), 1); !bytes.Equal(changed, e) {
			j.entries[name][i] = changed
			break
		}
	}
	p = start(t, j, v)
	d, err := p.Synced(t.Context(), d.ID)
	if err != nil || d.State != deploy.Paused || d.Cause != deploy.Different || !strings.Contains(d.Detail, "was recorded") {
		t.Errorf("%+v %v", d, err)
	}
}

// TestPause_LongOutage misses more bars than are made up for, and goes on when the owner resumes it.
func TestPause_LongOutage(t *testing.T) {
	t.Parallel()
	j, v := newJournals(), &venue{bars: walk(1500, 3), closed: 120}
	p, d := begun(t, j, v, script)
	p.kill()
	v.close(1400)
	p = start(t, j, v)
	if d = p.settled(t, d.ID, 0); d.State != deploy.Paused || d.Cause != deploy.LongOutage {
		t.Fatalf("%+v", d)
	}
	d, err := p.Resume(t.Context(), "owner", d.ID, decimal.Zero)
	if err != nil {
		t.Fatal(err)
	}
	d = p.until(t, v, &d, 1500)
	for deadline := time.Now().Add(time.Minute); d.Through != v.bars[1499].T && time.Now().Before(deadline); {
		d = p.settled(t, d.ID, 0)
	}
	if d.State != deploy.Running || d.Through != v.bars[1499].T {
		t.Errorf("%+v", d)
	}
}

// TestRun_AppendsThatFail lets the store fail at each append. What was recorded in the end is what one without failures
// records.
func TestRun_AppendsThatFail(t *testing.T) {
	t.Parallel()
	whole := newJournals()
	v := &venue{bars: walk(260, 3), closed: 120}
	p, d := begun(t, whole, v, script)
	p.until(t, v, &d, 260)
	p.kill()
	want, _ := whole.intents(t, "strategy "+d.ID)
	for after := range 12 {
		j, v := newJournals(), &venue{bars: walk(260, 3), closed: 120}
		p, d := begun(t, j, v, script)
		j.mu.Lock()
		j.failAfter = after
		j.mu.Unlock()
		p.until(t, v, &d, 260)
		p.kill()
		j.failAfter = -1
		p = start(t, j, v)
		p.settled(t, d.ID, 0)
		p.kill()
		if got, _ := j.intents(t, "strategy "+d.ID); strip(t, got) != strip(t, want) {
			t.Errorf("after %d appends: %d bars with intents, not %d", after, len(got), len(want))
		}
	}
}

// TestPropose_IsBounded proposes the same twice, too many, and starts what has expired.
func TestPropose_IsBounded(t *testing.T) {
	t.Parallel()
	j, v := newJournals(), &venue{bars: walk(300, 3), closed: 120}
	p := start(t, j, v)
	propose := func(n int, name string) (deploy.Deployment, error) {
		terms := termsOf(v, 60+n)
		return p.Propose(t.Context(), "agent", deploy.Deployment{Name: name, Terms: terms})
	}
	first, err := propose(0, "0")
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []struct {
		n    int
		name string
	}{{0, "other"}, {1, "0"}} {
		if _, err := propose(again.n, again.name); fault.Of(err) == nil || fault.Of(err).Code != "strategy_exists" {
			t.Errorf("%+v: %v", again, err)
		}
	}
	for n := 1; n < deploy.MostRunning; n++ {
		if _, err := propose(n, strconv.Itoa(n)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := propose(50, "one more"); fault.Of(err) == nil || fault.Of(err).Code != "too_many_strategies" {
		t.Error(err)
	}
	for _, stage := range []deploy.Stage{deploy.Paper, deploy.Live, "", "other"} {
		if _, err := p.Start(t.Context(), "owner", first.ID, stage, nil); err == nil {
			t.Errorf("%q was started", stage)
		}
	}
	p.kill()
	later := deploy.New(config(j, v, func() time.Time { return v.now().Add(8 * 24 * time.Hour) }))
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- later.Run(ctx, ctx, func() { close(ready) }) }()
	<-ready
	if _, err := later.Start(t.Context(), "owner", first.ID, deploy.Shadow, nil); fault.Of(err) == nil || fault.Of(err).Code != "strategy_state" {
		t.Errorf("an old proposal: %v", err)
	}
	if d, err := later.Get(t.Context(), first.ID); err != nil || d.State != deploy.Expired {
		t.Errorf("%+v %v", d, err)
	}
	stop()
	<-done
}

// TestRun_JournalThatCannotBeRead spoils the journal of one of two strategies.
func TestRun_JournalThatCannotBeRead(t *testing.T) {
	t.Parallel()
	j, v := newJournals(), &venue{bars: walk(200, 3), closed: 120}
	p, bad := begun(t, j, v, script)
	good, err := p.Propose(t.Context(), "agent", deploy.Deployment{Name: "y", Terms: termsOf(v, 61)})
	if err != nil {
		t.Fatal(err)
	}
	p.kill()
	name := "strategy " + bad.ID
	j.entries[name] = append(j.entries[name], []byte(`{"kind":"of a newer version"}`))
	p = start(t, j, v)
	if d, err := p.Get(t.Context(), bad.ID); err != nil || d.State != deploy.Paused || d.Cause != deploy.Unavailable || !strings.Contains(d.Detail, "newer version") {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := p.Stop(t.Context(), "owner", bad.ID, false); fault.Of(err) == nil || fault.Of(err).Code != "store_damaged" {
		t.Errorf("it was stopped: %v", err)
	}
	if d, err := p.Decline(t.Context(), "owner", good.ID); err != nil || d.State != deploy.Declined {
		t.Errorf("the other one: %+v %v", d, err)
	}
}

// TestPause_RestoredAccount starts on an account that was put back from a backup: what ran is paused once, and its owner
// hears of each change.
func TestPause_RestoredAccount(t *testing.T) {
	t.Parallel()
	j, v := newJournals(), &venue{bars: walk(300, 3), closed: 120}
	p, d := begun(t, j, v, script)
	p.until(t, v, &d, 150)
	p.kill()
	cfg := config(j, v, v.now)
	changes := make(chan deploy.Deployment, 8)
	cfg.Restored, cfg.Changed = func() bool { return true }, func(_ context.Context, d deploy.Deployment, _ deploy.Change) { changes <- d }
	p = startWith(t, cfg)
	d, err := p.Synced(t.Context(), d.ID)
	if err != nil || d.State != deploy.Paused || d.Cause != deploy.Restored {
		t.Fatalf("%+v %v", d, err)
	}
	if d = p.until(t, v, &d, 200); d.Through < v.bars[198].T {
		t.Errorf("its bars are not computed: %+v", d)
	}
	if d, err = p.Resume(t.Context(), "owner", d.ID, decimal.Zero); err != nil || d.State != deploy.Running {
		t.Errorf("%+v %v", d, err)
	}
	if d, err = p.Stop(t.Context(), "owner", d.ID, false); err != nil || d.State != deploy.Stopped {
		t.Errorf("%+v %v", d, err)
	}
	for _, want := range []deploy.State{deploy.Paused, deploy.Running, deploy.Stopped} {
		select {
		case got := <-changes:
			if got.State != want {
				t.Errorf("a message says %s, not %s", got.State, want)
			}
		default:
			t.Errorf("no message says %s", want)
		}
	}
	if len(changes) > 0 {
		t.Errorf("%d messages more", len(changes))
	}
}
