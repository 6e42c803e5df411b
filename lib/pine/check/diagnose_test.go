package check

import (
	"strings"
	"testing"
)

// finding is a script with one error, and the script after its fix, which must compile. The
// version line and the declaration are put before both, so the first line is 3.
type finding struct {
	version      string
	source       string
	line, column int
	code, text   string
	fixed        string
}

func findings() map[string]finding {
	return map[string]finding{
		"unknown variable":               {"6", "plot(clos)", 3, 6, "pine_name", `"clos"`, "plot(close)"},
		"unknown function":               {"6", "plot(ta.smma(close, 3))", 3, 6, "pine_name", `"ta.smma"`, "plot(ta.sma(close, 3))"},
		"function of version 4":          {"5", "plot(sma(close, 3))", 3, 6, "pine_name", "older version", "plot(ta.sma(close, 3))"},
		"function as a value":            {"6", "plot(ta.sma)", 3, 6, "pine_name", "is a function", "plot(ta.sma(close, 3))"},
		"use before the declaration":     {"6", "plot(f(1))\nf(x) => x", 3, 6, "pine_name", "before it is declared", "f(x) => x\nplot(f(1))"},
		"declared twice":                 {"6", "x = 1\nx = 2\nplot(x)", 4, 1, "pine_name", "already declared", "x = 1\nx := 2\nplot(x)"},
		"unknown field":                  {"6", "type T\n    float x = 1\nt = T.new()\nplot(t.y)", 6, 8, "pine_name", `no field "y"`, "type T\n    float x = 1\nt = T.new()\nplot(t.x)"},
		"unknown type":                   {"6", "flot x = 1\nplot(x)", 3, 1, "pine_name", `"flot"`, "float x = 1\nplot(x)"},
		"sort field of numbers":          {"6", "a = array.from(1)\na.sort(sort_field = \"x\")", 4, 1, "pine_argument", "collections of objects", "a = array.from(1)\na.sort()"},
		"unknown method":                 {"6", "a = array.from(1, 2)\nplot(a.total())", 4, 8, "pine_name", `no method "total"`, "a = array.from(1, 2)\nplot(a.sum())"},
		"unknown member of an enum":      {"6", "enum E\n    a\n    b\nplot(E.c == E.a ? 1 : 0)", 6, 6, "pine_name", `no member "c"`, "enum E\n    a\n    b\nplot(E.b == E.a ? 1 : 0)"},
		"string where a number is":       {"6", `plot(ta.sma("a", 3))`, 3, 13, "pine_type", `"source" of ta.sma is string`, "plot(ta.sma(close, 3))"},
		"number where a constant is":     {"6", `x = ticker.modify(syminfo.tickerid, settlement_as_close = -1.5)` + "\nplot(close)", 3, 59, "pine_type", "string is wanted", `x = ticker.modify(syminfo.tickerid, settlement_as_close = settlement_as_close.off)` + "\nplot(close)"},
		"float where an int is":          {"6", "plot(ta.sma(close, 2.5))", 3, 20, "pine_type", "float; int is wanted", "plot(ta.sma(close, int(2.5)))"},
		"number as a condition":          {"6", "plot(bar_index ? 1 : 0)", 3, 6, "pine_type", "bool is wanted", "plot(bar_index != 0 ? 1 : 0)"},
		"na without a type":              {"6", "x = na\nplot(x)", 3, 5, "pine_type", "na has none", "float x = na\nplot(x)"},
		"bool that is na":                {"6", "bool b = na\nplot(b ? 1 : 0)", 3, 10, "pine_type", "na where bool", "bool b = false\nplot(b ? 1 : 0)"},
		"float into an int":              {"6", "x = 0\nx := close\nplot(x)", 4, 6, "pine_type", "declared as int", "float x = 0\nx := close\nplot(x)"},
		"number joined to a string":      {"6", `alert("p" + close)`, 3, 7, "pine_type", `"+" cannot take string and float`, `alert("p" + str.tostring(close))`},
		"sides of different types":       {"6", `x = close > open ? 1 : "a"`, 3, 5, "pine_type", "int and string", `x = close > open ? "1" : "a"`},
		"wrong number of names":          {"6", "[a, b] = ta.macd(close, 12, 26, 9)\nplot(a)", 3, 10, "pine_type", "3 values for 2 names", "[a, b, c] = ta.macd(close, 12, 26, 9)\nplot(a)"},
		"tuple in one variable":          {"6", "x = ta.supertrend(3, 10)", 3, 5, "pine_type", "several values", "[x, d] = ta.supertrend(3, 10)"},
		"nothing in a variable":          {"6", `x = alert("a")`, 3, 5, "pine_type", "no value", `alert("a")`},
		"branches of different types":    {"6", "x = if close > open\n    1\nelse\n    \"a\"", 3, 5, "pine_type", "int and string", "x = if close > open\n    1\nelse\n    2"},
		"history of a literal":           {"6", "plot(1[1])", 3, 6, "pine_type", "literal", "plot(1)"},
		"history of a field":             {"6", "type T\n    float x = 1\nt = T.new()\nplot(t.x[1])", 6, 6, "pine_type", "field", "type T\n    float x = 1\nt = T.new()\nplot((t[1]).x)"},
		"loop over a number":             {"6", "for e in close\n    alert(\"\")", 3, 10, "pine_type", "cannot visit", "for e in array.from(1)\n    alert(\"\")"},
		"series where simple is":         {"6", "plot(ta.ema(close, bar_index))", 3, 20, "pine_qualifier", "series int; simple", "plot(ta.ema(close, 10))"},
		"title that is not constant":     {"6", `plot(close, syminfo.ticker)`, 3, 13, "pine_qualifier", "const is wanted", `plot(close, "T")`},
		"missing argument":               {"6", "plot(ta.sma(close))", 3, 6, "pine_argument", `needs the argument "length"`, "plot(ta.sma(close, 3))"},
		"argument too many":              {"6", "plot(ta.sma(close, 3, 4))", 3, 23, "pine_argument", "takes 2 arguments", "plot(ta.sma(close, 3))"},
		"unknown parameter":              {"6", "plot(close, colour = color.red)", 3, 13, "pine_argument", `no parameter "colour"`, "plot(close, color = color.red)"},
		"argument twice":                 {"6", "plot(close, \"a\", title = \"b\")", 3, 26, "pine_argument", "twice", "plot(close, \"a\")"},
		"transp in version 6":            {"6", "plot(close, transp = 50)", 3, 13, "pine_argument", "no argument", "plot(close, color = color.new(color.blue, 50))"},
		"negative offset":                {"6", "plot(close[-1])", 3, 12, "pine_argument", "negative", "plot(close[1])"},
		"date that is none":              {"6", `t = timestamp("soon")`, 3, 5, "pine_argument", `"soon"`, `t = timestamp("2024-01-31")`},
		"data that candela lacks":        {"6", `plot(request.earnings("A"))`, 3, 6, "pine_unsupported", "no earnings", "plot(close)"},
		"plot in a block":                {"6", "if close > open\n    plot(close)", 4, 5, "pine_scope", "global scope", "plot(close > open ? close : na)"},
		"alertcondition in a function":   {"6", "f() =>\n    alertcondition(true)\n    1\nplot(f())", 4, 5, "pine_scope", "global scope", "f() => 1\nalertcondition(true)\nplot(f())"},
		"break without a loop":           {"6", "if close > open\n    break", 4, 5, "pine_scope", "in loops", "while close > open\n    break"},
		"function in a block":            {"6", "if close > open\n    f(x) => x", 4, 5, "pine_scope", "global scope only", "f(x) => x"},
		"recursion":                      {"6", "f(x) => x > 0 ? f(x - 1) : 0\nplot(f(3))", 3, 17, "pine_recursion", "calls itself", "f(x) => x\nplot(f(3))"},
		"a function assigns a global":    {"6", "var x = 0\nf() =>\n    x := 1\n    x\nplot(f())", 5, 5, "pine_assign", "global scope", "var x = 0\nf() => 1\nx := f()\nplot(x)"},
		"assignment of what is not":      {"6", "y := 1", 3, 1, "pine_name", "not declared", "y = 1"},
		"assignment of an element":       {"6", "a = array.from(1)\na[0] := 2", 4, 1, "pine_assign", "variable or a field", "a = array.from(1)\na.set(0, 2)"},
		"missing library":                {"6", "import me/none/1\nplot(close)", 3, 1, "pine_import", "me/none/1", "plot(close)"},
		"strategy in an indicator":       {"6", `strategy.close_all()`, 3, 1, "pine_declaration", "strategies only", `plot(close)`},
		"two declarations":               {"6", `indicator("B")`, 3, 1, "pine_declaration", "twice", `plot(close)`},
		"65 plots":                       {"6", strings.Repeat("plot(close)\n", 65), 67, 1, "pine_plots", "64 plots", strings.Repeat("plot(close)\n", 64)},
		"65 requests":                    {"6", strings.Repeat("request.security(\"\", \"D\", close)\n", 65), 67, 1, "pine_requests", "64 requests", strings.Repeat("request.security(\"\", \"D\", close)\n", 64)},
		"qualifier of a declaration":     {"6", "const float x = close", 3, 17, "pine_qualifier", "series, not const", "float x = close"},
		"option of another type":         {"6", `x = input.int(1, "x", options = [1, "a"])`, 3, 37, "pine_argument", "literal of its type", `x = input.int(1, "x", options = [1, 2])`},
		"input that is not constant":     {"6", `x = input.int(bar_index)`, 3, 15, "pine_qualifier", "const is wanted", `x = input.int(5)`},
		"argument of a user function":    {"6", "f(int x) => x\nplot(f(1.5))", 4, 8, "pine_type", "int is wanted", "f(int x) => x\nplot(f(1))"},
		"untyped parameter of an export": {"6", "f(x) => x\nplot(f())", 4, 6, "pine_argument", "needs the argument", "f(x) => x\nplot(f(1))"},
	}
}

func TestCheck_FindingsAndTheirFixes(t *testing.T) {
	t.Parallel()
	for name, f := range findings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := "//@version=" + f.version + "\nindicator(\"T\")\n"
			_, found := Check(top+f.source, Options{})
			if len(found) == 0 {
				t.Fatal("nothing found")
			}
			d := found[0]
			if d.Line != f.line || d.Column != f.column || d.Code != f.code || !strings.Contains(d.Message, f.text) || d.Severity != Error || d.Fix == "" {
				t.Errorf("got %d:%d %s %q, fix %q", d.Line, d.Column, d.Code, d.Message, d.Fix)
			}
			accepted(t, top+f.fixed)
		})
	}
}

func TestCheck_Versions(t *testing.T) {
	t.Parallel()
	p, found := Check("//@version=4\nstudy(\"a\")\nplot(sma(close, 3))\n", Options{})
	if p == nil || p.Version != 5 || p.Converted == nil || p.Converted.From != 4 || len(found) != 1 || found[0].Code != "pine_converted" {
		t.Errorf("%+v", found)
	}
	p, found = Check("//@version=3\nstudy(\"a\")\nplot(nothing(close))\n", Options{})
	if p != nil || len(found) != 2 || found[0].Code != "pine_name" || found[0].Line != 3 {
		t.Errorf("%+v", found)
	}
	_, found = Check("plot(close)", Options{})
	if len(found) != 2 || found[0].Code != "pine_declaration" {
		t.Errorf("%+v", found)
	}
	_, found = Check("//@version=7\nindicator(\"a\")\nplot(close)", Options{})
	if len(found) != 1 || found[0].Code != "pine_version" {
		t.Errorf("%+v", found)
	}
	_, found = Check("//@version=6\nplot(close)", Options{})
	if len(found) != 1 || found[0].Code != "pine_declaration" {
		t.Errorf("%+v", found)
	}
}

// TestCheck_Version5 has what version 6 refuses.
func TestCheck_Version5(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"plot(bar_index ? 1 : 0)", "bool b = na\nplot(b ? 1 : 0)", "plot(close, transp = 50)", "plot(1[1])",
		"plot(close, \"a\", title = \"b\")", "if bar_index\n    alert(\"\")",
		"type T\n    float x = 1\nt = T.new()\nplot(t.x[1])",
	} {
		accepted(t, "//@version=5\nindicator(\"T\")\n"+body+"\n")
		if p, _ := Check(head+body+"\n", Options{}); p != nil {
			t.Errorf("version 6 takes %q", body)
		}
	}
}

func TestCheck_DoesNotWarnOfChoicesByInputs(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"kind = input.string(\"EMA\", options = [\"EMA\", \"SMA\"])\nx = kind == \"EMA\" ? ta.ema(close, 9) : ta.sma(close, 9)\nplot(x)",
		"kind = input.string(\"EMA\", options = [\"EMA\", \"SMA\"])\nx = switch kind\n    \"EMA\" => ta.ema(close, 9)\n    => ta.sma(close, 9)\nplot(x)",
		"on = input.bool(true)\nx = 0.0\nif on\n    x := ta.ema(close, 9)\nplot(x)",
		"on = input.bool(true)\nplot(on and ta.rising(close, 3) ? 1 : 0)",
		"if ta.crossover(close, open)\n    alert(\"\")",
	} {
		if p := accepted(t, head+body+"\n"); len(p.Warnings) != 0 {
			t.Errorf("%q: %+v", body, p.Warnings)
		}
	}
}

func TestCheck_Warnings(t *testing.T) {
	t.Parallel()
	for body, code := range map[string]string{
		"x = 1\nif close > open\n    x = 2\nplot(x)":                                    "pine_shadow",
		"plot(close == na ? 1 : 0)":                                                     "pine_na",
		"if barstate.islast\n    alert(str.tostring(ta.highest(high, 9)))":              "pine_conditional",
		"plot(close > open ? ta.ema(close, 9) : ta.ema(close, 10))":                     "pine_conditional",
		"plot(close > open and ta.rising(close, 3) ? 1 : 0)":                            "pine_conditional",
		"f(x) => x > 0 ? ta.sma(x, 3) : x\nplot(f(close))":                              "pine_conditional",
		"varip x = 1\nplot(x)":                                                          "pine_redraws",
		"a = array.new<float>()\nfor i = 0 to a.size() - 1\n    alert(\"\")":            "pine_loop",
		"plot(request.security(\"\", \"D\", close, lookahead = barmerge.lookahead_on))": "pine_redraws",
	} {
		p := accepted(t, head+body+"\n")
		if len(p.Warnings) != 1 || p.Warnings[0].Code != code {
			t.Errorf("%q: %+v", body, p.Warnings)
		}
	}
}
