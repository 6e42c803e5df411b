package check

import (
	"strings"
	"testing"
)

// accepted checks a script that must have no errors.
func accepted(t *testing.T, source string) *Program {
	t.Helper()
	p, found := Check(source, Options{})
	for _, d := range found {
		if d.Severity == Error {
			t.Fatalf("%d:%d %s %s (%s)\n%s", d.Line, d.Column, d.Code, d.Message, d.Fix, source)
		}
	}
	return p
}

const head = "//@version=6\nindicator(\"T\")\n"

func TestCheck_Program(t *testing.T) {
	t.Parallel()
	p := accepted(t, "//@version=6\nindicator(\"My title\", \"MT\", overlay = true, max_lines_count = 100)\n"+
		"len = input.int(14, \"Length\", minval = 1)\nx = ta.ema(close, len)\np = plot(x, \"X\")\nh = plot(high)\nfill(p, h, color.red)\nalertcondition(ta.crossover(close, x), \"Up\", \"up!\")\n")
	if p.Title != "My title" || p.ShortTitle != "MT" || !p.Overlay || p.MaxLines != 100 || p.Version != 6 {
		t.Errorf("declaration: %+v", p)
	}
	in := p.Inputs[0]
	if in.Name != "len" || in.Title != "Length" || in.Default.Num != 14 || *in.Min != 1 || !in.Length {
		t.Errorf("input: %+v", in)
	}
	if len(p.Plots) != 3 || p.Plots[2].A != 0 || p.Plots[2].B != 1 || p.Plots[0].Title != "X" {
		t.Errorf("plots: %+v", p.Plots)
	}
	if len(p.Conditions) != 1 || p.Conditions[0].Title != "Up" || p.Conditions[0].Message != "up!" {
		t.Errorf("conditions: %+v", p.Conditions)
	}
}

func TestCheck_FillsInArguments(t *testing.T) {
	t.Parallel()
	p := accepted(t, head+"plot(ta.highest(10))\nplot(ta.stdev(close, length = 5))\n")
	highest, ok := p.Plots[0].Call.Args[0].(*Call)
	if !ok {
		t.Fatalf("the first plot shows %v", p.Plots[0].Call.Args[0])
	}
	if v, ok := highest.Args[0].(*BuiltinVar); !ok || v.Name != "high" || len(highest.Args) != 2 {
		t.Errorf("ta.highest(10) has the arguments %v", highest.Args)
	}
	stdev, ok := p.Plots[1].Call.Args[0].(*Call)
	if !ok {
		t.Fatalf("the second plot shows %v", p.Plots[1].Call.Args[0])
	}
	if k, ok := stdev.Args[2].(*Const); !ok || k.Num != 1 {
		t.Errorf("ta.stdev has the arguments %v", stdev.Args)
	}
}

func TestCheck_FunctionsByKindsOfArguments(t *testing.T) {
	t.Parallel()
	p := accepted(t, head+"f(x, n) => ta.ema(x, n)\ng(a) => a + 1\nplot(f(close, 3) + f(open, 5))\nplot(g(1) + g(1.5))\n")
	if len(p.Funcs) != 3 {
		t.Errorf("%d functions", len(p.Funcs))
	}
}

func TestCheck_RequestsKnowWhatTheyNeed(t *testing.T) {
	t.Parallel()
	p := accepted(t, head+"a = ta.sma(close, 5)\nb = open\nf(e, tf) => request.security(syminfo.tickerid, tf, e)\nplot(f(a + 1, \"D\"))\nplot(b)\n")
	r := p.Requests[0]
	if len(r.Stmts) != 1 || !r.SymbolKnown || r.Symbol != "" || !r.TimeframeKnown || r.Timeframe != "D" {
		t.Errorf("request: %+v", r)
	}
	var names []string
	for _, v := range r.needs {
		names = append(names, v.name)
	}
	if strings.Join(names, " ") != "a e" {
		t.Errorf("needs %v", names)
	}
}
