package research

import (
	"cmp"
	"context"

	"candela/internal/data/marketdata"
	"candela/internal/kit/principal"
	"candela/internal/work/research/past"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/pine/eval"
)

// Live is what a back-test computes, to be stepped over bars that close from now on.
type Live struct {
	Program    backtest.Program
	Calendar   market.Calendar
	Facts      market.Facts
	Tick, Step float64 // of prices and quantities
}

// Config returns the account on which the program trades.
func (l *Live) Config() simulate.Config { return l.Program.Config() }

// Live returns the program of a back-test on the paper account. It sees closed bars of its symbol and interval and
// nothing else, so a question that needs other bars is refused.
func (r *Research) Live(ctx context.Context, caller principal.Caller, q Backtest) (*Live, error) {
	s := &study{Research: r, Backtest: q, caller: caller}
	if err := cmp.Or(s.loadScript(), s.checkFills()); err != nil {
		return nil, err
	}
	set, err := r.Charting.Bars.Bars(ctx, marketdata.Request{Symbol: q.Symbol, Interval: q.Interval, Bars: LeastBars, Facts: true, Closed: true})
	if err != nil {
		return nil, err
	}
	p := past.Bars{BarSet: set}
	if s.margined() {
		if s.perp, err = p.Perpetual(ctx, s.Request(q.Symbol, q.Interval), s.Leverage, nil); err != nil {
			return nil, err
		}
	}
	out := &Live{Calendar: set.Calendar, Facts: set.Facts, Tick: cmp.Or(set.Facts.Tick, past.TickOf(&set.Bars)), Step: pine.QuantityStep(set.Facts)}
	if s.Script != "" {
		return out, s.liveScript(out)
	}
	return out, s.liveRules(out)
}

// liveScript sets the program of a script.
func (r *study) liveScript(out *Live) error {
	program, inputs, err := r.checkScript()
	if err != nil {
		return err
	}
	if eval.Declares(program.Program, "calc_on_order_fills") {
		return fault.New(fault.Unsupported, "computed_within_bars", "the script is computed again within bars after fills (calc_on_order_fills), and a running strategy sees closed bars only").About("script", "calc_on_order_fills", "calc_on_order_fills = false, or none")
	}
	env := eval.Env{Interval: r.Interval, Calendar: out.Calendar, Limits: eval.AlertLimits(), Symbol: pine.SymbolOf(out.Facts), Inputs: inputs}
	if len(eval.Frames(program.Program, env)) > 0 {
		return otherBars("script", "bars of another symbol or of a shorter interval", "a script that requests only its own symbol, at its own interval or a longer one")
	}
	out.Program = &backtest.Script{Program: program.Program, Tick: out.Tick, Step: out.Step, Paper: r.paperCosts(), Adjust: r.adjust, Env: env}
	return nil
}

// liveRules sets the program of rules.
func (r *study) liveRules(out *Live) error {
	program, err := r.program(nil)
	if err != nil {
		return err
	}
	if len(program.LongerDepth()) > 0 || len(program.Scripts()) > 0 {
		return otherBars("long", "a longer interval or a stored script", "rules on indicators at the interval of the strategy")
	}
	program.Calendar, program.Facts, program.Account = out.Calendar, out.Facts, r.config(out.Tick)
	program.Account.Step = out.Step
	out.Program = program
	return nil
}

// otherBars refuses a program that needs bars which a running strategy does not have.
func otherBars(field, what, allowed string) error {
	return fault.New(fault.Unsupported, "other_bars", "a running strategy computes the closed bars of its own symbol and interval, and this one asks for %s", what).About(field, what, allowed)
}
