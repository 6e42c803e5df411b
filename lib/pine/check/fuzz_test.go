package check

import (
	"strings"
	"testing"
)

// seeds are scripts with most forms of the language.
func seeds() []string {
	return []string{
		head + "len = input.int(14)\nplot(ta.ema(close, len))\n",
		head + "type P\n    float x = 1\n    array<int> a\nmethod f(P p, int k = 2) =>\n    p.x += k\n    p.x\np = P.new(3)\nplot(p.f())\n",
		head + "var a = array.new<float>()\na.push(close)\nfor [i, e] in a\n    if e > 1\n        break\n    else\n        continue\nplot(a.size())\n",
		head + "f(x, y) =>\n    var n = 0\n    n += 1\n    [x + n, y[n]]\n[a, b] = f(close, open)\nplot(a > b ? a : na)\n",
		head + "enum E\n    a = \"A\"\n    b\ne = input.enum(E.a)\nx = switch e\n    E.a => 1\n    E.b => 2\nplot(x)\n",
		head + "g(t, e) => request.security(syminfo.tickerid, t, e)\nplot(g(\"D\", ta.sma(close, 3)[1]))\n",
		"//@version=5\nstrategy(\"s\")\nif ta.crossover(close, ta.sma(close, 10))\n    strategy.entry(\"L\", strategy.long, when = true)\nm = map.new<string, float>()\nm.put(\"a\", 1)\nplot(m.get(\"a\"))\n",
		head + "label l = na\nif barstate.islast\n    l := label.new(bar_index, high, str.format(\"{0}\", close), style = label.style_label_down)\nwhile false\n    alert(\"x\")\n",
		"//@version=6\nlibrary(\"L\")\nexport f(float x, simple int n = 3) => ta.ema(x, n)\n",
	}
}

// FuzzCheck holds the checker to its promises for any source: no panic, places inside the
// source, and either a program or an error.
func FuzzCheck(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
		for i := range strings.Count(s, " ") {
			words := strings.SplitAfter(s, " ")
			words[i], words[i+1] = words[i+1], words[i]
			f.Add(strings.Join(words, ""))
			f.Add(strings.Join(append(append([]string(nil), words[:i]...), words[i+1:]...), ""))
		}
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, found := Check(source, Options{})
		lines := strings.Count(strings.ReplaceAll(source, "\r", "\n"), "\n") + 1
		errors := 0
		for _, d := range found {
			if d.Severity == Error {
				errors++
			}
			if d.Line < 1 || d.Line > lines || d.Column < 1 || d.EndColumn <= d.Column || d.Message == "" || d.Code == "" {
				if !strings.HasPrefix(d.Message, "In library") {
					t.Errorf("finding out of range: %+v", d)
				}
			}
		}
		if (p == nil) != (errors > 0) {
			t.Errorf("program %v with %d errors", p != nil, errors)
		}
		if p == nil {
			return
		}
		WalkBlock(p.Body, func(e Expr) bool {
			if e.Type() == nil || e.Type().Kind == NA {
				t.Errorf("%T at %v has no type", e, e.Where())
			}
			return true
		}, nil)
	})
}

// BenchmarkCheck checks about 100 KB of source.
func BenchmarkCheck(b *testing.B) {
	var s strings.Builder
	s.WriteString(head)
	for i := 0; s.Len() < 100<<10; i++ {
		n := strings.Repeat("x", i%7+1) + strings.Repeat("y", i/7)
		s.WriteString("f" + n + "(a, n) =>\n    s = ta.sma(a, n)\n    s > a ? s - a[1] : math.max(s, nz(a[2], 1))\nv" + n + " = f" + n + "(close, 14) + (high - low) / 2\n")
	}
	source := s.String()
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if p, found := Check(source, Options{}); p == nil {
			b.Fatal(found[0])
		}
	}
}
