package tool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/budget"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/work/charting"
	"candela/internal/work/research/report"
	"candela/internal/work/research/rules"
	"candela/lib/backtest"
	"candela/lib/backtest/performance"
	"candela/lib/backtest/simulate"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
	"candela/lib/ta"
)

// backtestArgs are the arguments of run_backtest.
type backtestArgs struct {
	accountArgs
	symbol   market.Symbol
	interval market.Interval
	sweepArgs
	longText, shortText json.RawMessage
	swept               *swept // nil without a sweep
	trials              string // how many trials there were
	script              string
	scriptName          string
	span
	magnifyArgs
	waiting
	seed    int
	format  string
	version string // of the program
	raw     []byte // the rules as they were given, for the id of the run

	selections *alert.Selections // indicators of the rules of all combinations
	scripts    *budget.Run       // of its scripts; nil without
}

func declareBacktest() (*backtestArgs, args) {
	r := &backtestArgs{selections: &alert.Selections{}, waiting: waiting{-1}, interval: market.Hour4, span: span{bars: defaultPast}, seed: 1, format: formatSummary, sweepArgs: sweepArgs{oos: 30}, accountArgs: accountArgs{capital: 10000, percent: 100, fee: 10, slip: 5, fills: fillsPine}}
	list := args{
		symbolArg(&r.symbol, "The instrument, such as BTCUSDT.").require(),
		intervalArg(&r.interval, "Bar length; default 4h."),
		sideArg("long", &r.longText, &r.raw),
		sideArg("short", &r.shortText, &r.raw),
		stringArg("script", &r.script, mostScript, "A Pine script with strategy(), in place of long and short. Its strategy() sets capital, sizes and costs."),
		stringArg("script_name", &r.scriptName, 160, "A stored script in place of script."),
	}
	list = append(append(list, r.span.args()...), r.magnifyArgs.args()...)
	list = append(append(list, r.accountArgs.args()...), r.sweepArgs.args()...)
	return r, append(append(list, r.waiting.args()...), intArg("seed", &r.seed, 0, 1<<31-1, ""), enumArg("format", &r.format, "", formatSummary, formatPNG, formatBoth))
}

const sideExample = `{"enter":{"indicator_signal":{"indicator":"macd","signal":"cross_up"}},"exit":{"indicator_signal":{"indicator":"macd","signal":"cross_down"}},"stop_pct":2,"target_pct":4}`

// sideArg reads how positions of one direction begin and end.
func sideArg(name string, dst *json.RawMessage, raw *[]byte) arg {
	allowed := "an object with enter, such as " + sideExample
	object := &schema{Type: "object"}
	number := &schema{Type: "number"}
	s := &schema{
		Type: "object", Description: "How " + name + " positions begin and end. enter and exit are conditions of set_alert on closed bars; stop_pct and target_pct are percent of the entry price. Such as " + sideExample + ".",
		Properties: props{{"enter", object}, {"exit", object}, {"stop_pct", number}, {"target_pct", number}, {"max_bars", &schema{Type: "integer"}}},
		Required:   []string{"enter"},
	}
	return newArg(name, dst, allowed, s, func(text json.RawMessage) (json.RawMessage, error) {
		if text[0] != '{' {
			return nil, noObject(name, text, allowed)
		}
		*raw = append(append(*raw, name...), text...)
		return text, nil
	})
}

func readSide(l ta.Library, name string, text json.RawMessage) (*rules.Side, error) {
	side := &rules.Side{}
	var enter, exit json.RawMessage
	list := args{
		rawArg("enter", &enter).require().allowing("a condition of set_alert"), rawArg("exit", &exit),
		floatArg("stop_pct", &side.Stop, 0.01, 99, ""), floatArg("target_pct", &side.Target, 0.01, 1000, ""),
		intArg("max_bars", &side.MaxBars, 1, mostPast, ""),
	}
	if err := list.decode(text); err != nil {
		return nil, prefixField(name, err)
	}
	c, err := readBarCondition(l, name+".enter", enter)
	if err != nil {
		return nil, err
	}
	side.Enter = c
	if exit != nil {
		if c, err = readBarCondition(l, name+".exit", exit); err != nil {
			return nil, err
		}
		side.Exit = &c
	}
	if side.Exit == nil && side.Stop == 0 && side.Target == 0 && side.MaxBars == 0 {
		return nil, fault.Missing(name+".exit", "an exit, stop_pct, target_pct or max_bars: without one a position would never end")
	}
	return side, nil
}

func readBarCondition(l ta.Library, at string, raw json.RawMessage) (alert.Condition, error) {
	c, err := (&conditionReader{library: l}).read(at, raw)
	return c, cmp.Or(err, onBars(at, &c))
}

func (c *charts) runBacktest() toolSpec {
	return toolSpec{
		name: "run_backtest", title: "Run a back-test", scope: principal.Charts, set: ResearchSet,
		description: "What a set of rules would have earned on past bars, by TradingView's fill rules: orders of a closed bar fill from the next open on. " +
			"honesty says how far the result can be trusted: report its flags with the result. Fees and slippage are never left out in silence. get_report has all trades and the picture. About 3 KB.",
		hints: hints{readOnly: true, idempotent: true, openWorld: true},
		call: calling(declareBacktest, func(ctx context.Context, caller principal.Caller, r *backtestArgs) (mcp.Result, error) {
			return c.long(ctx, caller, r.waiting, func(ctx context.Context) (mcp.Result, error) { return c.backtest(ctx, caller, r) })
		}),
	}
}

func (c *charts) backtest(ctx context.Context, caller principal.Caller, r *backtestArgs) (mcp.Result, error) {
	if err := r.loadScript(c.scripts); err != nil {
		return mcp.Result{}, err
	}
	r.version = c.version
	if err := cmp.Or(r.checkFills(), r.checkMagnified(r.interval, r.fills)); err != nil {
		return mcp.Result{}, err
	}
	switch {
	case r.grid == nil && r.train > 0:
		return mcp.Result{}, fault.Missing("sweep", "the values among which each step of walk_forward chooses, such as "+sweepExample)
	case r.script != "" && (r.longText != nil || r.shortText != nil):
		return mcp.Result{}, fault.Field("script", "script and rules", "script, or long and short")
	case r.script != "":
		return c.backtestScript(ctx, caller, r)
	case r.longText == nil && r.shortText == nil:
		return mcp.Result{}, fault.Missing("long", "long, short or script; long and short are each "+sideExample)
	}
	if r.grid != nil {
		return c.backtestSweep(ctx, caller, r)
	}
	program, err := r.program(c.library, nil)
	if err != nil {
		return mcp.Result{}, err
	}
	r.scripts = c.Turns.Run(ctx, caller, len(program.Scripts()) > 0)
	program.Run = r.scripts
	p, err := r.span.read(ctx, c.Bars, r.symbol, r.interval, program.Depth())
	if err != nil {
		return mcp.Result{}, err
	}
	if program.Magnifier, err = r.magnifyArgs.read(ctx, c.Bars, r.symbol, r.interval, &p, false); err != nil {
		return mcp.Result{}, err
	}
	program.Calendar, program.Facts, program.Account = p.Calendar, p.Facts, r.config(cmp.Or(p.Facts.Tick, tickOf(&p.Bars)))
	return c.answerBacktest(ctx, caller, r, program, &p, program.Depth())
}

// checkFills refuses what the paper account cannot do.
func (r *backtestArgs) checkFills() error {
	switch {
	case r.fills != fillsPaper:
		return nil
	case r.shortText != nil:
		return fault.Field("fill_model", fillsPaper, "pine, or long alone: nothing is lent to the paper account")
	case r.percent > 100:
		return fault.Field("size_pct", strconv.FormatFloat(r.percent, 'f', -1, 64), "at most 100 with the fill model paper: nothing is lent to the paper account")
	}
	return nil
}

// loadScript reads the stored script that the arguments name.
func (r *backtestArgs) loadScript(stored Scripts) error {
	switch {
	case r.scriptName == "":
		return nil
	case r.script != "":
		return fault.Field("script_name", r.scriptName, "script or script_name, not both")
	case stored == nil:
		return fault.New(fault.Unsupported, "scripts_disabled", "stored scripts need --toolsets scripts,research; pass the source as script instead")
	}
	var err error
	r.script, err = stored.Source(r.scriptName)
	return err
}

// mostScript is the most characters of a script.
const mostScript = 65536

// backtestScript runs a Pine script that declares a strategy.
func (c *charts) backtestScript(ctx context.Context, caller principal.Caller, r *backtestArgs) (mcp.Result, error) {
	program, found := pine.Check(r.script, c.scriptLibrary())
	switch {
	case program == nil:
		d := found[0]
		return mcp.Result{}, fault.New(fault.Invalid, "pine_invalid", "line %d, column %d: %s %s", d.Line, d.Column, d.Message, d.Fix).About("script", "", "a Pine script that check_script accepts")
	case program.Kind != check.Strategy:
		return mcp.Result{}, fault.New(fault.Invalid, "pine_invalid", "the script declares an indicator and places no orders; declare strategy() and call strategy.entry").About("script", "", "a script with strategy()")
	}
	p, err := r.span.read(ctx, c.Bars, r.symbol, r.interval, 0)
	if err != nil {
		return mcp.Result{}, err
	}
	tick := cmp.Or(p.Facts.Tick, tickOf(&p.Bars))
	r.scripts = c.Turns.Run(ctx, caller, true)
	script := &backtest.Script{Program: program.Program, Tick: tick, Step: 1e-6, Paper: r.paperCosts(), Env: eval.Env{
		Interval: r.interval, Calendar: p.Calendar, Limits: scriptLimits(),
		Symbol: pine.SymbolOf(p.Facts), Budget: r.scripts,
	}}
	if script.Magnifier, err = r.magnifyArgs.read(ctx, c.Bars, r.symbol, r.interval, &p, script.Paper == nil && script.WantsShorter()); err != nil {
		return mcp.Result{}, err
	}
	own := charting.Requester{BarSet: &p.BarSet, Asked: r.symbol, Interval: r.interval}
	script.Env.Outside = own.Outside(ctx, c.Bars, eval.Frames(program.Program, script.Env))
	r.raw = append(r.raw, r.script...)
	if r.grid != nil {
		return c.sweepScript(ctx, caller, r, script, &p)
	}
	return c.answerBacktest(ctx, caller, r, script, &p, 0)
}

// scriptLibrary returns the stored libraries, nil without the tool set of scripts.
func (c *charts) scriptLibrary() func(path string) (string, bool) {
	if c.scripts == nil {
		return nil
	}
	return c.scripts.Library
}

// scriptLimits bounds one run of a script; the runs that judge a result are bounded each.
func scriptLimits() eval.Limits {
	return eval.BacktestLimits()
}

func (c *charts) answerBacktest(ctx context.Context, caller principal.Caller, r *backtestArgs, program backtest.Program, p *past, depth int) (mcp.Result, error) {
	var found *backtestRun
	err := c.Turns.Study(ctx, caller, r.scripts, func(ctx context.Context) (err error) {
		found, err = r.run(ctx, program, p, depth)
		return err
	})
	if err != nil {
		return mcp.Result{}, scriptFailure(err)
	}
	total, since := c.trials.Add(r.shape(caller), r.runs())
	r.trials = r.trialsText(found, total, since.UTC().Format(time.DateOnly))
	answer, err := jsonResult(r.json(found, p), nil)
	if err != nil {
		return mcp.Result{}, err
	}
	kept := r.report(found, p, answer.Structured)
	c.reports.Put(caller.Subject, caller.Client, kept)
	return c.withPicture(ctx, caller, r.format, kept, answer)
}

// scriptFailure says what a script reports at run time. What ended it from outside is no failure of it.
func scriptFailure(err error) error {
	if failed, ok := errors.AsType[*eval.Error](err); ok {
		if cause := failed.Unwrap(); cause != nil {
			return cause
		}
		return fault.New(fault.Invalid, "pine_runtime", "%s", failed.Error()).About("script", "", "a script that runs within its limits")
	}
	return err
}

// withPicture adds the picture of a report to an answer, or replaces it, as a format asks.
func (c *charts) withPicture(ctx context.Context, caller principal.Caller, format string, kept *report.Report, answer mcp.Result) (mcp.Result, error) {
	if format == formatSummary {
		return answer, nil
	}
	png, err := c.drawReport(ctx, caller, kept, "dark")
	if err != nil {
		return mcp.Result{}, err
	}
	// No structured content with a picture, as in generate_chart.
	shown := mcp.Result{Content: []mcp.Content{{Image: png, MIME: "image/png"}}}
	if format == formatBoth {
		shown.Content = append(shown.Content, answer.Content...)
	}
	return shown, nil
}

// backtestRun is a run and what is known about it.
type backtestRun struct {
	*backtest.Run
	honesty backtest.Honesty
}

// run runs a program and judges the result.
func (r *backtestArgs) run(ctx context.Context, program backtest.Program, p *past, depth int) (*backtestRun, error) {
	run, err := backtest.Over(ctx, program, &p.Bars, p.from)
	if err != nil {
		return nil, err
	}
	how := backtest.Judgement{Warm: min(depth, p.Bars.Len()/4), Seed: uint64(r.seed)} //nolint:gosec // G115: the argument is not negative
	if r.swept == nil {
		shown := startProgress(ctx, 1+backtest.JudgedIn)
		how.Step = func(done int) { shown.step(1+done, 0) }
	}
	honesty, err := backtest.Judge(ctx, program, run, how)
	return &backtestRun{run, honesty}, err
}

type tradeJSON struct {
	Side   string `json:"side"`
	In     string `json:"in"`
	Entry  figure `json:"entry"`
	Out    string `json:"out"`
	Exit   figure `json:"exit"`
	Units  figure `json:"quantity"`
	Profit figure `json:"profit"`
	Why    string `json:"why"`
}

type resultJSON struct {
	Net          figure `json:"net"`
	NetPct       figure `json:"net_pct"`
	Open         figure `json:"open_profit"`
	Trades       int    `json:"trades"`
	WinPct       figure `json:"win_pct"`
	ProfitFactor figure `json:"profit_factor"`
	Expectancy   figure `json:"expectancy"`
	Drawdown     figure `json:"max_drawdown_pct"`
	DrawdownBar  figure `json:"max_drawdown_closes_pct"`
	CAGR         figure `json:"cagr_pct"`
	Sharpe       figure `json:"sharpe_bar"`
	SharpeMonth  figure `json:"sharpe_monthly"`
	Daily        bool   `json:"sharpe_monthly_is_daily,omitempty"`
	Luck         figure `json:"probability_sharpe_above_0"`
	Exposure     figure `json:"exposure_pct"`
	BuyHold      figure `json:"buy_and_hold_pct"`
}

type honestyJSON struct {
	Flags     []string `json:"flags"`
	LookAhead string   `json:"look_ahead"`
	Start     string   `json:"start_shift"`
	Ambiguous string   `json:"ambiguous"`
	Costs     string   `json:"costs"`
	Order     string   `json:"order_of_trades"`
	Trials    string   `json:"trials"`
}

type backtestJSON struct {
	RunID       string      `json:"run_id"`
	ReportID    string      `json:"report_id"`
	Symbol      string      `json:"symbol"`
	Interval    string      `json:"interval"`
	FillModel   string      `json:"fill_model"`
	Sweep       *sweepJSON  `json:"sweep,omitempty"`
	Result      resultJSON  `json:"result"`
	Honesty     honestyJSON `json:"honesty"`
	LastTrades  []tradeJSON `json:"last_trades"`
	Data        dataJSON    `json:"data"`
	Assumptions string      `json:"assumptions"`
	Caution     string      `json:"caution,omitempty"`
}

// lastTrades is the number of trades that are listed.
const lastTrades = 5

func (r *backtestArgs) json(run *backtestRun, p *past) backtestJSON {
	id := r.id(p)
	out := backtestJSON{
		RunID: id, ReportID: id, Symbol: p.Symbol.String(), Interval: r.interval.String(), FillModel: r.fills, Result: r.result(run.Run, p),
		Honesty: honestyText(run.Run, &run.honesty), LastTrades: []tradeJSON{}, Data: p.json(r.interval),
		Assumptions: assumptions(&run.Config, r.fills == fillsPaper), Sweep: r.sweepText(p, r.perYear(p)),
	}
	out.Honesty.Trials, out.Data.Magnified = r.trials, r.magnified
	for _, t := range run.Trades[max(0, len(run.Trades)-lastTrades):] {
		out.LastTrades = append(out.LastTrades, tradeJSON{
			t.Side.String(), market.Stamp(t.EntryTime / 1000), figure(t.EntryPrice), market.Stamp(t.ExitTime / 1000), figure(t.ExitPrice),
			figure(t.Quantity), figure(t.Profit), why(&t),
		})
	}
	if p.Synthetic {
		out.Caution = "the bars are made-up samples: the result says nothing about a market"
	}
	return out
}

// why says what ended a trade.
func why(t *simulate.Trade) string { return cmp.Or(t.ExitComment, t.ExitID) }

// assumptions describes the account of a run.
func assumptions(c *simulate.Config, paper bool) string {
	fee := map[simulate.Charge]string{simulate.Percent: "%", simulate.PerUnit: "for each unit", simulate.PerOrder: "for each order"}[c.Charge]
	text := fmt.Sprintf("capital %s, commission %g %s a side, slippage %g %% and %d ticks; a bar goes to the extreme nearer to its open first", report.Money(c.Capital), c.Commission, fee, c.SlipPercent, c.Slippage)
	if paper {
		text += "; a stop is a market order at the open after the bar that met it, a limit fills when the price passes it, up to the volume of the bar; purchases are cut to the cash, and nothing is sold short"
	}
	return text
}

// perYear returns the number of bars a year.
func (r *backtestArgs) perYear(p *past) float64 {
	if n := p.Bars.Len(); n > 1 {
		// Hours outside a session are no part of the year.
		return float64(n-1) / (float64(p.Bars.T[n-1]-p.Bars.T[0]) / (365 * 24 * 3600))
	}
	return float64(365*24*time.Hour) / float64(time.Duration(r.interval.Seconds())*time.Second)
}

func (r *backtestArgs) result(run *backtest.Run, p *past) resultJSON {
	year := r.perYear(p)
	s, k := run.Summary(year), performance.MeasureTrades(run.Profits())
	return resultJSON{
		Net: figure(run.Net), NetPct: figure(100 * run.Net / run.Config.Capital), Open: figure(run.Last), Trades: k.Count,
		WinPct: figure(k.WinRate), ProfitFactor: figure(k.ProfitFactor), Expectancy: figure(k.Expectancy),
		Drawdown: figure(run.Totals.DrawdownPercent), DrawdownBar: figure(s.DrawdownPercent), CAGR: figure(s.CAGR),
		Sharpe: figure(s.Sharpe), SharpeMonth: figure(s.Monthly.Sharpe), Daily: s.Monthly.Daily, Luck: figure(s.Moments.Probabilistic(0)),
		Exposure: figure(exposure(run)), BuyHold: figure(100 * (p.Bars.C[p.Bars.Len()-1]/p.Bars.O[p.from] - 1)),
	}
}

// exposure returns the share of bars with a position, in percent.
func exposure(run *backtest.Run) float64 {
	held := make([]bool, run.Bars.Len())
	first := run.From
	mark := func(from, to int) {
		for i := from; i <= to; i++ {
			held[i] = true
		}
	}
	for _, t := range run.Trades {
		mark(t.EntryBar, t.ExitBar)
	}
	for _, l := range run.Open {
		mark(l.Bar, len(held)-1)
	}
	n := 0
	for _, h := range held[first:] {
		if h {
			n++
		}
	}
	return 100 * float64(n) / float64(len(held)-first)
}

func honestyText(run *backtest.Run, h *backtest.Honesty) honestyJSON {
	out := honestyJSON{
		Flags:     append([]string{}, h.Flags...),
		LookAhead: fmt.Sprintf("%d of %d runs over shorter histories changed a trade of the past", h.LookAhead.Changed, h.LookAhead.Cuts),
		Start:     "not tested: too few bars",
		Ambiguous: fmt.Sprintf("%d of %s ended in a bar that held stop and target", h.Ambiguous.Trades, report.Count(h.Ambiguous.Of, "trade", "trades")),
		Costs: fmt.Sprintf("net %s without costs, %s as assumed, %s at twice, %s at three times; ",
			report.Money(h.Costs.Net[0]), report.Money(h.Costs.Net[1]), report.Money(h.Costs.Net[2]), report.Money(h.Costs.Net[3])),
		Order: "no closed trades",
	}
	switch {
	case len(run.Trades) == 0:
		out.Costs, out.Ambiguous = "no closed trades", "no closed trades"
	case h.Costs.BreakEven > 0:
		out.Costs += "nothing is left at " + report.Grouped(h.Costs.BreakEven, 1) + " basis points a side"
	default:
		out.Costs += "nothing is left even without costs"
	}
	if h.StartShift.Runs > 0 {
		out.Start = fmt.Sprintf("%d entries changed when the history began up to 200 bars later; the net result moved by up to %s of the capital", h.StartShift.Changed, report.Percent(h.StartShift.Spread))
	}
	if h.Ambiguous.Trades > 0 {
		out.Ambiguous += fmt.Sprintf("; net %s with stops first, %s with targets first", report.Money(h.Ambiguous.Worst), report.Money(h.Ambiguous.Best))
	}
	if len(run.Trades) > 0 {
		out.Order = fmt.Sprintf("drawdown of closed trades %s; %s at the median of 1,000 random orders, %s in the worst 5 %%", report.Money(h.Shuffle.Actual), report.Money(h.Shuffle.Median), report.Money(h.Shuffle.High))
	}
	return out
}

// id returns the same text for the same question over the same bars.
func (r *backtestArgs) id(p *past) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s %d %+v %d %+v %s\n%s\n", r.version, p.Instrument, r.interval, r.seed, r.accountArgs, p.from, r.sweepArgs, r.magnified, r.raw)
	for i := range p.Bars.Len() {
		b := p.Bars.At(i)
		for _, x := range []uint64{uint64(b.T), math.Float64bits(b.O), math.Float64bits(b.H), math.Float64bits(b.L), math.Float64bits(b.C)} { //nolint:gosec // G115: the bits are hashed as they are
			_ = binary.Write(h, binary.LittleEndian, x)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
