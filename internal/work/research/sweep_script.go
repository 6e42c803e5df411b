package research

import (
	"context"

	"candela/internal/work/research/sweep"
	"candela/lib/backtest"
	"candela/lib/pine/eval"
)

// mostScriptBars bounds the bars of all runs of a sweep of a script, which takes longer than one
// of rules.
const mostScriptBars = 4_000_000

// sweepScript tries values of the inputs of a script.
func (r *study) sweepScript(ctx context.Context, script *backtest.Script, p *past) (*Answer, error) {
	inputs, err := sweep.Inputs(script.Program, r.Grid)
	if err != nil {
		return nil, err
	}
	if err := r.checkRuns(p.Bars.Len()-p.from, mostScriptBars); err != nil {
		return nil, err
	}
	return r.answerSweep(ctx, p, 0, func(point []float64, _ bool) (backtest.Program, error) {
		with := *script
		with.Env.Inputs = make([]eval.Value, len(script.Program.Inputs))
		for k, in := range inputs {
			with.Env.Inputs[in.Index] = eval.Value{Set: true, Num: point[k]}
		}
		return &with, nil
	})
}
