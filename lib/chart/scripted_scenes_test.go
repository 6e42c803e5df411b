package chart

import (
	"math"

	"candela/lib/market"
	"candela/lib/ta"
)

// scriptScenes returns the pictures of what scripts draw.
func scriptScenes() map[string]func() *Spec {
	return map[string]func() *Spec{
		"script": func() *Spec { return scriptOverlay(Dark, 150) }, "script_light": func() *Spec { return scriptOverlay(Light, 150) },
		"script_dense": func() *Spec { return scriptOverlay(Dark, 2500) }, "script_panel": scriptPanel, "script_tables": scriptTables,
		"script_marks": scriptMarks,
	}
}

const (
	toneGreen ta.Tone = 0x26a69aff
	toneRed   ta.Tone = 0xef5350ff
	toneBlue  ta.Tone = 0x2962ffff
	toneWhite ta.Tone = 0xffffffff
	toneGold  ta.Tone = 0xffb300ff
)

func faded(t ta.Tone, opacity uint8) ta.Tone { return t&^0xff | ta.Tone(opacity) }

func bySide(values []float64, up, down ta.Tone) []ta.Tone {
	all := make([]ta.Tone, len(values))
	for i := range values {
		all[i] = down
		if i > 0 && values[i] >= values[i-1] {
			all[i] = up
		}
	}
	return all
}

func repeated(t ta.Tone, n int) []ta.Tone {
	all := make([]ta.Tone, n)
	for i := range all {
		all[i] = t
	}
	return all
}

func scriptOverlay(theme Theme, n int) *Spec {
	s := basic(n)
	b := s.Bars
	fast, slow := emaOf(b.C, 9), emaOf(b.C, 30)
	r := &ta.Result{Label: "Ribbon with zones(9, 30)", Overlay: true, Drawn: &ta.Drawn{}}
	r.Lines = []ta.Line{
		{Label: "Fast", Values: fast, Paint: &ta.Paint{Colors: bySide(fast, toneGreen, toneRed), Width: 2}},
		{Label: "Slow", Values: slow, Paint: &ta.Paint{Colors: repeated(toneBlue, n), Width: 1, Dash: ta.Dashed, Shift: 8}},
		{Label: "Stop", Values: slow, Style: ta.Dots, Paint: &ta.Paint{Colors: repeated(toneGold, n), Width: 2, Form: ta.Cross}},
	}
	r.Fills = []ta.Fill{{Y1: fast, Y2: slow, Paint: &ta.FillPaint{Colors: bySide(fast, faded(toneGreen, 60), faded(toneRed, 60))}}}
	at := func(part float64) int { return int(part * float64(n)) }
	top, low := highest(&b), lowest(&b)
	r.Drawn.Tints = []ta.Tint{
		{From: at(0.2), To: at(0.3), Color: faded(toneBlue, 30)},
		{From: at(0.6), To: at(0.66), Color: toneGold, Bars: true},
	}
	r.Drawn.Shapes = zones(&b, at, top, low)
	for i := 5; i < n; i += max(n/12, 1) {
		r.Drawn.Marks = append(r.Drawn.Marks,
			ta.Mark{X: i, Place: ta.BelowBar, Form: ta.LabelUp, Text: "Long", Size: ta.Little, Color: toneGreen, Ink: toneWhite},
			ta.Mark{X: i + 2, Place: ta.AboveBar, Form: ta.TriangleDown, Size: ta.Tiny, Color: toneRed})
	}
	r.Drawn.Tables = []ta.Table{signalTable()}
	s.Theme, s.Results = theme, []Named{{"ribbon", r}}
	return s
}

func zones(b *market.Bars, at func(float64) int, top, low int) []ta.Shape {
	n := b.Len()
	last := b.C[n-1]
	return []ta.Shape{
		{Kind: ta.Rectangle, Points: []ta.Point{{X: at(0.7), Y: last * 1.04}, {X: at(0.85), Y: last * 1.02}}, Color: toneRed, Fill: faded(toneRed, 40), Width: 1, Text: "Supply", Ink: toneRed, Extend: ta.ExtendRight, Side: ta.Start},
		{Kind: ta.Rectangle, Points: []ta.Point{{X: at(0.4), Y: b.L[low] * 1.03}, {X: at(0.5), Y: b.L[low]}}, Color: toneGreen, Fill: faded(toneGreen, 40), Width: 2, Dash: ta.Dotted, Text: "Demand\nzone", Ink: toneGreen},
		{Kind: ta.Segment, Points: []ta.Point{{X: low, Y: b.L[low]}, {X: at(0.8), Y: b.L[at(0.8)]}}, Color: toneBlue, Width: 2, Extend: ta.ExtendLeft | ta.ExtendRight},
		{Kind: ta.Segment, Points: []ta.Point{{X: at(0.1), Y: b.H[at(0.1)]}, {X: at(0.25), Y: b.H[at(0.25)] * 1.02}}, Color: toneGold, Width: 2, Dash: ta.Dashed, Arrow: ta.ExtendRight},
		{Kind: ta.Between, Points: []ta.Point{{X: at(0.5), Y: last * 0.97}, {X: at(0.8), Y: last}, {X: at(0.5), Y: last * 0.93}, {X: at(0.8), Y: last * 0.98}}, Fill: faded(toneBlue, 50)},
		{Kind: ta.Path, Points: []ta.Point{{X: at(0.3), Y: last * 1.05}, {X: at(0.35), Y: last * 1.09}, {X: at(0.42), Y: last * 1.06}, {X: at(0.38), Y: last * 1.02}}, Color: toneGold, Fill: faded(toneGold, 60), Width: 2, Closed: true, Curved: true},
		{Kind: ta.Caption, Points: []ta.Point{{X: top, Y: b.H[top]}}, Text: "HH\n" + notation{decimals: 1}.text(b.H[top]), Color: toneRed, Ink: toneWhite},
		{Kind: ta.Caption, Points: []ta.Point{{X: low, Y: b.L[low]}}, Text: "LL", Color: toneGreen, Ink: toneWhite, Pointer: ta.PointUp},
		{Kind: ta.Caption, Points: []ta.Point{{X: n + 4, Y: last}}, Text: "Target", Color: toneBlue, Ink: toneWhite, Pointer: ta.PointLeft},
	}
}

func signalTable() ta.Table {
	t := ta.Table{Row: ta.Start, Side: ta.End, Columns: 3, Rows: 4, Ground: 0x1e2330e0, Frame: 0x868b98ff, FrameWidth: 1, Border: 0x434651ff, BorderWidth: 1}
	for r, row := range [][]string{{"Signals"}, {"Interval", "Trend", "RSI"}, {"1h", "Up", "61.2"}, {"4h", "Down", "44.9"}} {
		for c, text := range row {
			cell := ta.Cell{Column: c, Row: r, Text: text, Ink: toneWhite, Side: ta.Start}
			switch {
			case r == 0:
				cell.Width, cell.Ground, cell.Side, cell.Size = 3, toneBlue, ta.Middle, ta.Large
			case text == "Up":
				cell.Ground = toneGreen
			case text == "Down":
				cell.Ground = toneRed
			}
			t.Cells = append(t.Cells, cell)
		}
	}
	return t
}

func scriptPanel() *Spec {
	s := basic(120)
	b, n := s.Bars, 120
	osc := make([]float64, n)
	for i := range osc {
		osc[i] = 50 + 45*math.Sin(float64(i)/9)
	}
	hist := make([]float64, n)
	for i := range hist {
		hist[i] = 20 * math.Cos(float64(i)/9)
	}
	r := &ta.Result{Label: "Oscillator(14)", Drawn: &ta.Drawn{}}
	r.Lines = []ta.Line{{Label: "Osc", Values: osc, Paint: &ta.Paint{Colors: repeated(toneGold, n), Width: 2}}}
	r.Hist = []ta.Hist{{Label: "Hist", Values: hist, Paint: &ta.Paint{Colors: bySide(hist, toneGreen, toneRed)}}}
	level := func(v float64) []float64 {
		out := nans(n)
		for i := range out {
			out[i] = v
		}
		return out
	}
	r.HLines = []ta.HLine{
		{Y: 70, Label: "Upper", Look: &ta.HLook{Color: toneRed, Width: 1, Dash: ta.Dashed}},
		{Y: 30, Label: "Lower", Look: &ta.HLook{Color: toneGreen, Width: 2, Dash: ta.Dotted}},
	}
	r.Fills = []ta.Fill{{Y1: osc, Y2: level(50), Paint: &ta.FillPaint{
		Top: level(95), Bottom: level(50), TopColors: repeated(faded(toneGreen, 200), n), BaseColors: repeated(faded(toneGreen, 0), n),
	}}}
	r.Drawn.Marks = []ta.Mark{
		{X: 20, Place: ta.AtTop, Form: ta.Circle, Color: toneRed},
		{X: 60, Place: ta.AtBottom, Form: ta.ArrowUp, Color: toneGreen, Text: "up", Ink: toneGreen},
		{X: 80, Y: osc[80], Place: ta.AtValue, Form: ta.Diamond, Color: toneBlue},
	}
	r.Drawn.Tints = []ta.Tint{{From: 30, To: 45, Color: faded(toneRed, 40)}}
	r.Drawn.Shapes = []ta.Shape{{Kind: ta.Segment, Points: []ta.Point{{X: 14, Y: 95}, {X: 70, Y: 95}}, Color: toneBlue, Width: 2}}
	r.Drawn.Over = &ta.Result{Label: "Oscillator", Overlay: true, Drawn: &ta.Drawn{
		Shapes: []ta.Shape{{Kind: ta.Segment, Points: []ta.Point{{X: 14, Y: b.H[14]}, {X: 70, Y: b.H[70]}}, Color: toneBlue, Width: 2}},
	}}
	failed := &ta.Result{Label: "Broken", Lines: []ta.Line{{Label: "x", Values: nans(n)}}, Drawn: &ta.Drawn{
		Problem: &ta.Problem{Code: "pine_steps", Message: "line 12: more than 2000000 steps at bar 2026-03-01T04:00:00Z", Line: 12},
	}}
	candles := &ta.Result{Label: "HA panel", Drawn: &ta.Drawn{}}
	for i, column := range [][]float64{b.O, b.H, b.L, b.C} {
		candles.Lines = append(candles.Lines, ta.Line{
			Label: []string{"o", "h", "l", "c"}[i], Values: column, Style: ta.CandleOpen + ta.LineStyle(i),
			Paint: &ta.Paint{Colors: bySide(b.C, toneBlue, toneGold)},
		})
	}
	s.Results = []Named{{"osc", r}, {"broken", failed}, {"ha", candles}}
	return s
}

// scriptTables has a table at each of the nine places, one of them longer than fits.
func scriptTables() *Spec {
	s := basic(80)
	r := &ta.Result{Label: "Tables", Overlay: true, Drawn: &ta.Drawn{}}
	for _, row := range []ta.Align{ta.Start, ta.Middle, ta.End} {
		for _, side := range []ta.Align{ta.Start, ta.Middle, ta.End} {
			t := signalTable()
			t.Row, t.Side = row, side
			if row == ta.Middle && side == ta.Middle {
				t.Rows, t.Cells = 40, nil
				for k := range 40 {
					t.Cells = append(t.Cells, ta.Cell{Row: k, Text: "row " + notation{}.text(float64(k)), Ink: toneWhite})
				}
			}
			r.Drawn.Tables = append(r.Drawn.Tables, t)
		}
	}
	s.Results = []Named{{"tables", r}}
	return s
}

// scriptMarks has each form at each place.
func scriptMarks() *Spec {
	s := basic(60)
	r := &ta.Result{Label: "Marks", Overlay: true, Drawn: &ta.Drawn{}}
	for f := ta.Cross; f <= ta.NoForm; f++ {
		for p := ta.AboveBar; p <= ta.AtValue; p++ {
			x := 2 + int(f)*4
			m := ta.Mark{X: x, Y: s.Bars.C[x] * 1.06, Place: p, Form: f, Size: ta.Size(p), Color: toneBlue, Ink: toneGold}
			if p != ta.AtTop {
				m.Text = "M"
			}
			r.Drawn.Marks = append(r.Drawn.Marks, m)
		}
	}
	s.Results = []Named{{"marks", r}}
	return s
}
