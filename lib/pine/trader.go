package pine

import (
	"cmp"
	"errors"

	"candela/lib/backtest/simulate"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
	"candela/lib/ta"
)

// trader runs a strategy a second time, on an account, for the signals of its orders. Its plots come from a run
// without an account, as on a chart.
type trader struct {
	program *Program
	machine *eval.Machine
	account *simulate.Account
}

// leastTick is the step of prices of an instrument that does not say one.
const leastTick = 1e-8

var errTrades = errors.New("the state of a strategy is not stored: it begins with the bars")

// newTrader returns a strategy that has not traded.
func (s *instance) newTrader(env ta.Env) (*trader, error) {
	account, err := simulate.New(eval.Account(s.program.Program, cmp.Or(env.Facts.Tick, leastTick), QuantityStep(env.Facts)))
	if err != nil {
		return nil, err
	}
	with := s.env(env, eval.AlertLimits())
	with.Account = account
	m, err := s.machine(with)
	return &trader{s.program, m, account}, err
}

// step runs a closed bar: what waited fills in it, then the strategy orders.
func (t *trader) step(row *ta.Row) error {
	b := row.Bar
	t.account.Bar(simulate.Bar{Time: b.T, Open: b.O, High: b.H, Low: b.L, Close: b.C, Volume: b.V})
	if err := t.machine.Keep(b); err != nil {
		return err
	}
	issued := t.account.Issued()
	t.account.Computed()
	for i := range t.program.signals {
		if s := &t.program.signals[i]; s.ordered != nil && s.ordered(issued) {
			row.SignalText(s.trigger.Label, b.C, "")
		}
	}
	return nil
}

// orderSignals returns the signals of the orders of a strategy.
func orderSignals(c *check.Program) []signal {
	if c.Kind != check.Strategy {
		return nil
	}
	of := func(label, what string, ordered func(simulate.Issued) bool) signal {
		return signal{ta.Trigger{Label: label, When: "the strategy " + what + " at the close of a bar, or a stop or limit of it did so in the bar; y is the close"}, -1, -1, ordered}
	}
	return []signal{
		of("entry_long", "buys to open", func(i simulate.Issued) bool { return i.EntryLong }),
		of("exit_long", "sells what it holds", func(i simulate.Issued) bool { return i.ExitLong }),
		of("entry_short", "sells to open", func(i simulate.Issued) bool { return i.EntryShort }),
		of("exit_short", "buys back what it sold", func(i simulate.Issued) bool { return i.ExitShort }),
	}
}
