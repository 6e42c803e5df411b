package chart

import (
	"candela/lib/chart/raster"
	"candela/lib/ta"
)

// FigureKind is the form of a figure.
type FigureKind uint8

// The forms of figures.
const (
	StrokeFigure   FigureKind = iota // a line through the points of Stroke
	BoxFigure                        // whole pixels
	RoundFigure                      // a rectangle with rounded corners
	TriangleFigure                   // with three corners
	CircleFigure                     // around the first corner
	AreaFigure                       // between two lines
	TextFigure                       // one row of text
)

// Figure is a piece of what a script draws. Figures are painted in their order, each
// within its pane.
type Figure struct {
	Kind   FigureKind
	Pane   int
	Color  raster.Color
	Rect   Rect // of a box
	Stroke Stroke
	Area   Area
	X, Y   [3]float64 // the corners of a triangle; two opposite ones of a round figure
	Radius float64
	Label  Label
}

// tone returns a script's colour.
func tone(t ta.Tone) raster.Color {
	return raster.Color{R: uint8(t >> 24), G: uint8(t >> 16), B: uint8(t >> 8), A: uint8(t)} //nolint:gosec // its four bytes
}

// figure adds a figure if it can be seen.
func (l *layout) figure(f Figure) {
	if f.Color.A > 0 {
		l.Figures = append(l.Figures, f)
	}
}

// strokeFigure adds a line through points from left to right, given as x and y in turn.
func (l *layout) strokeFigure(pane int, color raster.Color, width float64, dash ta.Dash, points ...float64) {
	if color.A == 0 {
		return
	}
	k := Stroke{From: len(l.px), Pane: pane, Width: width, Color: color}
	k.On, k.Off = dashes(dash, width, float64(l.s))
	for i := 0; i+1 < len(points); i += 2 {
		l.px, l.py = append(l.px, points[i]), append(l.py, points[i+1])
	}
	k.To = len(l.px)
	l.figure(Figure{Kind: StrokeFigure, Pane: pane, Color: color, Stroke: k})
}

// dashes returns the pattern of a dash in device pixels.
func dashes(d ta.Dash, width, scale float64) (on, off float64) {
	switch d {
	case ta.Dashed:
		return float64(6 * scale), float64(4 * scale)
	case ta.Dotted:
		return max(width, scale), float64(3 * scale)
	case ta.Unbroken:
	}
	return 0, 0
}

// textFigure adds a row of text.
func (l *layout) textFigure(pane int, t Label) {
	if t.Text != "" {
		l.figure(Figure{Kind: TextFigure, Pane: pane, Color: t.Color, Label: t})
	}
}

// figures paints figures.
func (p *painter) figures(all []Figure) {
	for i := range all {
		f := &all[i]
		p.clipTo(f.Pane)
		switch f.Kind {
		case StrokeFigure:
			xs, ys := p.Points(f.Stroke)
			p.Polyline(xs, ys, f.Stroke.Width, f.Color, raster.Dash{On: f.Stroke.On, Off: f.Stroke.Off})
		case BoxFigure:
			p.Rect(f.Rect.X0, f.Rect.Y0, f.Rect.X1, f.Rect.Y1, f.Color)
		case RoundFigure:
			p.RoundRect(f.X[0], f.Y[0], f.X[1], f.Y[1], f.Radius, f.Color)
		case TriangleFigure:
			p.Triangle(f.X[0], f.Y[0], f.X[1], f.Y[1], f.X[2], f.Y[2], f.Color)
		case CircleFigure:
			p.Circle(f.X[0], f.Y[0], f.Radius, f.Color)
		case AreaFigure:
			xs, y1, y2 := p.Bands(f.Area)
			p.AreaSplit(xs, y1, y2, f.Color, f.Color)
		case TextFigure:
			p.Label(&f.Label)
		}
	}
}

// polygon fills the space within corners, by columns of whole pixels so that no two of
// them touch the same one.
func (l *layout) polygon(pane int, color raster.Color, xs, ys []float64) {
	if color.A == 0 || len(xs) < 3 {
		return
	}
	cuts := polygonCuts(xs, float64(l.Panes[pane].Rect.X0), float64(l.Panes[pane].Rect.X1))
	columns, pieces := crossings(xs, ys, cuts, mostPieces-l.pieces)
	l.pieces += pieces
	for i, crossed := range columns {
		x0, x1 := cuts[i], cuts[i+1]
		for k := 0; k+1 < len(crossed); k += 2 {
			a := Area{From: len(l.ax), Pane: pane}
			l.ax = append(l.ax, x0, x1)
			l.ay = append(l.ay, crossed[k].y0, crossed[k].y1)
			l.by = append(l.by, crossed[k+1].y0, crossed[k+1].y1)
			a.To = len(l.ax)
			l.figure(Figure{Kind: AreaFigure, Pane: pane, Color: color, Area: a})
		}
	}
}
