// Package backtest runs a strategy over closed bars on a simulated account and reports
// how far the result can be trusted.
package backtest

import (
	"candela/lib/backtest/performance"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// Program is a strategy that can be started any number of times.
type Program interface {
	// Start returns the strategy without history, trading on an account.
	Start(account *simulate.Account) (Instance, error)
	// Config returns the settings of the account it trades on.
	Config() simulate.Config
}

// Instance places orders while bars close.
type Instance interface {
	// Next is called once for each bar in order, after the orders that waited were filled.
	Next(bar market.Bar) error
}

// Sleeper is an instance that knows its bars, and in advance at which of them it may order. Next is
// called with an empty bar.
type Sleeper interface {
	Instance
	// Wake returns the first bar from i on at which Next must be called: at no bar before it does
	// the instance order anything while its position stays as it is.
	Wake(i int) int
}

// Run is a finished run.
type Run struct {
	Config simulate.Config
	Bars   *market.Bars
	From   int // index of the first bar at which it could order
	Trades []simulate.Trade
	Open   []simulate.Lot
	Equity []float64 // at the close of each bar from From on
	Totals simulate.Totals
	Asked  simulate.Requests   // what became of its requests
	Stands []simulate.Standing // its orders after the last bar
	Net    float64             // result of closed trades after costs
	Last   float64             // result of open trades at the last close
}

// Repeater is an instance that is computed again in the middle of a bar after orders filled.
type Repeater interface {
	Instance
	// Repeats reports whether it is.
	Repeats() bool
	// Again computes it for a bar that has not ended. Only its orders last.
	Again(bar market.Bar) error
}

// repetition is the computation of an instance in the middle of a bar.
type repetition struct {
	bar market.Bar
	err error // the first
}

// repeat has an instance computed again after fills, if it wants that; otherwise it returns nil.
func repeat(account *simulate.Account, instance Instance) *repetition {
	again, ok := instance.(Repeater)
	if !ok || !again.Repeats() {
		return nil
	}
	out := &repetition{}
	account.OnFills(func() {
		if out.err == nil {
			out.err = again.Again(out.bar)
		}
	})
	return out
}

// Profits returns the results of the closed trades.
func (r *Run) Profits() []float64 {
	out := make([]float64, len(r.Trades))
	for i := range r.Trades {
		out[i] = r.Trades[i].Profit
	}
	return out
}

// Closed measures the closed trades.
func (r *Run) Closed() performance.Trades { return performance.MeasureTrades(r.Profits()) }

// Summary measures the run; perYear is the number of bars a year.
func (r *Run) Summary(perYear float64) performance.Summary {
	times := make([]int64, 0, len(r.Equity))
	for _, t := range r.Bars.T[r.From:] {
		times = append(times, t*1000)
	}
	return performance.Measure(performance.Curve{Capital: r.Config.Capital, Times: times, Equity: r.Equity, PerYear: perYear})
}
