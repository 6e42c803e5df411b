package research

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/budget"
	"candela/internal/kit/principal"
	"candela/internal/work/research/past"
	"candela/internal/work/research/rules"
	"candela/lib/backtest"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine/eval"
)

// The formats of the answer to a back-test.
const (
	FormatSummary = "summary"
	FormatPNG     = "png"
	FormatBoth    = "both"
)

// Backtest asks what rules or a script would have earned.
type Backtest struct {
	Symbol   market.Symbol
	Interval market.Interval
	Rules    Rules
	Script   string                     // a Pine script with strategy(), in place of rules
	Inputs   map[string]json.RawMessage // of the script, by name or title
	Span
	Account
	Sweep

	ScriptName string                           // of a stored script, in place of Script
	Libraries  func(path string) (string, bool) // that scripts import; nil for those that are stored
	Magnify    market.Interval                  // of the shorter bars along which orders fill; 0 is what a script declares
	Seed       int                              // of the random orders of trades; not negative
	Format     string
}

// Rules are the rules of a back-test in the language of the face that asks. "$fast" in them stands for the
// values of fast in a sweep.
type Rules struct {
	Long, Short []byte // nil for none
	Given       []byte // both, in the order in which they were given; the id of a run depends on it
	// Read reads one of them, with numbers in place of names. name is long or short.
	Read func(name string, text []byte) (*rules.Side, error)
}

// SideExample is how long or short may be written.
const SideExample = `{"enter":{"indicator_signal":{"indicator":"macd","signal":"cross_up"}},"exit":{"indicator_signal":{"indicator":"macd","signal":"cross_down"}},"stop_pct":2,"target_pct":4}`

// Backtest runs rules or a script over past bars, judges the result and keeps the report.
func (r *Research) Backtest(ctx context.Context, caller principal.Caller, q Backtest) (*Answer, error) {
	s := &study{Research: r, Backtest: q, caller: caller, given: slices.Clone(q.Rules.Given), selections: &alert.Selections{}}
	return s.backtest(ctx)
}

// study is a back-test under way. One goroutine uses it.
type study struct {
	*Research
	Backtest
	caller     principal.Caller
	given      []byte            // rules and script as they were given
	swept      *swept            // nil without a sweep
	tried      string            // how many trials there were
	magnified  string            // what became of the shorter bars, for the answer
	selections *alert.Selections // indicators of the rules of all combinations
	memory     *budget.Run       // of its scripts; nil without
	notes      []string          // about its scripts
}

func (r *study) backtest(ctx context.Context) (*Answer, error) {
	if err := r.loadScript(); err != nil {
		return nil, err
	}
	if err := cmp.Or(r.checkFills(), r.checkMagnified()); err != nil {
		return nil, err
	}
	switch {
	case r.Grid == nil && r.Train > 0:
		return nil, fault.Missing("sweep", "the values among which each step of walk_forward chooses, such as "+SweepExample)
	case r.Script == "" && len(r.Inputs) > 0:
		return nil, fault.Field("inputs", fmt.Sprint(slices.Sorted(maps.Keys(r.Inputs))), "a call with script or script_name: rules have their values in long and short")
	case r.Script != "" && (r.Rules.Long != nil || r.Rules.Short != nil):
		return nil, fault.Field("script", "script and rules", "script, or long and short")
	case r.Script != "":
		return r.backtestScript(ctx)
	case r.Rules.Long == nil && r.Rules.Short == nil:
		return nil, fault.Missing("long", "long, short or script; long and short are each "+SideExample)
	}
	if r.Grid != nil {
		return r.backtestSweep(ctx)
	}
	program, err := r.program(nil)
	if err != nil {
		return nil, err
	}
	r.notes = r.Library.Notes(program.Scripts())
	r.memory = r.Charting.Turns.Run(ctx, r.caller, len(program.Scripts()) > 0)
	program.Run = r.memory
	p, err := r.Read(ctx, r.Charting.Bars, r.Symbol, r.Interval, program.Depth())
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(r.readPerp(ctx, &p), p.ReadLonger(ctx, r.Charting.Bars, r.Request(r.Symbol, r.Interval), program.LongerDepth())); err != nil {
		return nil, err
	}
	if program.Magnifier, err = r.magnifier(ctx, &p, false); err != nil {
		return nil, err
	}
	program.Longer = p.Longer
	program.Calendar, program.Facts, program.Account = p.Calendar, p.Facts, r.config(cmp.Or(p.Facts.Tick, past.TickOf(&p.Bars)))
	return r.answerBacktest(ctx, program, &p)
}

// loadScript reads the stored script that the question names.
func (r *study) loadScript() error {
	switch {
	case r.ScriptName == "":
		return nil
	case r.Script != "":
		return fault.Field("script_name", r.ScriptName, "script or script_name, not both")
	case r.Scripts == nil:
		return fault.New(fault.Unsupported, "scripts_disabled", "stored scripts need --toolsets scripts,research; pass the source as script instead")
	}
	var err error
	r.Script, err = r.Scripts.Source(r.ScriptName)
	return err
}

func (r *study) answerBacktest(ctx context.Context, program backtest.Program, p *past.Bars) (*Answer, error) {
	var found *backtestRun
	err := r.Charting.Turns.Study(ctx, r.caller, r.memory, func(ctx context.Context) (err error) {
		found, err = r.run(ctx, program, p)
		return err
	})
	if err != nil {
		return nil, scriptFailure(err)
	}
	total, since := r.trials.Add(r.shape(), r.tries())
	r.tried = r.trialsText(found, total, since.UTC().Format(time.DateOnly))
	answer := r.answer(found, p)
	out := &Answer{Report: r.report(found, p), Backtest: &answer, Format: r.Format, First: p.Bars.T[0], From: p.Bars.T[p.From]}
	if err := out.Report.SetAnswer(answer); err != nil {
		return nil, err
	}
	r.reports.Put(r.caller.Subject, r.caller.Client, out.Report)
	if r.Format != FormatSummary {
		out.Picture, err = r.ReportPicture(ctx, r.caller, out.Report, "dark")
	}
	return out, err
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

// backtestRun is a run and what is known about it.
type backtestRun struct {
	*backtest.Run
	honesty backtest.Honesty
}

// run runs a program and judges the result.
func (r *study) run(ctx context.Context, program backtest.Program, p *past.Bars) (*backtestRun, error) {
	run, err := backtest.Over(ctx, program, &p.Bars, p.From)
	if err != nil {
		return nil, err
	}
	if r.Script != "" && r.swept == nil && p.From > 0 && ordersAtFirst(run) {
		p.Bars, p.From = p.Bars.Slice(p.From, p.Bars.Len()), 0
		if run, err = backtest.Over(ctx, program, &p.Bars, 0); err != nil {
			return nil, err
		}
	}
	how := backtest.Judgement{Seed: uint64(r.Seed)} //nolint:gosec // G115: the argument is not negative
	if r.swept == nil {
		shown := startProgress(ctx, 1+backtest.JudgedIn)
		how.Step = func(done int) { shown.step(1+done, 0) }
	}
	honesty, err := backtest.Judge(ctx, program, run, how)
	return &backtestRun{run, honesty}, err
}

// ordersAtFirst reports whether a run asked for positions at its first bar only, as a script does with
// barstate.isfirst. Such a script begins where it may trade, without bars before.
func ordersAtFirst(run *backtest.Run) bool { return run.Asked.AtFirst > 0 && run.Asked.Made == 0 }

// id returns the same text for the same question over the same bars.
func (r *study) id(p *past.Bars) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s %d %s %d %s %s\n%s\n", r.Version, p.Instrument, r.Interval, r.Seed, r.Account.text(), p.From, r.Sweep.text(), r.magnified, r.given)
	hashBars(h, &p.Bars)
	for _, on := range slices.Sorted(maps.Keys(p.Longer)) {
		hashBars(h, p.Longer[on])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func hashBars(to io.Writer, bars *market.Bars) {
	for i := range bars.Len() {
		b := bars.At(i)
		for _, x := range []uint64{uint64(b.T), math.Float64bits(b.O), math.Float64bits(b.H), math.Float64bits(b.L), math.Float64bits(b.C)} { //nolint:gosec // G115: the bits are hashed as they are
			_ = binary.Write(to, binary.LittleEndian, x)
		}
	}
}
