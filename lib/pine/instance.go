package pine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pattern"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
	"candela/lib/ta"
)

// instance is a script with its inputs set.
type instance struct {
	program *Program
	values  ta.Values
}

// Label names the script with the numbers that it was given.
func (s *instance) Label() string {
	name := s.program.ShortTitle
	if name == "" {
		name = s.program.title()
	}
	var numbers []string
	for i := range s.program.inputs {
		switch in := &s.program.inputs[i]; in.param.Kind {
		case ta.IntParam:
			numbers = append(numbers, strconv.Itoa(s.values.Int(in.param.Name)))
		case ta.NumParam:
			numbers = append(numbers, fmt.Sprint(s.values.Num(in.param.Name)))
		default:
		}
	}
	const most = 4
	if len(numbers) == 0 || len(numbers) > most {
		return name
	}
	return name + "(" + strings.Join(numbers, ", ") + ")"
}

// machine compiles the script for an environment.
func (s *instance) machine(env eval.Env) (m *eval.Machine, err error) {
	defer catch(&err)
	return eval.New(s.program.Program, env)
}

func (s *instance) env(env ta.Env, limits eval.Limits) eval.Env {
	return eval.Env{Interval: env.Interval, Calendar: env.Calendar, Symbol: SymbolOf(env.Facts), Inputs: s.program.values(s.values), Limits: limits, Budget: env.Budget}
}

// catch turns a panic into an error: a defect must not end the process.
func catch(err *error) {
	if r := recover(); r != nil {
		*err = &eval.Error{Code: eval.CodeRuntime, Message: fmt.Sprintf("internal error: %v", r), Bar: -1}
	}
}

// Stream returns a fresh stream for alerts.
func (s *instance) Stream(env ta.Env) *ta.Stream {
	r := &runner{program: s.program}
	r.machine, r.failed = s.machine(s.env(env, eval.AlertLimits()))
	if s.program.Kind == check.Strategy && r.failed == nil {
		r.trader, r.failed = s.newTrader(env)
	}
	return ta.NewStream(env, len(s.program.columns), r)
}

// runner runs a script bar by bar.
type runner struct {
	program *Program
	machine *eval.Machine
	trader  *trader // of a strategy
	failed  error
}

// Step runs a closed bar. What an alert reads of a script that treats the newest bar in a
// way of its own comes from a try of that bar as the newest.
func (r *runner) Step(row *ta.Row) (err error) {
	if r.failed != nil {
		return fault.New(fault.Invalid, "pine_runtime", "%s", problemOf(r.failed).Message).Because(r.failed)
	}
	defer catch(&err)
	if r.trader != nil {
		if err := r.trader.step(row); err != nil {
			return err
		}
	}
	if r.program.Redraws != 0 {
		if err := r.machine.Try(row.Bar, true, true); err != nil {
			return err
		}
		r.read(row)
		return r.machine.Keep(row.Bar)
	}
	if err := r.machine.Keep(row.Bar); err != nil {
		return err
	}
	r.read(row)
	return nil
}

// Peek runs a forming bar and undoes it, but for varip variables until the bar has closed. An alert that waits for
// the close is not raised, and one of alert.freq_all may be raised again.
func (r *runner) Peek(row *ta.Row) (err error) {
	if r.failed != nil {
		return r.failed
	}
	defer catch(&err)
	if err := r.machine.Within(row.Bar); err != nil {
		return err
	}
	r.readValues(row)
	r.program.raise(r.machine, moment{row.Index, &row.Bar, true}, func(label, text string) {
		if a := lastAlert(r.machine.Alerts(), true); a != nil && a.Freq == freqAll && r.program.isAlert(label) {
			row.SignalAgain(label, row.Bar.C, text)
			return
		}
		row.SignalText(label, row.Bar.C, text)
	})
	return nil
}

// readValues fills a row with the outputs of the last bar.
func (r *runner) readValues(row *ta.Row) {
	out := r.machine.Outputs()
	for i := range r.program.columns {
		c := &r.program.columns[i]
		row.Values[i] = out[c.plot].Values[c.part]
	}
}

// read fills a row with the outputs and the events of the last bar.
func (r *runner) read(row *ta.Row) {
	r.readValues(row)
	r.program.raise(r.machine, moment{row.Index, &row.Bar, false}, func(label, text string) { row.SignalText(label, row.Bar.C, text) })
}

// moment is the bar of an event.
type moment struct {
	index int
	bar   *market.Bar
	forms bool
}

// How often alert() may be heard, as Pine spells it.
const (
	freqAll   = "freq_all"
	freqClose = "freq_once_per_bar_close"
)

// raise calls emit for each event of the last bar, with the script's own words.
func (p *Program) raise(m *eval.Machine, at moment, emit func(label, text string)) {
	out, held := m.Outputs(), m.Conditions()
	for i := range p.signals {
		s := &p.signals[i]
		switch {
		case s.ordered != nil: // the trader gives it
		case s.condition >= 0:
			if held[s.condition] {
				emit(s.trigger.Label, p.filled(p.Conditions[s.condition].Message, m, at))
			}
		case s.plot >= 0:
			if v := out[s.plot].Values[0]; v == v && v != 0 {
				emit(s.trigger.Label, "")
			}
		default:
			if a := lastAlert(m.Alerts(), at.forms); a != nil {
				emit(s.trigger.Label, fault.Clean(a.Message, mostText))
			}
		}
	}
}

// isAlert reports whether a signal is that of alert().
func (p *Program) isAlert(label string) bool {
	return slices.ContainsFunc(p.signals, func(s signal) bool {
		return s.trigger.Label == label && s.condition < 0 && s.plot < 0 && s.ordered == nil
	})
}

// lastAlert returns the last call of alert() that is heard, nil for none. While a bar forms one that waits for the
// close is not.
func lastAlert(all []eval.Alert, forms bool) *eval.Alert {
	for i := range slices.Backward(all) {
		if !forms || all[i].Freq != freqClose {
			return &all[i]
		}
	}
	return nil
}

// mostText is the number of characters of a script's own words in a notification.
const mostText = 500

// placeholder matches {{close}}, {{plot_0}} and {{plot("Title")}} in the message of an alertcondition.
var placeholder = pattern.Of(`\{\{\s*(?:(open|high|low|close|volume)|plot_(\d{1,3})|plot\("([^"]{0,100})"\))\s*\}\}`)

// readable is a number of at most ten digits, without an exponent.
func readable(x float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 10, 64), 64) // of a number
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// filled puts the values of a bar into a message. What it does not know stays as it is.
func (p *Program) filled(message string, m *eval.Machine, at moment) string {
	if !strings.Contains(message, "{{") {
		return fault.Clean(message, mostText)
	}
	text := placeholder().ReplaceAllStringFunc(fault.Truncate(message, 4*mostText), func(found string) string {
		part := placeholder().FindStringSubmatch(found)
		plot, err := strconv.Atoi(part[2])
		if part[3] != "" {
			plot = slices.IndexFunc(p.Plots, func(k *check.Plot) bool { return k.Title == part[3] })
			err = nil
		}
		switch {
		case part[1] != "":
			prices := map[string]float64{"open": at.bar.O, "high": at.bar.H, "low": at.bar.L, "close": at.bar.C, "volume": at.bar.V}
			return readable(prices[part[1]])
		case err != nil || plot < 0 || plot >= len(p.Plots):
			return found
		}
		if ahead := m.Column(plot); at.index < len(ahead) { // computed before the script ran
			return readable(ahead[at.index])
		}
		return readable(m.Outputs()[plot].Values[0])
	})
	return fault.Clean(text, mostText)
}

// Snapshot appends the state of the script. That of a strategy has no orders, so it has none.
func (r *runner) Snapshot(dst []float64) []float64 {
	if r.failed != nil || r.trader != nil {
		return dst
	}
	return r.machine.Snapshot(dst)
}

// Restore loads a state.
func (r *runner) Restore(snapshot []float64) error {
	if r.failed != nil {
		return r.failed
	}
	if r.trader != nil {
		return errTrades
	}
	return r.machine.Restore(snapshot)
}

// problemOf describes the error that ended a script.
func problemOf(err error) *ta.Problem {
	var e *eval.Error
	if !errors.As(err, &e) {
		return &ta.Problem{Code: eval.CodeRuntime, Message: err.Error()}
	}
	p := &ta.Problem{Code: e.Code, Message: e.Message, Line: e.Line, Column: e.Column}
	if e.Bar >= 0 {
		p.Bar = e.Time
	}
	if e.Line > 0 {
		p.Message = fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	return p
}

// Compute runs over a whole history.
func (s *instance) Compute(in ta.Input) *ta.Result {
	b := newBatch(s, in)
	limits := eval.ChartLimits()
	limits.TotalSteps /= int64(max(1, in.Scripts))
	env := s.env(in.Env, limits)
	env.Outside, env.Bars = outsideOf(&in), in.Bars
	if in.Budget != nil {
		limits.TotalTime = max(limits.TotalTime-in.Budget.Spent(), 1) // the scripts of a request share it
	}
	env.Limits = limits
	m, err := s.machine(env)
	if err == nil {
		b.machine = m
		defer m.Close()
		b.wire()
		err = b.run()
		if in.Budget != nil {
			in.Budget.Spend(m.Used())
		}
	}
	b.complete()
	r := b.result()
	if err != nil {
		r.Drawn.Problem = problemOf(err)
	}
	return r
}

// run steps through all bars. The newest one is tried if it has not closed, or if the
// script draws it differently from the others.
func (b *batch) run() (err error) {
	defer catch(&err)
	defer b.machine.Measure()()
	n := b.in.Bars.Len()
	for i := range n {
		bar := b.in.Bars.At(i)
		if i == n-1 && (b.in.Forming || b.program.Redraws != 0) {
			err = b.machine.Try(bar, true, !b.in.Forming)
		} else {
			err = b.machine.Keep(bar)
		}
		if err != nil {
			return err
		}
		b.ran = i + 1
		b.record(i, bar)
	}
	return nil
}

// bar returns the bar of a time in milliseconds; after the last one they go on at the
// interval.
func (b *batch) bar(ms float64) int {
	t, n := int64(ms/1000), b.in.Bars.Len()
	if n == 0 {
		return 0
	}
	step := max(b.in.Interval.Seconds(), 1)
	if last := b.in.Bars.T[n-1]; t > last {
		return n - 1 + int(min((t-last)/step, 1<<20))
	}
	if first := b.in.Bars.T[0]; t < first {
		return -int(min((first-t)/step, 1<<20))
	}
	i := b.in.Bars.Search(t)
	if i < n && b.in.Bars.T[i] > t {
		i--
	}
	return min(i, n-1)
}

var _ ta.Instance = (*instance)(nil)

// ended reports whether a bar is the last one.
func ended(bars *market.Bars, i int) bool { return i == bars.Len()-1 }
