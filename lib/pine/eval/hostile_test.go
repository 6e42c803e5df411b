package eval_test

import (
	"errors"
	"strings"
	"testing"

	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

// hostile are scripts that want more than they may have, with the code that ends them.
func hostile() map[string][2]string {
	return map[string][2]string{
		"endless loop":       {"while true\n    x = 1", eval.CodeSteps},
		"long loop":          {"s = 0.0\nfor i = 0 to 1e9\n    s += i\nplot(s)", eval.CodeSteps},
		"nested loops":       {"s = 0\nfor i = 0 to 3000\n    for j = 0 to 3000\n        s += 1\nplot(s)", eval.CodeSteps},
		"loop in a function": {"f() =>\n    s = 0\n    for i = 0 to 1000000000\n        s += i\n    s\nplot(f())", eval.CodeSteps},
		"loop over pushes":   {"a = array.from(1)\nfor e in a\n    a.push(e)\nplot(a.size())", eval.CodeMemory},
		"array bomb":         {"a = array.new<float>(100001, 0)\nplot(a.size())", eval.CodeMemory},
		"array doubling":     {"var a = array.from(1.0)\nfor i = 0 to 30\n    a.concat(a.copy())\nplot(a.size())", eval.CodeMemory},
		"many arrays":        {"var keep = array.new<line>()\nvar b = 0\ntype t\n    array<float> a\nvar all = array.new<t>()\nfor i = 0 to 99\n    all.push(t.new(array.new<float>(9000, 1)))\nplot(all.size())", eval.CodeMemory},
		"string doubling":    {"var s = \"ab\"\nfor i = 0 to 40\n    s := s + s\nplot(str.length(s))", eval.CodeMemory},
		"string repeat":      {"plot(str.length(str.repeat(\"x\", 1000000000)))", eval.CodeMemory},
		"replace bomb":       {"s = str.repeat(\"a\", 4000)\nplot(str.length(str.replace_all(s, \"a\", s)))", eval.CodeMemory},
		"matrix bomb":        {"m = matrix.new<float>(100000, 100000, 0)\nplot(m.rows())", eval.CodeMemory},
		"map bomb":           {"var m = map.new<int, int>()\nfor i = 0 to 90000\n    m.put(i, i)\nplot(m.size())", eval.CodeMemory},
		"objects":            {"type p\n    float x\nvar a = array.new<p>()\nfor i = 0 to 1000000\n    a.unshift(p.new(1))\n    if a.size() > 90000\n        a.clear()\nplot(1)", ""},
		"far history":        {"plot(close[bar_index + 20000])", eval.CodeHistory},
		"negative history":   {"plot(close[-1 - bar_index])", eval.CodeHistory},
		"index":              {"a = array.new<float>(3)\nplot(a.get(bar_index + 3))", eval.CodeRuntime},
		"na index":           {"a = array.new<float>(3)\nint i = na\na.set(i, 1)\nplot(1)", eval.CodeRuntime},
		"na array":           {"array<float> a = na\nplot(a.size())", eval.CodeRuntime},
		"na object":          {"type p\n    float x\np o = na\nplot(o.x)", eval.CodeRuntime},
		"length 0":           {"plot(ta.sma(close, bar_index))", eval.CodeRuntime},
		"length of an input": {"plot(ta.ema(close, 0))", eval.CodeRuntime},
		"step 0":             {"s = 0\nfor i = 0 to 3 by 0\n    s += 1\nplot(s)", eval.CodeRuntime},
		"own error":          {"if bar_index == 2\n    runtime.error(\"enough\")\nplot(1)", eval.CodeRuntime},
		"map while visited":  {"m = map.new<int, int>()\nm.put(1, 1)\nm.put(2, 2)\nfor [k, v] in m\n    m.put(k + 10, v)\nplot(m.size())", eval.CodeRuntime},
		"matrix power":       {"m = matrix.new<float>(60, 60, 0.1)\nfor i = 0 to 100\n    m := m.pow(1000)\nplot(m.get(0, 0))", eval.CodeSteps},
		"text of an array":   {"var b = str.repeat(\"x\", 40000)\nvar a = array.new<string>(100000, b)\nx = str.tostring(a)\nplot(1)", eval.CodeMemory},
		"format of an array": {"var b = str.repeat(\"x\", 40000)\nvar a = array.new<string>(100000, b)\nx = str.format(\"{0}\", a)\nplot(1)", eval.CodeMemory},
		"join":               {"var b = str.repeat(\"x\", 40000)\nvar a = array.new<string>(100000, b)\nx = a.join(b)\nplot(1)", eval.CodeMemory},
		"number format":      {"f = str.repeat(\"0\", 40000)\nfor i = 0 to 10000\n    x = str.tostring(1, f)\nplot(1)", eval.CodeSteps},
		"slow pattern":       {"t = str.repeat(\"a\", 40000)\nfor i = 0 to 1000\n    x = str.match(t, \"(a|aa)+$b\")\nplot(1)", eval.CodeSteps},
		"length of a text":   {"t = str.repeat(\"a\", 40000)\nfor i = 0 to 10000\n    x = str.length(t)\nplot(1)", eval.CodeSteps},
		"index of a text":    {"t = str.repeat(\"a\", 40000)\na = array.new<string>(1000, t)\nfor i = 0 to 100\n    x = a.indexof(t + \"b\" == \"\" ? \"\" : str.replace(t, \"a\", \"b\", 39999))\nplot(1)", eval.CodeSteps},
		"slices of slices":   {"a = array.new<int>(10, 1)\nfor i = 0 to 100\n    a := a.slice(0, 10)\nplot(a.get(0))", eval.CodeMemory},
		"sorted texts":       {"t = str.repeat(\"a\", 40000)\na = array.new<string>(1000, t)\nfor i = 0 to 100\n    a.sort()\nplot(1)", eval.CodeSteps},
		"eigenvalues":        {"m = matrix.new<float>(100, 100, 0)\nfor i = 0 to 99\n    for j = 0 to 99\n        m.set(i, j, math.sin(i * j + i))\nx = m.eigenvalues()\nplot(1)", eval.CodeSteps},
		"table":              {"var t = table.new(position.top_left, 5000, 5000)\nplot(1)", eval.CodeRuntime},
	}
}

func TestLimits_EndHostileScripts(t *testing.T) {
	t.Parallel()
	for name, c := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := "//@version=6\nindicator(\"t\")\n" + c[0] + "\n"
			p, found := check.Check(source, check.Options{})
			if p == nil {
				t.Fatal(found)
			}
			m, err := eval.New(p, hourly())
			for i := 0; err == nil && i < 5; i++ {
				err = m.Keep(ramp(5)[i])
			}
			var e *eval.Error
			switch {
			case c[1] == "" && err != nil && errors.As(err, &e) && e.Code != eval.CodeSteps && e.Code != eval.CodeMemory:
				t.Errorf("got %v", err)
			case c[1] == "":
			case !errors.As(err, &e) || e.Code != c[1]:
				t.Errorf("got %v, want %s", err, c[1])
			case e.Line < 3 || strings.Contains(e.Message, "internal"):
				t.Errorf("wrong place or text: %v", e)
			}
		})
	}
}

// TestKeep_FailsOnceAndForAll keeps a failed script from going on with half a bar.
func TestKeep_FailsOnceAndForAll(t *testing.T) {
	t.Parallel()
	m := compile(t, "//@version=6\nindicator(\"t\")\nif bar_index == 2\n    runtime.error(\"enough\")\nplot(1)\n", hourly())
	for i, b := range ramp(5) {
		err := m.Keep(b)
		if (err != nil) != (i >= 2) {
			t.Errorf("bar %d: %v", i, err)
		}
		if i == 2 && !strings.Contains(err.Error(), "enough") {
			t.Error(err)
		}
	}
}

// TestTry_FailureIsUndone lets a script go on after a try that failed.
func TestTry_FailureIsUndone(t *testing.T) {
	t.Parallel()
	m := compile(t, "//@version=6\nindicator(\"t\")\nvar n = 0\nn += 1\nif close < 0\n    runtime.error(\"enough\")\nplot(n)\n", hourly())
	for i, b := range ramp(5) {
		bad := b
		bad.C = -1
		if m.Try(bad, true, false) == nil {
			t.Error("no error")
		}
		if err := m.Keep(b); err != nil || m.Outputs()[0].Values[0] != float64(i+1) {
			t.Errorf("bar %d: %v, %v", i, m.Outputs()[0].Values[0], err)
		}
	}
}
