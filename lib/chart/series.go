package chart

import (
	"math"
	"slices"

	"candela/lib/chart/raster"
	"candela/lib/ta"
)

// Widths and sizes of what is drawn at a value, in logical pixels.
const (
	lineWidth  = 1.6
	bandWidth  = 1.0
	denseShare = 0.75 // of a width, where columns are narrow
	divWidth   = 1.8
	dotRadius  = 1.5
)

// colorLines gives every result and every line its colour. Overlays share one walk
// through the cycle, because they share a pane: each line takes the next colour, and a
// channel or a profile takes one for all of its parts. After the last colour the walk
// begins again with dashed lines.
func (l *layout) colorLines() {
	for v := range l.each {
		if v.pane == 0 {
			l.colorOverlay(v)
		} else {
			l.colorPanel(v)
		}
		l.replaceCandles(v.Result)
	}
}

func (l *layout) colorOverlay(v *shown) {
	channel := hasStyle(v.Result, ta.Band) && countStyle(v.Result, ta.Solid) < 2
	taken, again := false, false
	for k := range min(len(v.Lines), len(v.inks)) {
		line := &v.Lines[k]
		if color, known := paintedInk(line.Paint); known {
			v.inks[k], v.color, taken = color, color, true
			continue
		}
		if color, known := l.theme.lineColor(line.Label); known {
			v.inks[k] = color
			continue
		}
		switch line.Style {
		case ta.Solid, ta.Band, ta.Steps:
			if !taken || !channel && line.Style != ta.Steps {
				v.color, again = l.nextColor()
				taken = true
			}
			v.inks[k], v.dashed[k] = v.color, again
		default: // drawn in the colours of rising and falling
		}
	}
	if !taken && (len(v.HBars) > 0 || len(v.HLines) > 0 || len(v.Fills) > 0 || len(v.Profiles) > 0) {
		v.color, _ = l.nextColor()
	}
}

// nextColor returns the next colour of the walk, and whether it was used before.
func (l *layout) nextColor() (color raster.Color, again bool) {
	color, again = l.theme.cycle[l.walk%len(l.theme.cycle)], l.walk >= len(l.theme.cycle)
	l.walk++
	return color, again
}

// colorPanel gives the lines of a panel colours that differ most from each other: blue
// against orange first, which stay apart for every kind of sight.
func (l *layout) colorPanel(v *shown) {
	order := [...]int{blue, orange, violet, yellow, cyan, pink, green, tan}
	v.color = l.theme.cycle[violet]
	for k := range min(len(v.Lines), len(v.inks)) {
		color, known := l.theme.lineColor(v.Lines[k].Label)
		if ink, own := paintedInk(v.Lines[k].Paint); own {
			color, known = ink, true
		}
		switch {
		case known:
		case len(v.Lines) == 1:
			color = v.color
		default:
			color = l.theme.cycle[order[k%len(order)]]
		}
		v.inks[k] = color
	}
	if len(v.Lines) > 0 {
		v.color = v.inks[0]
	}
}

func (v *shown) ink(k int) raster.Color { return v.inks[min(k, len(v.inks)-1)] }

func countStyle(r *ta.Result, style ta.LineStyle) int {
	n := 0
	for i := range r.Lines {
		if r.Lines[i].Style == style {
			n++
		}
	}
	return n
}

func hasStyle(r *ta.Result, style ta.LineStyle) bool {
	return slices.ContainsFunc(r.Lines, func(line ta.Line) bool { return line.Style == style })
}

// replaceCandles lets a result replace the candles, when it has all four columns
// in full length.
func (l *layout) replaceCandles(r *ta.Result) {
	var four ohlc
	for i := range r.Lines {
		line := &r.Lines[i]
		if len(line.Values) != l.n {
			continue
		}
		switch line.Style {
		case ta.CandleOpen:
			four.o = line.Values
		case ta.CandleHigh:
			four.h = line.Values
		case ta.CandleLow:
			four.l = line.Values
		case ta.CandleClose:
			four.c = line.Values
		default:
		}
	}
	if r.Drawn == nil && r.Overlay && four.o != nil && four.h != nil && four.l != nil && four.c != nil {
		l.candles = four
	}
}

// drawLines places the lines of every result.
func (l *layout) drawLines() {
	for v := range l.each {
		for k := range v.Lines {
			l.drawLine(v, k)
		}
	}
}

func (l *layout) drawLine(v *shown, k int) {
	line, color := &v.Lines[k], v.ink(k)
	if line.Paint != nil && listed(line) {
		l.paintLine(v, k)
		return
	}
	values := l.extend(line.Values, line.Ahead)
	first := len(l.Lines)
	width, band := float64(lineWidth*float64(l.s)), float64(bandWidth*float64(l.s))
	if l.Columns.narrow(l.s) {
		width, band = float64(denseShare*width), float64(denseShare*band)
	}
	switch line.Style {
	case ta.Band:
		l.stroke(v, k, values, band)
	case ta.Dots:
		l.dots(values, v.pane)
	case ta.Trend:
		l.stroke(v, k, values, float64(lineWidth*float64(l.s)))
	case ta.Steps:
		l.steps(values, v.pane, color, v.pane == 0 && secondary(line.Label))
	case ta.CandleOpen, ta.CandleHigh, ta.CandleLow, ta.CandleClose, ta.Hidden:
	default:
		l.stroke(v, k, values, width)
	}
	if v.dashed[min(k, len(v.dashed)-1)] {
		for i := range l.Lines[first:] {
			l.Lines[first+i].On, l.Lines[first+i].Off = float64(6*l.s), float64(3*l.s)
		}
	}
}

// secondary reports whether a level accompanies another of its result, which is the
// one that matters most.
func secondary(label string) bool {
	switch label {
	case "VAH", "VAL", "OR Mid", "PDC", "PDO", "PWC", "PWO", "PMC", "PMO":
		return true
	}
	return false
}

// finite reports whether v is a number. It does not subtract v from itself: where
// v is a product, a fused multiply-add would leave the rounding error of it.
func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// piece is a part of a line in one colour: its values of the bars [from, to).
type piece struct {
	from, to int
	color    raster.Color
}

// lineParts returns the parts of line k, in memory that the next call reuses: a run of numbers. A run also
// ends where the indicator begins again, because a join would be an upright line that says nothing, and a
// line that shows a trend ends and changes its colour where it changes sides.
func (l *layout) lineParts(v *shown, k int, values []float64) []piece {
	style, restarts := v.Lines[k].Style, v.Restarts
	sides := style == ta.Trend || style == ta.Dots
	l.parted = l.parted[:0]
	for i := 0; i < len(values); {
		if !finite(values[i]) {
			i++
			continue
		}
		from, end := i, len(values)
		if sides {
			up := l.side(values, i)
			for i < end && finite(values[i]) && l.side(values, i) == up {
				i++
			}
			l.parted = append(l.parted, piece{from, i, l.sideColor(up)})
			continue
		}
		for len(restarts) > 0 && restarts[0] <= from {
			restarts = restarts[1:]
		}
		if len(restarts) > 0 {
			end = min(end, restarts[0])
		}
		for i < end && finite(values[i]) {
			i++
		}
		l.parted = append(l.parted, piece{from, i, v.ink(k)})
	}
	return l.parted
}

// stroke adds the parts of line k.
func (l *layout) stroke(v *shown, k int, values []float64, width float64) {
	for _, p := range l.lineParts(v, k, values) {
		l.run(values, p.from, p.to, v.pane, width, p.color)
	}
}

// run adds the line through bars [from, to), all of them numbers. Where bars are
// merged, each column keeps its lowest and highest value in order of time.
func (l *layout) run(values []float64, from, to, pane int, width float64, color raster.Color) {
	a := &l.Panes[pane].axis
	if to-from == 1 {
		l.Dots = append(l.Dots, Mark{Shape: Dot, Pane: pane, X: l.xs[from], Y: a.y(values[from]), Radius: width, Color: color})
		return
	}
	start := len(l.px)
	if l.Columns.Per == 1 {
		for i := from; i < to; i++ {
			l.px, l.py = append(l.px, l.xs[i]), append(l.py, a.y(values[i]))
		}
	} else {
		for i := from; i < to; {
			stop := min((l.Columns.column(i)+1)*l.Columns.Per, to)
			low, high := i, i
			for k := i; k < stop; k++ {
				if values[k] < values[low] {
					low = k
				}
				if values[k] > values[high] {
					high = k
				}
			}
			first, second := min(low, high), max(low, high)
			l.px, l.py = append(l.px, l.xs[first]), append(l.py, a.y(values[first]))
			if second != first {
				l.px, l.py = append(l.px, l.xs[second]), append(l.py, a.y(values[second]))
			}
			i = stop
		}
	}
	l.Lines = append(l.Lines, Stroke{From: start, To: len(l.px), Pane: pane, Width: width, Color: color})
}

// side reports whether the value of bar i lies below the price, which is what
// makes a trend line rising.
func (l *layout) side(values []float64, i int) bool { return values[i] <= l.spec.Bars.C[i] }

func (l *layout) sideColor(up bool) raster.Color {
	if up {
		return l.theme.up
	}
	return l.theme.down
}

// dots adds one dot per column.
func (l *layout) dots(values []float64, pane int) {
	a := &l.Panes[pane].axis
	radius := float64(dotRadius * float64(l.s))
	radius = max(min(radius, float64(l.Columns.Step*0.4)), 0.6)
	for k := range l.Columns.N {
		_, to := l.Columns.bars(k)
		i := to - 1
		if i >= len(values) || !finite(values[i]) {
			continue
		}
		l.Dots = append(l.Dots, Mark{
			Shape: Dot, Pane: pane, X: l.xs[i], Y: a.y(values[i]),
			Radius: radius, Color: l.sideColor(l.side(values, i)),
		})
	}
}

// steps adds a level of whole pixels for each run of equal values.
func (l *layout) steps(values []float64, pane int, color raster.Color, dashed bool) {
	a := &l.Panes[pane].axis
	half := l.Columns.pixelsPerBar() / 2
	for i := 0; i < len(values); {
		v, from := values[i], i
		for i++; i < len(values) && values[i] == v; {
			i++
		}
		if !finite(v) || !a.shows(v) {
			continue
		}
		y := a.row(v)
		x0, x1 := int(math.Floor(l.xs[from]-half)), int(math.Ceil(l.xs[i-1]+half))
		r := Rule{X0: max(x0, 0), X1: max(x1, x0+1), Y: y, Thick: l.s, Pane: pane, Color: color}
		if dashed {
			r.On, r.Off = 3*l.s, 3*l.s
		}
		l.Rules = append(l.Rules, r)
	}
}

// drawDivergences places the segments between pivots, with a dot at each end.
func (l *layout) drawDivergences() {
	s := float64(l.s)
	for v, a := range l.each {
		for _, d := range v.DivLines {
			if d.X1 < 0 || d.X2 < 0 || d.X1 >= l.n || d.X2 >= l.n || !finite(d.Y1) || !finite(d.Y2) {
				continue
			}
			color := l.sideColor(d.Bull)
			k := Stroke{From: len(l.px), Pane: v.pane, Width: float64(divWidth * s), Color: color}
			if d.Dashed {
				k.On, k.Off = 6*s, 4*s
			}
			x1, y1, x2, y2 := l.xs[d.X1], a.y(d.Y1), l.xs[d.X2], a.y(d.Y2)
			if x1 > x2 {
				x1, y1, x2, y2 = x2, y2, x1, y1
			}
			l.px, l.py = append(l.px, x1, x2), append(l.py, y1, y2)
			k.To = len(l.px)
			l.Divs = append(l.Divs, k)
			l.dot(v.pane, x1, y1, 3.2, 4.5, color)
			l.dot(v.pane, x2, y2, 3.2, 4.5, color)
		}
	}
}

// dot adds a dot with a ring of background around it; sizes in logical pixels.
func (l *layout) dot(pane int, x, y, radius, halo float64, color raster.Color) {
	s := float64(l.s)
	l.Marks = append(l.Marks, Mark{
		Shape: Dot, Pane: pane, X: x, Y: y, Radius: float64(radius * s), Halo: float64(halo * s), Color: color,
	})
}
