package eval_test

import (
	"errors"
	"flag"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"candela/internal/testkit/longtest"
	"candela/lib/backtest/simulate"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
	"candela/lib/pine/stopwatch"
)

// madeScripts is how many scripts TestMade_ScriptsKeepTheirBudget runs.
var madeScripts = flag.Int("scripts", longtest.Pick(250, 20_000), "hostile scripts that are made and run")

// measured is what a run took, measured from outside the machine.
type measured struct {
	time time.Duration // of the processor
	held int64         // live bytes after it
	code string        // of the error that ended it
}

// TestMade_ScriptsKeepTheirBudget makes scripts of all built-in functions with large arguments and measures what they
// take: none fails inside the machine, takes more than 1.3 times its processor time, or holds more than its memory.
func TestMade_ScriptsKeepTheirBudget(t *testing.T) { //nolint:paralleltest // it measures the process
	limits := eval.Limits{BarSteps: 2_000_000, TotalSteps: 200_000_000, Memory: 8 << 20, Instances: 20_000, TotalTime: 100 * time.Millisecond, Made: 1 << 30}
	g := newGenerator(longtest.Seed(), longtest.Pick(12, 60))
	all := check.Names()
	functions := 0
	for _, n := range all {
		if n.Kind == "function" && n.Support == check.Supported && !strings.HasPrefix(n.Name, "input") {
			functions++
		}
	}
	if len(g.names) < functions*3/4 {
		t.Errorf("calls of only %d of %d functions compile", len(g.names), functions)
	}
	codes, ran := map[string]int{}, 0
	var slowest time.Duration
	var largest int64
	for range *madeScripts {
		source := g.script()
		p, _ := check.Check(source, check.Options{})
		if p == nil {
			continue
		}
		ran++
		got, err := measure(p, limits)
		codes[got.code]++
		slowest, largest = max(slowest, got.time), max(largest, got.held)
		switch {
		case err != nil && strings.Contains(err.Error(), "internal error"):
			t.Errorf("%v\n%s", err, source)
		case got.time > limits.TotalTime*13/10:
			t.Errorf("took %v of processor time, want at most %v (%v)\n%s", got.time, limits.TotalTime*13/10, err, source)
		case got.held > int64(limits.Memory):
			t.Errorf("held %d bytes, want at most %d (%v)\n%s", got.held, limits.Memory, err, source)
		}
	}
	t.Logf("%d scripts with %d functions: at most %v and %d KiB, ended %v", ran, len(g.names), slowest, largest>>10, codes)
}

// clock measures the processor time of a goroutine, which has a thread of its own until it stops.
type clock time.Duration

func startClock() clock {
	runtime.LockOSThread()
	return clock(stopwatch.Thread())
}

func (c clock) used() time.Duration { return stopwatch.Thread() - time.Duration(c) }
func (c clock) stop()               { runtime.UnlockOSThread() }

// measure runs a script over bars and measures it.
func measure(p *check.Program, limits eval.Limits) (got measured, err error) {
	runtime.GC()
	before := liveBytes()
	env := hourly()
	env.Limits = limits
	if p.Kind == check.Strategy {
		if env.Account, err = simulate.New(eval.Account(p, 0.01, 0.001)); err != nil {
			return got, err
		}
	}
	bars := walk(40, 8)
	clock := startClock()
	m, err := eval.New(p, env)
	if err == nil {
		done := m.Measure()
		for i := 0; err == nil && i < len(bars); i++ {
			if env.Account != nil {
				b := bars[i]
				env.Account.Bar(simulate.Bar{Time: b.T * 1000, Open: b.O, High: b.H, Low: b.L, Close: b.C})
			}
			err = m.Keep(bars[i])
		}
		done()
	}
	got.time = clock.used()
	clock.stop()
	runtime.GC()
	got.held = liveBytes() - before
	runtime.KeepAlive(m)
	runtime.KeepAlive(env.Account)
	if e, ok := errors.AsType[*eval.Error](err); ok {
		got.code = e.Code
	}
	return got, err
}

// liveBytes is what the last collection found alive.
func liveBytes() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// TestMade_SmallArraysKeepTheirBudget holds that what belongs to each array counts as held, however small it is.
func TestMade_SmallArraysKeepTheirBudget(t *testing.T) { //nolint:paralleltest // it measures the process
	limits := eval.Limits{BarSteps: 2_000_000, TotalSteps: 200_000_000, Memory: 8 << 20, Instances: 20_000, TotalTime: 20 * time.Second, Made: 1 << 30}
	for name, call := range map[string]string{"sort_indices": "array.sort_indices(one)", "split": `array.from(array.size(str.split("a", ",")))`, "copy": "array.copy(one)"} {
		p, found := check.Check("//@version=6\nindicator(\"x\")\ntype holder\n    array<int> a\nvar one = array.new<int>(1, 0)\nvar all = array.new<holder>()\nfor i = 0 to 2000\n    all.push(holder.new("+call+"))\nplot(all.size())\n", check.Options{})
		if p == nil {
			t.Fatal(found)
		}
		got, err := measure(p, limits)
		if t.Logf("%s: %d KiB, %v", name, got.held>>10, err); got.held > int64(limits.Memory) || got.code != eval.CodeMemory {
			t.Errorf("%s held %d bytes, want at most %d, until it ends for memory: %v", name, got.held, limits.Memory, err)
		}
	}
}
