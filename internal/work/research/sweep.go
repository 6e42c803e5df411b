package research

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"candela/internal/work/research/past"
	"candela/internal/work/research/replay"
	"candela/internal/work/research/report"
	"candela/internal/work/research/rules"
	"candela/internal/work/research/sweep"
	"candela/lib/backtest"
	"candela/lib/fault"
	"candela/lib/market"
)

// mostSweptBars bounds runs times bars.
const mostSweptBars = 20_000_000

// Sweep says which values are tried, and how one is chosen.
type Sweep struct {
	Grid        sweep.Grid // nil for none
	Train, Test int        // bars of a walk forward; 0 for none
	OutOfSample float64    // percent of the bars that are not used to choose
}

// SweepExample is how a sweep may be written.
const SweepExample = `{"fast":[5,10,15],"slow":[20,40]}`

// text writes the sweep for the id of a run.
func (s *Sweep) text() string {
	return fmt.Sprintf("{grid:%+v train:%d test:%d oos:%v}", s.Grid, s.Train, s.Test, s.OutOfSample)
}

// substitute replaces "$name" in a JSON text by a number.
func substitute(text []byte, g sweep.Grid, point []float64) []byte {
	for k, axis := range g {
		text = bytes.ReplaceAll(text, []byte(`"$`+axis.Name+`"`), strconv.AppendFloat(nil, point[k], 'f', -1, 64))
	}
	return text
}

// sides reads long and short with the values of a combination.
func (r *study) sides(point []float64) (long, short *rules.Side, err error) {
	for _, s := range []struct {
		name string
		text []byte
		to   **rules.Side
	}{{"long", r.Rules.Long, &long}, {"short", r.Rules.Short, &short}} {
		if s.text == nil {
			continue
		}
		if *s.to, err = r.Rules.Read(s.name, substitute(s.text, r.Grid, point)); err != nil {
			return nil, nil, err
		}
	}
	return long, short, nil
}

// program returns the rules with the values of a combination, and the bars that they need.
func (r *study) program(point []float64) (*rules.Rules, error) {
	long, short, err := r.sides(point)
	if err != nil {
		return nil, err
	}
	p := &rules.Rules{Library: r.Library, Long: long, Short: short, Symbol: r.Symbol, Interval: r.Interval, Selections: r.selections}
	return p, cmp.Or(p.Check(), p.CheckBars(r.Bars))
}

// checkRuns refuses a sweep of too many bars in all of its runs.
func (r *study) checkRuns(bars, most int) error {
	runs := r.Grid.Len() * bars
	if r.Train > 0 {
		runs += r.Grid.Len() * r.Train * max(0, (bars-r.Train)/r.Test)
	}
	if runs > most {
		return fault.Field("sweep", fmt.Sprintf("%d runs of %d bars", r.Grid.Len(), bars), fmt.Sprintf("at most %d bars in all runs: fewer values, fewer bars or a longer test", most))
	}
	return nil
}

// checkSweep refuses what cannot be swept, before bars are read, and returns what the combinations
// need.
func (r *study) checkSweep() (need sweptNeed, err error) {
	for _, axis := range r.Grid {
		if name := []byte(`"$` + axis.Name + `"`); !bytes.Contains(r.Rules.Long, name) && !bytes.Contains(r.Rules.Short, name) {
			return need, fault.Field("sweep."+axis.Name, axis.Name, `a name that long or short uses, as "$`+axis.Name+`"`)
		}
	}
	if err := r.checkRuns(r.Bars, mostSweptBars); err != nil {
		return need, err
	}
	for i := range r.Grid.Len() {
		p, err := r.program(r.Grid.At(i))
		if err != nil {
			return need, err
		}
		need = sweptNeed{max(need.depth, p.Depth()), need.longer.With(p.LongerDepth()), need.scripts || len(p.Scripts()) > 0}
	}
	return need, nil
}

// sweptNeed is what the combinations of a sweep need.
type sweptNeed struct {
	depth   int // bars
	longer  past.LongerNeed
	scripts bool
}

// swept is what a sweep has found.
type swept struct {
	trials []sweep.Trial
	choice sweep.Choice
	folds  []sweep.Fold
	split  int // first bar that was not used to choose
	point  []float64
	oos    sweep.Trial
}

// backtestSweep tries every combination, chooses one on the older bars and runs it over all.
func (r *study) backtestSweep(ctx context.Context) (*Answer, error) {
	need, err := r.checkSweep()
	if err != nil {
		return nil, err
	}
	r.memory = r.Charting.Turns.Run(ctx, r.caller, need.scripts)
	p, err := r.Read(ctx, r.Charting.Bars, r.Symbol, r.Interval, need.depth)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(r.readPerp(ctx, &p), p.ReadLonger(ctx, r.Charting.Bars, r.Request(r.Symbol, r.Interval), need.longer)); err != nil {
		return nil, err
	}
	magnifier, err := r.magnifier(ctx, &p, false)
	if err != nil {
		return nil, err
	}
	columns := &replay.Columns{Bars: &p.Bars}
	return r.answerSweep(ctx, &p, func(point []float64, fast bool) (backtest.Program, error) {
		program, err := r.program(point)
		if err == nil {
			if fast {
				program.Columns = columns
			}
			program.Magnifier, program.Run, program.Longer = magnifier, r.memory, p.Longer
			program.Calendar, program.Facts, program.Account = p.Calendar, p.Facts, r.config(cmp.Or(p.Facts.Tick, past.TickOf(&p.Bars)))
		}
		return program, err
	})
}

// answerSweep tries the programs of all combinations. One that is not fast may be run over other
// bars, too.
func (r *study) answerSweep(ctx context.Context, p *past.Bars, program func(point []float64, fast bool) (backtest.Program, error)) (*Answer, error) {
	q := &sweep.Question{Grid: r.Grid, Bars: &p.Bars, From: p.From, Program: func(point []float64) (backtest.Program, error) { return program(point, true) }}
	var found swept
	err := r.Charting.Turns.Study(ctx, r.caller, r.memory, func(ctx context.Context) error {
		var err error
		found, err = r.sweep(ctx, q)
		return err
	})
	if err != nil {
		return nil, scriptFailure(err)
	}
	best, err := program(found.point, false)
	if err != nil {
		return nil, err
	}
	r.swept = &found
	return r.answerBacktest(ctx, best, p)
}

// sweep runs the trials and the walk forward.
func (r *study) sweep(ctx context.Context, q *sweep.Question) (out swept, err error) {
	n := q.Bars.Len()
	out.split = n - int(float64(n-q.From)*r.OutOfSample/100)
	if r.Train > 0 {
		if out.folds = q.Folds(r.Train, r.Test); len(out.folds) == 0 {
			return out, fault.Field("walk_forward", fmt.Sprintf("%d and %d bars", r.Train, r.Test), fmt.Sprintf("spans that fit into %d bars", n-q.From))
		}
	}
	shown := startProgress(ctx, r.Grid.Len()*(1+len(out.folds)))
	q.Step = func(done int) { shown.step(done, 0) }
	if out.trials, err = q.Span(q.From, out.split).All(ctx); err != nil {
		return out, err
	}
	out.choice = q.Grid.Choose(out.trials)
	out.point = out.trials[out.choice.Best].Point
	if out.split < n {
		if out.oos, err = q.Span(out.split, n).Try(ctx, out.choice.Best); err != nil {
			return out, err
		}
	}
	q.Step = func(done int) { shown.step(r.Grid.Len()+done, 0) }
	return out, q.Walk(ctx, out.folds)
}

// SweepResult is the part of an answer about a sweep.
type SweepResult struct {
	Trials   int               `json:"trials"`
	Chosen   map[string]Figure `json:"chosen"`
	Train    Figure            `json:"in_sample_net_pct"`
	Open     Figure            `json:"in_sample_open_pct"`
	Trades   int               `json:"in_sample_trades"`
	Sharpe   Figure            `json:"in_sample_sharpe_bar"`
	Median   Figure            `json:"median_sharpe_bar"`
	Near     Figure            `json:"neighbours_within_20_pct"`
	OOS      *OutOfSample      `json:"out_of_sample,omitempty"`
	Forward  *WalkForward      `json:"walk_forward,omitempty"`
	NextStep string            `json:"note"`
}

// OutOfSample is the result over the bars that were not used to choose.
type OutOfSample struct {
	From   string `json:"from"`
	Net    Figure `json:"net_pct"`
	Open   Figure `json:"open_pct"`
	Sharpe Figure `json:"sharpe_bar"`
	Trades int    `json:"trades"`
}

// WalkForward is the result of the folds of a walk forward.
type WalkForward struct {
	Folds      int    `json:"folds"`
	Net        Figure `json:"net_pct"`
	Open       Figure `json:"open_pct"`
	Efficiency Figure `json:"efficiency"`
}

// sweepText writes what a sweep has found.
func (r *study) sweepText(p *past.Bars, perYear float64) *SweepResult {
	s := r.swept
	if s == nil {
		return nil
	}
	year := math.Sqrt(perYear)
	best := &s.trials[s.choice.Best]
	out := &SweepResult{
		Trials: len(s.trials), Chosen: r.chosen(s.point), Train: Figure(best.Net), Open: Figure(best.Open), Trades: best.Trades, Sharpe: Figure(best.Sharpe * year), Median: Figure(s.choice.Median * year),
		Near: Figure(s.choice.Near), NextStep: "net counts closed trades, open what is held at the last close; result and honesty are of the chosen values over all bars; only out_of_sample and walk_forward were not seen by the choice",
	}
	if s.split < p.Bars.Len() {
		out.OOS = &OutOfSample{market.Stamp(p.Bars.T[s.split]), Figure(s.oos.Net), Figure(s.oos.Open), Figure(s.oos.Sharpe * year), s.oos.Trades}
	}
	if best.Trades == 0 {
		out.NextStep = "no combination closed a trade before the newest bars, so none is better than another; " + out.NextStep
	}
	if s.folds != nil {
		efficiency, joined, open := sweep.Efficiency(s.folds)
		out.Forward = &WalkForward{len(s.folds), Figure(joined), Figure(open), Figure(efficiency)}
	}
	return out
}

func (r *study) chosen(point []float64) map[string]Figure {
	out := map[string]Figure{}
	for k, axis := range r.Grid {
		out[axis.Name] = Figure(point[k])
	}
	return out
}

// sweepTables lists the trials and the folds, with ratios as in the answer.
func (r *study) sweepTables(p *past.Bars) []report.Table {
	s := r.swept
	if s == nil {
		return nil
	}
	year := math.Sqrt(r.perYear(p))
	var names []string
	for _, axis := range r.Grid {
		names = append(names, axis.Name)
	}
	values := func(point []float64) (row []any) {
		for _, v := range point {
			row = append(row, v)
		}
		return row
	}
	return []report.Table{
		{Name: "trials", Len: len(s.trials), Columns: slices.Concat(names, []string{"net_pct", "open_pct", "sharpe_bar", "drawdown", "trades"}), Row: func(i int) []any {
			t := &s.trials[i]
			return append(values(t.Point), t.Net, t.Open, t.Sharpe*year, t.Drawdown, t.Trades)
		}},
		{Name: "folds", Len: len(s.folds), Columns: slices.Concat([]string{"train_from", "test_from", "test_to"}, names, []string{"train_net_pct", "test_net_pct", "test_open_pct", "test_trades"}), Row: func(i int) []any {
			f := &s.folds[i]
			row := append([]any{market.Stamp(p.Bars.T[f.TrainFrom]), market.Stamp(p.Bars.T[f.TestFrom]), market.Stamp(p.Bars.T[f.TestTo-1])}, values(f.Point)...)
			return append(row, f.Train, f.Test, f.Open, f.Trades)
		}},
	}
}

// shape names the rules without their numbers, so that changing a number is another trial of
// the same idea.
func (r *study) shape() string {
	text := string(r.Rules.Long) + "|" + string(r.Rules.Short) + "|" + r.Script
	return string(r.caller.Subject) + "|" + r.Symbol.String() + "|" + r.Interval.String() + "|" + strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c == '.' || c == ' ' {
			return -1
		}
		return c
	}, text)
}

// trialsText says how many trials there were, and what is left of the result after them.
func (r *study) trialsText(run *backtestRun, total int, since string) string {
	m := run.Summary(1).Moments
	variance := 0.0
	if r.swept != nil {
		variance = r.swept.choice.Variance
	}
	left := "not known"
	if p := m.Deflated(total, variance); !math.IsNaN(p) {
		left = report.Grouped(100*p, 1) + " %"
	}
	return fmt.Sprintf("%d in this call, %d of such rules on this symbol and interval since %s; the probability of a Sharpe ratio above that of the luckiest of them is %s", r.tries(), total, since, left)
}

// tries is the number of trials of the call.
func (r *study) tries() int {
	if r.swept == nil {
		return 1
	}
	return len(r.swept.trials)
}
