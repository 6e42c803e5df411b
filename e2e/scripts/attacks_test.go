package scripts

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"candela/lib/pine/check"
)

// attack is a script that takes as much as it can.
type attack struct {
	name   string
	source string // without the first two lines
	form   string // of the chart; summary if empty
	copies int    // of the script in one chart; 1 if 0
	tool   string // other than generate_chart, with its arguments; %s is the source as JSON
	args   string
	short  bool // it is in the short form
	large  bool // it is refused before it runs
}

const (
	head     = "//@version=6\nindicator(\"t\", overlay=true, max_labels_count=500, max_lines_count=500, max_boxes_count=500, max_polylines_count=100)\n"
	strategy = "//@version=6\nstrategy(\"t\", pyramiding=1000)\n"
	long     = "var b = str.repeat(\"x\", 40000)\n"
	texts    = long + "var a = array.new<string>(100000, b)\n"
	numbers  = "var a = array.new<float>(100000, 1)\n"
)

// loop repeats a line on every bar.
func loop(times int, line string) string {
	return fmt.Sprintf("for i = 0 to %d\n    %s\n", times, line)
}

// times is the length of a loop.
var times = regexp.MustCompile(`for i = 0 to (\d+)`)

// by returns the attack with loops that are shorter by a factor.
func (a attack) by(factor int) attack {
	a.source = times.ReplaceAllStringFunc(a.source, func(found string) string {
		n, _ := strconv.Atoi(times.FindStringSubmatch(found)[1])
		return fmt.Sprintf("for i = 0 to %d", max(1, n/factor))
	})
	if factor > 1 {
		a.name += fmt.Sprintf(", 1/%d", factor)
	}
	return a
}

// last does something on the last bar.
func last(lines string) string {
	return "if barstate.islast\n    " + strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", "\n    ") + "\n"
}

// whole returns the script.
func (a *attack) whole() string {
	if strings.Contains(a.source, "strategy.") {
		return strategy + a.source + "plot(close)\n"
	}
	return head + a.source + "plot(close)\n"
}

// TestAttacks_Run holds that the attacks are scripts that run: one that is refused before attacks nothing. Those that are too
// large are to be refused.
func TestAttacks_Run(t *testing.T) {
	t.Parallel()
	for _, a := range attacks() {
		p, found := check.Check(a.whole(), check.Options{})
		if (p == nil) != a.large {
			t.Errorf("%s: refused %t, want %t: %.300s", a.name, p == nil, a.large, fmt.Sprint(found))
		}
	}
}

// body returns the call.
func (a *attack) body() string {
	quoted, err := json.Marshal(a.whole())
	if err != nil {
		panic(err)
	}
	if a.tool != "" {
		return call(a.tool, strings.ReplaceAll(a.args, "%s", string(quoted)))
	}
	form := a.form
	if form == "" {
		form = "summary"
	}
	one := `{"name":"pine","source":` + string(quoted) + `}`
	return call("generate_chart", `{"symbol":"BTCUSDT","interval":"1h","bars":500,"format":"`+form+`","indicators":[`+strings.Repeat(one+",", max(a.copies, 1)-1)+one+`]}`)
}

func call(tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
}

// many writes a line so many times, with its number for %d.
func many(n int, line string) string {
	var out strings.Builder
	for i := range n {
		out.WriteString(strings.ReplaceAll(line, "%d", strconv.Itoa(i)) + "\n")
	}
	return out.String()
}

const (
	backtest = `{"symbol":"BTCUSDT","interval":"1h","bars":5000,"wait_seconds":55,"script":%s}`
	sweep    = `{"symbol":"BTCUSDT","interval":"1h","bars":2000,"wait_seconds":55,"sweep":{"n":[1,2,3,4,5,6,7,8]},"script":%s}`
)

// attacks has one of each family of built-in functions, and of each way to run a script.
func attacks() []attack {
	return []attack{
		// Texts.
		{name: "text of an array of texts", source: texts + last("x = str.tostring(a)"), short: true},
		{name: "format of an array of texts", source: texts + last("x = str.format(\"{0}{0}{0}\", a)")},
		{name: "join of long texts", source: texts + last("x = array.join(a, b)")},
		{name: "texts that double", source: "x = \"x\"\n" + loop(40, "x := x + x")},
		{name: "texts that are kept", source: "var k = array.new<string>()\n" + loop(100000, "k.push(str.repeat(str.tostring(i), 4000))")},
		{name: "long number format", source: "f = str.repeat(\"0\", 40000)\n" + loop(100000, "x = str.tostring(1, f)"), short: true},
		{name: "replace all", source: long + loop(100000, "x = str.replace_all(b, \"x\", b)")},
		{name: "replace the last", source: long + loop(100000, "x = str.replace(b, \"x\", \"yy\", 39999)")},
		{name: "split into letters", source: long + "var k = array.new<string>()\n" + loop(100000, "k := str.split(b, \"\")")},
		{name: "lengths of long texts", source: long + loop(1000000, "x = str.length(b)")},
		{name: "comparison of long texts", source: long + "var c = str.repeat(\"x\", 39999) + \"y\"\n" + loop(1000000, "x = b == c")},
		{name: "places in long texts", source: long + loop(1000000, "x = str.pos(b, \"xxxxxxxxxxxxy\")")},
		{name: "upper and lower case", source: long + loop(1000000, "x = str.upper(str.lower(b))")},
		{name: "times as texts", source: loop(1000000, "x = str.format_time(time, \"yyyy-MM-dd'T'HH:mm:ssZ\", \"Europe/Paris\")")},
		// Patterns.
		{name: "slow pattern", source: "x = str.match(str.repeat(\"a\", 40000), str.repeat(\"(a?){1000}\", 3) + \"$b\")\n", short: true},
		{name: "large pattern", source: "x = str.match(str.repeat(\"a\", 4000), str.repeat(\"(a?){1000}\", 300) + \"$b\")\n"},
		{name: "classes of letters", source: loop(100000, "x = str.match(str.repeat(\"a\", 4000), \"(\\\\pL+\\\\pN*)+$\" + str.tostring(i))")},
		{name: "nested repetitions", source: loop(100000, "x = str.match(str.repeat(\"a\", 30000), \"((a*)*)*b\")")},
		// Arrays.
		{name: "arrays that are kept", source: "type holder\n    array<float> a\nvar k = array.new<holder>()\n" + loop(1000, "k.push(holder.new(array.new<float>(100000, i)))"), short: true},
		{name: "sort of numbers", source: numbers + loop(100000, "array.set(a, i % 100000, math.random())\n    array.sort(a)"), short: true},
		{name: "sort of long texts", source: "var k = array.new<string>()\n" + loop(200, "k.push(str.repeat(\"x\", 30000) + str.tostring(i))") + loop(100000, "k.sort()")},
		{name: "indices of a sort", source: numbers + loop(100000, "x = array.sort_indices(a)")},
		{name: "insert at the front", source: numbers + loop(1000000, "a.unshift(a.pop())")},
		{name: "search in long texts", source: texts + loop(1000000, "x = array.indexof(a, \"y\")")},
		{name: "copies and slices", source: numbers + loop(100000, "x = array.copy(array.slice(a, 0, 99999))")},
		{name: "statistics", source: numbers + loop(100000, "x = array.covariance(a, a) + array.stdev(a) + array.mode(a)")},
		{name: "percentiles", source: numbers + loop(100000, "x = array.percentile_linear_interpolation(a, 50) + array.median(a)")},
		{name: "concatenation", source: "var k = array.new<float>(50000, 0)\n" + loop(100000, "x = array.concat(array.copy(k), k)")},
		// Matrices.
		{name: "large matrices", source: "var k = array.new<matrix<float>>()\n" + loop(1000, "k.push(matrix.new<float>(300, 300, i))")},
		{name: "matrices that are multiplied", source: "var m = matrix.new<float>(300, 300, 1)\n" + loop(100000, "x = matrix.mult(m, m)"), short: true},
		{name: "inverse matrices", source: "var m = matrix.new<float>(200, 200, 1)\n" + loop(100000, "x = matrix.inv(m)")},
		{name: "eigenvalues", source: "var m = matrix.new<float>(150, 150, 1)\n" + loop(100000, "matrix.set(m, i % 150, (i * 7) % 150, i)\n    x = matrix.eigenvalues(m)")},
		{name: "powers of a matrix", source: "var m = matrix.new<float>(200, 200, 0.001)\n" + loop(100000, "x = matrix.pow(m, 1000)")},
		{name: "Kronecker product", source: "var m = matrix.new<float>(100, 100, 1)\n" + loop(100000, "x = matrix.kron(m, m)")},
		{name: "determinant and rank", source: "var m = matrix.new<float>(200, 200, 1)\n" + loop(100000, "x = matrix.det(m) + matrix.rank(m)")},
		// Maps and objects.
		{name: "map of numbers", source: "var m = map.new<int, float>()\n" + loop(1000000, "m.put(bar_index * 1000000 + i, i)"), short: true},
		{name: "map of long texts", source: "var m = map.new<string, string>()\n" + loop(100000, "m.put(str.repeat(str.tostring(i), 5000), str.repeat(\"v\", 30000))")},
		{name: "keys and values of a map", source: "var m = map.new<int, float>()\n" + loop(40000, "m.put(i, i)") + loop(100000, "x = m.keys()\n    y = m.values()")},
		{name: "copies of maps", source: "var m = map.new<int, float>()\n" + loop(40000, "m.put(i, i)") + loop(100000, "x = m.copy()")},
		{name: "objects in objects", source: "type node\n    node next\n    float v\nvar node n = na\n" + loop(1000000, "n := node.new(n, i)"), short: true},
		{name: "varip", source: "varip k = array.new<string>()\n" + loop(100000, "k.push(str.repeat(\"v\", 4000) + str.tostring(i))")},
		// Drawings.
		{name: "labels with long tooltips", source: long + last(loop(499, "label.new(bar_index - i, close, b, tooltip=b)")), form: "series", copies: 24, short: true},
		{name: "labels that are made and deleted", source: loop(1000000, "label.delete(label.new(bar_index, close, \"x\"))")},
		{name: "lines and fills", source: loop(10000, "linefill.new(line.new(bar_index, i, bar_index + 1, i), line.new(bar_index, i, bar_index + 1, -i), color.red)"), form: "png"},
		{name: "boxes with texts", source: long + loop(10000, "box.new(bar_index, i, bar_index + 1, -i, text=b)"), form: "png"},
		{name: "filled curves", source: last("for k = 0 to 99\n    p = array.new<chart.point>()\n    for i = 0 to 9989\n        p.push(chart.point.from_index(bar_index - (i % 400), close * (1 + 0.01 * math.sin(i * k))))\n    polyline.new(p, curved=true, closed=true, fill_color=color.new(color.red, 80))"), form: "png", short: true},
		{name: "tables", source: long + "var t = table.new(position.top_right, 100, 100)\n" + loop(99, "for j = 0 to 99\n        table.cell(t, i, j, b, tooltip=b)"), form: "both"},
		{name: "many plots with gradients", source: many(60, "plot(close + %d, color=color.from_gradient(close, low, high, color.red, color.blue))"), form: "png"},
		// Windows of ta.
		{name: "windows of percentiles", source: many(3000, "x%d = ta.percentile_linear_interpolation(close, 4000 + %d % 900, 50)"), short: true},
		{name: "long histories", source: many(1500, "x%d = close * %d\ny%d = x%d[4990]")},
		{name: "averages of all kinds", source: many(500, "x%d = ta.sma(close, 4000) + ta.wma(close, 4000) + ta.hma(close, 4000) + ta.linreg(close, 4000, 0)")},
		{name: "ranks and correlations", source: many(500, "x%d = ta.percentrank(close, 4000) + ta.correlation(close, open, 4000) + ta.cog(close, 4000)")},
		{name: "pivots and extremes", source: many(500, "x%d = ta.pivothigh(2000, 2000)\ny%d = ta.highest(4900)\nz%d = ta.valuewhen(close > open, close, 4000)")},
		{name: "windows in a loop", source: loop(5000, "x = ta.sma(close + i, 1 + i)")},
		// Control flow.
		{name: "endless loop", source: "x = 0\nwhile true\n    x += 1\n", short: true},
		{name: "nested loops", source: "x = 0.0\nfor i = 0 to 100000\n    for j = 0 to 100000\n        x += math.sin(i * j)\n"},
		{name: "functions that double", source: "f0(x) => x + 1\n" + functions(13) + "y = f13(close)\n"},
		{name: "large source", source: many(4000, "v%d = close * %d + open")},
		{name: "deep expression", source: "x = " + strings.Repeat("(", 400) + "close" + strings.Repeat(" + 1)", 400) + "\n", large: true},
		{name: "huge literals", source: "x = " + strings.Repeat("9", 300) + ".0\ny = \"" + strings.Repeat("z", 30000) + "\"\n"},
		// Requests, logs, errors.
		{name: "requests", source: many(39, "x%d = request.security(syminfo.tickerid, \"D\", ta.percentile_linear_interpolation(close, 1000 + %d, 50))"), short: true},
		{name: "requests of lower intervals", source: many(9, "x%d = request.security_lower_tf(syminfo.tickerid, \"15\", close + %d)")},
		{name: "logs", source: long + loop(100000, "log.info(b)"), short: true},
		{name: "alerts with long messages", source: long + loop(100000, "alert(b, alert.freq_all)"), form: "series"},
		{name: "a long error", source: long + "runtime.error(b + b)\n"},
		{name: "numbers", source: loop(1000000, "x = math.pow(math.random(), i) + math.round(i, 16) + math.sum(close, 4000)")},
		{name: "colours", source: loop(1000000, "x = color.from_gradient(i, 0, 1000000, color.rgb(i % 255, 0, 0), color.new(color.blue, i % 100))")},
		{name: "times and sessions", source: loop(1000000, "x = time(\"D\", \"0930-1600:1234567\", \"America/New_York\") + timestamp(\"Europe/Paris\", 2020, 1, 1, i % 24, 0, 0)")},
		// Other tools.
		{name: "strategy with many orders", source: loop(999, "strategy.entry(\"e\" + str.tostring(i), strategy.long, 0.001)\n    strategy.exit(\"x\" + str.tostring(i), \"e\" + str.tostring(i), profit=1, loss=1)"), tool: "run_backtest", args: backtest, short: true},
		{name: "back-test that holds memory", source: "type holder\n    array<float> a\nvar k = array.new<holder>()\nk.push(holder.new(array.new<float>(100000, bar_index)))\nstrategy.entry(\"e\", strategy.long)\n", tool: "run_backtest", args: backtest, short: true},
		{name: "sweep of an endless loop", source: "n = input.int(1)\nx = 0.0\n" + loop(190000, "x += math.sin(i)") + "strategy.entry(\"e\", strategy.long, n)\n", tool: "run_backtest", args: sweep},
		{name: "indicators", source: texts + loop(100000, "x = str.tostring(a)"), tool: "get_indicators", args: `{"symbol":"BTCUSDT","interval":"1h","indicators":[{"name":"pine","source":%s}]}`},
		{name: "check", source: many(3000, "x%d = request.security(syminfo.tickerid, \"D\", close + %d)"), tool: "check_script", args: `{"source":%s}`, large: true},
	}
}

// functions writes functions that each call the one before twice.
func functions(n int) string {
	var out strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&out, "f%d(x) => f%d(x) + f%d(x)\n", i, i-1, i-1)
	}
	return out.String()
}
