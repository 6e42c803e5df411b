package eval_test

import (
	"errors"
	"strings"
	"testing"

	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

// trap is a small script whose right result is easily missed. The number is that of the
// table in the design; the results are from the documentation or measured on TradingView.
type trap struct {
	number int
	source string // after the version and the declaration
	want   string // of the first plot, one for each bar; _ for any
	old    bool   // version 5
}

func (c trap) script() string {
	version := "//@version=6\n"
	if c.old {
		version = "//@version=5\n"
	}
	return version + "indicator(\"t\")\n" + c.source + "\n"
}

func traps() []trap {
	fill := "float x = switch bar_index\n    5 => na\n    => bar_index * 1.0\n"
	return []trap{
		{1, "f(x) => x[1]\nfloat y = na\nif bar_index % 2 == 0\n    y := f(bar_index)\nplot(y)", "na na 0 na 2 na 4", false},
		{2, "plot(bar_index % 2 == 0 ? ta.cum(1) : 0)", "1 0 2 0 3 0", false},
		{3, "float y = na\nif bar_index % 2 == 0\n    y := ta.sma(bar_index, 3)\nplot(y)", "na na na na 2 na 4", false},
		{4, "f() =>\n    var c = 0\n    c += 1\n    c > 3\nplot(bar_index % 2 == 0 and f() ? 1 : 0)", "0 0 0 0 1 0 1 0 1", true},
		{4, "f() =>\n    var c = 0\n    c += 1\n    c > 3\nplot(bar_index % 2 == 0 and f() ? 1 : 0)", "0 0 0 0 0 0 1 0 1", false},
		{5, "n = 3\nt = 0\nfor i = 0 to n\n    t += 1\n    if i < 5\n        n += 1\nplot(t)", "4", true},
		{5, "n = 3\nt = 0\nfor i = 0 to n\n    t += 1\n    if i < 5\n        n += 1\nplot(t)", "9", false},
		{6, "t = 0\nfor i = 3 to 0\n    t += 1\nplot(t)", "4", false},
		{7, "a = array.new<float>(0)\nt = 0\nfor i = 0 to array.size(a) - 1\n    t += 1\nplot(t)", "2", false},
		{8, "t = 0\nfor i = 0 to 10 by 3\n    t := t * 10 + i\nplot(t)", "369", false},
		{9, "t = 0\nfor i = 1.0 to 0.1 by 0.3\n    t += 1\nplot(t)", "4", false},
		{10, "x = for i = 0 to 3\n    i * 2\nplot(x)", "6", false},
		{11, "a = array.from(1, 2)\nt = 0\nfor [i, e] in a\n    t += e\n    if i < 2\n        a.push(10)\nplot(t)", "23", false},
		{12, "cnt() =>\n    var c = 0\n    c += 1\n    c\nx = cnt()\ny = cnt()\nz = 0\nfor i = 1 to 3\n    z := cnt()\nplot(x * 10000 + y * 100 + z)", "10103 20206 30309", false},
		{13, "x = 1\nif true\n    x = 2\nplot(x)", "1", false},
		{14, "plot(7 / 2)", "3", true},
		{14, "plot(7 / 2)", "3.5", false},
		{14, "plot(bar_index / 2)", "0 0.5 1", true},
		{15, "plot(-7 % 3)", "-1", false},
		{15, "plot(math.round(-2.5))", "-3", false},
		{15, "plot(int(-1.7))", "-1", false},
		{16, "plot(0.1 + 0.2 == 0.3 ? 1 : 0)", "1", false},
		{16, "a = close - close + 0.1\nplot(a + 0.2 > 0.3 ? 1 : 0)", "0", false},
		{17, "float x = na\nplot(x == x ? 1 : 0)", "0", false},
		{17, "float x = na\nplot(x != x ? 1 : 0)", "0", false},
		{17, "float x = na\nplot(x > 1 ? 1 : x <= 1 ? 2 : 3)", "3", false},
		{18, "bool b = na\nplot((na(b) ? 100 : 0) + (b ? 10 : 0) + (b == false ? 1 : 0))", "100", true},
		{19, fill + "plot(ta.sma(x, 3))", "na na 1 2 3 3 4.333333333333333", false},
		{19, fill + "plot(math.sum(x, 3))", "na na 3 6 9 9 13", false},
		{19, fill + "plot(ta.ema(x, 3))", "na na 1 2 3 na 4.5", false},
		{19, fill + "plot(ta.rma(x, 3))", "na na 1 1.6666666666666667 2.4444444444444446 na 3.6296296296296298", false},
		{19, fill + "plot(ta.wma(x, 3))", "na na 1.3333333333333333 2.3333333333333335 3.3333333333333335 na 5", false},
		{19, fill + "plot(ta.highest(x, 3))", "na na 2 3 4 na 6", false},
		{20, "plot(ta.rsi(5, 3))", "na na na 100 100", false},
		{21, "x = bar_index == 0 ? 1.0 : bar_index == 3 ? 3.0 : 2.0\nplot(ta.crossover(x, 2) ? 1 : 0)", "0 0 0 1", false},
		// A plateau's last bar is the pivot: with the first one, trades of the lists that
		// TradingView exported differ (1,937 of 1,937 equal, else 1,901).
		{22, "x = bar_index == 0 ? 1.0 : bar_index == 3 ? 2.0 : 3.0\nplot(ta.pivothigh(x, 1, 1))", "na na na 3", false},
		{22, "x = bar_index == 0 ? 3.0 : bar_index == 3 ? 2.0 : 1.0\nplot(ta.pivotlow(x, 1, 1))", "na na na 1", false},
		{23, "var a = array.new_float()\na.push(close)\nb = a[1]\nplot(na(b) ? -1 : b.size())", "-1 2 3", false},
		{24, "type p\n    float x\na = p.new(5)\nb = a\nb.x := 0\nplot(a.x)", "0", false},
		{24, "type p\n    float x\na = p.new(5)\nb = a.copy()\nb.x := 0\nplot(a.x)", "5", false},
		{25, "plot(close / (close - close))", "na", false},
		{25, "plot(math.sqrt(-1))", "na", false},
		{25, "plot(math.log(0))", "na", false},
		{26, "plot(request.security(syminfo.tickerid, \"240\", close))", "na na na 103 103 103 103 107", false},
		{26, "plot(request.security(syminfo.tickerid, \"240\", close, gaps = barmerge.gaps_on))", "na na na 103 na na na 107", false},
		{27, "plot(request.security(syminfo.tickerid, \"240\", close[1], lookahead = barmerge.lookahead_on))", "na na na na 103 103 103 103 107", false},
		{28, "plot(request.security(syminfo.tickerid, \"240\", close, lookahead = barmerge.lookahead_on))", "100 101 102 103 104", false},
		{29, "float y = na\nif bar_index == 3\n    y := ta.obv\nplot(y)", "na na na 33", false},
		{31, "plot(str.tostring(close - close + 0.1 + 0.2) == \"0.3\" and str.tostring(1.0) == \"1\" and str.tostring(float(na)) == \"NaN\" ? 1 : 0)", "1", false},
	}
}

func TestTraps_HaveTheirRightResults(t *testing.T) {
	t.Parallel()
	for _, c := range traps() {
		want := wanted(t, c.want)
		got := column(t, c.script(), ramp(len(want)))
		for i := range want {
			if !agree(got[i], want[i]) {
				t.Errorf("trap %d: got %v, want %v\n%s", c.number, got, want, c.source)
				break
			}
		}
	}
}

// TestTraps_AreRefused has the scripts of trap 32 that other engines run.
func TestTraps_AreRefused(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"if close > open\n    plot(close)",
		"f() => plot(close)\nif close > open\n    f()",
		"if close > open\n    alertcondition(true, \"a\")",
		"f(x) => x > 0 ? f(x - 1) : 0\nplot(f(3))",
		"var g = 0\nf() =>\n    g := 1\n    g\nplot(f())",
	} {
		if p, _ := check.Check("//@version=6\nindicator(\"t\")\n"+source+"\n", check.Options{}); p != nil {
			t.Errorf("accepted:\n%s", source)
		}
	}
}

// TestTraps_EndlessLoopsFail is trap 33.
func TestTraps_EndlessLoopsFail(t *testing.T) {
	t.Parallel()
	m := compile(t, "//@version=6\nindicator(\"t\")\nx = 0\nwhile true\n    x += 1\nplot(x)\n", hourly())
	err := m.Keep(ramp(1)[0])
	var e *eval.Error
	if !errors.As(err, &e) || e.Code != eval.CodeSteps || e.Line < 4 || e.Bar != 0 || !strings.Contains(e.Error(), "2000000") {
		t.Errorf("got %v", err)
	}
}
