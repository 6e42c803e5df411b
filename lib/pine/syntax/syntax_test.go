package syntax

import (
	"strings"
	"testing"
)

func TestParse_Layout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ src, want string }{
		"a line indented by 2 continues":          {"x = a +\n  b\n", "x = a + b\n"},
		"a line indented by 5 continues":          {"x = f(a)\n     .g(b)\n", "x = f(a).g(b)\n"},
		"any depth continues inside parentheses":  {"plot(\n    close,\n        color = c\n)\n", "plot(close, color = c)\n"},
		"an operator at the start continues":      {"x = a\n    and b\n", "x = a and b\n"},
		"blank and comment lines count nothing":   {"if a\n\n// c\n    b := 1\n        // d\n    c := 2\n", "if a\n    b := 1\n    c := 2\n"},
		"a comma separates statements":            {"a = 1, b = 2\n", "a = 1\nb = 2\n"},
		"tabs are levels":                         {"if a\n\tif b\n\t\tc := 1\n\telse\n\t\tc := 2\n", "if a\n    if b\n        c := 1\n    else\n        c := 2\n"},
		"carriage returns":                        {"a = 1\r\nb = 2\rc = 3\n", "a = 1\nb = 2\nc = 3\n"},
		"a byte order mark":                       {"\ufeffa = 1", "a = 1\n"},
		"else belongs to the if of its column":    {"x = if a\n    1\nelse if b\n    2\nelse\n    3\n", "x = if a\n    1\nelse if b\n    2\nelse\n    3\n"},
		"a function on one line with two parts":   {"f(x) => y = x + 1, y * 2\n", "f(x) =>\n    y = x + 1\n    y * 2\n"},
		"switch with inline and indented arms":    {"x = switch a\n    1 => 2\n    3 =>\n        b = 4\n        b\n    => 5\n", "x = switch a\n    1 =>\n        2\n    3 =>\n        b = 4\n        b\n    =>\n        5\n"},
		"types":                                   {"var float[] a = array.new<float>(3)\nmap<string, array<int>> m = na\n", "var array<float> a = array.new<float>(3)\nmap<string, array<int>> m = na\n"},
		"less than is no type argument":           {"x = a < b and c > (d)\n", "x = a < b and c > (d)\n"},
		"words of the language as plain names":    {"type = 1\nmethod = 2\nx = type + method\n", "type = 1\nmethod = 2\nx = type + method\n"},
		"user types, enums, methods":              {"type T\n    float x = 1\n    varip int n\nenum E\n    a\n    b = \"B\"\nmethod f(T t, int k = 2) => t.x * k\n", "type T\n    float x = 1\n    varip int n\nenum E\n    a\n    b = \"B\"\nmethod f(T t, int k = 2) =>\n    t.x * k\n"},
		"loops":                                   {"for i = 0 to 10 by 2\n    a := i\nfor [i, e] in b\n    c := e\nfor e in b\n    continue\nwhile true\n    break\n", "for i = 0 to 10 by 2\n    a := i\nfor [i, e] in b\n    c := e\nfor e in b\n    continue\nwhile true\n    break\n"},
		"precedence":                              {"x = not a and b == c + d * -e[1] ? f : g ? h : i\n", "x = not a and b == c + d * -e[1] ? f : g ? h : i\n"},
		"a string may wrap as a line does":        {"x = \"ab\n  cd\"\n", "x = \"ab cd\"\n"},
		"import":                                  {"import TradingView/ta/7 as t\nimport a/b/1\n", "import TradingView/ta/7 as t\nimport a/b/1\n"},
		"export":                                  {"export type T\n    int a\nexport f(int x) => x\nexport method g(T t) => t\n", "export type T\n    int a\nexport f(int x) =>\n    x\nexport method g(T t) =>\n    t\n"},
		"qualifiers":                              {"f(simple int n, series float x) => x\nconst string s = \"a\"\n", "f(simple int n, series float x) =>\n    x\nconst string s = \"a\"\n"},
		"escapes":                                 {`x = 'a\'b\\c\n"' + "d"` + "\n", `x = "a'b\\c\n\"" + "d"` + "\n"},
		"a tuple is declared, and is a value":     {"[a, _] = f()\nf() =>\n    [1, 2]\n", "[a, _] = f()\nf() =>\n    [1, 2]\n"},
		"the version may stand anywhere":          {"a = 1\n// @version=5\n", "//@version=5\na = 1\n"},
		"a structure is the body of a function":   {"f(x) => switch x\n    1 => 2\n", "f(x) =>\n    switch x\n        1 =>\n            2\n"},
		"a number may begin with a point":         {"x = .5 + 1e-3 + 2.\n", "x = .5 + 1e-3 + 2.\n"},
		"history of a call and of parentheses":    {"x = f(a)[1] + (a - b)[n]\n", "x = f(a)[1] + (a - b)[n]\n"},
		"a generic function with a dotted type":   {"a = array.new<chart.point>()\n", "a = array.new<chart.point>()\n"},
		"compound assignments":                    {"a += 1\nb.c *= 2\n", "a += 1\nb.c *= 2\n"},
		"an if inside a block after a statement":  {"if a\n    b = 1\n    if c\n        d := 2\ne = 3\n", "if a\n    b = 1\n    if c\n        d := 2\ne = 3\n"},
		"a comment at the end of an open bracket": {"plot(a, // first\n     b) // second\n", "plot(a, b)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, errs := Parse(c.src)
			for _, e := range errs {
				t.Errorf("%d:%d %s", e.From.Line, e.From.Column, e.Message)
			}
			if got := printed(f); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestParse_ErrorsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		src          string
		line, column int32
		code, text   string
	}{
		"an open bracket":                {"x = f(1\ny = 2\n", 1, 6, "pine_syntax", "never closed"},
		"a bracket too many":             {"x = 1)\n", 1, 6, "pine_syntax", "closes nothing"},
		"an open string":                 {"x = \"abc\ny = 1\n", 1, 5, "pine_syntax", "not closed"},
		"a block without a header":       {"x = 1\n    y = 2\n", 2, 5, "pine_layout", "opens no block"},
		"a header without a block":       {"if a\nx = 1\n", 1, 5, "pine_layout", "block must follow"},
		"an else alone":                  {"else\n    x = 1\n", 1, 1, "pine_layout", "belongs to no"},
		"a strange character":            {"x = 1;\n", 1, 6, "pine_syntax", "';'"},
		"a colour with five digits":      {"x = #12345\n", 1, 5, "pine_syntax", "hexadecimal"},
		"an assignment of a tuple":       {"[a, b] := f()\n", 1, 8, "pine_syntax", "only be declared"},
		"= after a member":               {"a.b = 1\n", 1, 5, "pine_syntax", "declares"},
		"a value is missing":             {"x = 1 +\ny = 2\n", 1, 8, "pine_syntax", "expected a value"},
		"depths that fit no block":       {"if a\n    x := 1\n  y := 2\n", 3, 3, "pine_layout", "fits no block"},
		"columns count characters":       {"x = \"äöü\" ;\n", 1, 11, "pine_syntax", "';'"},
		"nesting deeper than 64":         {"x = " + strings.Repeat("(", 70) + "1" + strings.Repeat(")", 70), 1, 69, "pine_size", "nested"},
		"var with a tuple":               {"var [a, b] = f()\n", 1, 5, "pine_syntax", "tuple"},
		"import without a version":       {"import a/b/c\n", 1, 12, "pine_syntax", "version"},
		"the next line is read again":    {"x = * 2\ny = 2\nz = / 3\n", 1, 5, "pine_syntax", "expected a value"},
		"a for without its to":           {"for i = 0\n    a := i\n", 1, 10, "pine_syntax", `"to"`},
		"a call of something not a name": {"x = (a)(1)\n", 1, 8, "pine_syntax", "Only a name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, errs := Parse(c.src)
			if len(errs) == 0 {
				t.Fatal("no error")
			}
			e := errs[0]
			if e.From != (Pos{c.line, c.column}) || e.Code != c.code || !strings.Contains(e.Message, c.text) || e.Fix == "" {
				t.Errorf("got %d:%d %s %q fix %q", e.From.Line, e.From.Column, e.Code, e.Message, e.Fix)
			}
		})
	}
}

func TestParse_ReportsEveryLineWithAnError(t *testing.T) {
	t.Parallel()
	_, errs := Parse("a = * 1\nb = 2\nif a\n    c = / 1\n    d = 3\ne = % 2\n")
	var lines []int32
	for _, e := range errs {
		lines = append(lines, e.From.Line)
	}
	if len(lines) != 3 || lines[0] != 1 || lines[1] != 4 || lines[2] != 6 {
		t.Errorf("errors on lines %v", lines)
	}
}

func TestParse_BoundsLongChains(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"sum":   "x = 1" + strings.Repeat(" + 1", 5000),
		"cond":  "x = " + strings.Repeat("a ? 1 : ", 5000) + "2",
		"not":   "x = " + strings.Repeat("not ", 5000) + "a",
		"minus": "x = " + strings.Repeat("- ", 5000) + "a",
		"index": "x = a" + strings.Repeat("[1]", 5000),
		"type":  strings.Repeat("array<", 5000) + "int" + strings.Repeat(">", 5000) + " x = na",
		"else":  "if a\n    b\n" + strings.Repeat("else if a\n    b\n", 5000),
	} {
		_, errs := Parse(src)
		if len(errs) == 0 {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"x = a ? b : c", "if a\n    b := 1\nelse\n    c", "f(x) =>\n  x", "type T\n    int a", "[a,b] = f(", "for i = 0 to 1\n\ta<b<c>>(", "\"\\", "x=\"a\n b\"", "switch\n    => 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, errs := Parse(src)
		lines := int32(strings.Count(strings.ReplaceAll(src, "\r", "\n"), "\n") + 1)
		for _, e := range errs {
			if e.From.Line < 1 || e.From.Line > lines || e.From.Column < 1 {
				t.Fatalf("error out of range: %+v", e)
			}
		}
		if len(errs) > 0 {
			return
		}
		once := printed(file)
		again, errs := Parse(once)
		if len(errs) > 0 {
			if errs[0].Code == "pine_size" {
				return
			}
			t.Fatalf("printed source has errors: %+v\n%s", errs[0], once)
		}
		if twice := printed(again); once != twice {
			t.Fatalf("printing is not stable:\n%s\n---\n%s", once, twice)
		}
	})
}
