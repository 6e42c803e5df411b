package chart

import (
	"cmp"
	"math"
	"slices"

	"candela/internal/analysis/indicator"
	"candela/internal/picture/raster"
)

// Ranks of pills: the last price never moves; then levels of the account and alerts;
// then lines in the order requested.
const (
	rankLast = iota
	rankLevel
	rankLine
)

// collectPills finds the pills of every pane. placePills positions them later, because
// their width decides the width of the axis.
func (l *layout) collectPills() {
	l.lastPrice = math.NaN()
	for i := l.n - 1; i >= 0 && !finite(l.lastPrice); i-- {
		l.lastPrice = l.spec.Bars.C[i]
	}
	if finite(l.lastPrice) {
		l.pill(0, l.lastPrice, l.lastColor(), rankLast, "")
	}
	for _, v := range l.spec.Levels {
		if finite(v.Price) {
			l.pill(0, v.Price, l.levelColor(v), rankLevel, v.Label)
		}
	}
	for v := range l.each {
		for k := range v.Lines {
			line := &v.Lines[k]
			if !hasPill(line.Style, v.pane) || len(line.Values) < l.n {
				continue
			}
			last := line.Values[l.n-1]
			if !finite(last) {
				continue
			}
			color := v.ink(k)
			if line.Style == indicator.Trend {
				color = l.sideColor(last <= l.spec.Bars.C[l.n-1])
			}
			l.pill(v.pane, last, color, rankLine+k, "")
		}
	}
}

// hasPill reports whether the last value of a line is shown on the axis. Levels over
// the price are not: they are many, and the legend lists them.
func hasPill(style indicator.LineStyle, pane int) bool {
	switch style {
	case indicator.Solid, indicator.Trend:
		return true
	case indicator.Steps:
		return pane > 0
	default:
		return false
	}
}

// lastColor is that of the last candle.
func (l *layout) lastColor() raster.Color {
	return l.sideColor(l.spec.Bars.C[l.n-1] >= l.spec.Bars.O[l.n-1])
}

func (l *layout) levelColor(v Level) raster.Color {
	switch v.Kind {
	case EntryLevel:
		return l.theme.strong // a colour that no line of an indicator has
	case OrderLevel:
		return l.sideColor(!v.Sell)
	case AlertLevel:
	}
	return l.theme.cycle[orange]
}

func (l *layout) pill(pane int, value float64, color raster.Color, rank int, tag string) {
	p := &l.Panes[pane]
	text := p.notation.text(value)
	y := p.axis.row(value)
	if tag != "" {
		switch {
		case y < p.Rect.Y0:
			tag += " (above)"
		case y >= p.Rect.Y1:
			tag += " (below)"
		}
	}
	l.Pills = append(l.Pills, Pill{
		Pane: pane, Color: color, value: value, y: y, rank: rank, tag: tag,
		Label: Label{Text: text, Width: l.measure(text, SmallBold, l.s), Face: SmallBold, Color: onPill(color)},
	})
}

// drawLast places the lines of the last price and of the levels.
func (l *layout) drawLast() {
	p := &l.Panes[0]
	if finite(l.lastPrice) {
		l.Last = Rule{X1: l.axisX, Y: p.axis.row(l.lastPrice), Thick: l.s, Color: l.lastColor(), On: 2 * l.s, Off: 3 * l.s}
	}
	for _, v := range l.spec.Levels {
		if y := p.axis.row(v.Price); finite(v.Price) && y >= p.Rect.Y0 && y < p.Rect.Y1 {
			r := Rule{X1: l.axisX, Y: y, Thick: l.s, Color: l.levelColor(v)}
			if v.Kind != EntryLevel {
				r.On, r.Off = 4*l.s, 4*l.s
			}
			l.Levels = append(l.Levels, r)
		}
	}
}

// placePills spreads the pills of each pane so that none lies on another.
func (l *layout) placePills() {
	slices.SortStableFunc(l.Pills, func(a, b Pill) int {
		return cmp.Or(a.Pane-b.Pane, cmp.Compare(b.value, a.value))
	})
	placed := l.Pills[:0]
	for from := 0; from < len(l.Pills); {
		to := from + 1
		for to < len(l.Pills) && l.Pills[to].Pane == l.Pills[from].Pane {
			to++
		}
		kept := l.spread(l.Pills[from:to], &l.Panes[l.Pills[from].Pane])
		placed = append(placed, kept...)
		from = to
	}
	clear(l.Pills[len(placed):])
	l.Pills = placed
	for i := range l.Pills {
		l.boxPill(&l.Pills[i])
	}
}

// spread separates the pills of a pane, sorted by y, and returns those that fit, in the
// same memory. Levels stay at their lines as far as possible; values of lines use the
// remaining room.
func (l *layout) spread(pills []Pill, p *Pane) []Pill {
	half := pillHeight * l.s / 2
	top, bottom := p.Rect.Y0+half, p.Rect.Y1-half
	if bottom < top {
		return pills[:0]
	}
	firm := 0
	for i := range pills {
		pills[i].y = min(max(pills[i].y, top), bottom)
		if pills[i].firm() {
			firm++
		}
	}
	if firm < 2 {
		return l.chain(pills, top, bottom)
	}
	// Levels first, among themselves, then the lines, the nearest to the last price first.
	slices.SortStableFunc(pills, func(a, b Pill) int {
		switch {
		case a.firm() && b.firm():
			return 0
		case a.firm():
			return -1
		case b.firm():
			return 1
		}
		return cmp.Compare(math.Abs(a.value-l.lastPrice), math.Abs(b.value-l.lastPrice))
	})
	placed := l.chain(pills[:firm], top, bottom)
	for _, k := range pills[firm:] {
		if l.squeeze(&k, placed, top, bottom) {
			placed = append(placed, k)
		}
	}
	return placed
}

// firm reports whether the pill belongs to the last price or to a level.
func (p *Pill) firm() bool { return p.rank <= rankLevel }

// chain spreads pills of equal rank. The last price, if any, stays, and the others are
// pushed away from it; those that do not fit between it and the edge are dropped, the
// least important first.
func (l *layout) chain(pills []Pill, top, bottom int) []Pill {
	pitch := pillPitch * l.s
	pinned := slices.IndexFunc(pills, func(k Pill) bool { return k.rank == rankLast })
	if pinned < 0 {
		pills = thin(pills, (bottom-top)/pitch+1)
		push(pills, top, pitch, 1)
		push(pills, bottom, pitch, -1)
		return pills
	}
	last := pills[pinned]
	above := thin(pills[:pinned], (last.y-top)/pitch)
	below := thin(pills[pinned+1:], (bottom-last.y)/pitch)
	push(above, last.y-pitch, pitch, -1)
	push(above, top, pitch, 1)
	push(below, last.y+pitch, pitch, 1)
	push(below, bottom, pitch, -1)
	kept := above // begins at pills[0], so appending compacts in place
	kept = append(kept, last)
	return append(kept, below...)
}

// push moves pills downward (direction 1) from the first so that none is above limit or
// nearer than pitch to the one before it, or upward (-1) from the last.
func push(pills []Pill, limit, pitch, direction int) {
	for i := range pills {
		k := &pills[i]
		if direction < 0 {
			k = &pills[len(pills)-1-i]
			k.y = min(k.y, limit)
		} else {
			k.y = max(k.y, limit)
		}
		limit = k.y + pitch*direction
	}
}

// squeeze finds room for k among the placed pills, away from the last price. A pill
// that would be far from its value, or on the wrong side of another, is dropped: the
// legend has the number.
func (l *layout) squeeze(k *Pill, placed []Pill, top, bottom int) bool {
	pitch, direction := pillPitch*l.s, 1
	if k.value >= l.lastPrice {
		direction = -1
	}
	from := k.y
	for i := 0; i < len(placed); i++ {
		if gap := placed[i].y - k.y; gap > -pitch && gap < pitch {
			k.y = placed[i].y + pitch*direction
			i = -1 // the new place may touch one that was checked already
		}
	}
	for i := range placed {
		if (placed[i].value > k.value) != (placed[i].y < k.y) && placed[i].value != k.value {
			return false
		}
	}
	moved := (k.y - from) * direction
	return k.y >= top && k.y <= bottom && moved <= 2*pitch
}

// thin removes the pills of the highest rank until at most room are left.
func thin(pills []Pill, room int) []Pill {
	for len(pills) > max(room, 0) {
		worst := 0
		for i := range pills {
			if pills[i].rank >= pills[worst].rank {
				worst = i
			}
		}
		pills = slices.Delete(pills, worst, worst+1)
	}
	return pills
}

// boxPill gives a pill its rectangle, and its tag one in the plot beside it.
func (l *layout) boxPill(p *Pill) {
	top := p.y - pillHeight*l.s/2
	left := l.axisX + l.s
	p.Label.X = float64(l.axisX + labelInset*l.s)
	p.Label.Baseline = top + 13*l.s
	right := int(math.Ceil(p.Label.X+p.Label.Width)) + (labelInset-1)*l.s
	p.Rect = Rect{left, top, min(right, l.Width), top + pillHeight*l.s}
	if p.tag == "" {
		return
	}
	text := l.fit(p.tag, Small, float64(l.axisX-40*l.s))
	w := l.measure(text, Small, l.s)
	x := float64(l.axisX-l.s-6*l.s) - math.Ceil(w)
	p.Tag = Label{X: x, Width: w, Baseline: p.Label.Baseline, Text: text, Face: Small, Color: p.Label.Color}
	p.TagBox = Rect{int(x) - 6*l.s, top, l.axisX - l.s, p.Y1}
}
