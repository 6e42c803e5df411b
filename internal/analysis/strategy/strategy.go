// Package strategy runs a strategy over closed bars on a simulated account and reports
// how far the result can be trusted.
package strategy

import (
	"cmp"
	"context"
	"fmt"

	"candela/internal/analysis/performance"
	"candela/internal/analysis/simulate"
	"candela/internal/kit/fair"
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

// Sleeper is an instance that knows in advance at which bars it may order.
type Sleeper interface {
	Instance
	// Wake returns the first bar from i on at which Next must be called: at no bar before it
	// does the instance order anything, whatever happens to its account.
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
	Net    float64 // result of closed trades after costs
	Last   float64 // result of open trades at the last close

	lens *lens // shorter bars, nil without
}

// checkEvery is the number of bars between two pauses.
const checkEvery = 256

// Over runs a program over bars. It orders nothing before the bar at index from: the bars
// before it are for its indicators.
func Over(ctx context.Context, p Program, bars *market.Bars, from int) (*Run, error) {
	return over(ctx, p, p.Config(), bars, from)
}

// Into is Over with a slice for the equity, whose content is lost.
func Into(ctx context.Context, equity []float64, p Program, bars *market.Bars, from int) (*Run, error) {
	return overInto(ctx, equity, p, p.Config(), bars, from)
}

func over(ctx context.Context, p Program, cfg simulate.Config, bars *market.Bars, from int) (*Run, error) {
	return overInto(ctx, make([]float64, 0, bars.Len()-from), p, cfg, bars, from)
}

func overInto(ctx context.Context, equity []float64, p Program, cfg simulate.Config, bars *market.Bars, from int) (*Run, error) {
	account, err := simulate.New(cfg)
	if err != nil {
		return nil, err
	}
	instance, err := p.Start(account)
	if err != nil {
		return nil, err
	}
	converted, _ := p.(interface{ rate(at int64) float64 })
	sleeper, _ := instance.(Sleeper)
	r := &Run{Config: cfg, Bars: bars, From: from, Equity: equity[:0], lens: lensOf(p, bars)}
	repeated := repeat(account, instance)
	for i := 0; i < bars.Len(); i++ {
		if sleeper != nil {
			if i, err = r.rest(ctx, account, i, min(max(from, sleeper.Wake(max(i, from))), bars.Len())); err != nil || i == bars.Len() {
				break
			}
		}
		if i%checkEvery == 0 {
			if err := fair.Pause(ctx); err != nil {
				return nil, err
			}
		}
		b := bars.At(i)
		account.Pause(i < from)
		if converted != nil {
			account.Rate(converted.rate(b.T))
		}
		repeated.bar = b
		r.lens.travel(account, b)
		if err := cmp.Or(repeated.err, instance.Next(b)); err != nil {
			return nil, fmt.Errorf("bar %d: %w", i, err)
		}
		account.Computed()
		if i >= from {
			r.Equity = append(r.Equity, account.Equity())
		}
	}
	if err != nil {
		return nil, err
	}
	r.Trades, r.Open, r.Totals = account.Trades(), account.Open(), account.Totals()
	r.Net, r.Last = account.NetProfit(), account.OpenProfit()
	return r, nil
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

// repeat has an instance computed again after fills, if it wants that.
func repeat(account *simulate.Account, instance Instance) *repetition {
	out := &repetition{}
	if again, ok := instance.(Repeater); ok && again.Repeats() {
		account.OnFills(func() {
			if out.err == nil {
				out.err = again.Again(out.bar)
			}
		})
	}
	return out
}

// rest passes over the bars from one index to another, at which nothing is ordered. It returns
// the latter.
func (r *Run) rest(ctx context.Context, account *simulate.Account, from, to int) (int, error) {
	bars, slow := r.Bars, false
	for i := from; i < to; i++ {
		if account.Idle() {
			account.Skip(to-i, bars.T[to-1]*1000, bars.C[to-1])
			equity := account.Equity()
			for k := max(i, r.From); k < to; k++ {
				r.Equity = append(r.Equity, equity)
			}
			return to, nil
		}
		if i >= r.From && !slow && account.Quiet() {
			var done bool
			if r.Equity, done = account.Hold(bars.H[i:to], bars.L[i:to], bars.C[i:to], bars.T[to-1]*1000, r.Equity); done {
				return to, nil
			}
			slow = true
		}
		if i%checkEvery == 0 {
			if err := fair.Pause(ctx); err != nil {
				return i, err
			}
		}
		r.lens.travel(account, bars.At(i))
		account.Computed()
		r.Equity = append(r.Equity, account.Equity())
	}
	return to, nil
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
	times := make([]int64, 0, len(r.Equity))
	for _, t := range r.Bars.T[r.From:] {
		times = append(times, t*1000)
	}
	return performance.Measure(performance.Curve{Capital: r.Config.Capital, Times: times, Equity: r.Equity, PerYear: perYear})
}
