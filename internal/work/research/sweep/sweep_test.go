package sweep_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"candela/internal/work/research/sweep"
	"candela/lib/backtest"
	"candela/lib/backtest/performance"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// period buys every first value bars and sells after the second.
type period struct{ every, hold int }

func (p period) Config() simulate.Config {
	return simulate.Config{Capital: 1000, Tick: 0.01, Step: 1e-6, PointValue: 1, Sizing: simulate.Fixed, Size: 1}
}

func (p period) Start(a *simulate.Account) (backtest.Instance, error) {
	return &periodRun{period: p, account: a}, nil
}

type periodRun struct {
	period
	account *simulate.Account
	n       int
}

func (r *periodRun) Next(market.Bar) error {
	none := math.NaN()
	switch r.n++; r.n % r.every {
	case 0:
		r.account.Enter(simulate.Request{ID: "x", Side: simulate.Long, Quantity: none, Limit: none, Stop: none})
	case r.hold:
		r.account.Close(simulate.CloseRequest{Quantity: none, Percent: none})
	}
	return nil
}

func question(n int) *sweep.Question {
	bars := &market.Bars{}
	for i := range n {
		c := 100 + 10*math.Sin(2*math.Pi*float64(i)/20)
		bars.Append(market.Bar{T: int64(i) * 3600, O: c, H: c + 0.1, L: c - 0.1, C: c, V: 1})
	}
	return &sweep.Question{
		Grid:    sweep.Grid{{Name: "every", Values: []float64{13, 20, 27}}, {Name: "hold", Values: []float64{5, 10, 12}}},
		Program: func(p []float64) (backtest.Program, error) { return period{int(p[0]), int(p[1])}, nil },
		Bars:    bars, From: 50,
	}
}

func TestGrid_HasEveryCombinationOnce(t *testing.T) {
	t.Parallel()
	g := question(100).Grid
	var seen [][]float64
	for i := range g.Len() {
		p := g.At(i)
		if slices.ContainsFunc(seen, func(o []float64) bool { return slices.Equal(o, p) }) {
			t.Errorf("%v twice", p)
		}
		seen = append(seen, p)
	}
	if len(seen) != 9 || !slices.Equal(seen[1], []float64{13, 10}) {
		t.Errorf("%v", seen)
	}
}

func TestAll_ChoosesWhatFits(t *testing.T) {
	t.Parallel()
	q := question(2000)
	steps := 0
	q.Step = func(int) { steps++ }
	trials, err := q.All(t.Context())
	if err != nil || len(trials) != 9 || steps != 9 {
		t.Fatal(err, len(trials), steps)
	}
	c := q.Grid.Choose(trials)
	best := trials[c.Best]
	if best.Point[0] != 20 || best.Net <= 0 || best.Trades == 0 {
		t.Errorf("the wave has a period of 20; the best is %+v", best)
	}
	for i := range trials {
		if trials[i].Sharpe > best.Sharpe {
			t.Errorf("trial %d is better", i)
		}
	}
	if c.Median > best.Sharpe || c.Variance <= 0 {
		t.Errorf("%+v", c)
	}
}

// TestChoose_DeflatesByTheNumberOfTrials holds the example of the design: the more trials,
// the less the best of them says.
func TestChoose_DeflatesByTheNumberOfTrials(t *testing.T) {
	t.Parallel()
	m := performance.Moments{N: 4308, Sharpe: 0.022608, Skew: 1.211, Kurtosis: 27.06}
	for trials, want := range map[int]float64{1: 0.9334, 10: 0.463, 100: 0.145, 1000: 0.037} {
		if got := m.Deflated(trials, 0); math.Abs(got-want) > 0.001 {
			t.Errorf("%d trials: %v, want %v", trials, got, want)
		}
	}
}

func TestWalk_TestsOnBarsThatWereNotSeen(t *testing.T) {
	t.Parallel()
	q := question(2000)
	folds := q.Folds(600, 200)
	if len(folds) != 6 {
		t.Fatalf("%d folds", len(folds))
	}
	if err := q.Walk(t.Context(), folds); err != nil {
		t.Fatal(err)
	}
	for i, f := range folds {
		if f.TestFrom-f.TrainFrom != 600 || f.TestTo-f.TestFrom != 200 || i > 0 && f.TestFrom != folds[i-1].TestTo {
			t.Errorf("fold %d: %+v", i, f)
		}
		if f.Point[0] != 20 || f.Test <= 0 {
			t.Errorf("fold %d chose %v and made %v", i, f.Point, f.Test)
		}
	}
	if efficiency, joined, _ := sweep.Efficiency(folds); !(efficiency > 0.3) || joined <= 0 {
		t.Errorf("efficiency %v, joined %v", efficiency, joined)
	}
	// Later bars do not change a test.
	short := *q
	head := q.Bars.Slice(0, folds[0].TestTo)
	short.Bars = &head
	again := short.Folds(600, 200)
	if err := short.Walk(t.Context(), again); err != nil || again[0].Test != folds[0].Test || again[0].Train != folds[0].Train {
		t.Errorf("%v %+v, was %+v", err, again[0], folds[0])
	}
}

func TestAll_IsCancelled(t *testing.T) {
	t.Parallel()
	q := question(10000)
	ctx, cancel := context.WithCancel(t.Context())
	q.Step = func(done int) {
		if done == 2 {
			cancel()
		}
	}
	if trials, err := q.All(ctx); !errors.Is(err, context.Canceled) || trials != nil {
		t.Errorf("%v %v", len(trials), err)
	}
}

// TestChoose_TheBestHasClosedTrades holds that a combination that only holds a position is never the best while
// another one has closed trades, whatever its ratio.
func TestChoose_TheBestHasClosedTrades(t *testing.T) {
	t.Parallel()
	g := sweep.Grid{{Name: "n", Values: []float64{1, 2, 3}}}
	trials := []sweep.Trial{{Sharpe: 0.9, Open: 40}, {Sharpe: 0.1, Net: 2, Trades: 3}, {Sharpe: -0.2, Net: -1, Trades: 5}}
	if best := g.Choose(trials).Best; best != 1 {
		t.Errorf("trial %d is the best, want 1", best)
	}
}
