package chart

import (
	"math"
	"strconv"

	"candela/lib/ta"
)

// Bounds of a script's table in the picture; summaries have all of its cells.
const (
	tableRows    = 24
	tableColumns = 12
	cellPad      = 6
	cellHeight   = 18
	tallCell     = 23
	tableMargin  = 8
)

// drawTables places the tables of scripts over everything else.
func (l *layout) drawTables() {
	for v := range l.each {
		if !v.scripted() {
			continue
		}
		for i := range v.Drawn.Tables {
			l.table(v.pane, &v.Drawn.Tables[i])
		}
	}
}

// grid is the size of a table's columns and rows in device pixels.
type grid struct{ widths, heights []int }

func sum(all []int) int {
	total := 0
	for _, v := range all {
		total += v
	}
	return total
}

// table places one table at its corner, below the legends.
func (l *layout) table(pane int, t *ta.Table) {
	g := l.tableGrid(t)
	if len(g.widths) == 0 || len(g.heights) == 0 {
		return
	}
	hidden := t.Rows - len(g.heights)
	width, height := sum(g.widths), sum(g.heights)
	if hidden > 0 {
		height += cellHeight * l.s
	}
	box := l.tablePlace(pane, t, width, height)
	from := len(l.Figures)
	l.figure(Figure{Kind: BoxFigure, Pane: pane, Color: tone(t.Ground), Rect: box})
	for i := range t.Cells {
		l.cell(pane, t, &t.Cells[i], &g, box)
	}
	if hidden > 0 {
		text := "+" + strconv.Itoa(hidden) + " rows"
		text = l.fit(text, Small, float64(width-cellPad*l.s))
		l.textFigure(pane, Label{
			X: float64(box.X0 + cellPad*l.s/2), Width: l.measure(text, Small, l.s), Baseline: box.Y1 - 5*l.s,
			Text: text, Face: Small, Color: l.theme.muted,
		})
	}
	if t.FrameWidth > 0 {
		l.frame(pane, box, tone(t.Frame), float64(min(t.FrameWidth, 8)*l.s), 0)
	}
	l.Tables = append(l.Tables, l.Figures[from:]...)
	l.Figures = l.Figures[:from]
	l.boxes = append(l.boxes, box)
}

// tableGrid measures the columns and rows. Cells that span several count for the first.
// Columns and rows without a cell have no room.
func (l *layout) tableGrid(t *ta.Table) grid {
	g := grid{make([]int, min(t.Columns, tableColumns)), make([]int, min(t.Rows, tableRows))}
	for i := range t.Cells {
		c := &t.Cells[i]
		if c.Column >= len(g.widths) || c.Row >= len(g.heights) {
			continue
		}
		face, rows := faceOf(c.Size), textRows(c.Text)
		widest := 0.0
		for _, row := range rows {
			widest = max(widest, l.measure(row, face, l.s))
		}
		if c.Width <= 1 {
			g.widths[c.Column] = max(g.widths[c.Column], int(math.Ceil(widest))+2*cellPad*l.s)
		}
		tall := cellHeight * l.s
		if face == Title {
			tall = tallCell * l.s
		}
		g.heights[c.Row] = max(g.heights[c.Row], tall+(len(rows)-1)*l.pitch(face))
	}
	return g
}

// tablePlace returns the rectangle of a table. One at the top stands below the legends
// that it would cover.
func (l *layout) tablePlace(pane int, t *ta.Table, width, height int) Rect {
	r, margin := l.Panes[pane].Rect, tableMargin*l.s
	x, y := (r.X0+r.X1-width)/2, (r.Y0+r.Y1-height)/2
	switch t.Side {
	case ta.Start:
		x = r.X0 + margin
	case ta.End:
		x = r.X1 - margin - width
	case ta.Middle:
	}
	switch t.Row {
	case ta.Start:
		y = r.Y0 + margin
	case ta.End:
		y = r.Y1 - margin - height
	case ta.Middle:
	}
	box := Rect{max(x, r.X0), y, max(x, r.X0) + width, y + height}
	if t.Row == ta.Start {
		for _, legend := range l.legends {
			if legend.overlaps(box) {
				box.Y0 = legend.Y1 + 2*l.s
				box.Y1 = box.Y0 + height
			}
		}
	}
	return box
}

// cell paints a cell's ground, border and text.
func (l *layout) cell(pane int, t *ta.Table, c *ta.Cell, g *grid, box Rect) {
	if c.Column >= len(g.widths) || c.Row >= len(g.heights) {
		return
	}
	x, y := box.X0+sum(g.widths[:c.Column]), box.Y0+sum(g.heights[:c.Row])
	right, bottom := min(c.Column+max(c.Width, 1), len(g.widths)), min(c.Row+max(c.High, 1), len(g.heights))
	r := Rect{x, y, x + sum(g.widths[c.Column:right]), y + sum(g.heights[c.Row:bottom])}
	l.figure(Figure{Kind: BoxFigure, Pane: pane, Color: tone(c.Ground), Rect: r})
	if t.BorderWidth > 0 {
		l.frame(pane, r, tone(t.Border), float64(min(t.BorderWidth, 4)*l.s), 0)
	}
	face, rows, pad := faceOf(c.Size), textRows(c.Text), cellPad*l.s
	pitch := l.pitch(face)
	first := (r.Y0+r.Y1-(len(rows)-1)*pitch)/2 + capitals[face].height*l.s/2
	for i, text := range rows {
		text = l.fit(text, face, float64(r.X1-r.X0-pad))
		w := l.measure(text, face, l.s)
		at := float64(r.X0+r.X1)/2 - w/2
		switch c.Side {
		case ta.Start:
			at = float64(r.X0 + pad)
		case ta.End:
			at = float64(r.X1-pad) - w
		case ta.Middle:
		}
		l.textFigure(pane, Label{X: math.Floor(at), Width: w, Baseline: first + i*pitch, Text: text, Face: face, Color: tone(c.Ink)})
	}
}
