package backtest

import (
	"context"
	"fmt"

	"candela/lib/backtest/performance"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// checkEvery is the number of bars between two pauses.
const checkEvery = 256

// usualBars is the number of bars for each of which memory for one trade is ready.
const usualBars = 50

// Over runs a program over bars. It orders nothing before the bar at index from: the bars
// before it are for its indicators.
func Over(ctx context.Context, p Program, bars *market.Bars, from int) (*Run, error) {
	return over(ctx, p, p.Config(), bars, from)
}

func over(ctx context.Context, p Program, cfg simulate.Config, bars *market.Bars, from int) (*Run, error) {
	return Into(ctx, make([]float64, 0, bars.Len()-from), p, cfg, bars, from)
}

// Into is Over with the settings of the account and a slice for the equity, whose content is lost.
func Into(ctx context.Context, equity []float64, p Program, cfg simulate.Config, bars *market.Bars, from int) (*Run, error) {
	r := running{Run: &Run{Config: cfg, Bars: bars, From: from, Equity: equity[:0], Trades: make([]simulate.Trade, 0, bars.Len()/usualBars)}}
	return r.all(ctx, p)
}

// Brief is Over without the equity of each bar: its tally has what runs are compared by. The run
// uses the memory of the one before, which must not be read any more; that may be nil.
func Brief(ctx context.Context, before *Run, p Program, bars *market.Bars, from int) (*Run, *performance.Tally, error) {
	r := running{Run: before, tally: performance.NewTally(p.Config().Capital)}
	if before == nil {
		r.Run = &Run{}
	}
	*r.Run = Run{Config: p.Config(), Bars: bars, From: from, Trades: r.Trades, Equity: r.Equity[:0]}
	run, err := r.all(ctx, p)
	return run, r.tally, err
}

// running is a run that has not ended.
type running struct {
	*Run
	account  *simulate.Account
	instance Instance
	sleeper  Sleeper // the instance, if it is one
	rate     func(at int64) float64
	lens     *lens              // shorter bars, nil without
	repeated *repetition        // nil without
	tally    *performance.Tally // counts the equity, which is then not kept
}

// all goes over all bars.
func (r *running) all(ctx context.Context, p Program) (*Run, error) {
	account, err := simulate.New(r.Config)
	if err != nil {
		return nil, err
	}
	if r.instance, err = p.Start(account); err != nil {
		return nil, err
	}
	if holds, ok := r.instance.(interface{ Close() }); ok {
		defer holds.Close()
	}
	if converted, ok := p.(interface{ rates() func(at int64) float64 }); ok {
		r.rate = converted.rates()
	}
	if timed, ok := r.instance.(interface{ Measure() (done func()) }); ok {
		defer timed.Measure()() // what the account does with its orders is part of it
	}
	account.Reuse(r.Trades)
	r.account, r.lens, r.repeated = account, lensOf(p, r.Bars), repeat(account, r.instance)
	r.sleeper, _ = r.instance.(Sleeper)
	for i := 0; i < r.Bars.Len(); {
		if r.sleeper != nil {
			i, err = r.rest(ctx, i)
		} else {
			err = r.step(ctx, i)
			i++
		}
		if err != nil {
			return nil, err
		}
	}
	r.Trades, r.Open, r.Totals = account.Trades(), account.Open(), account.Totals()
	r.Asked, r.Stands = account.Requests(), account.Standing()
	r.Net, r.Last = account.NetProfit(), account.OpenProfit()
	return r.Run, nil
}

// step runs the account and the instance over a bar.
func (r *running) step(ctx context.Context, i int) error {
	if i%checkEvery == 0 {
		if err := pause(ctx); err != nil {
			return err
		}
	}
	b := r.Bars.At(i)
	if r.repeated != nil {
		r.repeated.bar = b
	}
	r.account.Pause(i < r.From)
	if r.rate != nil {
		r.account.Rate(r.rate(b.T))
	}
	r.lens.travel(r.account, b)
	if r.repeated != nil && r.repeated.err != nil {
		return fmt.Errorf("bar %d: %w", i, r.repeated.err)
	}
	if err := r.instance.Next(b); err != nil {
		return fmt.Errorf("bar %d: %w", i, err)
	}
	r.account.Computed()
	if i >= r.From {
		r.keep(r.account.Equity(), 1)
	}
	return nil
}

// keep notes the equity of so many bars.
func (r *running) keep(equity float64, bars int) {
	if r.tally != nil {
		r.tally.Same(equity, bars)
		return
	}
	for range bars {
		r.Equity = append(r.Equity, equity)
	}
}

// rest passes over the bars before the next one at which the instance orders, and over that one.
// It returns the bar after the last.
func (r *running) rest(ctx context.Context, i int) (int, error) {
	to := min(max(r.From, r.sleeper.Wake(max(i, r.From))), r.Bars.Len())
	slow := false
	for i < to {
		if r.account.Idle() {
			r.account.Skip(to-i, r.Bars.T[to-1]*1000, r.Bars.C[to-1])
			r.keep(r.account.Equity(), to-max(i, r.From))
			i = to
			continue
		}
		if i >= r.From && !slow && (r.lens == nil || r.account.Quiet()) {
			passed, ok := r.hold(i, to)
			if i += passed; passed > 0 {
				continue
			}
			slow = !ok
		}
		if moved, err := r.watch(ctx, i); err != nil || moved {
			return i + 1, err
		}
		i++
	}
	if to == r.Bars.Len() {
		return to, nil
	}
	return to + 1, r.step(ctx, to)
}

// hold passes over bars on which the position is held and returns how many. It reports false if the
// account goes bar by bar until the position changes.
func (r *running) hold(from, to int) (passed int, ok bool) {
	b := r.Bars
	if passed, r.Equity, ok = r.account.Hold(b.T[from:to], b.H[from:to], b.L[from:to], b.C[from:to], r.Equity); passed > 0 && r.tally != nil {
		r.tally.Add(r.Equity)
		r.Equity = r.Equity[:0]
	}
	return passed, ok
}

// watch runs the account over a bar at which the instance orders nothing unless the position
// changes. It reports whether it did.
func (r *running) watch(ctx context.Context, i int) (bool, error) {
	if i%checkEvery == 0 {
		if err := pause(ctx); err != nil {
			return false, err
		}
	}
	before := r.account.Position()
	r.lens.travel(r.account, r.Bars.At(i))
	moved := r.account.Position() != before
	if moved && r.sleeper.Wake(i) == i {
		if err := r.instance.Next(market.Bar{}); err != nil {
			return true, fmt.Errorf("bar %d: %w", i, err)
		}
	}
	r.account.Computed()
	r.keep(r.account.Equity(), 1)
	return moved, nil
}
