package eval_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"candela/lib/backtest/simulate"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

// TestConformance runs one small script for each rule. A line of a file in
// testdata/conformance has the rule, the script, what is expected, and where that comes from:
// doc is the language's documentation, measured is a value that others measured on
// TradingView, hand is arithmetic by hand. traps.txt has scripts whose right result is easily missed. \n is a new line and a leading v5 the older version.
// A script that uses strategy. is a strategy with a capital of 10,000, others are indicators.
//
// Expected are values of the first plot from the first bar on; the script may then be the
// expression that is plotted. After "=>" it is what the script shows after the second bar:
//
//	=> plotshape 1 #FF0000FF         values and colours of the last output, by its name
//	=> line x1=0 color=#FF0000FF     properties of the newest drawing, by its kind
//	=> cell text=a bgcolor=#FF0000FF properties of a table's last cell
//	=> log, alert or error           and the text
//
// The bars are those of ramp: bar i closes at 100+i, opens half below and reaches 1 to
// both sides, with volumes 10, 11, 12, 10 and so on, by the hour from 2023-11-14 20:00 UTC.
func TestConformance(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/conformance/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	count := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for line := range strings.Lines(string(text)) {
			c := parseCase(t, line)
			if seen[c.rule] {
				t.Errorf("%s has the rule %q twice", file, c.rule)
			}
			seen[c.rule] = true
			count++
			if got := c.run(t); got != "" {
				t.Errorf("%s: %s: got %s, want %s\n%s", filepath.Base(file), c.rule, got, c.want, c.source)
			}
		}
	}
	t.Logf("%d rules", count)
}

// ruleCase is a line of a file.
type ruleCase struct {
	rule, source, want string
	shown              bool // want follows "=>"
}

func parseCase(t *testing.T, line string) ruleCase {
	t.Helper()
	parts := strings.Split(strings.TrimSpace(line), " | ")
	if len(parts) != 4 {
		t.Fatalf("want a rule, a script, what is expected and its source: %s", line)
	}
	script, head := parts[1], "indicator(\"t\")"
	version := "6"
	if rest, ok := strings.CutPrefix(script, "v5 "); ok {
		version, script = "5", rest
	}
	script = strings.ReplaceAll(script, `\n`, "\n")
	want, shown := strings.CutPrefix(parts[2], "=> ")
	if !shown && !strings.Contains(script, "plot(") {
		script = "plot(" + script + ")"
	}
	if strings.Contains(script, "strategy.") {
		head = "strategy(\"t\", initial_capital = 10000)"
	}
	return ruleCase{parts[0], "//@version=" + version + "\n" + head + "\n" + script + "\n", want, shown}
}

// run returns what a case gives if it is not what it should, "" otherwise.
func (c ruleCase) run(t *testing.T) string {
	t.Helper()
	p, found := check.Check(c.source, check.Options{})
	if p == nil {
		return fmt.Sprint(found)
	}
	env, bars := hourly(), ramp(2)
	var want []float64
	if !c.shown {
		want = wanted(t, c.want)
		bars = ramp(len(want))
	}
	var err error
	if p.Kind == check.Strategy {
		if env.Account, err = simulate.New(eval.Account(p, 0.01, 0.001)); err != nil {
			t.Fatal(err)
		}
	}
	m, err := eval.New(p, env)
	var got []float64
	for i := 0; err == nil && i < len(bars); i++ {
		b := bars[i]
		if env.Account != nil {
			env.Account.Bar(simulate.Bar{Time: b.T * 1000, Open: b.O, High: b.H, Low: b.L, Close: b.C})
		}
		if err = m.Keep(b); err == nil && !c.shown {
			got = append(got, m.Outputs()[0].Values[0])
		}
	}
	if c.shown {
		return c.differs(m, p, err)
	}
	for i := range want {
		switch {
		case err != nil:
			return err.Error()
		case math.IsInf(want[i], 0): // any value
		case !agree(got[i], want[i]):
			return fmt.Sprint(got)
		}
	}
	return ""
}

// differs compares what a script shows after its bars.
func (c ruleCase) differs(m *eval.Machine, p *check.Program, err error) string {
	kind, rest, _ := strings.Cut(c.want, " ")
	got := ""
	switch {
	case err != nil:
		got = "error " + err.Error()
		if kind == "error" && strings.Contains(got, rest) {
			return ""
		}
	case kind == "log":
		got = "log " + strings.Join(m.Logs(), " ")
	case kind == "alert" && len(m.Alerts()) > 0:
		got = "alert " + m.Alerts()[0].Message
	case kind == "alertcondition":
		got = strings.TrimSpace("alertcondition " + strings.Trim(fmt.Sprint(m.Conditions()), "[]"))
	case strings.Contains(rest, "="):
		numbers, texts := newest(m, kind)
		parts := []string{kind}
		for field := range strings.FieldsSeq(rest) {
			name, _, _ := strings.Cut(field, "=")
			parts = append(parts, name+"="+value(numbers, texts, name))
		}
		got = strings.Join(parts, " ")
	case len(m.Outputs()) > 0:
		last := len(m.Outputs()) - 1
		parts := []string{p.Plots[last].Kind}
		for _, x := range m.Outputs()[last].Values {
			if !math.IsNaN(x) {
				parts = append(parts, strconv.FormatFloat(x, 'g', -1, 64))
			}
		}
		for _, x := range m.Outputs()[last].Colors {
			if !math.IsNaN(x) {
				parts = append(parts, fmt.Sprintf("#%08X", uint32(x)))
			}
		}
		got = strings.Join(parts, " ")
	}
	if got == c.want {
		return ""
	}
	return got + "."
}

// newest returns the properties of the newest drawing of a kind, or of the last cell of a table.
func newest(m *eval.Machine, kind string) (numbers map[string]float64, texts map[string]string) {
	for _, d := range m.Drawings() {
		if (&check.Type{Kind: d.Kind}).String() == kind {
			numbers, texts = d.Numbers, d.Texts
			for i, p := range d.Points {
				numbers[fmt.Sprintf("x%d", i)], numbers[fmt.Sprintf("y%d", i)] = p.X, p.Y
			}
		}
		if kind == "cell" && len(d.Cells) > 0 {
			last := d.Cells[len(d.Cells)-1]
			numbers, texts = last.Numbers, last.Texts
			numbers["column"], numbers["row"], numbers["right"], numbers["bottom"] = float64(last.Column), float64(last.Row), float64(last.Right), float64(last.Bottom)
		}
	}
	return numbers, texts
}

// value writes a property; colours are those with "color" in their name.
func value(numbers map[string]float64, texts map[string]string, name string) string {
	if x, ok := numbers[name]; ok && strings.Contains(name, "color") {
		return fmt.Sprintf("#%08X", uint32(x))
	} else if ok {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	if s, ok := texts[name]; ok {
		return s
	}
	return "?"
}
