package eval_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"candela/internal/analysis/pine/check"
	"candela/internal/analysis/pine/eval"
	"candela/internal/kit/budget"
)

const longLoop = "s = 0.0\nfor i = 0 to 1000000\n    s += i\nplot(s)"

// failure runs a script over five bars and returns the error that ends it, nil if none does.
func failure(t *testing.T, body string, env eval.Env) *eval.Error {
	t.Helper()
	p, found := check.Check("//@version=6\nindicator(\"t\")\n"+body+"\n", check.Options{})
	if p == nil {
		t.Fatal(found)
	}
	m, err := eval.New(p, env)
	for i := 0; err == nil && i < 5; i++ {
		err = m.Keep(ramp(5)[i])
	}
	e, ok := errors.AsType[*eval.Error](err)
	if err != nil && !ok {
		t.Fatalf("got %v, want an *eval.Error", err)
	}
	return e
}

func TestBudget_ProcessorTimeEndsAScript(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]eval.Limits{
		"in all": {BarSteps: 1e9, TotalSteps: 1e9, Memory: 32 << 20, Instances: 100, TotalTime: 1},
		"a bar":  {BarSteps: 1e9, Memory: 32 << 20, Instances: 100, BarTime: 1},
	} {
		env := hourly()
		env.Limits = limits
		if e := failure(t, longLoop, env); e == nil || e.Code != eval.CodeTime || e.Line < 4 {
			t.Errorf("%s: ended with %v, want %s", name, e, eval.CodeTime)
		}
		env.Limits.TotalTime, env.Limits.BarTime = 0, time.Hour
		if e := failure(t, longLoop, env); e != nil {
			t.Errorf("%s: with an hour it ended with %v", name, e)
		}
	}
}

func TestBudget_TheEndOfTheRunEndsAScript(t *testing.T) {
	t.Parallel()
	gone := errors.New("the client has gone")
	ctx, end := context.WithCancelCause(t.Context())
	end(gone)
	env := hourly()
	env.Run = budget.NewPool(1<<30, 1<<30).Run(ctx, "a")
	if e := failure(t, longLoop, env); e == nil || e.Code != eval.CodeEnded || !errors.Is(e, gone) {
		t.Errorf("ended with %v, want %v", e, gone)
	}
}

// TestBudget_WhatAScriptHoldsIsHeldOfTheRun compares a machine with the pool that it takes its memory from.
func TestBudget_WhatAScriptHoldsIsHeldOfTheRun(t *testing.T) {
	t.Parallel()
	body := "var a = array.new<float>(50000, 1)\nplot(a.get(0) + ta.percentile_nearest_rank(close, 4000, 50))"
	pool := budget.NewPool(8<<20, 8<<20)
	env := hourly()
	env.Run = pool.Run(t.Context(), "a")
	m := compile(t, "//@version=6\nindicator(\"t\")\n"+body+"\n", env)
	if err := m.Keep(ramp(1)[0]); err != nil {
		t.Fatal(err)
	}
	const least = 8*50_000 + 2*2*8*4000
	if m.Held() < least || pool.Held() < m.Held() {
		t.Errorf("the script holds %d bytes, the pool %d, want at least %d", m.Held(), pool.Held(), least)
	}
	m.Close()
	if pool.Held() != 0 {
		t.Errorf("%d bytes are held after the end", pool.Held())
	}
	env.Run = budget.NewPool(300<<10, 300<<10).Run(t.Context(), "a")
	if e := failure(t, body, env); e == nil || e.Code != "script_memory" {
		t.Errorf("with a small pool it ended with %v", e)
	}
}

// TestBudget_WindowsAndCodeAreMemory has scripts that hold much without an object on the heap.
func TestBudget_WindowsAndCodeAreMemory(t *testing.T) {
	t.Parallel()
	var windows, calls strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&windows, "x%d = ta.percentile_linear_interpolation(close, %d, 50)\n", i, 4000+i%900)
	}
	calls.WriteString("f(x) =>\n    y = x\n")
	for i := range 400 {
		fmt.Fprintf(&calls, "    y += (x * %d - 1) / (y + 2) * %d\n", i, i)
	}
	calls.WriteString("    y\n")
	for i := range 800 {
		fmt.Fprintf(&calls, "z%d = f(close + %d)\n", i, i)
	}
	for name, body := range map[string]string{"windows": windows.String(), "code": calls.String()} {
		if e := failure(t, body+"plot(1)", hourly()); e == nil || e.Code != eval.CodeMemory {
			t.Errorf("%s: ended with %v, want %s", name, e, eval.CodeMemory)
		}
	}
}

// TestBudget_MadeTextsCount makes texts that nothing holds.
func TestBudget_MadeTextsCount(t *testing.T) {
	t.Parallel()
	env := hourly()
	env.Limits = eval.ChartLimits()
	env.Limits.Made = 10 << 20
	if e := failure(t, "for i = 0 to 999\n    x = str.repeat(\"x\", 40000)\nplot(1)", env); e == nil || e.Code != eval.CodeMemory {
		t.Errorf("ended with %v, want %s", e, eval.CodeMemory)
	}
}
