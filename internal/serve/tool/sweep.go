package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
	"candela/internal/work/research/replay"
	"candela/internal/work/research/report"
	"candela/internal/work/research/rules"
	"candela/internal/work/research/sweep"
	"candela/lib/backtest"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// Bounds of a sweep.
const (
	mostAxes      = 4
	mostTrials    = 1000
	mostSweptBars = 20_000_000 // runs times bars
)

// sweepArgs are the arguments of a sweep.
type sweepArgs struct {
	grid        sweep.Grid
	train, test int
	oos         float64 // percent of the bars
}

func (s *sweepArgs) args() args {
	return args{
		sweepArg(&s.grid),
		walkArg(s),
		floatArg("oos_pct", &s.oos, 0, 80, "Newest bars that a sweep does not see until it has chosen. Default: 30."),
	}
}

const sweepExample = `{"fast":[5,10,15],"slow":[20,40]}`

// sweepArg is an object of lists of numbers.
func sweepArg(dst *sweep.Grid) arg {
	allowed := "an object of lists of numbers such as " + sweepExample
	s := &schema{Type: "object", Description: `Values to try: "$fast" in long and short stands for those of fast; with a script, fast is one of its inputs. Such as ` + sweepExample + "."}
	return newArg("sweep", dst, allowed, s, func(raw json.RawMessage) (sweep.Grid, error) {
		if raw[0] != '{' {
			return nil, noObject("sweep", raw, allowed)
		}
		var grid sweep.Grid
		for name, list := range strictjson.Fields(raw) {
			axis := sweep.Axis{Name: name}
			if list[0] != '[' {
				return nil, fault.Field("sweep."+name, quoteValue(list), "a list of numbers such as [5,10,15]")
			}
			for item := range strictjson.Items(list) {
				x, ok := parseExact(item)
				if !ok || slices.Contains(axis.Values, x.InexactFloat64()) {
					return nil, fault.Field("sweep."+name, quoteValue(item), "numbers, each once")
				}
				axis.Values = append(axis.Values, x.InexactFloat64())
			}
			grid = append(grid, axis)
		}
		if n := grid.Len(); len(grid) == 0 || len(grid) > mostAxes || n < 2 || n > mostTrials {
			return nil, fault.Field("sweep", fmt.Sprintf("%d lists, %d combinations", len(grid), n), fmt.Sprintf("1 to %d lists and 2 to %d combinations", mostAxes, mostTrials))
		}
		return grid, nil
	})
}

// walkArg is the lengths of a walk forward.
func walkArg(s *sweepArgs) arg {
	const example = `{"train":2000,"test":500}`
	object := &schema{Type: "object", Description: "With sweep: choose on train bars, run on the next test bars, move on. Such as " + example + "."}
	var none bool
	return newArg("walk_forward", &none, "an object such as "+example, object, func(raw json.RawMessage) (bool, error) {
		if raw[0] != '{' {
			return false, noObject("walk_forward", raw, "an object such as "+example)
		}
		list := args{intArg("train", &s.train, leastPast, mostPast, "").require(), intArg("test", &s.test, 20, mostPast, "").require()}
		return true, prefixField("walk_forward", list.decode(raw))
	})
}

// substitute replaces "$name" in a JSON text by a number.
func substitute(text []byte, g sweep.Grid, point []float64) []byte {
	for k, axis := range g {
		text = bytes.ReplaceAll(text, []byte(`"$`+axis.Name+`"`), strconv.AppendFloat(nil, point[k], 'f', -1, 64))
	}
	return text
}

// sides reads long and short with the values of a combination.
func (r *backtestArgs) sides(l ta.Library, point []float64) (long, short *rules.Side, err error) {
	for _, s := range []struct {
		name string
		text json.RawMessage
		to   **rules.Side
	}{{"long", r.longText, &long}, {"short", r.shortText, &short}} {
		if s.text == nil {
			continue
		}
		if *s.to, err = readSide(l, s.name, substitute(s.text, r.grid, point)); err != nil {
			return nil, nil, err
		}
	}
	return long, short, nil
}

// program returns the rules with the values of a combination, and the bars that they need.
func (r *backtestArgs) program(l ta.Library, point []float64) (*rules.Rules, error) {
	long, short, err := r.sides(l, point)
	if err != nil {
		return nil, err
	}
	p := &rules.Rules{Library: l, Long: long, Short: short, Symbol: r.symbol, Interval: r.interval, Selections: r.selections}
	return p, cmp.Or(p.Check(), p.CheckBars(r.bars))
}

// checkRuns refuses a sweep of too many bars in all of its runs.
func (r *backtestArgs) checkRuns(bars, most int) error {
	runs := r.grid.Len() * bars
	if r.train > 0 {
		runs += r.grid.Len() * r.train * max(0, (bars-r.train)/r.test)
	}
	if runs > most {
		return fault.Field("sweep", fmt.Sprintf("%d runs of %d bars", r.grid.Len(), bars), fmt.Sprintf("at most %d bars in all runs: fewer values, fewer bars or a longer test", most))
	}
	return nil
}

// checkSweep refuses what cannot be swept, before bars are read, and returns the bars that
// any of the combinations needs and whether one asks a script.
func (r *backtestArgs) checkSweep(l ta.Library) (depth int, scripts bool, err error) {
	for _, axis := range r.grid {
		if name := []byte(`"$` + axis.Name + `"`); !bytes.Contains(r.longText, name) && !bytes.Contains(r.shortText, name) {
			return 0, false, fault.Field("sweep."+axis.Name, axis.Name, `a name that long or short uses, as "$`+axis.Name+`"`)
		}
	}
	if err := r.checkRuns(r.bars, mostSweptBars); err != nil {
		return 0, false, err
	}
	for i := range r.grid.Len() {
		p, err := r.program(l, r.grid.At(i))
		if err != nil {
			return 0, false, err
		}
		depth, scripts = max(depth, p.Depth()), scripts || len(p.Scripts()) > 0
	}
	return depth, scripts, nil
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
func (c *charts) backtestSweep(ctx context.Context, caller principal.Caller, r *backtestArgs) (mcp.Result, error) {
	depth, scripts, err := r.checkSweep(c.library)
	if err != nil {
		return mcp.Result{}, err
	}
	r.scripts = c.Turns.Run(ctx, caller, scripts)
	p, err := r.span.read(ctx, c.Bars, r.symbol, r.interval, depth)
	if err != nil {
		return mcp.Result{}, err
	}
	magnifier, err := r.magnifyArgs.read(ctx, c.Bars, r.symbol, r.interval, &p, false)
	if err != nil {
		return mcp.Result{}, err
	}
	columns := &replay.Columns{Bars: &p.Bars}
	return c.answerSweep(ctx, caller, r, &p, depth, func(point []float64, fast bool) (backtest.Program, error) {
		program, err := r.program(c.library, point)
		if err == nil {
			if fast {
				program.Columns = columns
			}
			program.Magnifier, program.Run = magnifier, r.scripts
			program.Calendar, program.Facts, program.Account = p.Calendar, p.Facts, r.config(cmp.Or(p.Facts.Tick, tickOf(&p.Bars)))
		}
		return program, err
	})
}

// answerSweep tries the programs of all combinations. One that is not fast may be run over other
// bars, too.
func (c *charts) answerSweep(ctx context.Context, caller principal.Caller, r *backtestArgs, p *past, depth int, program func(point []float64, fast bool) (backtest.Program, error)) (mcp.Result, error) {
	q := &sweep.Question{Grid: r.grid, Bars: &p.Bars, From: p.from, Program: func(point []float64) (backtest.Program, error) { return program(point, true) }}
	var found swept
	err := c.Turns.Study(ctx, caller, r.scripts, func(ctx context.Context) error {
		var err error
		found, err = r.sweep(ctx, q)
		return err
	})
	if err != nil {
		return mcp.Result{}, scriptFailure(err)
	}
	best, err := program(found.point, false)
	if err != nil {
		return mcp.Result{}, err
	}
	r.swept = &found
	return c.answerBacktest(ctx, caller, r, best, p, depth)
}

// sweep runs the trials and the walk forward.
func (r *backtestArgs) sweep(ctx context.Context, q *sweep.Question) (out swept, err error) {
	n := q.Bars.Len()
	out.split = n - int(float64(n-q.From)*r.oos/100)
	if r.train > 0 {
		if out.folds = q.Folds(r.train, r.test); len(out.folds) == 0 {
			return out, fault.Field("walk_forward", fmt.Sprintf("%d and %d bars", r.train, r.test), fmt.Sprintf("spans that fit into %d bars", n-q.From))
		}
	}
	shown := startProgress(ctx, r.grid.Len()*(1+len(out.folds)))
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
	q.Step = func(done int) { shown.step(r.grid.Len()+done, 0) }
	return out, q.Walk(ctx, out.folds)
}

// sweepJSON is the part of an answer about a sweep.
type sweepJSON struct {
	Trials   int               `json:"trials"`
	Chosen   map[string]figure `json:"chosen"`
	Train    figure            `json:"in_sample_net_pct"`
	Sharpe   figure            `json:"in_sample_sharpe_bar"`
	Median   figure            `json:"median_sharpe_bar"`
	Near     figure            `json:"neighbours_within_20_pct"`
	OOS      *oosJSON          `json:"out_of_sample,omitempty"`
	Forward  *forwardWalkJSON  `json:"walk_forward,omitempty"`
	NextStep string            `json:"note"`
}

type oosJSON struct {
	From   string `json:"from"`
	Net    figure `json:"net_pct"`
	Sharpe figure `json:"sharpe_bar"`
	Trades int    `json:"trades"`
}

type forwardWalkJSON struct {
	Folds      int    `json:"folds"`
	Net        figure `json:"net_pct"`
	Efficiency figure `json:"efficiency"`
}

// sweepText writes what a sweep has found.
func (r *backtestArgs) sweepText(p *past, perYear float64) *sweepJSON {
	s := r.swept
	if s == nil {
		return nil
	}
	year := math.Sqrt(perYear)
	best := &s.trials[s.choice.Best]
	out := &sweepJSON{
		Trials: len(s.trials), Chosen: r.chosen(s.point), Train: figure(best.Net), Sharpe: figure(best.Sharpe * year), Median: figure(s.choice.Median * year),
		Near: figure(s.choice.Near), NextStep: "result and honesty are of the chosen values over all bars; only out_of_sample and walk_forward were not seen by the choice",
	}
	if s.split < p.Bars.Len() {
		out.OOS = &oosJSON{market.Stamp(p.Bars.T[s.split]), figure(s.oos.Net), figure(s.oos.Sharpe * year), s.oos.Trades}
	}
	if s.folds != nil {
		efficiency, joined := sweep.Efficiency(s.folds)
		out.Forward = &forwardWalkJSON{len(s.folds), figure(joined), figure(efficiency)}
	}
	return out
}

func (r *backtestArgs) chosen(point []float64) map[string]figure {
	out := map[string]figure{}
	for k, axis := range r.grid {
		out[axis.Name] = figure(point[k])
	}
	return out
}

// sweepTables lists the trials and the folds.
func (r *backtestArgs) sweepTables(p *past) []report.Table {
	s := r.swept
	if s == nil {
		return nil
	}
	var names []string
	for _, axis := range r.grid {
		names = append(names, axis.Name)
	}
	values := func(point []float64) (row []any) {
		for _, v := range point {
			row = append(row, v)
		}
		return row
	}
	return []report.Table{
		{Name: "trials", Len: len(s.trials), Columns: slices.Concat(names, []string{"net_pct", "sharpe_of_a_bar", "drawdown", "trades"}), Row: func(i int) []any {
			t := &s.trials[i]
			return append(values(t.Point), t.Net, t.Sharpe, t.Drawdown, t.Trades)
		}},
		{Name: "folds", Len: len(s.folds), Columns: slices.Concat([]string{"train_from", "test_from", "test_to"}, names, []string{"train_net_pct", "test_net_pct", "test_trades"}), Row: func(i int) []any {
			f := &s.folds[i]
			row := append([]any{market.Stamp(p.Bars.T[f.TrainFrom]), market.Stamp(p.Bars.T[f.TestFrom]), market.Stamp(p.Bars.T[f.TestTo-1])}, values(f.Point)...)
			return append(row, f.Train, f.Test, f.Trades)
		}},
	}
}

// shape names the rules without their numbers, so that changing a number is another trial of
// the same idea.
func (r *backtestArgs) shape(caller principal.Caller) string {
	text := string(r.longText) + "|" + string(r.shortText) + "|" + r.script
	return string(caller.Subject) + "|" + r.symbol.String() + "|" + r.interval.String() + "|" + strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c == '.' || c == ' ' {
			return -1
		}
		return c
	}, text)
}

// trialsText says how many trials there were, and what is left of the result after them.
func (r *backtestArgs) trialsText(run *backtestRun, total int, since string) string {
	m := run.Summary(1).Moments
	variance := 0.0
	if r.swept != nil {
		variance = r.swept.choice.Variance
	}
	left := "not known"
	if p := m.Deflated(total, variance); !math.IsNaN(p) {
		left = report.Grouped(100*p, 1) + " %"
	}
	return fmt.Sprintf("%d in this call, %d of such rules on this symbol and interval since %s; the probability of a Sharpe ratio above that of the luckiest of them is %s", r.runs(), total, since, left)
}

// runs is the number of trials of the call.
func (r *backtestArgs) runs() int {
	if r.swept == nil {
		return 1
	}
	return len(r.swept.trials)
}
