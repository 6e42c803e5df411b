// Package pine makes indicators of Pine scripts: a checked script becomes a definition
// with its inputs as parameters, its plots as lines and its alertconditions as signals. The
// same program runs as a batch for charts and as a stream for alerts.
package pine

import (
	"fmt"
	"strconv"
	"strings"

	"candela/lib/backtest/simulate"
	"candela/lib/fault"
	"candela/lib/pine/check"
	"candela/lib/pine/convert"
	"candela/lib/pine/syntax"
	"candela/lib/ta"
)

// MaxSource is how many bytes a script may have.
const MaxSource = syntax.MaxBytes

// MaxDiagnostics is how many findings an error lists.
const MaxDiagnostics = 20

// Program is a checked script.
type Program struct {
	*check.Program
	inputs  []input
	columns []column
	signals []signal
	facts   bool // it may read what a venue says about the symbol
}

// Change is what was changed in a line of a script of an older version.
type Change = convert.Change

// Check checks a source and returns its program and the findings: errors, without a
// program, or warnings. library returns the source of what an import names, as
// user/library/number; it may be nil.
func Check(source string, library func(path string) (string, bool)) (p *Program, found []check.Diagnostic) {
	defer func() {
		if r := recover(); r != nil { // a defect of the checker must not end the process
			p, found = nil, []check.Diagnostic{{Line: 1, Column: 1, EndColumn: 2, Code: "pine_invalid", Message: fmt.Sprintf("The checker failed: %v. Please report this script.", r)}}
		}
	}()
	options, facts := check.Options{}, namesFacts(source)
	if library != nil {
		options.Library = func(user, name string, version int) (string, bool) {
			text, found := library(user + "/" + name + "/" + strconv.Itoa(version))
			facts = facts || namesFacts(text)
			return text, found
		}
	}
	checked, found := check.Check(source, options)
	if checked == nil {
		return nil, found
	}
	p = newProgram(checked)
	p.facts = facts
	return p, found
}

func newProgram(c *check.Program) *Program {
	p := &Program{Program: c}
	p.inputs = readInputs(c.Inputs)
	p.columns = readColumns(c.Plots)
	p.signals = readSignals(c)
	return p
}

// Compile returns the definition of an indicator, or of a library if the name is user/library/number. It is what the
// store of scripts calls.
func Compile(name, source string, library func(path string) (string, bool)) (*ta.Def, error) {
	p, found := Check(source, library)
	if p == nil {
		return nil, refusal(found)
	}
	switch library := strings.Count(name, "/") == 2; {
	case p.Kind == check.Library && !library:
		return nil, fault.New(fault.Invalid, "pine_kind", "The script is a library. Store it as user/library/number and import it in an indicator.").About("source", "library", "an indicator")
	case p.Kind != check.Library && library:
		return nil, fault.New(fault.Invalid, "pine_kind", "The script declares no library(), so nothing can import it. Store it under a name of lower-case letters, digits and _.").About("source", "indicator or strategy", "a library")
	}
	return p.Def(name), nil
}

// refusal is the error about a script that does not compile: the first finding as the
// message, and all of them after it.
func refusal(found []check.Diagnostic) error {
	var lines []string
	for _, d := range found {
		if d.Severity != check.Error || len(lines) == MaxDiagnostics {
			continue
		}
		line := fmt.Sprintf("line %d, column %d: %s", d.Line, d.Column, d.Message)
		if d.Fix != "" {
			line += " " + d.Fix
		}
		if d.Instead != "" {
			line += " Write: " + strings.TrimSpace(d.Instead)
		}
		lines = append(lines, line)
	}
	e := &fault.Error{Kind: fault.Invalid, Code: "pine_invalid", Field: "source", Message: "The script does not compile.", Allowed: "a Pine script of version 5 or 6 that compiles"}
	if len(lines) > 0 {
		e.Code, e.Message = found[0].Code, "The script does not compile. "+strings.Join(lines, "\n")
		if found[0].Code == "pine_unsupported" {
			e.Kind = fault.Unsupported
		}
	}
	return e
}

// Def returns the script as an indicator.
func (p *Program) Def(name string) *ta.Def {
	d := &ta.Def{
		Name: name, Kind: ta.Panel, Doc: p.title() + ".", Formula: "Pine script", Truth: "TradingView", Script: true,
		New: func(v ta.Values) ta.Instance { return &instance{program: p, values: v} },
	}
	if p.Overlay {
		d.Kind = ta.Overlay
	}
	for i := range p.inputs {
		d.Params = append(d.Params, p.inputs[i].param)
	}
	for i := range p.columns {
		d.Lines = append(d.Lines, p.columns[i].label)
	}
	d.Orders, d.Notes = p.Kind == check.Strategy, p.Notes()
	for _, s := range p.signals {
		d.Signals = append(d.Signals, s.trigger)
	}
	return d
}

// IsStrategy reports whether the script declares a strategy, which places orders.
func (p *Program) IsStrategy() bool { return p.Kind == check.Strategy }

func (p *Program) title() string {
	switch {
	case p.Title != "":
		return p.Title
	case p.ShortTitle != "":
		return p.ShortTitle
	}
	return "Pine script"
}

// column is a value at each bar: a plot, or a price of a plotcandle.
type column struct {
	label string
	plot  int // index in Plots
	part  int // index in Output.Values
}

// readColumns returns the values that the script plots, each with a label of its own.
func readColumns(plots []*check.Plot) []column {
	var all []column
	taken := map[string]bool{}
	for _, p := range plots {
		switch p.Kind {
		case "plot":
			all = append(all, column{unique(taken, orTitle(p, "Plot")), p.Index, 0})
		case "plotcandle", "plotbar":
			title := orTitle(p, "Candle")
			for part, price := range []string{"open", "high", "low", "close"} {
				all = append(all, column{unique(taken, title+" "+price), p.Index, part})
			}
		}
	}
	return all
}

func orTitle(p *check.Plot, title string) string {
	if p.Title != "" {
		return p.Title
	}
	return title
}

// unique returns a name that no other has: a second one gets a number.
func unique(taken map[string]bool, name string) string {
	own := name
	for n := 2; taken[strings.ToLower(own)]; n++ {
		own = name + " " + strconv.Itoa(n)
	}
	taken[strings.ToLower(own)] = true
	return own
}

// signal is an alertcondition, a mark or a call of alert.
type signal struct {
	trigger   ta.Trigger
	condition int // index in Conditions, -1 if it is none
	plot      int // index in Plots, -1 if it is none

	ordered func(simulate.Issued) bool // of an order of a strategy; nil if it is none
}

// readSignals returns the events of the script.
func readSignals(c *check.Program) []signal {
	var all []signal
	taken := map[string]bool{}
	add := func(title, fallback, when string, condition, plot int) {
		label := slug(title)
		if label == "" {
			label = fallback
		}
		own := label
		for n := 2; taken[own]; n++ {
			own = label + "_" + strconv.Itoa(n)
		}
		taken[own] = true
		all = append(all, signal{trigger: ta.Trigger{Label: own, When: when}, condition: condition, plot: plot})
	}
	for _, s := range orderSignals(c) {
		taken[s.trigger.Label] = true
		all = append(all, s)
	}
	for _, k := range c.Conditions {
		when := "the alertcondition " + strconv.Quote(k.Title) + " is true at the close of a bar; y is the close"
		if k.Message != "" {
			when += "; its message is " + strconv.Quote(k.Message)
		}
		add(k.Title, "alert_condition", when, k.Index, -1)
	}
	for _, p := range c.Plots {
		if p.Kind == "plotshape" || p.Kind == "plotchar" || p.Kind == "plotarrow" {
			add(p.Title, strings.TrimPrefix(p.Kind, "plot"), p.Kind+" "+strconv.Quote(p.Title)+" draws at a bar that closes; y is the close", -1, p.Index)
		}
	}
	if len(c.Alerts) > 0 {
		add("alert", "alert", "alert() is called at a bar that closes; y is the close", -1, -1)
	}
	return all
}

// slug is a title in lower case with _ for everything that is no letter or digit.
func slug(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(title) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			b.WriteRune(r)
			gap = false
			continue
		}
		gap = true
	}
	return b.String()
}
