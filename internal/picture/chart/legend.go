package chart

import (
	"math"
	"sort"
	"strings"

	"candela/internal/analysis/indicator"
	"candela/internal/picture/raster"
)

// part is a piece of a legend row or of the header.
type part struct {
	pane, row int
	text      string
	face      Face
	color     raster.Color
	gap       int // logical pixels before it
	keep      int // header only: the smallest goes first when room is short
	item      int // header only: pieces that go together
}

// Gaps between the pieces of a row, in logical pixels.
const (
	gapName  = 8
	gapValue = 12
	gapWord  = 5
)

// collectLegends builds the rows of every pane; placeLegends positions them.
func (l *layout) collectLegends() {
	row, hidden := 0, l.hidden
	for v := range l.each {
		if v.pane > 0 {
			l.legendRow(v, 0)
			continue
		}
		if hidden > 0 && row >= l.rows-1 {
			continue
		}
		l.legendRow(v, row)
		row++
	}
	if hidden > 0 && l.rows > 0 {
		l.parts = append(l.parts, part{row: l.rows - 1, text: plusN(hidden, ""), color: l.theme.muted})
	}
}

// legendRow writes name and last values of one result.
func (l *layout) legendRow(v *shown, row int) {
	base, text := legendName(v.Label)
	named := namedLines(v.Result)
	if named && namesParams(v.Result, base, text) {
		text = base
	}
	add := func(text string, color raster.Color, gap int) {
		l.parts = append(l.parts, part{pane: v.pane, row: row, text: text, color: color, gap: gap})
	}
	add(text, l.theme.text, 0)
	n := l.Panes[v.pane].notation
	gap := gapName
	for k := range v.Hist {
		h := &v.Hist[k]
		if h.Style == indicator.State || len(h.Values) < l.n {
			continue
		}
		last := h.Values[l.n-1]
		add(n.text(last), l.sideColor(!(last < h.Base)), gap)
		gap = gapValue
	}
	for k := range v.Lines {
		line := &v.Lines[k]
		if !listed(line) {
			continue
		}
		last := math.NaN()
		if len(line.Values) >= l.n {
			last = line.Values[l.n-1]
		}
		if named {
			if sub := subLabel(base, line.Label); sub != "" {
				add(sub, l.theme.muted, gap)
				gap = gapWord
			}
		}
		color := v.ink(k)
		if line.Style == indicator.Trend || line.Style == indicator.Dots {
			color = l.sideColor(last <= l.spec.Bars.C[l.n-1])
		}
		if !finite(last) {
			color = l.theme.muted
		}
		add(n.text(last), color, gap)
		gap = gapValue
	}
}

// listed reports whether a line has a value in the legend.
func listed(line *indicator.Line) bool {
	switch line.Style {
	case indicator.CandleOpen, indicator.CandleHigh, indicator.CandleLow, indicator.CandleClose, indicator.Hidden:
		return false
	default:
		return true
	}
}

// namedLines reports whether the values of a result need their names: colour
// distinguishes two lines, and order those of a channel.
func namedLines(r *indicator.Result) bool {
	all, solid := 0, 0
	for i := range r.Lines {
		if !listed(&r.Lines[i]) {
			continue
		}
		all++
		if r.Lines[i].Style != indicator.Band {
			solid++
		}
	}
	return solid > 2 || all > 3
}

// namesParams reports whether the names of the lines are the parameters, so that
// the title need not repeat them: EMA(8, 21) has lines 8 and 21.
func namesParams(r *indicator.Result, base, text string) bool {
	params := strings.Fields(strings.TrimPrefix(text, base))
	if len(params) != len(r.Lines) {
		return false
	}
	for i, p := range params {
		if subLabel(base, r.Lines[i].Label) != p {
			return false
		}
	}
	return true
}

// legendName returns the name of a result without and with its parameters:
// "RSI(14)" is "RSI" and "RSI 14".
func legendName(label string) (base, text string) {
	open := strings.IndexByte(label, '(')
	if open <= 0 || label[open-1] == ' ' || !strings.HasSuffix(label, ")") {
		return label, label
	}
	base = label[:open]
	params := strings.ReplaceAll(label[open+1:len(label)-1], ",", " ")
	return base, strings.Join(append([]string{base}, strings.Fields(params)...), " ")
}

// subLabel returns a line's name without the name of its result.
func subLabel(base, label string) string {
	if label == base {
		return ""
	}
	return strings.TrimPrefix(label, base+" ")
}

// placeLegends positions the header and the rows. A row that is too long for the plot
// loses its last values.
func (l *layout) placeLegends() {
	l.placeHeader()
	for from := 0; from < len(l.parts); {
		to := from + 1
		for to < len(l.parts) && l.parts[to].pane == l.parts[from].pane && l.parts[to].row == l.parts[from].row {
			to++
		}
		p := &l.parts[from]
		baseline := l.Panes[p.pane].Rect.Y0 + rowBaseline*l.s
		if p.pane == 0 {
			baseline = (headerBaseline + rowHeight*(p.row+1)) * l.s
		}
		l.placeRow(l.parts[from:to], p.pane, baseline)
		from = to
	}
}

// placeRow writes pieces from the left edge and puts a backing behind them.
func (l *layout) placeRow(parts []part, pane, baseline int) {
	left := float64(legendLeft * l.s)
	right := float64(l.axisX - legendLeft*l.s)
	x := left
	tall := capHeight
	for i := range parts {
		p := &parts[i]
		start := x
		if i > 0 {
			start += float64(p.gap * l.s)
		}
		text := p.text
		w := l.measure(text, p.face, l.s)
		if start+w > right {
			if i > 0 {
				break
			}
			text = l.fit(text, p.face, right-start)
			w = l.measure(text, p.face, l.s)
		}
		if p.face == Title {
			tall = 12
		}
		l.Labels = append(l.Labels, Label{X: start, Width: w, Baseline: baseline, Text: text, Face: p.face, Color: p.color})
		x = start + w
	}
	box := Rect{
		legendLeft*l.s - 4*l.s, baseline - (tall+5)*l.s,
		int(math.Ceil(x)) + 5*l.s, baseline + 5*l.s,
	}
	l.boxes = append(l.boxes, box)
	l.Backings = append(l.Backings, Box{box, pane, l.theme.background.Alpha(backing)})
}

// fit shortens text until it is no wider than room.
func (l *layout) fit(text string, face Face, room float64) string {
	if l.measure(text, face, l.s) <= room {
		return text
	}
	runes := []rune(text)
	shortened := func(n int) string { return string(runes[:n]) + "\u2026" }
	// The longest prefix that fits with its dots.
	n := sort.Search(len(runes), func(n int) bool { return l.measure(shortened(n+1), face, l.s) > room })
	if n == 0 {
		return ""
	}
	return shortened(n)
}
