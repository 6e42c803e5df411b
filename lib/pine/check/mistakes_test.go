package check

import (
	"strings"
	"testing"
)

// mistakes are scripts as models write them: habits of other languages, names of older versions and
// names that do not exist. An indicator and version 6 stand before each, or a strategy where it orders.
func mistakes() map[string]string {
	return map[string]string{
		"block of 2 spaces":            "if close > open\n  alert(\"a\")",
		"block of 3 spaces":            "if close > open\n   alert(\"a\")",
		"block of 2 spaces, 2 lines":   "var x = 0\nif close > open\n  x := 1\n  alert(\"a\")\nplot(x)",
		"block of 2 spaces in a loop":  "s = 0.0\nfor i = 0 to 3\n  s += close[i]\nplot(s)",
		"block of 2 spaces after =>":   "f(x) =>\n  y = x + 1\n  y * 2\nplot(f(1))",
		"comment of C on a line":       "/* price */\nplot(close)",
		"comment of C over lines":      "/*\n * price\n */\nplot(close)",
		"comment of C at the end":      "plot(close) /* price */",
		"comment of Python":            "# price\nplot(close)",
		"if with a colon":              "if close > open:\n    alert(\"a\")",
		"else with a colon":            "if close > open\n    alert(\"a\")\nelse:\n    alert(\"b\")",
		"elif":                         "if close > open\n    alert(\"a\")\nelif close < open\n    alert(\"b\")",
		"elif with a colon":            "if close > open:\n    alert(\"a\")\nelif close < open:\n    alert(\"b\")",
		"if in braces":                 "if close > open {\n    alert(\"a\")\n}\nplot(close)",
		"if and else in braces":        "if (close > open) {\n    alert(\"a\")\n} else {\n    alert(\"b\")\n}\nplot(close)",
		"then":                         "if close > open then\n    alert(\"a\")",
		"end if":                       "if close > open\n    alert(\"a\")\nend\nplot(close)",
		"return":                       "f(x) =>\n    y = x + 1\n    return y\nplot(f(1))",
		"def":                          "def f(x):\n    x + 1\nplot(f(1))",
		"function with braces":         "function f(x) {\n    x + 1\n}\nplot(f(1))",
		"function with return":         "function f(x) {\n    return x + 1\n}\nplot(f(1))",
		"arrow of JavaScript":          "const f = (x) => x + 1\nplot(f(1))",
		"lambda":                       "f = lambda x: x + 1\nplot(f(1))",
		"i++":                          "var i = 0\ni++\nplot(i)",
		"i--":                          "var i = 0\ni--\nplot(i)",
		"++i":                          "var i = 0\n++i\nplot(i)",
		"for of C":                     "s = 0.0\nfor (int i = 0; i < 5; i++)\n    s += close[i]\nplot(s)",
		"for of C in braces":           "s = 0.0\nfor (let i = 0; i < 5; i++) {\n    s += close[i]\n}\nplot(s)",
		"for of Python":                "s = 0.0\nfor i in range(5):\n    s += close[i]\nplot(s)",
		"for of Python from":           "s = 0.0\nfor i in range(1, 5):\n    s += close[i]\nplot(s)",
		"for of JavaScript":            "a = array.from(1, 2)\ns = 0\nfor (const x of a) {\n    s += x\n}\nplot(s)",
		"while with a colon":           "var i = 0\nwhile i < 3:\n    i += 1\nplot(i)",
		"&&":                           "plot(close > open && high > low ? 1 : 0)",
		"||":                           "plot(close > open || high > low ? 1 : 0)",
		"!":                            "up = close > open\nplot(!up ? 1 : 0)",
		"===":                          "plot(close === open ? 1 : 0)",
		"!==":                          "plot(close !== open ? 1 : 0)",
		"<>":                           "plot(close <> open ? 1 : 0)",
		"AND":                          "plot(close > open AND high > low ? 1 : 0)",
		"semicolon":                    "x = close;\nplot(x);",
		"let":                          "let x = close\nplot(x)",
		"let with a semicolon":         "let x = close;\nplot(x)",
		"double":                       "double x = close\nplot(x)",
		"boolean":                      "boolean up = close > open\nplot(up ? 1 : 0)",
		"type after the name":          "x: float = close\nplot(x)",
		"None":                         "float x = None\nplot(x)",
		"null":                         "float x = null\nplot(x)",
		"True":                         "x = True\nplot(x ? 1 : 0)",
		"**":                           "plot(close ** 2)",
		"print":                        "print(close)\nplot(close)",
		"console.log":                  "console.log(close)\nplot(close)",
		"= in a condition":             "x = 1\nif x = 1\n    alert(\"a\")",
		"text with a value inside":     "log.info(f\"price {close}\")\nplot(close)",
		"case of C":                    "x = switch\n    case close > open: 1\n    default: 0\nplot(x)",
		"ta.adx":                       "x = ta.adx(14)\nplot(x)",
		"ta.adx with two lengths":      "x = ta.adx(14, 14)\nplot(x)",
		"math.clamp":                   "plot(math.clamp(close, 0, 100))",
		"math.mod":                     "plot(math.mod(bar_index, 2))",
		"math.ln":                      "plot(math.ln(close))",
		"math.power":                   "plot(math.power(close, 2))",
		"ta.abs":                       "plot(ta.abs(close - open))",
		"ta.sum":                       "plot(ta.sum(close, 3))",
		"math.sma":                     "plot(math.sma(close, 3))",
		"ta.crossabove":                "plot(ta.crossabove(close, open) ? 1 : 0)",
		"ta.stddev":                    "plot(ta.stddev(close, 20))",
		"ta.bbands":                    "[m, u, l] = ta.bbands(close, 20, 2)\nplot(m)",
		"ta.smma":                      "plot(ta.smma(close, 7))",
		"ta.stochrsi":                  "plot(ta.stochrsi(close, 14))",
		"ta.willr":                     "plot(ta.willr(14))",
		"ta.psar":                      "plot(ta.psar(0.02, 0.02, 0.2))",
		"strategy.buy":                 "if close > open\n    strategy.buy()",
		"strategy.sell":                "if close < open\n    strategy.sell(1)",
		"strategy.position":            "plot(strategy.position)\nstrategy.close_all()",
		"color.cyan":                   "plot(close, color = color.cyan)",
		"color.grey":                   "plot(close, color = color.grey)",
		"color.darkgreen":              "plot(close, color = color.darkgreen)",
		"color.rgba":                   "plot(close, color = color.rgba(1, 2, 3, 50))",
		"str.concat":                   "log.info(str.concat(\"a\", \"b\"))\nplot(close)",
		"str.len":                      "plot(str.len(\"abc\"))",
		"input.integer":                "n = input.integer(14, \"Length\")\nplot(ta.sma(close, n))",
		"input.boolean":                "b = input.boolean(true, \"On\")\nplot(b ? 1 : 0)",
		"input.number":                 "x = input.number(1.5, \"Factor\")\nplot(x)",
		"input.resolution":             "t = input.resolution(\"D\", \"T\")\nplot(request.security(\"\", t, close))",
		"study":                        "x = sma(close, 3)\nplot(x)",
		"security":                     "plot(security(syminfo.tickerid, \"D\", close))",
		"crossover of version 4":       "plot(crossover(close, open) ? 1 : 0)",
		"colour of version 3":          "plot(close, color = red)",
		"tostring of version 4":        "log.info(tostring(close))\nplot(close)",
		"abs without a namespace":      "plot(abs(close - open))",
		"barstate.isclosed":            "plot(barstate.isclosed ? 1 : 0)",
		"bar.index":                    "plot(bar.index)",
		"timeframe.current":            "log.info(timeframe.current)\nplot(close)",
		"syminfo.symbol":               "log.info(syminfo.symbol)\nplot(close)",
		"array.length":                 "a = array.from(1, 2)\nplot(array.length(a))",
		"array.append":                 "a = array.new<float>()\narray.append(a, close)\nplot(close)",
		"a.append":                     "a = array.new<float>()\na.append(close)\nplot(close)",
		"a.length":                     "a = array.from(1, 2)\nplot(a.length)",
		"len":                          "a = array.from(1, 2)\nplot(len(a))",
		"close(1)":                     "plot(close(1))",
		"negative offset":              "plot(close[-1])",
		"request.data":                 "plot(request.data(syminfo.tickerid, \"D\", close))",
		"alert_condition":              "alert_condition(close > open, \"a\", \"b\")\nplot(close)",
		"plotShape":                    "plotShape(close > open)",
		"shape.triangle_up":            "plotshape(close > open, style = shape.triangle_up)",
		"location.below":               "plotshape(close > open, location = location.below)",
		"plot.line":                    "plot(close, style = plot.line)",
		"label.up":                     "label.new(bar_index, high, \"a\", style = label.up)\nplot(close)",
		"a name with a slip":           "plot(ta.highset(close, 3))",
		"int that is a fraction":       "int x = 1.5\nplot(x)",
		"bool that is na":              "bool b = na\nplot(b ? 1 : 0)",
		"declared again":               "x = 1\nx = 2\nplot(x)",
		"number joined to a text":      "log.info(\"p\" + close)\nplot(close)",
		"number as a condition":        "plot(bar_index ? 1 : 0)",
		"plot in a block":              "if close > open\n    plot(close)\nplot(open)",
		"changing text of a condition": "alertcondition(close > open, \"a\", \"p \" + str.tostring(close))\nplot(close)",
		"changing length of ema":       "n = bar_index > 5 ? 3 : 4\nplot(ta.ema(close, n))",
		"float as a length":            "n = 14 * 1.5\nplot(ta.sma(close, n))",
		"transp of version 5":          "plot(close, transp = 50)",
		"na without a type":            "x = na\nplot(x)",
	}
}

// TestCheck_RepairsMistakes writes each line that the checker would write instead, until the script compiles. What changes two
// lines, such as a plot in a block, is answered in words only.
func TestCheck_RepairsMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		all     map[string]string
		skipped int // that are answered in words only
	}{{mistakes(), 1}, {laterMistakes(), 4}} {
		repaired, least := 0, len(c.all)-c.skipped
		for name, source := range c.all {
			head := "//@version=6\nindicator(\"T\")\n"
			if strings.Contains(source, "strategy.") {
				head = "//@version=6\nstrategy(\"T\")\n"
			}
			if err := repair(head + source); err != "" {
				t.Logf("%s: %s", name, err)
				continue
			}
			repaired++
		}
		if repaired < least {
			t.Errorf("%d of %d are repaired, want %d", repaired, len(c.all), least)
		}
	}
}

// repair applies what the checker proposes, and returns what is left, empty if nothing is.
func repair(source string) string {
	for range 12 {
		p, found := Check(source, Options{})
		if p != nil {
			return ""
		}
		lines := strings.Split(source, "\n")
		done := false
		for _, d := range found {
			if d.Severity == Error && d.Instead != "" && d.Line <= len(lines) {
				lines[d.Line-1], done = d.Instead, true
				break
			}
		}
		if !done {
			return source + "\n-> " + found[0].Message + " " + found[0].Fix
		}
		source = strings.Join(lines, "\n")
	}
	return "not repaired in 12 steps:\n" + source
}
