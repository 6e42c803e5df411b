package payload_test

import (
	"encoding/json"
	"math"
	"testing"

	"candela/internal/work/charting/payload"
	"candela/lib/ta"
)

// scripted is a chart with a script that draws one thing of each kind.
func scripted() *payload.Chart {
	c := chart(payload.Fetch)
	nan := math.NaN()
	over := &ta.Result{Overlay: true, Lines: []ta.Line{{Label: "Stop", Values: []float64{1, 2, 3, 4, 5}}}, Drawn: &ta.Drawn{}}
	r := &ta.Result{
		Label: "Zones(5)",
		Lines: []ta.Line{{Label: "Mid", Values: []float64{nan, 1, 2, 3, 4}, Paint: &ta.Paint{Colors: []ta.Tone{0, 0x26a69aff, 0x26a69aff, 0xef5350ff, 0xef5350ff}}}},
		Fills: []ta.Fill{{Y1: []float64{1, 2, 3, 4, 5}, Y2: []float64{0, 0, 0, 0, 0}, Paint: &ta.FillPaint{Colors: []ta.Tone{1, 2, 3, 4, 5}}}},
		Drawn: &ta.Drawn{
			Marks:  []ta.Mark{{X: 0, Form: ta.Flag}, {X: 3, Y: 9, Place: ta.AtValue, Form: ta.Circle, Text: "now", Label: "entry"}},
			Tints:  []ta.Tint{{From: 0, To: 3, Color: 0x2962ff30}, {From: 0, To: 0, Color: 1, Bars: true}},
			Shapes: []ta.Shape{{Kind: ta.Rectangle, Points: []ta.Point{{X: 1, Y: 5}, {X: 7, Y: 4}}, Text: "Supply", Color: 0xef5350ff, Extend: ta.ExtendRight}},
			Tables: []ta.Table{{Row: ta.Start, Side: ta.End, Columns: 2, Rows: 2, Cells: []ta.Cell{{Text: "a"}, {Column: 1, Text: "b"}, {Row: 1, Text: "c"}}}},
			Alerts: []ta.AlertText{{X: 4, Text: "crossed"}},
			Notes:  []string{"bar_index counts from the first bar that is computed"},
			Over:   over, Problem: &ta.Problem{Code: "pine_steps", Message: "too many steps", Bar: 1700014400, Line: 3, Column: 5},
		},
	}
	c.Indicators = []payload.Indicator{{Key: "zones", Result: r}}
	return c
}

func TestDrawn(t *testing.T) {
	t.Parallel()
	want := `"zones":{"label":"Zones(5)","is_overlay":false,"y_range":[3,4],"lines":[{"index":0,"label":"Mid","values":[3,4]}],` +
		`"colors":{"Mid":{"palette":["#ef5350ff"]}},"fills":[{"y1":[4,5],"y2":[0,0],"colors":{"palette":["#00000004","#00000005"],"index":[0,1]}}],` +
		`"error":{"code":"pine_steps","message":"too many steps","bar":"2023-11-15T02:13:20Z","line":3,"column":5},` +
		`"marks":[{"x":0,"t":1700010800,"y":9,"shape":"circle","place":"value","color":"#00000000","label":"entry","text":"now"}],` +
		`"tints":[{"x1":0,"t1":1700010800,"x2":0,"t2":1700010800,"color":"#2962ff30","bars":false}],` +
		`"shapes":[{"type":"box","points":[{"x":-2,"t":null,"y":5},{"x":4,"t":null,"y":4}],"text":"Supply","color":"#ef5350ff","extend":"right"}],` +
		`"tables":[{"position":"top_right","rows":[["a","b"],["c"]]}],"alert_texts":[{"x":1,"t":1700014400,"text":"crossed"}],` +
		`"notes":["bar_index counts from the first bar that is computed"],"over_price":{"lines":[{"index":0,"label":"Stop","values":[4,5]}],"colors":{}}}`
	c := scripted()
	c.Indicators[0].Result = payload.Tail(c.Indicators[0].Result, 5, 2)
	bars := c.Bars.Tail(2)
	c.Bars = &bars
	var got struct{ Indicators json.RawMessage }
	if err := json.Unmarshal(payload.AppendSeries(nil, c, 1<<20), &got); err != nil {
		t.Fatal(err)
	}
	if s := string(got.Indicators); s != "{"+want+"}" {
		t.Errorf("got  %s\nwant {%s}", s, want)
	}
	if all := payload.AppendSummary(nil, scripted()); !json.Valid(all) {
		t.Errorf("the summary is not JSON: %s", all)
	}
}
