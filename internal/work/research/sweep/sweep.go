// Package sweep runs a strategy with many parameters, chooses among them and shows what the
// choice is worth on bars that it did not see.
package sweep

import (
	"context"
	"math"
	"slices"

	"candela/internal/kit/fair"
	"candela/lib/backtest"
	"candela/lib/backtest/performance"
	"candela/lib/market"
)

// Axis is a parameter and the values that are tried.
type Axis struct {
	Name   string
	Values []float64
}

// Grid is every combination of the values of its axes.
type Grid []Axis

// Len returns the number of combinations.
func (g Grid) Len() int {
	n := 1
	for _, a := range g {
		n *= len(a.Values)
	}
	return n
}

// At returns combination i, one value for each axis. The last axis changes fastest.
func (g Grid) At(i int) []float64 {
	point := make([]float64, len(g))
	for k, axis := range slices.Backward(g) {
		n := len(axis.Values)
		point[k], i = axis.Values[i%n], i/n
	}
	return point
}

// neighbours returns the combinations that differ from i by one step on one axis.
func (g Grid) neighbours(i int) []int {
	var out []int
	stride := 1
	for _, axis := range slices.Backward(g) {
		n := len(axis.Values)
		at := i / stride % n
		if at > 0 {
			out = append(out, i-stride)
		}
		if at < n-1 {
			out = append(out, i+stride)
		}
		stride *= n
	}
	return out
}

// Trial is the result of one combination.
type Trial struct {
	Point    []float64
	Trades   int
	Net      float64 // percent of the capital, of closed trades
	Open     float64 // the same of the trades that are open at the last close
	Drawdown float64 // percent
	Sharpe   float64 // by bars, not annualised
}

// score is what trials are ranked by. A trial without a ratio, or without a closed trade, is worse than all
// others: a position that is only held says nothing about how it ends.
func (t *Trial) score() float64 {
	if math.IsNaN(t.Sharpe) || t.Trades == 0 {
		return math.Inf(-1)
	}
	return t.Sharpe
}

// Question is what is tried, on which bars.
type Question struct {
	Grid Grid
	// Program returns the strategy with the values of a combination.
	Program func(point []float64) (backtest.Program, error)
	Bars    *market.Bars
	From    int            // index of the first bar at which it may order
	Step    func(done int) // called after each run; may be nil

	before *backtest.Run // the last, whose memory the next one uses
}

// Span returns the question over the bars [from, to): those before from are for the
// indicators.
func (q *Question) Span(from, to int) *Question {
	part := *q
	head := q.Bars.Slice(0, to)
	part.Bars, part.From = &head, from
	return &part
}

// Try runs one combination.
func (q *Question) Try(ctx context.Context, i int) (Trial, error) {
	t := Trial{Point: q.Grid.At(i)}
	program, err := q.Program(t.Point)
	if err != nil {
		return t, err
	}
	run, tally, err := backtest.Brief(ctx, q.before, program, q.Bars, q.From)
	if err != nil {
		return t, err
	}
	q.before = run
	t.Trades, t.Net, t.Open = len(run.Trades), 100*run.Net/run.Config.Capital, 100*run.Last/run.Config.Capital
	t.Drawdown, t.Sharpe = tally.Drawdown(), tally.Sharpe()
	return t, nil
}

// All runs every combination, in order.
func (q *Question) All(ctx context.Context) ([]Trial, error) {
	trials := make([]Trial, 0, q.Grid.Len())
	for i := range q.Grid.Len() {
		if err := fair.Pause(ctx); err != nil {
			return nil, err
		}
		t, err := q.Try(ctx, i)
		if err != nil {
			return nil, err
		}
		if trials = append(trials, t); q.Step != nil {
			q.Step(len(trials))
		}
	}
	return trials, nil
}

// Choice is the best of many trials, and what speaks against it.
type Choice struct {
	Best     int
	Median   float64 // Sharpe ratio by bars, as that of the best
	Variance float64 // of the ratios of all trials
	// Near is the share of the neighbours of the best whose ratio is within 20 % of it: a
	// peak that stands alone is more likely luck.
	Near float64
}

// Choose finds the best trial with closed trades by its Sharpe ratio; of equal ones the first.
func (g Grid) Choose(trials []Trial) Choice {
	var c Choice
	scores := make([]float64, 0, len(trials))
	for i := range trials {
		if trials[i].score() > trials[c.Best].score() {
			c.Best = i
		}
		if s := trials[i].score(); !math.IsInf(s, 0) {
			scores = append(scores, s)
		}
	}
	var sum, squares float64
	for _, s := range scores {
		sum += s
	}
	for _, s := range scores {
		d := s - sum/float64(len(scores))
		squares += d * d
	}
	if len(scores) > 1 {
		c.Variance = squares / float64(len(scores)-1)
	}
	c.Median = performance.Percentile(slices.Clone(scores), 50)
	best, near := trials[c.Best].score(), g.neighbours(c.Best)
	for _, i := range near {
		if math.Abs(trials[i].score()-best) <= 0.2*math.Abs(best) {
			c.Near++
		}
	}
	if len(near) > 0 {
		c.Near /= float64(len(near))
	}
	return c
}

// Fold is one step of a walk forward: parameters that are chosen on some bars and used on
// the next.
type Fold struct {
	TrainFrom, TestFrom, TestTo int // indexes of bars
	Point                       []float64
	Train, Test                 float64 // percent, of closed trades
	Open                        float64 // of what the test holds at its end
	Trades                      int     // in the test
}

// Folds returns the spans of a walk over the bars from the first that counts on.
func (q *Question) Folds(train, test int) []Fold {
	var out []Fold
	for from := q.From; from+train+test <= q.Bars.Len(); from += test {
		out = append(out, Fold{TrainFrom: from, TestFrom: from + train, TestTo: from + train + test})
	}
	return out
}

// Walk chooses parameters on each span and runs them on the next. Each test begins without
// a position, and what it holds at its end counts at the last close, apart.
func (q *Question) Walk(ctx context.Context, folds []Fold) error {
	done := 0
	for k := range folds {
		f := &folds[k]
		part := q.Span(f.TrainFrom, f.TestFrom)
		if q.Step != nil {
			part.Step = func(n int) { q.Step(done + n) }
		}
		trials, err := part.All(ctx)
		if err != nil {
			return err
		}
		done += len(trials)
		best := q.Grid.Choose(trials).Best
		f.Point, f.Train = trials[best].Point, trials[best].Net
		t, err := q.Span(f.TestFrom, f.TestTo).Try(ctx, best)
		if err != nil {
			return err
		}
		f.Test, f.Open, f.Trades = t.Net, t.Open, t.Trades
	}
	return nil
}

// Efficiency is the mean return a bar in the tests by that in the spans of choice, NaN if the
// latter is not above 0. joined is the return of the tests one after the other, in percent, and open what the
// positions at their ends add to it.
func Efficiency(folds []Fold) (efficiency, joined, open float64) {
	var train, test float64
	growth, marked := 1.0, 1.0
	for _, f := range folds {
		train += f.Train / float64(f.TestFrom-f.TrainFrom)
		test += f.Test / float64(f.TestTo-f.TestFrom)
		growth *= 1 + f.Test/100
		marked *= 1 + (f.Test+f.Open)/100
	}
	joined, open = (growth-1)*100, (marked-growth)*100
	if train <= 0 {
		return math.NaN(), joined, open
	}
	return test / train, joined, open
}
