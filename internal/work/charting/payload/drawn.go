package payload

import (
	"time"

	"candela/lib/ta"
)

// Bounds of what a script draws in a summary.
const (
	maxMarks  = 16
	maxShapes = 24
	maxCells  = 200
	maxNotes  = 8
)

// tailDrawn cuts what a script has drawn to the bars from the given one on.
func tailDrawn(d *ta.Drawn, total, n int) *ta.Drawn {
	if d == nil {
		return nil
	}
	from, cut := total-n, *d
	if d.Over != nil {
		cut.Over = Tail(d.Over, total, n)
	}
	cut.Marks, cut.Tints, cut.Alerts = nil, nil, nil
	for _, m := range d.Marks {
		if m.X -= from; m.X >= 0 {
			cut.Marks = append(cut.Marks, m)
		}
	}
	for _, t := range d.Tints {
		if t.From, t.To = max(t.From-from, 0), t.To-from; t.To >= 0 {
			cut.Tints = append(cut.Tints, t)
		}
	}
	for _, a := range d.Alerts {
		if a.X -= from; a.X >= 0 {
			cut.Alerts = append(cut.Alerts, a)
		}
	}
	cut.Shapes = make([]ta.Shape, len(d.Shapes))
	for i, s := range d.Shapes {
		points := make([]ta.Point, len(s.Points))
		for k, p := range s.Points {
			points[k] = ta.Point{X: p.X - from, Y: p.Y}
		}
		s.Points = points
		cut.Shapes[i] = s
	}
	return &cut
}

// tailPaint cuts the colours of a line.
func tailPaint(p *ta.Paint, from int) *ta.Paint {
	if p == nil || len(p.Colors) == 0 {
		return p
	}
	cut := *p
	cut.Colors = p.Colors[from:]
	return &cut
}

// tailFill cuts the colours of an area.
func tailFill(p *ta.FillPaint, from int) *ta.FillPaint {
	if p == nil {
		return nil
	}
	cut := *p
	if p.Colors != nil {
		cut.Colors = p.Colors[from:]
	}
	if p.Top != nil {
		cut.Top, cut.Bottom, cut.TopColors, cut.BaseColors = p.Top[from:], p.Bottom[from:], p.TopColors[from:], p.BaseColors[from:]
	}
	return &cut
}

// drawn writes what a script has drawn, in a summary at most so much that its size does
// not depend on the script.
func (e *encoder) drawn(c *Chart, d *ta.Drawn, summary bool) {
	if d == nil {
		return
	}
	e.problem(c, d.Problem)
	marks, shapes := d.Marks, d.Shapes
	if summary {
		marks, shapes = newest(marks, maxMarks), newest(shapes, maxShapes)
	}
	e.marks(c, marks, summary)
	if len(marks) < len(d.Marks) {
		e.int("marks_count", int64(len(d.Marks)))
	}
	if !summary {
		e.tints(c, d.Tints)
	}
	e.shapes(c, shapes)
	if len(shapes) < len(d.Shapes) {
		e.int("shapes_count", int64(len(d.Shapes)))
	}
	e.tables(d.Tables, summary)
	list(e, "alert_texts", d.Alerts, func(a ta.AlertText) {
		e.int("x", int64(a.X))
		e.time("t", c, a.X)
		e.text("text", a.Text)
	})
	if len(d.Notes) > 0 {
		e.key("notes")
		e.open('[')
		for _, note := range d.Notes[:min(len(d.Notes), maxNotes)] {
			e.string(note)
		}
		e.close(']')
	}
	if d.Over != nil {
		e.key("over_price")
		e.open('{')
		if write := e.column; !summary {
			e.columns(d.Over, write)
			e.colors(d.Over)
		} else {
			e.columns(d.Over, e.lastValue)
		}
		e.drawn(c, d.Over.Drawn, summary)
		e.close('}')
	}
}

// problem writes the error that ended a script.
func (e *encoder) problem(c *Chart, p *ta.Problem) {
	if p == nil {
		return
	}
	e.key("error")
	e.open('{')
	e.text("code", p.Code)
	e.text("message", p.Message)
	if p.Bar != 0 && !c.sample() {
		e.text("bar", time.Unix(p.Bar, 0).UTC().Format(time.RFC3339))
	}
	if p.Line > 0 {
		e.int("line", int64(p.Line))
		e.int("column", int64(p.Column))
	}
	e.close('}')
}

func (e *encoder) marks(c *Chart, marks []ta.Mark, summary bool) {
	list(e, "marks", marks, func(m ta.Mark) {
		e.int("x", int64(m.X))
		e.time("t", c, m.X)
		if m.Place == ta.AtValue {
			e.number("y", m.Y)
		}
		e.text("shape", m.Form.String())
		if !summary {
			e.text("place", m.Place.String())
			e.text("color", m.Color.String())
		}
		if m.Label != "" {
			e.text("label", m.Label)
		}
		if m.Text != "" {
			e.text("text", m.Text)
		}
	})
}

func (e *encoder) tints(c *Chart, tints []ta.Tint) {
	list(e, "tints", tints, func(t ta.Tint) {
		e.int("x1", int64(t.From))
		e.time("t1", c, t.From)
		e.int("x2", int64(t.To))
		e.time("t2", c, t.To)
		e.text("color", t.Color.String())
		e.flag("bars", t.Bars)
	})
}

func (e *encoder) shapes(c *Chart, shapes []ta.Shape) {
	list(e, "shapes", shapes, func(s ta.Shape) {
		e.text("type", s.Kind.String())
		list(e, "points", s.Points, func(p ta.Point) {
			e.int("x", int64(p.X))
			e.time("t", c, p.X)
			e.number("y", p.Y)
		})
		if s.Text != "" {
			e.text("text", s.Text)
		}
		if s.Tooltip != "" {
			e.text("tooltip", s.Tooltip)
		}
		color := s.Color
		if color.Opacity() == 0 {
			color = s.Fill
		}
		e.text("color", color.String())
		if s.Extend != 0 {
			e.text("extend", [...]string{"", "left", "right", "both"}[s.Extend&3])
		}
	})
}

// tables writes the texts of tables, row by row.
func (e *encoder) tables(tables []ta.Table, summary bool) {
	places := func(a ta.Align, start, end string) string {
		return [...]string{"middle", start, end}[min(a, ta.End)]
	}
	list(e, "tables", tables, func(t ta.Table) {
		e.text("position", places(t.Row, "top", "bottom")+"_"+places(t.Side, "left", "right"))
		cells, row := t.Cells, -1
		if summary {
			cells = cells[:min(len(cells), maxCells)]
		}
		e.key("rows")
		e.open('[')
		for _, cell := range cells {
			if cell.Row != row {
				if row >= 0 {
					e.close(']')
				}
				e.open('[')
				row = cell.Row
			}
			e.string(cell.Text)
		}
		if row >= 0 {
			e.close(']')
		}
		e.close(']')
		if len(cells) < len(t.Cells) {
			e.int("cells_count", int64(len(t.Cells)))
		}
	})
}

// colors writes the colours of a script's lines and histograms, by label.
func (e *encoder) colors(r *ta.Result) {
	e.key("colors")
	e.open('{')
	for i := range r.Lines {
		e.painted(r.Lines[i].Label, tonesOf(r.Lines[i].Paint))
	}
	for i := range r.Hist {
		e.painted(r.Hist[i].Label, tonesOf(r.Hist[i].Paint))
	}
	e.close('}')
}

// tonesOf returns the colours of a line, nil for the theme's.
func tonesOf(p *ta.Paint) []ta.Tone {
	if p == nil {
		return nil
	}
	return p.Colors
}

// painted writes the colours of a line or an area: each one once, and its index for each bar.
func (e *encoder) painted(label string, colors []ta.Tone) {
	if len(colors) == 0 {
		return
	}
	e.key(label)
	e.open('{')
	defer e.close('}')
	index := map[ta.Tone]int{}
	var all []ta.Tone
	for _, t := range colors {
		if _, known := index[t]; !known {
			index[t] = len(all)
			all = append(all, t)
		}
	}
	e.key("palette")
	e.open('[')
	for _, t := range all {
		e.string(t.String())
	}
	e.close(']')
	if len(all) == 1 {
		return
	}
	at := make([]float64, len(colors))
	for i, t := range colors {
		at[i] = float64(index[t])
	}
	e.values("index", at)
}
