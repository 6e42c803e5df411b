package convert

import (
	"strings"
	"testing"

	"candela/lib/pine/syntax"
)

// TestConvert has a line of an older version and the same line in version 5.
func TestConvert(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version string
		was, is string
	}{
		"declaration of an indicator":          {"4", `study("a", "b", true)`, `indicator("a", "b", true)`},
		"resolution of an indicator":           {"4", `study("a", resolution="D")`, `indicator("a", timeframe="D")`},
		"arguments of study by place":          {"4", `study("a", "b", true, format.price, 2, scale.left, 500)`, `indicator("a", "b", true, format.price, 2, scale.left, max_bars_back=500)`},
		"functions of analysis":                {"4", `x = sma(close, 9) + highest(10)`, `x = ta.sma(close, 9) + ta.highest(10)`},
		"functions of mathematics":             {"4", `x = max(abs(close), sum(volume, 3))`, `x = math.max(math.abs(close), math.sum(volume, 3))`},
		"functions of texts":                   {"4", `x = tostring(close, "#.#")`, `x = str.tostring(close, "#.#")`},
		"variables of the language":            {"4", `x = vwap + tr`, `x = ta.vwap + ta.tr`},
		"a variable named as a function":       {"4", "rsi = rsi(close, 14)\nplot(rsi)", "rsi = ta.rsi(close, 14)\nplot(rsi)"},
		"a function of the script's own":       {"4", "sma(a, b) => a + b\nx = sma(close, 1)", "sma(a, b) => a + b\nx = sma(close, 1)"},
		"iff":                                  {"4", `x = iff(close > open, 1, -1)`, `x = ((close > open) ? (1) : (-1))`},
		"iff in iff":                           {"4", `x = iff(a, 1, iff(b, 2, 3))`, `x = ((a) ? (1) : (((b) ? (2) : (3))))`},
		"offset":                               {"4", `x = offset(close, 3)`, `x = (close)[3]`},
		"rsi of two series":                    {"4", `x = rsi(rma(a, 3), rma(b, 3))`, `x = (100 - 100 / (1 + (ta.rma(a, 3)) / (ta.rma(b, 3))))`},
		"security":                             {"4", `x = security(syminfo.tickerid, "D", close, false, true)`, `x = request.security(syminfo.tickerid, "D", close, barmerge.gaps_off, barmerge.lookahead_on)`},
		"names of security":                    {"4", `x = security(symbol=s, resolution="D", expression=close, lookahead=true)`, `x = request.security(symbol=s, timeframe="D", expression=close, lookahead=barmerge.lookahead_on)`},
		"security of version 2 looks ahead":    {"2", `x = security(tickerid, "D", close)`, `x = request.security(syminfo.tickerid, "D", close, lookahead = barmerge.lookahead_on)`},
		"input by its type":                    {"4", `x = input(14, "Length", input.integer, 1, 50)`, `x = input.int(14, "Length", minval=1, maxval=50)`},
		"input by its default":                 {"4", `x = input(title="On", defval=true)`, `x = input.bool(title="On", defval=true)`},
		"input of a price":                     {"4", `x = input(close, title="Source", type=input.source)`, `x = input.source(close, title="Source")`},
		"input of version 3":                   {"3", `x = input(title="T", type=resolution, defval="D")`, `x = input.timeframe(title="T", defval="D")`},
		"input with a fraction as step":        {"4", `x = input(2, step=0.1)`, `x = input.float(2, step=0.1)`},
		"a bool input with a number":           {"4", `x = input(1, type=bool)`, `x = input.bool(true)`},
		"input of a text":                      {"4", `x = input("A", options=["A", "B"])`, `x = input.string("A", options=["A", "B"])`},
		"colours and styles of version 3":      {"3", `plot(close, color=red, style=circles)`, `plot(close, color=color.red, style=plot.style_circles)`},
		"style as a number":                    {"3", `plot(close, style=3)`, `plot(close, style=plot.style_cross)`},
		"style of a level":                     {"3", `hline(5, linestyle=dotted)`, `hline(5, linestyle=hline.style_dotted)`},
		"transparency joins the colour":        {"4", `plot(close, color=color.red, transp=80)`, `plot(close, color=color.new(color.red, 80))`},
		"transparency of a background":         {"4", `bgcolor(color.red)`, `bgcolor(color.new(color.red, 90))`},
		"transparency by its place":            {"4", `plotshape(a, "t", shape.cross, location.top, color.red, 50, -1, "x")`, `plotshape(a, "t", shape.cross, location.top, color.new(color.red, 50), offset=-1, text="x")`},
		"the function color":                   {"3", `plot(close, color=color(red, 50))`, `plot(close, color=color.new(color.red, 50))`},
		"a variable that reads itself":         {"3", `x = close > x[1] ? close : nz(x[1])`, `float x = na, x := close > x[1] ? close : nz(x[1])`},
		"a bool that reads itself":             {"3", `x = close > open ? true : x[1]`, `bool x = na, x := close > open ? true : x[1]`},
		"na without a type":                    {"3", "x = na\nx := true", "bool x = na\nx := true"},
		"an int that becomes a float":          {"4", "x = 0\nx := close * 0.5", "float x = 0\nx := close * 0.5"},
		"an int that stays one":                {"4", "k = 0\nk := k + 1", "k = 0\nk := k + 1"},
		"a value of a call that gives none":    {"3", `p = plotshape(close > open)`, `plotshape(close > open)`},
		"a plot in the style of a level":       {"3", `plot(close, style=solid)`, `plot(close, style=plot.style_line)`},
		"side of an order as a bool":           {"4", `strategy.entry("L", true, when=up)`, `strategy.entry("L", strategy.long, when=up)`},
		"side of an order by its older name":   {"4", `strategy.entry("L", long=close > open)`, `strategy.entry("L", direction=(close > open) ? strategy.long : strategy.short)`},
		"when by its place":                    {"4", `strategy.entry("L", strategy.long, 1, a, b, "o", strategy.oca.none, "c", up)`, `strategy.entry("L", strategy.long, 1, a, b, "o", strategy.oca.none, "c", when=up)`},
		"days":                                 {"3", `x = dayofweek == monday`, `x = dayofweek == dayofweek.monday`},
		"style of a label":                     {"4", `label.new(n, close, style=label.style_labeldown)`, `label.new(bar_index, close, style=label.style_label_down)`},
		"the symbol and the chart's timeframe": {"3", `x = security(tickerid, period, close)`, `x = request.security(syminfo.tickerid, timeframe.period, close)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.TrimPrefix(of("//@version="+c.version+"\n"+c.was).Source, "//@version=5\n"); got != c.is {
				t.Errorf("got  %s\nwant %s", got, c.is)
			}
		})
	}
}

func of(source string) Result {
	file, _ := syntax.Parse(source)
	return Convert(source, file)
}

func TestConvert_KeepsEveryLineInItsPlace(t *testing.T) {
	t.Parallel()
	source := "//@version=4\nstudy(\"é\",\n  resolution=\"\")\nx = iff(close > open,\n  1,\n  2) // security\nplot(x,\n  color=red,\n  transp=\n  50)\nplot(sma(x, 3))"
	got := of(source)
	if a, b := strings.Count(source, "\n"), strings.Count(got.Source, "\n"); a != b {
		t.Errorf("%d lines became %d:\n%s", a, b, got.Source)
	}
	lines := strings.Split(got.Source, "\n")
	if lines[10] != "plot(ta.sma(x, 3))" || !strings.HasSuffix(lines[5], "// security") {
		t.Errorf("got %q", lines)
	}
}

func TestConvert_ListsWhatItChanged(t *testing.T) {
	t.Parallel()
	got := of("//@version=4\nstudy(\"t\")\nplot(sma(close, 3))")
	want := []Change{{1, "//@version=4", "//@version=5"}, {2, "study", "indicator"}, {3, "sma", "ta.sma"}}
	if len(got.Changes) != len(want) || got.From != 4 || got.More != 0 {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got.Changes[i] != want[i] {
			t.Errorf("change %d is %+v, want %+v", i, got.Changes[i], want[i])
		}
	}
}

func TestConvert_BoundsTheList(t *testing.T) {
	t.Parallel()
	got := of("//@version=4\nstudy(\"t\")\n" + strings.Repeat("plot(sma(close, 3))\n", 300))
	if len(got.Changes) != MaxChanges || got.More != 302-MaxChanges {
		t.Errorf("%d changes listed, %d more", len(got.Changes), got.More)
	}
}

func TestConvert_ScriptWithoutVersionIsOfVersionOne(t *testing.T) {
	t.Parallel()
	got := of("study(\"t\")\nplot(close)")
	if got.From != 1 || !strings.HasPrefix(got.Source, "indicator(\"t\")\n") || !strings.HasSuffix(got.Source, "\n//@version=5") {
		t.Errorf("got %+v", got)
	}
}

func FuzzConvert(f *testing.F) {
	f.Add("//@version=4\nstudy(\"t\")\nx = iff(close > open, 1, security(tickerid, \"D\", x[1]))\nplot(x, transp=5)")
	f.Add("x = na\nplotshape(a, \"é\", 1, 2, red, 50, -1)\nbgcolor(b ? red : na)")
	f.Fuzz(func(t *testing.T, source string) {
		file, _ := syntax.Parse(source)
		got := Convert(source, file)
		if strings.Count(got.Source, "\n") < strings.Count(strings.TrimPrefix(source, "\ufeff"), "\n") {
			t.Errorf("lines were lost:\n%s\n%s", source, got.Source)
		}
	})
}

// TestConvert_LongLine has many changes on one line, which must not cost their square.
func TestConvert_LongLine(t *testing.T) {
	t.Parallel()
	source := "//@version=4\nx = " + strings.Repeat("sma(close, 3) < 1 and ", 900) + "true" +
		strings.Repeat("\ny = f(\"é\", "+strings.Repeat("sma(close, 3), ", 2500)+"1)", 6)
	if got := of(source); got.More < 10_000 {
		t.Errorf("%d changes", got.More)
	}
}
