package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"candela/lib/backtest"
	"candela/lib/fault"
	"candela/lib/market"
)

// read applies the entries of the journal. A deployment whose journal cannot be read is shown as paused, and read again
// later: the others go on.
func (r *runner) read(ctx context.Context) {
	id := r.d.ID
	err := r.entries(ctx, func(e *entry) error {
		if err := r.d.apply(e); err != nil {
			return err
		}
		return e.noteIn(&r.d)
	})
	if r.unread = err != nil && ctx.Err() == nil; r.unread {
		r.log.ErrorContext(ctx, "journal of a strategy not read", "error", err)
		r.d.ID, r.d.State, r.d.Cause, r.d.Detail = id, Paused, Unavailable, "its journal cannot be read: "+fault.Clean(err.Error(), mostDetail)
		r.again()
	}
	r.show()
}

// entries calls f with each entry of the journal.
func (r *runner) entries(ctx context.Context, f func(*entry) error) error {
	var short entry
	for data, err := range r.cfg.Journal.Journal(ctx, r.cfg.Owner, namePrefix+r.d.ID) {
		if err != nil {
			return err
		}
		if short.scan(data) {
			err = f(&short)
		} else {
			var e entry
			if err = json.Unmarshal(data, &e); err == nil {
				err = f(&e)
			}
		}
		if err != nil {
			return fmt.Errorf("an entry of strategy %s: %w", r.d.ID, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// compute makes the model, and computes the bars of the journal. Where other intents follow from them than were recorded,
// the deployment pauses.
func (r *runner) compute(ctx context.Context) {
	r.release()
	r.unmade = false
	r.due = r.d.State == Running || r.d.State == Paused || r.d.State == Stopping
	if r.unread || !r.d.computes() || !r.start(ctx) {
		return
	}
	var fail func()
	err := r.entries(ctx, func(e *entry) error {
		bars, err := e.bars()
		for _, b := range bars {
			if fail != nil {
				break
			}
			r.newest = b
			intents, err := r.model.Step(b)
			switch {
			case err != nil:
				fail = func() { r.fail(ctx, ScriptFailed, err.Error()) }
			case b.T > r.d.history && !e.Intents.are(intents):
				fail = func() { r.differ(ctx, b, intents, e.Intents.read()) }
			}
		}
		return err
	})
	switch {
	case err != nil:
		r.release()
		r.unmade = ctx.Err() == nil
		r.log.WarnContext(ctx, "strategy not computed", "error", err)
		r.again()
	case fail != nil:
		fail()
	case max(r.d.Terms.Engine, r.d.engine) != backtest.Engine:
		r.record(ctx, &entry{Kind: entryEngine, Engine: backtest.Engine})
	}
}

// differ pauses a deployment whose bars now come to other intents.
func (r *runner) differ(ctx context.Context, b market.Bar, computed, recorded []Intent) {
	cause := Different
	if max(r.d.Terms.Engine, r.d.engine) != backtest.Engine {
		cause = EngineChanged
	}
	r.fail(ctx, cause, fmt.Sprintf("at the bar of %s %s was recorded, and %s is computed", market.Stamp(b.T), textOf(recorded), textOf(computed)))
}

// start makes the model without history, and reports whether it could.
func (r *runner) start(ctx context.Context) bool {
	made, err := r.cfg.Programs.Program(ctx, r.cfg.Owner, &r.d.Terms)
	if t := &r.d.Terms; err == nil && (!made.Tick.Equal(t.Tick) || !made.Step.Equal(t.Step)) {
		r.fail(ctx, NewInstrument, fmt.Sprintf("prices of %s are multiples of %s and quantities of %s now; they were %s and %s when it was proposed", t.Symbol, made.Tick, made.Step, t.Tick, t.Step))
		return false
	}
	if err == nil {
		r.closes = made.Closes
		r.model, err = NewModel(r.d.ID, &r.d.Terms, made.Program)
	}
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil:
	case fault.KindOf(err) == fault.Unavailable || errors.Is(err, context.DeadlineExceeded):
		r.unmade = true
		r.log.WarnContext(ctx, "strategy not made", "error", err)
		r.again()
	default:
		r.fail(ctx, Unavailable, err.Error())
	}
	return false
}

// textOf describes intents for people, the first of them.
func textOf(all []Intent) string {
	if len(all) == 0 {
		return "nothing"
	}
	i := &all[0]
	text := fmt.Sprintf("%s %q", i.Kind, i.ID)
	if i.Quantity.IsPositive() {
		text = fmt.Sprintf("%s %q (%s %s)", i.Kind, i.ID, i.Side, i.Quantity)
	}
	if len(all) > 1 {
		text += fmt.Sprintf(" and %d more", len(all)-1)
	}
	return text
}
