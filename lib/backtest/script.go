package backtest

import (
	"fmt"
	"slices"

	"candela/lib/backtest/simulate"
	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

// Script is a Pine script that declares a strategy.
type Script struct {
	Program *check.Program
	Env     eval.Env
	Tick    float64 // step of prices
	Step    float64 // step of quantities

	// Magnifier has shorter bars for the fills; nil without.
	Magnifier *Magnifier

	// Adjust changes what the script declares about its account; nil without.
	Adjust func(*simulate.Config)

	// Paper has the costs of the paper account, which then fills the orders; nil without.
	Paper *PaperCosts

	// Rate returns what the currency of the prices is worth in the account's at a time in
	// seconds; nil is 1.
	Rate func(at int64) float64
}

// PaperCosts are what a trade on the paper account costs a side, in percent. Perp is set where it is one in a
// perpetual future.
type PaperCosts struct {
	Commission, Slippage float64
	Perp                 *simulate.Perp
}

// Config returns the account that the script declares, with what the caller has changed. On the paper account its costs, margins
// and fills are those of that account.
func (s *Script) Config() simulate.Config {
	c := eval.Account(s.Program, s.Tick, s.Step)
	if s.Adjust != nil {
		s.Adjust(&c)
	}
	if s.Paper == nil {
		return c
	}
	c.Charge, c.Commission, c.SlipPercent, c.Slippage = simulate.Percent, s.Paper.Commission, s.Paper.Slippage, 0
	c.MarginLong, c.MarginShort, c.LimitBeyond, c.OnClose, c.Paper, c.Perp = 0, 0, 0, false, true, s.Paper.Perp
	return c
}

// Start compiles the script.
func (s *Script) Start(account *simulate.Account) (Instance, error) {
	if s.Program.Kind != check.Strategy {
		return nil, fmt.Errorf("the script %q declares no strategy(): nothing in it places orders", s.Program.Title)
	}
	env := s.Env
	env.Account = account
	m, err := eval.New(s.Program, env)
	if err != nil {
		return nil, err
	}
	return scriptRun{machine: m, onFills: s.onFills()}, nil
}

// Shorter returns the shorter bars for the fills.
func (s *Script) Shorter() *Magnifier { return s.Magnifier }

// WantsShorter reports whether the script declares that orders fill on shorter bars.
func (s *Script) WantsShorter() bool { return eval.Declares(s.Program, "use_bar_magnifier") }

// onFills reports whether the script is computed again after fills. On TradingView it is
// not where orders fill at the close.
func (s *Script) onFills() bool {
	return s.Paper == nil && eval.Declares(s.Program, "calc_on_order_fills") && !eval.Declares(s.Program, "process_orders_on_close")
}

// onChart returns the script as it runs on a chart of so many bars, where it knows from the
// first bar on how many there are; nil if it does not ask.
func (s *Script) onChart(bars int) Program {
	if s.Program.Redraws&check.RedrawLast == 0 {
		return nil
	}
	chart := *s
	chart.Env.Last = bars - 1
	return &chart
}

// asksFuture reports whether the script asks for values before they are known. It does not
// get them here, but it does on TradingView.
func (s *Script) asksFuture() bool { return s.Program.Redraws&check.RedrawFuture != 0 }

// ignored returns the settings that the script declares and that have no effect here.
func (s *Script) ignored() []string {
	names := eval.Ignored(s.Program, s.Env.Symbol.Currency)
	if s.Paper != nil {
		for _, name := range []string{"process_orders_on_close", "calc_on_order_fills"} {
			if eval.Declares(s.Program, name) {
				names = append(names, name)
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return name == "currency" && s.Rate != nil || name == "use_bar_magnifier" && s.Magnifier != nil
	})
}

// rates returns the rate of the account's currency at each bar, nil if it is always 1.
func (s *Script) rates() func(at int64) float64 { return s.Rate }

type scriptRun struct {
	machine *eval.Machine
	onFills bool
}

// Next runs the script at a closed bar.
func (r scriptRun) Next(bar market.Bar) error { return r.machine.Keep(bar) }

// Close gives back what the script holds.
func (r scriptRun) Close() { r.machine.Close() }

// Measure counts the time until done is called as time of the script.
func (r scriptRun) Measure() (done func()) { return r.machine.Measure() }

// Repeats reports whether the script is computed again after fills.
func (r scriptRun) Repeats() bool { return r.onFills }

// Again runs the script in the middle of a bar.
func (r scriptRun) Again(bar market.Bar) error { return r.machine.Again(bar) }
