package eval_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"candela/lib/fault"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
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

// share is a budget of so many bytes.
type share struct {
	most, held int64
	end        error
}

// fullCode is the code of the fault with which a share refuses memory.
const fullCode = "full"

func (s *share) Hold(bytes int64) error {
	if s.held+bytes > s.most {
		return fault.New(fault.Conflict, fullCode, "at most %d bytes", s.most)
	}
	s.held += bytes
	return nil
}

func (s *share) Pause() error { return s.end }

func TestBudget_TheEndOfTheRunEndsAScript(t *testing.T) {
	t.Parallel()
	gone := errors.New("the client has gone")
	env := hourly()
	env.Budget = &share{most: 1 << 30, end: gone}
	if e := failure(t, longLoop, env); e == nil || e.Code != eval.CodeEnded || !errors.Is(e, gone) {
		t.Errorf("ended with %v, want %v", e, gone)
	}
}

// TestBudget_WhatAScriptHoldsIsHeldOfTheRun compares a machine with the pool that it takes its memory from.
func TestBudget_WhatAScriptHoldsIsHeldOfTheRun(t *testing.T) {
	t.Parallel()
	body := "var a = array.new<float>(50000, 1)\nplot(a.get(0) + ta.percentile_nearest_rank(close, 4000, 50))"
	pool := &share{most: 8 << 20}
	env := hourly()
	env.Budget = pool
	m := compile(t, "//@version=6\nindicator(\"t\")\n"+body+"\n", env)
	if err := m.Keep(ramp(1)[0]); err != nil {
		t.Fatal(err)
	}
	const least = 8*50_000 + 2*2*8*4000
	if m.Held() < least || pool.held < m.Held() {
		t.Errorf("the script holds %d bytes, the pool %d, want at least %d", m.Held(), pool.held, least)
	}
	m.Close()
	if pool.held != 0 {
		t.Errorf("%d bytes are held after the end", pool.held)
	}
	env.Budget = &share{most: 300 << 10}
	if e := failure(t, body, env); e == nil || e.Code != fullCode {
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
