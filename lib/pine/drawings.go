package pine

import (
	"fmt"
	"math"
	"strings"

	"candela/lib/pine/check"
	"candela/lib/pine/eval"
	"candela/lib/ta"
)

// draw adds the script's lines, boxes, labels, paths and tables as they were after the
// last bar.
func (b *batch) draw(r, over *ta.Result) {
	if b.ran == 0 {
		return
	}
	if p := b.tooMuch(r, over); p != nil {
		r.Drawn.Problem, r.Drawn.Alerts, r.Drawn.Marks, over.Drawn.Marks = p, nil, nil, nil
		return
	}
	all := b.machine.Drawings()
	lines := map[int]ta.Shape{}
	for i := range all {
		d := &all[i]
		to := r
		if d.Numbers["force_overlay"] == 1 {
			to = over
		}
		if d.Kind == check.Table {
			to.Drawn.Tables = append(to.Drawn.Tables, tableOf(d))
			continue
		}
		s, ok := b.shape(d)
		if d.Kind == check.Line {
			lines[d.ID] = s
		}
		if ok {
			to.Drawn.Shapes = append(to.Drawn.Shapes, s)
		}
	}
	for i := range all {
		if d := &all[i]; d.Kind == check.Linefill {
			a, z := lines[d.Lines[0]], lines[d.Lines[1]]
			if len(a.Points) == 2 && len(z.Points) == 2 {
				r.Drawn.Shapes = append(r.Drawn.Shapes, ta.Shape{
					Kind: ta.Between, Points: append(append([]ta.Point{}, a.Points...), z.Points...), Fill: toneOf(d.Numbers["color"]), Extend: a.Extend | z.Extend,
				})
			}
		}
	}
}

// Bounds of all drawings of a script together.
const (
	MaxDrawnText   = 512 << 10 // bytes of texts and tooltips, with those of marks and alerts
	MaxDrawnPoints = 10_000    // of polylines
	MaxDrawnCells  = 10_000    // of tables
)

// tooMuch says which bound the drawings exceed, nil if none.
func (b *batch) tooMuch(r, over *ta.Result) *ta.Problem {
	texts, points, cells := b.machine.Drawn()
	for _, a := range r.Drawn.Alerts {
		texts += len(a.Text)
	}
	all := [][]ta.Mark{r.Drawn.Marks}
	if over != r {
		all = append(all, over.Drawn.Marks)
	}
	for _, marks := range all {
		for i := range marks {
			texts += len(marks[i].Text) + len(marks[i].Label)
		}
	}
	for _, bound := range []struct {
		n, most int
		what    string
	}{{texts, MaxDrawnText, "bytes of text"}, {points, MaxDrawnPoints, "points of polylines"}, {cells, MaxDrawnCells, "cells of tables"}} {
		if bound.n > bound.most {
			return &ta.Problem{Code: "pine_drawings", Message: fmt.Sprintf(
				"The drawings have %d %s together, and at most %d are shown. Draw less, or delete what is old.", bound.n, bound.what, bound.most)}
		}
	}
	return nil
}

// x returns the bar of a position.
func (b *batch) x(v float64, xloc string) int {
	if xloc == "bar_time" {
		return b.bar(v)
	}
	return int(min(max(v, -1e6), 1e6))
}

// shape returns a drawing as a shape, and false if it has no place.
func (b *batch) shape(d *eval.Drawing) (ta.Shape, bool) {
	n, t := d.Numbers, d.Texts
	switch d.Kind {
	case check.Line:
		s := ta.Shape{
			Kind: ta.Segment, Points: []ta.Point{{X: b.x(n["x1"], t["xloc"]), Y: n["y1"]}, {X: b.x(n["x2"], t["xloc"]), Y: n["y2"]}},
			Color: toneOf(n["color"]), Width: width(n["width"]), Dash: dashOf(t["style"]), Extend: extendOf(t["extend"]),
		}
		if arrow, ok := strings.CutPrefix(strings.TrimPrefix(t["style"], "style_"), "arrow_"); ok {
			s.Arrow = extendOf(arrow)
		}
		return s, valid(n["x1"], n["y1"], n["x2"], n["y2"])
	case check.Box:
		return ta.Shape{
			Kind: ta.Rectangle, Points: []ta.Point{{X: b.x(n["left"], t["xloc"]), Y: n["top"]}, {X: b.x(n["right"], t["xloc"]), Y: n["bottom"]}},
			Color: toneOf(n["border_color"]), Fill: toneOf(n["bgcolor"]), Width: int(n["border_width"]), Dash: dashOf(t["border_style"]), Extend: extendOf(t["extend"]),
			Text: t["text"], Ink: toneOf(n["text_color"]), Size: pointsOf(n["text_size"]), Row: alignOf(t["text_valign"]), Side: alignOf(t["text_halign"]),
		}, valid(n["left"], n["top"], n["right"], n["bottom"])
	case check.Label:
		return b.label(d), valid(n["x"]) && (valid(n["y"]) || t["yloc"] != "price")
	case check.Polyline:
		s := ta.Shape{
			Kind: ta.Path, Color: toneOf(n["line_color"]), Fill: toneOf(n["fill_color"]), Width: width(n["line_width"]), Dash: dashOf(t["line_style"]),
			Curved: n["curved"] == 1, Closed: n["closed"] == 1,
		}
		for _, p := range d.Points {
			if valid(p.X, p.Y) {
				s.Points = append(s.Points, ta.Point{X: b.x(p.X, t["xloc"]), Y: p.Y})
			}
		}
		return s, len(s.Points) > 1
	default: // shown elsewhere, or no drawing
		return ta.Shape{}, false
	}
}

func valid(all ...float64) bool {
	for _, v := range all {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

func width(v float64) int {
	if !(v >= 1) {
		return 1
	}
	return int(min(v, 20))
}

// label returns a label as a shape.
func (b *batch) label(d *eval.Drawing) ta.Shape {
	n, t := d.Numbers, d.Texts
	s := ta.Shape{
		Kind: ta.Caption, Points: []ta.Point{{X: b.x(n["x"], t["xloc"]), Y: n["y"]}}, Text: t["text"], Color: toneOf(n["color"]), Ink: toneOf(n["textcolor"]),
		Size: pointsOf(n["size"]), Side: alignOf(t["textalign"]), Tooltip: t["tooltip"], Place: ta.AtValue,
	}
	switch t["yloc"] {
	case "abovebar":
		s.Place = ta.AboveBar
	case "belowbar":
		s.Place = ta.BelowBar
	}
	style := strings.TrimPrefix(t["style"], "style_")
	switch style {
	case "none", "text_outline":
		s.Pointer = ta.Bare
	case "label_up", "label_upper_left", "label_upper_right":
		s.Pointer = ta.PointUp
	case "label_left":
		s.Pointer = ta.PointLeft
	case "label_right":
		s.Pointer = ta.PointRight
	case "label_center":
		s.Pointer = ta.Centered
	case "label_down", "label_lower_left", "label_lower_right", "":
		s.Pointer = ta.PointDown
	default:
		s.Pointer, s.Form = ta.Sign, formOf(style)
	}
	return s
}

// tableOf returns a table.
func tableOf(d *eval.Drawing) ta.Table {
	n := d.Numbers
	row, side, _ := strings.Cut(d.Texts["position"], "_")
	t := ta.Table{
		Row: alignOf(row), Side: alignOf(side), Columns: int(n["columns"]), Rows: int(n["rows"]), Ground: toneOf(n["bgcolor"]),
		Frame: toneOf(n["frame_color"]), FrameWidth: int(max(n["frame_width"], 0)), Border: toneOf(n["border_color"]), BorderWidth: int(max(n["border_width"], 0)),
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		t.Cells = append(t.Cells, ta.Cell{
			Column: c.Column, Row: c.Row, Width: c.Right - c.Column + 1, High: c.Bottom - c.Row + 1, Text: c.Texts["text"],
			Ink: toneOf(c.Numbers["text_color"]), Ground: toneOf(c.Numbers["bgcolor"]), Size: pointsOf(c.Numbers["text_size"]),
			Side: alignOf(c.Texts["text_halign"]), Tooltip: c.Texts["tooltip"],
		})
	}
	return t
}
