package engine_test

import (
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/budget"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// gateBytes is what the script gate holds.
const gateBytes = 2 << 20

// gate is a script that stands still while it is shut. Its line is the close of the bar, and it signals
// every bar.
type gate struct{ shut atomic.Bool }

func (g *gate) Label() string                 { return "gate" }
func (g *gate) Warmup(ta.Env) (int, int)      { return 0, 10 }
func (g *gate) Values(env ta.Env) *gateRunner { return &gateRunner{gate: g, env: env} }
func (g *gate) Stream(env ta.Env) *ta.Stream {
	return ta.NewStream(env, 1, g.Values(env))
}

func (g *gate) Compute(in ta.Input) *ta.Result {
	return &ta.Result{Lines: []ta.Line{{Label: "Close", Values: in.Bars.C}}}
}

func (g *gate) def() *ta.Def {
	return &ta.Def{
		Name: "gate", Version: "0123456789ab", Kind: ta.Panel, Doc: "A script.", Lines: []string{"Close"},
		Signals: []ta.Trigger{{Label: "bar", When: "always"}},
		New:     func(ta.Values) ta.Instance { return g },
	}
}

type gateRunner struct {
	*gate
	env  ta.Env
	held bool
}

func (r *gateRunner) Step(row *ta.Row) error {
	if !r.held {
		if err := r.env.Budget.Hold(gateBytes); err != nil {
			return err
		}
		r.held = true
	}
	for r.shut.Load() {
		if err := r.env.Budget.Pause(); err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	row.Values[0] = row.Bar.C
	row.Signal("bar", row.Bar.C)
	return nil
}

func (r *gateRunner) Peek(row *ta.Row) error           { return r.Step(row) }
func (r *gateRunner) Snapshot(dst []float64) []float64 { return dst }
func (r *gateRunner) Restore([]float64) error          { return nil }

// TestScript_WaitsForMemory holds that an alert whose script finds no memory does not end: it fires when there is some
// again, once. A new alert is refused meanwhile.
func TestScript_WaitsForMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool := budget.NewPool(5<<20, 4<<20)
		s, _ := newGate(t)
		s.stop()
		s.scripts = pool
		s.start()
		defer func() { s.stop() }()
		other := pool.Run(t.Context(), "bob")
		if err := other.Hold(4 << 20); err != nil {
			t.Fatal(err)
		}
		waits := s.set(signal("BTC", market.Minute1, "gate", "bar"))
		time.Sleep(3 * time.Minute)
		if got := s.fired(); len(got) != 0 {
			t.Errorf("without memory there is %+v", got)
		}
		if why := s.NotEvaluated(&waits); !strings.Contains(why, "waits for memory: all scripts on this server hold 5 MiB") || s.Status().Starved != 1 {
			t.Errorf("of an alert without memory is said %q, %d of them wait", why, s.Status().Starved)
		}
		if err := other.Hold(1 << 20); err == nil {
			t.Error("bob holds more than one owner may")
		}
		full := pool.Run(t.Context(), "cid")
		if err := full.Hold(1 << 20); err != nil {
			t.Fatal(err)
		}
		more := signal("ETH", market.Minute1, "gate", "bar")
		more.Repeat = alert.Repeat{MaxFires: 2}
		if _, err := s.Set(t.Context(), ann(), more); fault.Of(err) == nil || fault.Of(err).Code != budget.MemoryCode {
			t.Errorf("an alert without memory is set: %v", err)
		}
		full.Close()
		other.Close()
		time.Sleep(10 * time.Second)
		if got := s.fired(); len(got) != 1 || got[0].AlertID != waits.ID || got[0].Error != "" {
			t.Errorf("with memory there is %+v", got)
		}
		if why := s.NotEvaluated(&waits); why != "" {
			t.Errorf("of an alert with memory is said %q", why)
		}

		time.Sleep(2 * time.Minute)
		if held := pool.Held(); held != 0 {
			t.Errorf("%d bytes are held after the alert has fired", held)
		}
	})
}

// newGate returns a scene whose library has the script gate.
func newGate(t *testing.T) (*scene, *gate) {
	t.Helper()
	g := &gate{}
	s := &scene{t: t, venue: newVenue(waves), dir: t.TempDir(), library: ta.Library{Scripts: single{g.def()}}}
	time.Sleep(time.Until(monday))
	s.from = s.venue
	s.start()
	return s, g
}

// TestScript_OthersDoNotWaitForIt holds that while a script stands still, alerts that do not need it fire with
// their bar and commands are answered, and that what waits for it fires once when it goes on.
func TestScript_OthersDoNotWaitForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, g := newGate(t)
		defer func() { s.stop() }()
		time.Sleep(2 * time.Minute)
		g.shut.Store(true)
		slow := s.set(signal("BTC", market.Minute1, "gate", "bar"))
		both := signal("BTC", market.Minute1, "gate", "bar") // a script beside another indicator
		both.Condition = alert.Condition{Type: alert.All, Members: []alert.Condition{both.Condition, closeAbove(1).Condition, {
			Type: alert.Value, Left: alert.Operand{Indicator: "sma", Line: "SMA"}, Op: alert.Greater, Right: alert.Operand{Number: decimal.NewFromInt(1)},
		}}}
		mixed := s.set(both)
		quick := s.set(closeAbove(1))
		s.fired()
		time.Sleep(time.Minute + 5*time.Second)
		if got := s.fired(); len(got) != 1 || got[0].AlertID != quick.ID || got[0].Late {
			t.Errorf("beside a script that stands still there is %+v", got)
		}
		began := time.Now()
		if active := s.active(); len(active) != 2 || time.Since(began) > 0 {
			t.Errorf("active are %v after %s", active, time.Since(began))
		}
		time.Sleep(3 * time.Minute)
		if now := s.Status(); now.ScriptBars < 3 || now.ScriptsLate != 0 {
			t.Errorf("the status is %+v", now)
		}
		g.shut.Store(false)
		time.Sleep(5 * time.Second)
		got := s.fired()
		slices.SortFunc(got, func(a, b firing) int { return int(a.Seq - b.Seq) })
		if len(got) != 2 || got[0].AlertID != slow.ID || got[1].AlertID != mixed.ID || !got[0].Late || !got[0].Triggered.Equal(got[1].Triggered) {
			t.Errorf("after it went on there is %+v", got)
		}
		if now := s.Status(); now.ScriptBars != 0 || now.ScriptsLate == 0 {
			t.Errorf("then the status is %+v", now)
		}
	})
}

// TestScript_WhatItHasNotSeenIsEvaluatedAfterARestart ends the engine while a script stands still. The next one
// evaluates the bars that the script has not answered for, with the values of these bars, and nothing
// fires twice.
func TestScript_WhatItHasNotSeenIsEvaluatedAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, g := newGate(t)
		defer func() { s.stop() }()
		repeats := signal("BTC", market.Minute1, "gate", "bar")
		repeats.Repeat = alert.Repeat{MaxFires: 100}
		s.set(repeats)
		time.Sleep(3 * time.Minute)
		g.shut.Store(true)
		time.Sleep(4 * time.Minute)
		s.stop()
		g.shut.Store(false)
		s.start()
		time.Sleep(3 * time.Minute)
		var last time.Time
		for i, f := range s.fired() {
			at := f.Triggered
			if i > 0 && at.Sub(last) != time.Minute {
				t.Errorf("firing %d is %s after the one before", i, at.Sub(last))
			}
			last = at
			bar := s.venue.closed(symbol("BTC"), market.Minute1, at.Add(-time.Minute).Unix())
			if math.Float64bits(f.Value) != math.Float64bits(bar.C) {
				t.Errorf("firing %d has %v, the bar %v", i, f.Value, bar.C)
			}
		}
		if want := monday.Truncate(time.Minute).Add(10 * time.Minute); !last.Equal(want) {
			t.Errorf("the last firing is at %s, want %s", last, want)
		}
	})
}

// TestScript_ManyTicksAreGivenUp holds that values of a forming bar do not pile up behind a script, and that the
// newest one counts.
func TestScript_ManyTicksAreGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, g := newGate(t)
		defer func() { s.stop() }()
		a := closeAbove(1)
		a.Condition.Left, a.OnTick = alert.Operand{Indicator: "gate", Line: "Close"}, true
		a.Condition.Right.Number = decimal.NewFromInt(5000)
		s.set(a)
		time.Sleep(2 * time.Minute)
		g.shut.Store(true)
		time.Sleep(20 * time.Minute)
		g.shut.Store(false)
		time.Sleep(time.Minute)
		if now := s.Status(); now.ScriptBars != 0 || now.Failure != "" {
			t.Errorf("the status is %+v", now)
		}
		if got := s.fired(); len(got) != 0 {
			t.Errorf("there is %+v", got)
		}
	})
}
