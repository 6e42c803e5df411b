package chart

import (
	"cmp"
	"math"
	"slices"

	"candela/lib/chart/raster"
	"candela/lib/ta"
)

// Ranks of pills: the last price, then levels of the account and alerts, then lines,
// then the levels of indicators.
const (
	rankLast = iota
	rankLevel
	rankLine
	rankRule
)

// collectPills finds the pills of every pane.
func (l *layout) collectPills() {
	l.lastPrice = math.NaN()
	for i := l.n - 1; i >= 0 && !finite(l.lastPrice); i-- {
		l.lastPrice = l.spec.Bars.C[i]
	}
	if finite(l.lastPrice) {
		l.pill(0, rankLast, l.lastPrice, l.lastColor(), "", "")
	}
	for _, v := range l.spec.Levels {
		l.pill(0, rankLevel, v.Price, l.levelColor(v), v.Label, v.Label)
	}
	l.collectDrawnPills()
	for v := range l.each {
		base, _ := legendName(v.Label)
		for k := range v.Lines {
			line := &v.Lines[k]
			rank, ok := pillRank(line.Style, v.pane)
			if ok && len(line.Values) >= l.n {
				before := len(l.Pills)
				l.pill(v.pane, rank, line.Values[l.n-1], l.lastInk(v, k), line.Label, cmp.Or(subLabel(base, line.Label), line.Label))
				l.writeFixed(v, l.Pills[before:])
			}
		}
		for _, h := range v.HLines {
			if v.pane == 0 && h.Label != "" {
				name := l.ownLevel(v, h.Label)
				l.pill(0, rankRule, h.Y, l.ruleColor(h.Style, v).Alpha(1), name, name)
			}
		}
	}
}

// ownLevel returns the name of a level over the price, with that of its result where another one has a
// level of the same name: two profiles have a POC each.
func (l *layout) ownLevel(v *shown, label string) string {
	base, _ := legendName(v.Label)
	for o := range l.each {
		if o == v || o.pane > 0 || !slices.ContainsFunc(o.HLines, func(h ta.HLine) bool { return h.Label == label }) {
			continue
		}
		if other, _ := legendName(o.Label); other != base {
			return base + " " + label
		}
		return v.Label + " " + label
	}
	return label
}

// pillRank returns the rank of a line's last value on the axis, if it is shown there.
func pillRank(style ta.LineStyle, pane int) (rank int, ok bool) {
	switch style {
	case ta.Solid, ta.Trend:
		return rankLine, true
	case ta.Steps:
		if pane == 0 {
			return rankRule, true
		}
		return rankLine, true
	default:
		return 0, false
	}
}

// lastInk is the colour of line k at the last bar.
func (l *layout) lastInk(v *shown, k int) raster.Color {
	if ink, own := paintedInk(v.Lines[k].Paint); own {
		return ink
	}
	if style := v.Lines[k].Style; style == ta.Trend || style == ta.Dots {
		return l.sideColor(v.Lines[k].Values[l.n-1] <= l.spec.Bars.C[l.n-1])
	}
	return v.ink(k)
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
	return l.theme.warn
}

// pill adds a pill under a name and its short form, unless its value is out of sight:
// the legend has it then.
func (l *layout) pill(pane, rank int, value float64, color raster.Color, name, short string) {
	p := &l.Panes[pane]
	if !finite(value) || !p.axis.shows(value) {
		return
	}
	text, at := p.notation.value(value), p.axis.row(value)
	l.Pills = append(l.Pills, Pill{
		Pane: pane, Color: color, value: value, at: at, y: at, rank: rank, order: len(l.Pills), names: [2]string{name, short},
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
		if finite(v.Price) && p.axis.shows(v.Price) {
			r := Rule{X1: l.axisX, Y: p.axis.row(v.Price), Thick: l.s, Color: l.levelColor(v)}
			if v.Kind != EntryLevel {
				r.On, r.Off = 4*l.s, 4*l.s
			}
			l.Levels = append(l.Levels, r)
		}
	}
}

// spreadPills gives the pills of each pane their rows.
func (l *layout) spreadPills() {
	slices.SortStableFunc(l.Pills, func(a, b Pill) int {
		return cmp.Or(a.Pane-b.Pane, a.rank-b.rank, a.order-b.order)
	})
	kept := l.Pills[:0]
	for from := 0; from < len(l.Pills); {
		to := from + 1
		for to < len(l.Pills) && l.Pills[to].Pane == l.Pills[from].Pane {
			to++
		}
		r := l.Panes[l.Pills[from].Pane].Rect
		s := newSpread(r.Y0, r.Y1, l.s)
		l.placed = s.place(l.placed[:0], l.Pills[from:to])
		kept = append(kept, l.placed...) // no more than were read
		from = to
	}
	clear(l.Pills[len(kept):])
	l.Pills = kept
}

// dropPill removes the least important pill of a pane, but never the last price.
func (l *layout) dropPill(pane int) bool {
	worst := -1
	for i := range l.Pills {
		p := &l.Pills[i]
		if p.Pane == pane && p.rank > rankLast && (worst < 0 || p.after(&l.Pills[worst])) {
			worst = i
		}
	}
	if worst >= 0 {
		l.Pills = slices.Delete(l.Pills, worst, worst+1)
	}
	return worst >= 0
}

// after reports whether p is less important than o.
func (p *Pill) after(o *Pill) bool { return cmp.Or(p.rank-o.rank, p.order-o.order) > 0 }

// spread places the pills of one pane so that none lies on another and each stays
// within reach of its value.
type spread struct {
	top, bottom int // rows of the middle of the first and the last that fit
	pitch       int
	reach, last int // distances that a pill, and that of the last price, may move
	most        int // pills
}

func newSpread(top, bottom, scale int) spread {
	half := pillHeight * scale / 2
	return spread{
		top: top + half, bottom: bottom - half, pitch: pillPitch * scale,
		reach: pillReach * scale, last: lastReach * scale, most: max(1, (bottom-top)/(pillRoom*scale)),
	}
}

// place appends to dst the pills that have a place, from top to bottom. They come in
// order of importance: each is kept if all so far still fit. A line that does not fit
// joins the nearest pill of a line within reach; anything else is left to the legend.
func (s *spread) place(dst, pills []Pill) []Pill {
	pinned := false
	for i := range pills {
		k := pills[i]
		if k.rank > rankLevel && !pinned { // what follows must not move levels from their lines
			pinned = true
			s.settle(dst, true)
			for j := range dst {
				dst[j].pinned, dst[j].pin = true, dst[j].y
			}
		}
		at, _ := slices.BinarySearchFunc(dst, &k, func(a Pill, b *Pill) int { return cmp.Or(cmp.Compare(b.value, a.value), a.order-b.order) })
		if len(dst) < s.most {
			if dst = slices.Insert(dst, at, k); s.settle(dst, k.rank == rankLevel) {
				continue
			}
			dst = slices.Delete(dst, at, at+1)
		}
		if near := s.nearest(dst, &k); near >= 0 {
			dst[near].merged++
		}
	}
	s.settle(dst, true)
	return dst
}

// nearest returns the pill of a line or level that k can join, or -1.
func (s *spread) nearest(pills []Pill, k *Pill) int {
	best := -1
	for i := range pills {
		p := &pills[i]
		if p.rank == rankLast || p.rank != k.rank || abs(p.at-k.at) > s.reach {
			continue
		}
		if best < 0 || abs(p.at-k.at) < abs(pills[best].at-k.at) {
			best = i
		}
	}
	return best
}

// settle sets the rows of pills sorted from top to bottom, each as near to its value as
// the others allow, or returns false if they do not fit. The last price moves only if
// yielding is set and nothing else helps.
func (s *spread) settle(pills []Pill, yielding bool) bool {
	return s.rows(pills, 0) || yielding && s.rows(pills, s.last)
}

func (s *spread) rows(pills []Pill, last int) bool {
	bounds := func(p *Pill) (lo, hi int) {
		reach := s.reach
		if p.rank == rankLast {
			reach = last
		}
		if p.pinned {
			return p.pin, p.pin
		}
		// At an edge of the pane even a pill that may not move must fit in.
		at := min(max(p.at, s.top), s.bottom)
		return max(at-reach, s.top), min(at+reach, s.bottom)
	}
	// From below: the lowest row that leaves room for those underneath.
	limit := s.bottom
	for i := len(pills) - 1; i >= 0; i-- {
		lo, hi := bounds(&pills[i])
		pills[i].y = min(hi, limit)
		if pills[i].y < lo {
			return false
		}
		limit = pills[i].y - s.pitch
	}
	// From above: as near to the value as those before and underneath allow.
	limit = s.top
	for i := range pills {
		lo, _ := bounds(&pills[i])
		lo = max(lo, limit)
		if pills[i].y < lo {
			return false
		}
		pills[i].y = max(min(pills[i].at, pills[i].y), lo)
		limit = pills[i].y + s.pitch
	}
	return true
}

func abs(v int) int { return max(v, -v) }

// namePills chooses the form of each name that fits into room device pixels, and
// returns the widest.
func (l *layout) namePills(room float64) float64 {
	widest := 0.0
	for i := range l.Pills {
		p := &l.Pills[i]
		text := l.nameOf(p, room)
		p.Name = Label{Text: text, Face: Small, Color: p.Label.Color, Width: l.measure(text, Small, l.s)}
		widest = max(widest, p.Name.Width)
	}
	return widest
}

// nameOf returns the longest form of a pill's name that fits: in full or short, with or
// without the number of pills that it stands for.
func (l *layout) nameOf(p *Pill, room float64) string {
	if p.merged > 0 {
		more := plusN(p.merged, "")
		for _, name := range p.names {
			if text := name + " " + more; l.measure(text, Small, l.s) <= room {
				return text
			}
		}
	}
	if l.measure(p.names[0], Small, l.s) <= room {
		return p.names[0]
	}
	return l.fit(p.names[1], Small, room)
}

// placePills gives the pills their rectangles.
func (l *layout) placePills() {
	for i := range l.Pills {
		p := &l.Pills[i]
		top := p.y - pillHeight*l.s/2
		p.Label.X = float64(l.axisX + labelInset*l.s)
		p.Label.Baseline = top + 13*l.s
		end := p.Label.X + p.Label.Width
		if p.Name.Width > 0 {
			p.Name.X = float64(l.axisX+(labelInset+gapPill)*l.s) + math.Ceil(l.valueWidth)
			p.Name.Baseline = p.Label.Baseline
			end = p.Name.X + p.Name.Width
		}
		right := int(math.Ceil(end)) + (labelInset-2)*l.s
		p.Rect = Rect{l.axisX + l.s, top, min(right, l.Width), top + pillHeight*l.s}
	}
}
