package charting

import (
	"context"
	"runtime"
	"time"

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

// Turns shares the processors and the memory of scripts fairly among owners, and among the tokens of each. It
// is safe for concurrent use.
type Turns struct {
	short    *fair.Slots // charts and pictures
	longer   *fair.Slots // shares the processors that long work may use
	scripted *fair.Slots // the charts with scripts that run at a time
	studies  *fair.Slots // the back-tests, tests of alerts and scans with scripts that run at a time
	memory   *budget.Pool
	yields   bool // charts give their slots to owners who have used less
	apart    func(work func() error) error
	admit    func(owner principal.Owner) error // nil for everybody
}

// Sharing says how turns are given. The zero value is for one owner.
type Sharing struct {
	// ManyOwners keeps half of the processors free of any one owner, and lets the charts of an owner
	// who has used much wait for those of others.
	ManyOwners bool

	// Spent is called with the time for which charts, indicators, scripts and back-tests of an owner
	// have had a processor. It may be nil.
	Spent func(owner principal.Owner, took time.Duration)

	// Admit returns an error if an owner may have no processor for charts, indicators, scripts and back-tests now; nil for no such limit.
	Admit func(owner principal.Owner) error

	// Apart runs long work, which everything else should go before, see fair.Apart. If it is
	// nil, long work runs as any other.
	Apart func(work func() error) error

	// ScriptMemory is what all scripts may hold; nil for no bound.
	ScriptMemory *budget.Pool
}

// NewTurns returns turns for one process.
func NewTurns(how Sharing) *Turns {
	t := &Turns{
		short: fair.NewSlots(slots()), longer: fair.NewSlots(LongSlots()), scripted: fair.NewSlots(ScriptCalls), studies: fair.NewSlots(ScriptStudies),
		memory: how.ScriptMemory, yields: how.ManyOwners, apart: how.Apart, admit: how.Admit,
	}
	if how.ManyOwners {
		t.short.SetShare(slots() / 2)
		t.studies.SetShare(ScriptStudiesOfOne)
	}
	if how.Spent != nil {
		spent := func(owner string, took time.Duration) { how.Spent(principal.Owner(owner), took) }
		t.short.OnSpent(spent)
		t.longer.OnSpent(spent)
	}
	return t
}

// Short runs processor-bound work when the caller gets a slot. With many owners the work may lend
// it in fair.Pause.
func (t *Turns) Short(ctx context.Context, caller principal.Caller, work func(ctx context.Context) error) error {
	if err := t.admitted(caller); err != nil {
		return err
	}
	if !t.yields {
		release, err := t.short.Take(ctx, string(caller.Subject), caller.Key)
		if err != nil {
			return err
		}
		defer release()
		return work(ctx)
	}
	held, done, err := t.short.HoldBriefly(ctx, string(caller.Subject), caller.Key)
	if err != nil {
		return err
	}
	defer done()
	return work(held)
}

func (t *Turns) admitted(caller principal.Caller) error {
	if t.admit == nil {
		return nil
	}
	return t.admit(caller.Subject)
}

// ScriptCalls is how many charts with scripts run at a time, ScriptStudies how many back-tests, tests of
// alerts and scans: these take minutes, and charts must not wait for them. Further ones wait for the turn
// of their owner and token.
const (
	ScriptCalls   = 3
	ScriptStudies = 6

	ScriptStudiesOfOne = 2 // of an owner among many
)

// Scripts runs work with scripts when it is the caller's turn. Scripts take turns of 20 ms with each other and
// with long work; charts without scripts do not wait for them.
func (t *Turns) Scripts(ctx context.Context, caller principal.Caller, work func(ctx context.Context) error) error {
	release, err := t.scripted.Take(ctx, string(caller.Subject), caller.Key)
	if err != nil {
		return err
	}
	defer release()
	return t.long(ctx, caller, work)
}

// Draw draws a picture when the caller gets a slot.
func (c *Charting) Draw(ctx context.Context, caller principal.Caller, spec *chart.Spec) (png []byte, err error) {
	err = c.Turns.Short(ctx, caller, func(ctx context.Context) error {
		spec.Pause = func() error { return fair.Pause(ctx) }
		png, err = c.Renderer.PNG(spec)
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

// long runs long work when the caller gets a slot. Others get the slot whenever the work
// pauses, and charts do not need one of these. The work ends when the program begins to stop, which would
// otherwise wait for it.
func (t *Turns) long(ctx context.Context, caller principal.Caller, work func(ctx context.Context) error) error {
	if err := t.admitted(caller); err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(shutdown.Context(ctx), func() { end(stopping()) })()
	held, done, err := t.longer.Hold(ctx, string(caller.Subject), caller.Key)
	if err != nil {
		return context.Cause(ctx)
	}
	defer done()
	held = backtest.WithPause(held, fair.Pause)
	if t.apart == nil {
		err = work(held)
	} else {
		err = t.apart(func() error { return work(held) })
	}
	if err == nil && held.Err() != nil { // a script that was ended is no answer
		err = context.Cause(held)
	}
	return err
}

// Run begins the scripts of long work: what they hold counts with that of all others. It is nil for
// work without scripts.
func (t *Turns) Run(ctx context.Context, caller principal.Caller, scripts bool) *budget.Run {
	if !scripts {
		return nil
	}
	return t.memory.Run(ctx, caller.Subject)
}

// Study runs long work whose scripts, if it has any, belong to run. What they hold is given back at its end.
func (t *Turns) Study(ctx context.Context, caller principal.Caller, run *budget.Run, work func(ctx context.Context) error) error {
	if run != nil {
		release, err := t.studies.Take(ctx, string(caller.Subject), caller.Key)
		if err != nil {
			return err
		}
		defer release()
	}
	return t.long(ctx, caller, func(ctx context.Context) error {
		defer run.Close()
		run.In(ctx)
		return work(ctx)
	})
}
