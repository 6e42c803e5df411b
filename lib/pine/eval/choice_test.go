package eval_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

// TestChoice_EqualsConstantRequests has requests whose timeframe changes from bar to bar or from turn to
// turn of a loop. Each plot is zero if it equals what requests of constant timeframes give.
func TestChoice_EqualsConstantRequests(t *testing.T) {
	t.Parallel()
	const sum = `nz(request.security("", "120", ta.ema(close, 3)), 1) + nz(request.security("", "240", ta.ema(close, 3)), 1) + nz(request.security("", "D", ta.ema(close, 3)), 1)`
	for name, source := range map[string]string{
		"an array in a loop": `tfs = array.from("120", "240", "D")
s = 0.0
for i = 0 to tfs.size() - 1
    s += nz(request.security("", tfs.get(i), ta.ema(close, 3)), 1)
plot(s - (` + sum + `))`,
		"an array in a function": `total(tfs) =>
    s = 0.0
    for tf in tfs
        s += nz(request.security("", tf, ta.ema(close, 3)), 1)
    s
plot(total(array.from("120", "240", "D")) - (` + sum + `))`,
		"an array that is filled on the first bar": `var tfs = array.new_string()
if barstate.isfirst
    tfs.push("120")
    tfs.push("240")
    tfs.push("D")
s = 0.0
for tf in tfs
    s += nz(request.security("", tf, ta.ema(close, 3)), 1)
plot(s - (` + sum + `))`,
		"a field of an object and a map": `type setting
    array<string> tfs
    map<string, float> weights
make() =>
    m = map.new<string, float>()
    m.put("120", 1)
    m.put("240", 1)
    m.put("D", 1)
    setting.new(array.from("120", "240", "D"), m)
fold(setting c) =>
    s = 0.0
    for i = 0 to c.tfs.size() - 1
        tf = c.tfs.get(i)
        s += c.weights.get(tf) * nz(request.security("", tf, ta.ema(close, 3)), 1)
    s
plot(fold(make()) - (` + sum + `))`,
		"a switch on every bar": `slow = input.timeframe("240", "Slow")
tf = switch bar_index % 3
    0 => "120"
    1 => slow
    => "D"
x = request.security("", tf, close)
a = request.security("", "120", close)
b = request.security("", "240", close)
d = request.security("", "D", close)
w = switch bar_index % 3
    0 => a
    1 => b
    => d
plot(na(x) == na(w) ? nz(x) - nz(w) : 1)`,
		"the chart's own among others": `x = request.security("", bar_index % 2 == 0 ? timeframe.period : "240", ta.sma(close, 2))
own = ta.sma(close, 2)
long = request.security("", "240", ta.sma(close, 2))
w = bar_index % 2 == 0 ? own : long
plot(na(x) == na(w) ? nz(x) - nz(w) : 1)`,
		"several values with gaps and texts": `[x, s] = request.security("", bar_index % 2 == 0 ? "120" : "180", [high, str.tostring(low)], barmerge.gaps_on)
a = request.security("", "120", high, barmerge.gaps_on)
b = request.security("", "180", high, barmerge.gaps_on)
w = bar_index % 2 == 0 ? a : b
plot(na(x) == na(w) ? nz(x) - nz(w) + (na(s) == na(w) ? 0 : 1) : 1)`,
		"a list in a text": `tfs = str.split("120, 240,D", ",")
s = 0.0
for tf in tfs
    s += nz(request.security("", str.trim(tf), ta.ema(close, 3)), 1)
plot(s - (` + sum + `))`,
		"shorter bars": `tfs = array.from("15", "30")
n = 0
for tf in tfs
    n += request.security_lower_tf("", tf, close).size()
plot(n - 6)`,
		"shorter and longer ones": `tfs = array.from("15", "240")
s = 0.0
for tf in tfs
    s += nz(request.security("", tf, close))
plot(s - request.security("", "15", close) - nz(request.security("", "240", close)))`,
		"a timeframe that nobody has bars of is not chosen": `plot(nz(request.security("", bar_index < 0 ? "10S" : bar_index < 5 ? "120" : "240", close)) - nz(bar_index < 5 ? request.security("", "120", close) : request.security("", "240", close)))`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := beside(120)
			outside := env.Outside
			env.Outside = func(f eval.Frame) (*eval.Outside, error) {
				if f.Interval.Seconds() < 60 {
					return nil, errors.New("no such bars")
				}
				return outside(f)
			}
			m := compile(t, "//@version=6\nindicator(\"t\")\n"+source+"\n", env)
			for i, b := range ramp(120) {
				if err := errors.Join(m.Try(b, true, false), m.Try(b, true, true), m.Keep(b)); err != nil {
					t.Fatal(err)
				}
				if got := m.Outputs()[0].Values[0]; math.Abs(got) > 0 || got != got {
					t.Fatalf("bar %d: got %v, want 0", i, got)
				}
			}
		})
	}
}

// TestChoice_IsBounded says how many timeframes a request may choose from, and what to write.
func TestChoice_IsBounded(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`plot(request.security("", str.tostring(60 * (1 + bar_index)), close))`:                                                                                        `changes from "60" to "120"`,
		"tfs = array.from(\"60\", \"120\")\ntfs.push(str.tostring(60 * (3 + bar_index)))\ns = 0.0\nfor tf in tfs\n    s += request.security(\"\", tf, close)\nplot(s)": `is "240" here`,
		"tfs = array.from(" + hours(17) + ")\nfor tf in tfs\n    request.security(\"\", tf, close)\nplot(close)":                                                       "at most 16",
		`plot(request.security("", bar_index < 1 ? "60" : "10S", close))`:                                                                                              "no such bars",
		"for sym in array.from(\"A\", \"B\", \"X:\" + str.tostring(bar_index))\n    request.security(sym, \"60\", close, ignore_invalid_symbol = true)\nplot(close)":   `is "X:1" here`,
		"var list = array.from(" + symbolList(65) + ")\nplot(request.security(close > 0 ? list.get(bar_index) : na, \"60\", close))":                                   "at most 64",
		`plot(request.security(array.new<string>(1).get(bar_index % 1), "60", close))`:                                                                                 "The symbol of request.security is computed, and nothing",
		`plot(request.security("", array.new<string>(1).get(bar_index % 1), close))`:                                                                                   "nothing that the script writes can be it",
	} {
		p, found := check.Check("//@version=6\nindicator(\"t\")\n"+source+"\n", check.Options{})
		if p == nil {
			t.Errorf("%v\n%s", found, source)
			continue
		}
		env := hourly()
		env.Outside = func(eval.Frame) (*eval.Outside, error) { return nil, errors.New("no such bars") }
		m, err := eval.New(p, env)
		for _, b := range ramp(4) {
			if err == nil {
				err = m.Keep(b)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q\n%s", err, want, source)
		}
	}
}

// symbolList returns the texts of symbols.
func symbolList(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strconv.Quote("S" + strconv.Itoa(i))
	}
	return strings.Join(list, ", ")
}

// hours returns the texts of timeframes of 1 hour, 2 hours and so on.
func hours(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strconv.Quote(strconv.Itoa(60 * (i + 1)))
	}
	return strings.Join(list, ", ")
}

// TestChoice_OfSymbols has requests whose symbol changes. Each plot is zero if it equals what
// requests of constant symbols give.
func TestChoice_OfSymbols(t *testing.T) {
	t.Parallel()
	const sum = `nz(request.security("A", "60", ta.ema(close, 3)), 1) + nz(request.security("X:B", "60", ta.ema(close, 3)), 1)`
	for name, source := range map[string]string{
		"a list in a text": `s = 0.0
for sym in str.split(input.text_area("A\nX:B"), "\n")
    s += nz(request.security(sym, "60", ta.ema(close, 3)), 1)
plot(s - (` + sum + `))`,
		"inputs in an array": `list = array.from(input.symbol("A"), input.symbol("X:B"))
s = 0.0
for i = 0 to list.size() - 1
    s += nz(request.security(list.get(i), timeframe.period, ta.ema(close, 3)), 1)
plot(s - (` + sum + `))`,
		"a symbol and a timeframe": `other = bar_index % 2 == 1
s = request.security(other ? "A" : "X:B", bar_index % 4 > 1 ? "60" : "120", close, ignore_invalid_symbol = true)
a = request.security("A", "60", close), a2 = request.security("A", "120", close)
b = request.security("X:B", "60", close), b2 = request.security("X:B", "120", close)
plot(nz(s) - nz(bar_index % 4 > 1 ? other ? a : b : other ? a2 : b2))`,
		"na, and the chart's own": `string none = na
s = bar_index % 2 == 0 ? none : syminfo.tickerid
v = request.security(s, "60", close)
plot(na(v) ? bar_index % 2 : v - close)`,
		"a request around": `f(sym) => request.security(sym, "120", ta.ema(close, 3))
s = 0.0
for sym in array.from("A", "X:B")
    s += nz(request.security(sym, "120", ta.ema(close, 3))) - nz(f(sym))
plot(s)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := hourly()
			env.Outside = func(f eval.Frame) (*eval.Outside, error) {
				bars := market.MakeBars(0, false)
				for i, b := range ramp(120) {
					b.C += float64(len(f.Symbol) * i % 7)
					b.H, b.L = b.C+1, b.C-1
					bars.Append(b)
				}
				return &eval.Outside{Bars: &bars}, nil
			}
			m := compile(t, "//@version=6\nindicator(\"t\")\n"+source+"\n", env)
			for i, b := range ramp(120) {
				if err := errors.Join(m.Try(b, true, false), m.Try(b, true, true), m.Keep(b)); err != nil {
					t.Fatal(err)
				}
				if got := m.Outputs()[0].Values[0]; math.Abs(got) > 0 || got != got {
					t.Fatalf("bar %d: got %v, want 0", i, got)
				}
			}
		})
	}
}

// TestInput_SymbolHasAVenue takes the symbol of an input apart and requests it.
func TestInput_SymbolHasAVenue(t *testing.T) {
	t.Parallel()
	env := hourly()
	env.Symbol = eval.Symbol{Ticker: "BTCUSDT", Prefix: "BINANCE"}
	var asked []eval.Frame
	env.Outside = func(f eval.Frame) (*eval.Outside, error) {
		asked = append(asked, f)
		return nil, nil
	}
	m := compile(t, `//@version=6
indicator("t")
a = input.symbol("ETHUSDT"), b = input.symbol("NYSE:IBM"), c = input.symbol("BTCUSDT"), none = input.symbol("")
v = request.security(a, "60", close), w = request.security(b, "60", close), own = request.security(c, "60", close)
inner = request.security(b, "60", a == "BINANCE:ETHUSDT" ? 1 : 0, ignore_invalid_symbol = true)
plot(str.split(a, ":").get(1) == "ETHUSDT" and c == syminfo.tickerid and none == "" and b == "NYSE:IBM" ? own : na)
`, env)
	b := ramp(1)[0]
	if err := m.Keep(b); err != nil || m.Outputs()[0].Values[0] != b.C {
		t.Errorf("got %v, %v, want %v", m.Outputs()[0].Values, err, b.C)
	}
	var names []string
	for _, f := range asked {
		names = append(names, f.Symbol)
	}
	if got := strings.Join(names, " "); got != "ETHUSDT NYSE:IBM NYSE:IBM" {
		t.Errorf("asked for %s", got)
	}
}
