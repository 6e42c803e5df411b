package research

import (
	"context"
	"slices"

	"candela/internal/work/research/past"
	"candela/internal/work/research/sweep"
	"candela/lib/backtest"
	"candela/lib/pine"
	"candela/lib/pine/eval"
)

// mostScriptBars bounds the bars of all runs of a sweep of a script, warm-up included, which takes longer than
// one of rules.
const mostScriptBars = 10_000_000

// sweepScript tries values of the inputs of a script.
func (r *study) sweepScript(ctx context.Context, program *pine.Program, script *backtest.Script, p *past.Bars) (*Answer, error) {
	inputs, err := sweep.Inputs(program, r.Grid)
	if err != nil {
		return nil, err
	}
	if err := r.checkRuns(p.Bars.Len(), mostScriptBars); err != nil {
		return nil, err
	}
	return r.answerSweep(ctx, p, func(point []float64, _ bool) (backtest.Program, error) {
		with := *script
		with.Env.Inputs = slices.Clone(script.Env.Inputs)
		for k, in := range inputs {
			with.Env.Inputs[in.Index] = eval.Value{Set: true, Num: point[k]}
		}
		return &with, nil
	})
}
