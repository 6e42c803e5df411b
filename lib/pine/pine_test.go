package pine_test

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/ta"
)

const cross = `//@version=6
indicator("EMA cross", overlay = true)
fastLength = input.int(9, "Fast length", minval = 1, maxval = 200)
slowLength = input.int(21, "Slow length", minval = 1)
src = input.source(close, "Source")
showTable = input.bool(true, "Table")
fast = ta.ema(src, fastLength)
slow = ta.ema(src, slowLength)
p1 = plot(fast, "Fast", color = fast > slow ? color.green : color.red, linewidth = 2)
p2 = plot(slow, "Slow", color = color.blue)
fill(p1, p2, color = color.new(color.blue, 80))
up = ta.crossover(fast, slow)
plotshape(up, "Long", style = shape.triangleup, location = location.belowbar, color = color.green, text = "L")
alertcondition(up, "Bull Cross!", "fast is over slow")
alertcondition(ta.crossunder(fast, slow), "Bear cross")
bgcolor(up ? color.new(color.green, 85) : na)
var box zone = na
if up
    zone := box.new(bar_index, high, bar_index + 5, low, bgcolor = color.new(color.orange, 80), text = "zone")
higher = request.security(syminfo.tickerid, "240", close)
var table t = table.new(position.top_right, 2, 2, bgcolor = color.black)
if barstate.islast and showTable
    table.cell(t, 0, 0, "4h close", text_color = color.white)
    table.cell(t, 1, 0, str.tostring(higher, "#.##"), text_color = color.white)
    label.new(bar_index, high, "last")
`

// bars is a wave with some noise.
func bars(n int) *market.Bars {
	b := market.MakeBars(n, false)
	for i := range n {
		x := 100 + 8*math.Sin(float64(i)/11) + 2*math.Sin(float64(i)*1.7)
		b.Append(market.Bar{T: 1700006400 + int64(i)*3600, O: x - 0.3, H: x + 1, L: x - 1, C: x, V: 10, TakerBuy: math.NaN()})
	}
	return &b
}

func compiled(tb testing.TB, source string, params string) *ta.Selection {
	tb.Helper()
	d, err := pine.Compile("mine", source, nil)
	if err != nil {
		tb.Fatal(err)
	}
	var given map[string]json.RawMessage
	if params != "" {
		if err := json.Unmarshal([]byte(params), &given); err != nil {
			tb.Fatal(err)
		}
	}
	l := ta.Library{Scripts: single{d}}
	s, err := l.Resolve(ta.Request{Name: "mine", Params: given})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// single is a library of one script.
type single struct{ d *ta.Def }

func (s single) Script(string) (*ta.Def, error) { return s.d, nil }
func (s single) Inline(string) (*ta.Def, error) { return s.d, nil }
func (s single) Stored() []*ta.Def              { return []*ta.Def{s.d} }
func (s single) Pin(*ta.Def) error              { return nil }

func input(b *market.Bars) ta.Input {
	return ta.Input{Env: ta.Env{Interval: market.Hour1}, Bars: b}
}

func TestDef(t *testing.T) {
	t.Parallel()
	s := compiled(t, cross, `{"fastLength":5,"slow_length":30,"src":"hl2","showTable":false}`)
	d := s.Def
	if got := d.Labels(); !slices.Equal(got, []string{"bull_cross", "bear_cross", "long"}) {
		t.Errorf("signals are %v", got)
	}
	if !slices.Equal(d.Lines, []string{"Fast", "Slow"}) || d.Kind != ta.Overlay || d.Doc != "EMA cross." {
		t.Errorf("the definition is %+v", d)
	}
	if got := s.Values.String(); got != "fastLength=5,slowLength=30,src=hl2,showTable=false" {
		t.Errorf("the values are %s", got)
	}
	if s.Label() != "EMA cross(5, 30)" {
		t.Errorf("the label is %s", s.Label())
	}
	l := ta.Library{Scripts: single{d}}
	for params, field := range map[string]string{`{"fastLength":0}`: "mine.fastLength", `{"src":"vwap"}`: "mine.src", `{"fastlen":1}`: "mine.fastlen"} {
		var given map[string]json.RawMessage
		if err := json.Unmarshal([]byte(params), &given); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Resolve(ta.Request{Name: "mine", Params: given}); fault.Of(err) == nil || fault.Of(err).Field != field {
			t.Errorf("%s gives %v", params, err)
		}
	}
}

func TestCompute_FillsTheChannels(t *testing.T) {
	t.Parallel()
	b := bars(300)
	r := compiled(t, cross, "").Compute(input(b))
	if p := r.Drawn.Problem; p != nil {
		t.Fatalf("the script ended: %+v", p)
	}
	last := b.Len() - 1
	if len(r.Lines) != 2 || math.IsNaN(r.Lines[0].Values[last]) || len(r.Lines[0].Paint.Colors) != 300 || r.Lines[0].Paint.Width != 2 {
		t.Errorf("lines are %+v", r.Lines)
	}
	if len(r.Fills) != 1 || r.Fills[0].Paint.Colors[last]&0xff == 0xff {
		t.Errorf("fills are %v", r.Fills)
	}
	d := r.Drawn
	if len(d.Marks) == 0 || len(d.Tints) != len(d.Marks) || d.Marks[0].Form != ta.TriangleUp || d.Marks[0].Text != "L" {
		t.Errorf("marks are %+v, tints %+v", d.Marks, d.Tints)
	}
	kinds := map[ta.ShapeKind]int{}
	for _, s := range d.Shapes {
		kinds[s.Kind]++
	}
	if kinds[ta.Rectangle] != len(d.Marks) || kinds[ta.Caption] != 1 {
		t.Errorf("shapes are %v for %d crosses", kinds, len(d.Marks))
	}
	if len(d.Tables) != 1 || len(d.Tables[0].Cells) != 2 || d.Tables[0].Cells[0].Text != "4h close" || d.Tables[0].Cells[1].Text == "NaN" {
		t.Errorf("tables are %+v", d.Tables)
	}
	seen := map[string]int{}
	for _, s := range r.Signals {
		seen[s.Label]++
	}
	if seen["bull_cross"] != len(d.Marks) || seen["long"] != len(d.Marks) || seen["bear_cross"] == 0 {
		t.Errorf("signals are %v", seen)
	}
}

// TestStream_PeeksWithinTheBar holds that varip numbers count the prices of a forming bar, that alert() is raised within
// it as its frequency says, and that the bar closes as if nobody had looked.
func TestStream_PeeksWithinTheBar(t *testing.T) {
	t.Parallel()
	s := compiled(t, `//@version=6
indicator("t")
varip n = 0
if barstate.isnew
    n := 0
n += 1
plot(n)
if n == 2
    alert("bar", alert.freq_once_per_bar)
if n == 3
    alert("all", alert.freq_all)
if n == 4
    alert("end", alert.freq_once_per_bar_close)
`, "")
	stream, b := s.Stream(ta.Env{Interval: market.Hour1}), bars(3)
	for i := range b.Len() {
		for n, want := range []ta.Signal{{}, {Text: "bar"}, {Text: "all", Again: true}, {}, {}} {
			row := stream.Peek(b.At(i))
			var got ta.Signal
			for _, one := range row.Signals {
				got = ta.Signal{Text: one.Text, Again: one.Again}
			}
			if row.Values[0] != float64(n+1) || got != want {
				t.Errorf("bar %d, price %d: %v with %+v, want %+v", i, n+1, row.Values[0], got, want)
			}
		}
		if row := stream.Step(b.At(i)); row.Values[0] != 1 || len(row.Signals) != 0 {
			t.Errorf("bar %d closes with %v and %+v", i, row.Values[0], row.Signals)
		}
	}
}

func TestStream_EqualsBatch(t *testing.T) {
	t.Parallel()
	source := strings.ReplaceAll(cross, "barstate.islast", "bar_index > 250")
	b := bars(300)
	s := compiled(t, source, "")
	r := s.Compute(input(b))
	stream := s.Stream(ta.Env{Interval: market.Hour1})
	var signals []ta.Signal
	var kept []float64
	for i := range b.Len() {
		stream.Peek(b.At(i))
		row := stream.Step(b.At(i))
		for c := range row.Values {
			if x, y := row.Values[c], r.Lines[c].Values[i]; math.Float64bits(x) != math.Float64bits(y) && !(math.IsNaN(x) && math.IsNaN(y)) {
				t.Fatalf("bar %d, column %d: stream %v, batch %v", i, c, x, y)
			}
		}
		signals = append(signals, row.Signals...)
		if i == 150 {
			kept = stream.Snapshot(nil)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(signals, r.Signals) {
		t.Errorf("stream has signals %v, batch %v", signals, r.Signals)
	}
	again := s.Stream(ta.Env{Interval: market.Hour1})
	if err := again.Restore(kept); err != nil {
		t.Fatal(err)
	}
	for i := 151; i < b.Len(); i++ {
		if x, y := again.Step(b.At(i)).Values[0], r.Lines[0].Values[i]; x != y {
			t.Fatalf("bar %d: restored stream %v, batch %v", i, x, y)
		}
	}
}

func TestFailure_EndsTheIndicatorOnly(t *testing.T) {
	t.Parallel()
	source := "//@version=6\nindicator(\"Loop\")\nx = 0\nif bar_index == 20\n    while true\n        x += 1\nplot(close)\n"
	s := compiled(t, source, "")
	b := bars(40)
	r := s.Compute(input(b))
	p := r.Drawn.Problem
	if p == nil || p.Code != "pine_steps" || p.Line < 5 || p.Bar != b.T[20] {
		t.Errorf("the problem is %+v", p)
	}
	if v := r.Lines[0].Values; v[19] != b.C[19] || !math.IsNaN(v[20]) || !math.IsNaN(v[39]) {
		t.Errorf("values are %v", v)
	}
	stream := s.Stream(ta.Env{Interval: market.Hour1})
	stream.Warm(b)
	if stream.Err() == nil {
		t.Error("the stream goes on")
	}
}

func TestCompile_RefusesWithPlaces(t *testing.T) {
	t.Parallel()
	_, err := pine.Compile("mine", "//@version=6\nindicator(\"x\")\nplot(ta.smaa(close, 5))\nplot(clos)\n", nil)
	e := fault.Of(err)
	if e == nil || !strings.Contains(e.Message, "line 3") || !strings.Contains(e.Message, "line 4") || e.Kind == fault.Internal {
		t.Errorf("the error is %v", err)
	}
	if _, err := pine.Compile("mine", "//@version=6\nlibrary(\"x\")\nexport f(int a) => a\n", nil); fault.Of(err) == nil || fault.Of(err).Code != "pine_kind" {
		t.Errorf("a library gives %v", err)
	}
}

// TestCompute_BreaksLinesByTheirStyle is trap 30 of the design: a line goes on across bars
// without a value, unless its style has breaks.
func TestCompute_BreaksLinesByTheirStyle(t *testing.T) {
	t.Parallel()
	s := compiled(t, `//@version=6
indicator("t")
x = bar_index % 3 == 0 ? na : close
plot(x)
plot(x, style = plot.style_line)
plot(x, style = plot.style_linebr)
plot(x, style = plot.style_stepline)
plot(x, style = plot.style_steplinebr)
plot(x, style = plot.style_area)
plot(x, style = plot.style_areabr)
`, "")
	r := s.Compute(ta.Input{Env: ta.Env{Interval: market.Hour1}, Bars: bars(30)})
	var joined []bool
	for _, l := range r.Lines {
		joined = append(joined, l.Paint.Joined)
	}
	if want := []bool{true, true, false, true, false, true, false}; !slices.Equal(joined, want) {
		t.Errorf("joined are %v, want %v", joined, want)
	}
}

// TestSignals_HaveTheScriptsWords holds that a signal carries the message of its alertcondition or of alert(), with the values of
// its bar, the same in the stream as in the batch.
func TestSignals_HaveTheScriptsWords(t *testing.T) {
	t.Parallel()
	const source = `//@version=6
indicator("Words")
m = ta.sma(close, 5)
plot(m, "Mean")
alertcondition(ta.crossover(close, m), "Over", "close {{close}} over {{plot_0}}, {{plot(\"Mean\")}}, {{plot(\"None\")}} of {{ticker}}")
alertcondition(ta.crossunder(close, m), "Under")
if ta.crossover(close, m)
    alert("said " + str.tostring(bar_index))
`
	b := bars(60)
	s := compiled(t, source, "")
	r := s.Compute(input(b))
	stream := s.Stream(ta.Env{Interval: market.Hour1})
	var signals []ta.Signal
	for i := range b.Len() {
		signals = append(signals, stream.Step(b.At(i)).Signals...)
	}
	if len(signals) == 0 || !slices.Equal(signals, r.Signals) {
		t.Fatalf("stream has %d signals, batch %d\n%+v\n%+v", len(signals), len(r.Signals), signals[:3], r.Signals[:3])
	}
	seen := map[string]int{}
	for _, one := range signals {
		seen[one.Label]++
		number := func(x float64) string {
			rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 10, 64), 64)
			if err != nil {
				t.Fatal(err)
			}
			return strconv.FormatFloat(rounded, 'f', -1, 64)
		}
		mean := number(r.Lines[0].Values[one.X])
		want := map[string]string{
			"over": "close " + number(b.C[one.X]) + " over " + mean + ", " + mean + `, {{plot("None")}} of {{ticker}}`, "under": "", "alert": "said " + strconv.Itoa(one.X),
		}[one.Label]
		if one.Text != want {
			t.Errorf("%s at %d says %q, want %q", one.Label, one.X, one.Text, want)
		}
	}
	if seen["over"] == 0 || seen["alert"] == 0 || seen["under"] == 0 {
		t.Errorf("signals are %v", seen)
	}
}
