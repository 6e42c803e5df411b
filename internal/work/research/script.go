package research

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"candela/internal/work/charting"
	"candela/internal/work/research/past"
	"candela/lib/backtest"
	"candela/lib/fault"
	"candela/lib/pine"
	"candela/lib/pine/eval"
)

// backtestScript runs a Pine script that declares a strategy.
func (r *study) backtestScript(ctx context.Context) (*Answer, error) {
	program, inputs, err := r.checkScript()
	if err != nil {
		return nil, err
	}
	r.notes = program.Notes()
	depth := program.Depth(inputs)
	p, err := r.Read(ctx, r.Charting.Bars, r.Symbol, r.Interval, depth)
	if err != nil {
		return nil, err
	}
	p.Begin(depth)
	if err := r.readPerp(ctx, &p); err != nil {
		return nil, err
	}
	r.memory = r.Charting.Turns.Run(ctx, r.caller, true)
	script := &backtest.Script{
		Program: program.Program, Tick: cmp.Or(p.Facts.Tick, past.TickOf(&p.Bars)), Step: pine.QuantityStep(p.Facts), Paper: r.paperCosts(), Adjust: r.adjust,
		Env: eval.Env{
			Interval: r.Interval, Calendar: p.Calendar, Limits: eval.BacktestLimits(),
			Symbol: pine.SymbolOf(p.Facts), Budget: r.memory, Inputs: inputs,
		},
	}
	if script.Magnifier, err = r.magnifier(ctx, &p, script.Paper == nil && script.WantsShorter()); err != nil {
		return nil, err
	}
	own := charting.Requester{BarSet: &p.BarSet, Asked: r.Symbol, Interval: r.Interval}
	script.Env.Outside = own.Outside(ctx, r.Charting.Bars, eval.Frames(program.Program, script.Env))
	r.given = append(r.given, r.Script...)
	r.given = append(r.given, r.inputsText()...)
	if r.Grid != nil {
		return r.sweepScript(ctx, program, script, &p)
	}
	return r.answerBacktest(ctx, script, &p)
}

// checkScript compiles the script and reads the values of its inputs.
func (r *study) checkScript() (*pine.Program, []eval.Value, error) {
	program, found := pine.Check(r.Script, r.scriptLibrary())
	switch {
	case program == nil:
		d := found[0]
		return nil, nil, fault.New(fault.Invalid, "pine_invalid", "line %d, column %d: %s %s", d.Line, d.Column, d.Message, d.Fix).About("script", "", "a Pine script that check_script accepts")
	case !program.IsStrategy():
		return nil, nil, fault.New(fault.Invalid, "pine_invalid", "the script declares an indicator and places no orders; declare strategy() and call strategy.entry").About("script", "", "a script with strategy()")
	}
	for _, axis := range r.Grid {
		if _, given := r.Inputs[axis.Name]; given {
			return nil, nil, fault.Field("inputs."+axis.Name, string(r.Inputs[axis.Name]), "inputs without "+axis.Name+", whose values sweep has")
		}
	}
	inputs, err := program.ReadInputs(r.Inputs)
	return program, inputs, err
}

// scriptLibrary returns the libraries that scripts import, nil without the tool set of scripts.
func (r *study) scriptLibrary() func(path string) (string, bool) {
	switch {
	case r.Libraries != nil:
		return r.Libraries
	case r.Scripts == nil:
		return nil
	}
	return r.Scripts.Library
}

// inputsText writes the inputs for the id of a run.
func (r *study) inputsText() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Inputs)) {
		fmt.Fprintf(&b, "\n%s=%s", name, r.Inputs[name])
	}
	return b.String()
}
