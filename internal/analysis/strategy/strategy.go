// Package strategy runs a strategy over closed bars on a simulated account and reports
// how far the result can be trusted.
package strategy

import (
	"context"
	"fmt"

	"candela/internal/analysis/performance"
	"candela/internal/analysis/simulate"
	"candela/internal/market"
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

// Run is a finished run.
type Run struct {
	Config simulate.Config
	Bars   *market.Bars
	Trades []simulate.Trade
	Open   []simulate.Lot
	Equity []float64 // at the close of each bar
	Totals simulate.Totals
	Net    float64 // result of closed trades after costs
	Last   float64 // result of open trades at the last close
}

// checkEvery is the number of bars between two looks at the context.
const checkEvery = 4096

// Over runs a program over bars.
func Over(ctx context.Context, p Program, bars *market.Bars) (*Run, error) {
	return over(ctx, p, p.Config(), bars)
}

func over(ctx context.Context, p Program, cfg simulate.Config, bars *market.Bars) (*Run, error) {
	account, err := simulate.New(cfg)
	if err != nil {
		return nil, err
	}
	instance, err := p.Start(account)
	if err != nil {
		return nil, err
	}
	r := &Run{Config: cfg, Bars: bars, Equity: make([]float64, bars.Len())}
	for i := range bars.Len() {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b := bars.At(i)
		account.Bar(simulate.Bar{Time: b.T * 1000, Open: b.O, High: b.H, Low: b.L, Close: b.C})
		if err := instance.Next(b); err != nil {
			return nil, fmt.Errorf("bar %d: %w", i, err)
		}
		account.Computed()
		r.Equity[i] = account.Equity()
	}
	r.Trades, r.Open, r.Totals = account.Trades(), account.Open(), account.Totals()
	r.Net, r.Last = account.NetProfit(), account.OpenProfit()
	return r, nil
}

// Profits returns the results of the closed trades.
func (r *Run) Profits() []float64 {
	out := make([]float64, len(r.Trades))
	for i := range r.Trades {
		out[i] = r.Trades[i].Profit
	}
	return out
}

// Summary measures the run; perYear is the number of bars a year.
func (r *Run) Summary(perYear float64) performance.Summary {
	times := make([]int64, len(r.Bars.T))
	for i, t := range r.Bars.T {
		times[i] = t * 1000
	}
	return performance.Measure(performance.Curve{Capital: r.Config.Capital, Times: times, Equity: r.Equity, PerYear: perYear})
}
