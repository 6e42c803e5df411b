package chart

import (
	"math"
	"slices"
	"strconv"

	"candela/lib/chart/raster"
	"candela/lib/market"
)

// Items of the header in the order in which they are dropped when room is short.
const (
	keepVolume = iota
	keepRange
	keepOHL
	keepChange
	keepClose
	keepNote
	keepInterval
	keepSample
	keepSymbol
)

// header collects the pieces of the first row.
type header struct {
	parts []part
	item  int
}

func (h *header) add(keep int, face Face, color raster.Color, gap int, text string) {
	h.parts = append(h.parts, part{text: text, face: face, color: color, gap: gap, keep: keep, item: h.item})
	h.item++
}

// value adds a muted name and its value as one item.
func (h *header) value(keep int, name string, muted raster.Color, text string, color raster.Color, gap int) {
	h.parts = append(h.parts,
		part{text: name, color: muted, gap: gap, keep: keep, item: h.item},
		part{text: text, color: color, gap: 4, keep: keep, item: h.item})
	h.item++
}

// placeHeader writes symbol, interval, the last bar and the period, as far as
// they fit.
func (l *layout) placeHeader() {
	h := header{parts: l.head[:0]}
	t := l.theme
	title := l.spec.Symbol
	if title == "" && l.spec.Sample {
		title = "SAMPLE"
	}
	h.add(keepSymbol, Title, t.strong, 0, title)
	if l.spec.Interval.Valid() {
		h.add(keepInterval, Title, t.muted, 8, l.spec.Interval.String())
	}
	if l.spec.Sample && title != "SAMPLE" {
		h.add(keepSample, SmallBold, t.warn, 12, "SAMPLE")
	}
	for i, fact := range l.spec.Facts {
		h.add(keepClose, Small, t.text, 16-2*min(i, 1), fact)
	}
	if l.spec.Facts == nil {
		l.headerBar(&h)
	}
	if !l.spec.Sample {
		daily := l.spec.Interval >= market.Day1
		h.add(keepRange, Small, t.muted, 14, rangeText(l.spec.Bars.T[0], l.spec.Bars.T[l.n-1], !daily))
	}
	for _, note := range l.notes() {
		h.add(keepNote, Small, t.warn, 14, note)
	}
	l.head = h.parts
	l.placeRow(l.trimHeader(h.parts), 0, headerBaseline*l.s)
}

// headerBar adds the prices of the last bar, in its colour.
func (l *layout) headerBar(h *header) {
	t, b, i := l.theme, &l.spec.Bars, l.n-1
	n := l.Panes[0].notation
	color := l.lastColor()
	h.value(keepOHL, "O", t.muted, n.text(b.O[i]), color, 16)
	h.value(keepOHL, "H", t.muted, n.text(b.H[i]), color, 9)
	h.value(keepOHL, "L", t.muted, n.text(b.L[i]), color, 9)
	h.value(keepClose, "C", t.muted, n.text(b.C[i]), color, 9)
	before := b.O[i]
	if i > 0 {
		before = b.C[i-1]
	}
	if change := (b.C[i] - before) / math.Abs(before) * 100; finite(change) && math.Abs(change) < 1e6 {
		text := notation{decimals: 2}.text(change)
		if change >= 0 {
			text = "+" + text
		}
		h.add(keepChange, Small, l.sideColor(change >= 0), 9, text+"%")
	}
	if l.hasVolume() {
		h.value(keepVolume, "Vol", t.muted, notation{style: compact}.text(b.V[i]), color, 14)
	}
}

// notes returns the warnings that a reader of the picture needs.
func (l *layout) notes() []string {
	notes := l.noteRoom[:0]
	if l.spec.Note != "" {
		notes = append(notes, l.spec.Note)
	}
	if l.spec.Forming {
		notes = append(notes, "forming")
	}
	if l.Columns.Per > 1 {
		notes = append(notes, strconv.Itoa(l.Columns.Per)+" bars per column")
	}
	if l.thinned > 0 {
		notes = append(notes, strconv.Itoa(l.thinned)+" signals not drawn")
	}
	if l.outside > 0 {
		notes = append(notes, outsideNote(l.outside))
	}
	switch {
	case l.linear:
		notes = append(notes, "linear: a price is not positive")
	case l.Panes[0].axis.log:
		notes = append(notes, "log")
	}
	if l.dropped > 0 {
		notes = append(notes, plusN(l.dropped, " panels"))
	}
	l.noteRoom = notes
	return notes
}

// trimHeader removes the least important items until the row fits.
func (l *layout) trimHeader(parts []part) []part {
	room := float64(l.axisX - 2*legendLeft*l.s)
	for {
		width, worst := 0.0, 0
		for i := range parts {
			p := &parts[i]
			if i > 0 {
				width += float64(p.gap * l.s)
			}
			width += l.measure(p.text, p.face, l.s)
			if p.keep <= parts[worst].keep {
				worst = i
			}
		}
		if width <= room || len(parts) < 2 || parts[worst].keep == keepSymbol {
			return parts
		}
		item := parts[worst].item
		parts = slices.DeleteFunc(parts, func(p part) bool { return p.item == item })
	}
}
