package chart

import (
	"iter"
	"math"
	"slices"
	"sort"
	"strings"

	"candela/lib/chart/raster"
	"candela/lib/ta"
)

// part is a piece of a legend row or of the header.
type part struct {
	pane, row int
	entry     int // of the legend: pieces of one result stay together
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
	gapEntry = 22
	gapPill  = 7
)

// maxListed bounds the levels of one result in the legend.
const maxListed = 6

// collectLegends builds the entries of every pane; flowLegend gives those over the
// price their rows and placeLegends positions them.
func (l *layout) collectLegends() {
	for v := range l.each {
		if v.over && len(v.Lines) == 0 {
			continue
		}
		l.entry(v)
		l.entries++
	}
	if len(l.spec.Levels) > 0 {
		l.levelEntry()
		l.entries++
	}
	// Entries that share a row must stand side by side.
	slices.SortStableFunc(l.parts, func(a, b part) int { return a.pane - b.pane })
}

// add appends a piece to the entry that is being built.
func (l *layout) add(pane int, text string, color raster.Color, gap int) {
	l.parts = append(l.parts, part{pane: pane, entry: l.entries, text: text, color: color, gap: gap})
}

// entry writes name and last values of one result.
func (l *layout) entry(v *shown) {
	l.add(v.pane, v.title(), l.theme.text, 0)
	if v.fixed != "" {
		l.add(v.pane, v.fixed, l.fixedColor(v), gapName)
		return
	}
	n, gap := l.Panes[v.pane].notation, gapName
	levels := 0
	for e := range l.listedValues(v) {
		if e.level {
			if levels++; levels > maxListed {
				continue
			}
		}
		if e.name != "" {
			l.add(v.pane, e.name, l.theme.muted, gap)
			gap = gapWord
		}
		if !finite(e.value) {
			e.color = l.theme.muted
		}
		l.add(v.pane, n.value(e.value), e.color, gap)
		gap = gapValue
	}
	if levels > maxListed {
		l.add(0, plusN(levels-maxListed, ""), l.theme.muted, gapValue)
	}
	if v.scripted() {
		l.problem(v)
		return
	}
	if words := dotWords(v.Signals); words != "" && (v.pane > 0 || !l.dense()) {
		l.add(v.pane, words, l.theme.muted, gapValue)
	}
}

// title is the name of a result in the legend.
func (v *shown) title() string {
	base, text := legendName(v.Label)
	if namedValues(v.Result) && namesParams(v.Result, base, text) {
		return base
	}
	return text
}

// listedValue is a value of a result in the legend.
type listedValue struct {
	index int    // of the line, the histogram or the level
	hist  bool   // of a histogram
	level bool   // of a level
	name  string // where the value needs one
	value float64
	color raster.Color
}

// listedValues yields the values of a result in the legend.
func (l *layout) listedValues(v *shown) iter.Seq[listedValue] {
	base, _ := legendName(v.Label)
	named := namedValues(v.Result)
	name := func(label string) string {
		if !named {
			return ""
		}
		return subLabel(base, label)
	}
	return func(yield func(listedValue) bool) {
		for k := range v.Lines {
			line := &v.Lines[k]
			e := listedValue{index: k, name: name(line.Label), value: math.NaN(), color: l.theme.muted}
			if len(line.Values) >= l.n {
				e.value, e.color = line.Values[l.n-1], l.lastInk(v, k)
			}
			if listed(line) && !yield(e) {
				return
			}
		}
		for k := range v.Hist {
			h := &v.Hist[k]
			if h.Style == ta.State || len(h.Values) < l.n {
				continue
			}
			last := h.Values[l.n-1]
			if !yield(listedValue{index: k, hist: true, name: name(h.Label), value: last, color: l.sideColor(!(last < h.Base))}) {
				return
			}
		}
		for k, h := range v.HLines {
			if v.pane == 0 && !yield(listedValue{index: k, level: true, name: h.Label, value: h.Y, color: l.ruleColor(h.Style, v).Alpha(1)}) {
				return
			}
		}
	}
}

// levelEntry writes the levels of the account and of alerts, and which of them are out
// of sight.
func (l *layout) levelEntry() {
	p := &l.Panes[0]
	for i, v := range l.spec.Levels {
		gap := gapEntry
		if i == 0 {
			gap = 0
		}
		if i == maxListed {
			l.add(0, plusN(len(l.spec.Levels)-i, ""), l.theme.muted, gap)
			break
		}
		l.add(0, v.Label, l.theme.text, gap)
		text := p.notation.text(v.Price)
		switch {
		case v.Price > p.span.hi:
			text += " (above)"
		case v.Price < p.span.lo:
			text += " (below)"
		}
		l.add(0, text, l.levelColor(v), gapWord)
	}
}

// legendEnd returns the row below a legend of the price pane with the given rows.
func (l *layout) legendEnd(rows int) int {
	return (headerBaseline + rowHeight*rows + legendFoot) * l.s
}

// legendRows returns how many rows of a legend fit into a share of the price pane.
func (l *layout) legendRows(share float64) int {
	room := int(float64(share*float64(l.Panes[0].Rect.height()))) - l.legendEnd(0)
	return max(0, room/(rowHeight*l.s))
}

// flowLegend gives the entries over the price their rows: one each while that takes a
// quarter of the pane, else as many in a row as fit. Entries without room are counted.
func (l *layout) flowLegend() {
	total := 0
	for range l.overlayEntries {
		total++
	}
	if total <= l.legendRows(0.25) {
		row := 0
		for from, to := range l.overlayEntries {
			l.assign(from, to, row, false)
			row++
		}
		l.rows = row
		return
	}
	most, room, x := l.legendRows(legendShare), l.legendRoom(), 0.0
	row, shown := 0, 0
	more := l.measure("+99", Small, l.s) + float64(gapEntry*l.s)
	for from, to := range l.overlayEntries {
		width, limit := l.widthOf(l.parts[from:to]), room
		if row == most-1 && shown < total-1 {
			limit -= more
		}
		if x > 0 && x+float64(gapEntry*l.s)+width > limit {
			row, x = row+1, 0
		}
		if row >= most {
			l.assign(from, to, -1, false)
			continue
		}
		l.assign(from, to, row, x > 0)
		x += width + float64(gapEntry*l.s)
		shown++
	}
	l.rows = min(row+1, most)
	if hidden := total - shown; hidden > 0 && l.rows > 0 {
		l.more(plusN(hidden, ""))
	}
}

// overlayEntries yields the parts [from, to) of each entry over the price.
func (l *layout) overlayEntries(yield func(from, to int) bool) {
	for from := 0; from < len(l.parts); {
		to := from + 1
		for to < len(l.parts) && l.parts[to].entry == l.parts[from].entry {
			to++
		}
		if l.parts[from].pane == 0 && !yield(from, to) {
			return
		}
		from = to
	}
}

func (l *layout) assign(from, to, row int, follows bool) {
	for i := from; i < to; i++ {
		l.parts[i].row = row
	}
	if follows {
		l.parts[from].gap = gapEntry
	}
}

// more adds the count of omitted entries at the end of the last row, or what is left of
// its first entry when that alone fills it.
func (l *layout) more(text string) {
	at := 0
	for i := range l.parts {
		if l.parts[i].pane == 0 && l.parts[i].row == l.rows-1 {
			at = i + 1
		}
	}
	l.parts = slices.Insert(l.parts, at, part{row: l.rows - 1, entry: -1, text: text, color: l.theme.muted, gap: gapEntry})
}

// legendRoom is the width of a row as far as it is known before the axis: the widest
// number of the price pane and the names beside it may take their most.
func (l *layout) legendRoom() float64 {
	p := &l.Panes[0]
	widest := max(l.measure(p.notation.text(p.span.hi), SmallBold, l.s), l.measure(p.notation.text(p.span.lo), SmallBold, l.s))
	return float64(l.Width-(axisPadding+gapPill+2*legendLeft)*l.s) - widest - l.nameRoom()
}

// widthOf is the width of an entry.
func (l *layout) widthOf(parts []part) float64 {
	width := 0.0
	for i := range parts {
		if i > 0 {
			width += float64(parts[i].gap * l.s)
		}
		width += l.measure(parts[i].text, parts[i].face, l.s)
	}
	return width
}

// listed reports whether a line has a value in the legend.
func listed(line *ta.Line) bool {
	switch line.Style {
	case ta.CandleOpen, ta.CandleHigh, ta.CandleLow, ta.CandleClose, ta.Hidden:
		return false
	default:
		return true
	}
}

// namedValues reports whether the values of a result need their names: two of them
// are distinguished by colour, or by order if they are the edges of a channel.
func namedValues(r *ta.Result) bool {
	all := 0
	for i := range r.Lines {
		if listed(&r.Lines[i]) {
			all++
		}
	}
	for i := range r.Hist {
		if r.Hist[i].Style != ta.State {
			all++
		}
	}
	return all > 2
}

// namesParams reports whether the names of the lines are the parameters, so that
// the title need not repeat them: EMA(8, 21) has lines 8 and 21.
func namesParams(r *ta.Result, base, text string) bool {
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
	if open <= 0 || label[open-1] == ' ' || closing(label, open) != len(label)-1 {
		return label, label
	}
	base = label[:open]
	params := strings.ReplaceAll(label[open+1:len(label)-1], ",", " ")
	return base, strings.Join(append([]string{base}, strings.Fields(params)...), " ")
}

// closing returns where the bracket that opens at a place is closed, -1 for nowhere.
func closing(label string, open int) int {
	depth := 0
	for i := open; i < len(label); i++ {
		switch label[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
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
		switch {
		case p.row < 0: // no room
		case p.pane == 0 && p.row >= l.rows:
		case p.pane == 0:
			l.placeRow(l.parts[from:to], 0, (headerBaseline+rowHeight*(p.row+1))*l.s)
		default:
			l.placeRow(l.parts[from:to], p.pane, l.Panes[p.pane].Rect.Y0+panelBaseline*l.s)
		}
		from = to
	}
}

// placeRow writes pieces from the left edge, as far as they fit, and puts a backing
// behind them. A count of omitted entries at the end always has its place.
func (l *layout) placeRow(parts []part, pane, baseline int) {
	room := float64(l.axisX - 2*legendLeft*l.s)
	var count []part
	if last := len(parts) - 1; parts[last].entry < 0 {
		parts, count = parts[:last], parts[last:]
		room -= float64(gapEntry*l.s) + l.widthOf(count)
	}
	parts = parts[:max(1, l.fitting(parts, room))]
	parts[0].text = l.fit(parts[0].text, parts[0].face, room)
	parts[0].gap = 0
	x, tall := float64(legendLeft*l.s), capHeight
	for _, run := range [...][]part{parts, count} {
		for i := range run {
			p := &run[i]
			x += float64(p.gap * l.s)
			w := l.measure(p.text, p.face, l.s)
			l.Labels = append(l.Labels, Label{X: x, Width: w, Baseline: baseline, Text: p.text, Face: p.face, Color: l.theme.readable(p.color)})
			x += w
			if p.face == Title {
				tall = 12
			}
		}
	}
	box := Rect{
		legendLeft*l.s - 4*l.s, baseline - (tall+4)*l.s,
		int(math.Ceil(x)) + 5*l.s, baseline + legendFoot*l.s,
	}
	l.boxes, l.legends = append(l.boxes, box), append(l.legends, box)
	l.Backings = append(l.Backings, Box{box, pane, l.theme.background})
}

// fitting returns how many of the pieces fit into room. A name is not left without its
// value.
func (l *layout) fitting(parts []part, room float64) int {
	x, fits := 0.0, 0
	for i := range parts {
		if i > 0 {
			x += float64(parts[i].gap * l.s)
		}
		if x += l.measure(parts[i].text, parts[i].face, l.s); x > room {
			break
		}
		if i+1 == len(parts) || parts[i+1].gap != gapWord {
			fits = i + 1
		}
	}
	return fits
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
