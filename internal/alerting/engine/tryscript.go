package engine

import (
	"cmp"
	"context"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// tryScripts evaluates the scripts of an alert once, over the present bars, before it is stored: an
// alert whose script fails could never fire. Bars that are not known soon are not waited for.
func (e *Engine) tryScripts(ctx context.Context, owner principal.Owner, p *listing, want *alert.Alert) error {
	if want.Interval == 0 || len(want.Condition.Scripts()) == 0 {
		return nil
	}
	if err := alert.NewIndexOf(e.cfg.Library).CheckCondition(want); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	for g := range alert.NewProbe(e.cfg.Library, want).Groups() {
		if !alert.UsesScript(g.Selection) {
			continue
		}
		if err := e.tryScript(ctx, owner, p, want, g); err != nil {
			return err
		}
	}
	return nil
}

// tryScript evaluates a script within the budget of its owner.
func (e *Engine) tryScript(ctx context.Context, owner principal.Owner, p *listing, want *alert.Alert, g alert.Group) error {
	on := cmp.Or(g.Longer, want.Interval)
	env := p.env(on)
	run := e.cfg.Scripts.Run(ctx, owner)
	defer run.Close()
	env.Budget = run
	ev := evaluate.New(g.Selection, env)
	got := e.recentBars(ctx, p, on, ev.Depth())
	if got == nil {
		return nil
	}
	held, done, err := e.scriptTurns.Hold(ctx, string(owner), "set "+want.Instrument.String())
	if err != nil {
		return nil // other scripts are evaluated; it is tried with its first bar
	}
	defer done()
	run.In(held)
	ev.Last(&got.closed)
	err = ev.Failed()
	if err == nil || ctx.Err() != nil && fault.Of(err) == nil {
		return nil
	}
	if fault.Of(err) != nil {
		return err
	}
	return fault.New(fault.Invalid, "script_failed", "The script %s fails on the present bars, so the alert could never fire: %s", ev.Name(), err).
		About("condition", ev.Name(), "a script that runs without an error")
}
