package tool

import (
	"context"
	"runtime"

	"candela/internal/kit/budget"
	"candela/internal/kit/fair"
	"candela/internal/kit/principal"
	"candela/internal/kit/shutdown"
	"candela/lib/backtest"
	"candela/lib/chart"
	"candela/lib/fault"
)

// slots limits concurrent computations and pictures: enough to keep the processors busy,
// and few enough for memory, as a picture may need 50 MB.
func slots() int { return min(max(2, runtime.GOMAXPROCS(0)), 8) }

// inTurn runs processor-bound work when the caller gets a slot. With many owners the work may lend
// it in fair.Pause.
func (c *charts) inTurn(ctx context.Context, caller principal.Caller, work func(ctx context.Context) error) error {
	if !c.lends {
		release, err := c.turns.Take(ctx, string(caller.Subject), caller.Key)
		if err != nil {
			return err
		}
		defer release()
		return work(ctx)
	}
	held, done, err := c.turns.HoldBriefly(ctx, string(caller.Subject), caller.Key)
	if err != nil {
		return err
	}
	defer done()
	return work(held)
}

// ScriptCalls is how many charts with scripts run at a time, ScriptStudies how many back-tests, tests of
// alerts and scans: these take minutes, and charts must not wait for them. Further ones wait for the turn
// of their owner and token.
const (
	ScriptCalls   = 3
	ScriptStudies = 6

	ScriptStudiesOfOne = 2 // of an owner among many
)

// inScripts runs work with scripts when it is the caller's turn. Scripts take turns of 20 ms with each other and
// with long work; charts without scripts do not wait for them.
func (c *charts) inScripts(ctx context.Context, caller principal.Caller, work func(ctx context.Context) error) error {
	release, err := c.scripted.Take(ctx, string(caller.Subject), caller.Key)
	if err != nil {
		return err
	}
	defer release()
	return c.inBackground(ctx, caller, work)
}

// draw draws a picture when the caller gets a slot.
func (c *charts) draw(ctx context.Context, caller principal.Caller, spec *chart.Spec) (png []byte, err error) {
	err = c.inTurn(ctx, caller, func(ctx context.Context) error {
		spec.Pause = func() error { return fair.Pause(ctx) }
		png, err = c.renderer.PNG(spec)
		return err
	})
	return png, err
}

// LongSlots limits concurrent back-tests, tests of alerts and scans. They leave processors to
// everything else.
func LongSlots() int { return max(1, slots()/2) }

// stopping is the error of work that ends because the program does.
func stopping() error {
	return &fault.Error{Kind: fault.Unavailable, Code: "stopping", Message: "candela is shutting down; try again in a moment", Retryable: true}
}

// inBackground runs long work when the caller gets a slot. Others get the slot whenever the work
// pauses, and charts do not need one of these. The work ends when the program begins to stop, which would
// otherwise wait for it.
func (c *charts) inBackground(ctx context.Context, caller principal.Caller, work func(ctx context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(shutdown.Context(ctx), func() { end(stopping()) })()
	held, done, err := c.behind.Hold(ctx, string(caller.Subject), caller.Key)
	if err != nil {
		return context.Cause(ctx)
	}
	defer done()
	held = backtest.WithPause(held, fair.Pause)
	if c.apart == nil {
		err = work(held)
	} else {
		err = c.apart(func() error { return work(held) })
	}
	if err == nil && held.Err() != nil { // a script that was ended is no answer
		err = context.Cause(held)
	}
	return err
}

// script begins the scripts of long work: what they hold counts with that of all others. It is nil for
// work without scripts.
func (c *charts) script(ctx context.Context, caller principal.Caller, scripts bool) *budget.Run {
	if !scripts {
		return nil
	}
	return c.budget.Run(ctx, caller.Subject)
}

// study runs long work whose scripts, if it has any, belong to run.
func (c *charts) study(ctx context.Context, caller principal.Caller, run *budget.Run, work func(ctx context.Context) error) error {
	if run != nil {
		release, err := c.studies.Take(ctx, string(caller.Subject), caller.Key)
		if err != nil {
			return err
		}
		defer release()
	}
	return c.inBackground(ctx, caller, func(ctx context.Context) error {
		run.In(ctx)
		return work(ctx)
	})
}
