package chart

import (
	"iter"
	"math"
	"strconv"
	"strings"

	"candela/lib/chart/raster"
	"candela/lib/ta"
)

// drawFills places the areas between series and the band between the guides of
// an oscillator.
func (l *layout) drawFills() {
	for v := range l.each {
		if v.pane > 0 {
			l.guideBand(v)
		}
		for k := range v.Fills {
			if v.Fills[k].Paint != nil {
				l.paintFill(v, &v.Fills[k])
				continue
			}
			l.fill(v, &v.Fills[k])
		}
	}
}

// guideBand tints the space between the guides of a panel.
func (l *layout) guideBand(v *shown) {
	between, ok := guides(v)
	if !ok {
		return
	}
	a := &l.Panes[v.pane].axis
	l.Profile = append(l.Profile, Box{Rect{0, a.row(between[1]), l.axisX, a.row(between[0])}, v.pane, v.color.Alpha(bandFill)})
}

// guides returns the two innermost guides around the middle of a bounded panel: 30 and 70 of an RSI.
func guides(v *shown) (between [2]float64, ok bool) {
	if v.YRange == nil {
		return between, false
	}
	middle := (v.YRange[0] + v.YRange[1]) / 2
	below, above := math.Inf(-1), math.Inf(1)
	for _, h := range v.HLines {
		switch {
		case h.Style != ta.Reference:
		case h.Y < middle:
			below = max(below, h.Y)
		case h.Y > middle:
			above = min(above, h.Y)
		}
	}
	return [2]float64{below, above}, !math.IsInf(below, 0) && !math.IsInf(above, 0)
}

func (l *layout) fill(v *shown, f *ta.Fill) {
	above, below := l.fillColors(v, f)
	y1, y2 := l.extend(f.Y1, f.Ahead1), l.extend(f.Y2, f.Ahead2)
	n := min(len(y1), len(y2))
	from := 0
	for _, at := range v.Restarts {
		if at > from && at < n {
			l.area(Area{Pane: v.pane, Color: above, Below: below}, y1, y2, from, at)
			from = at
		}
	}
	l.area(Area{Pane: v.pane, Color: above, Below: below}, y1, y2, from, n)
}

// area fills the space between two series over the bars [from, to), where the last bar
// of a column represents it.
func (l *layout) area(area Area, s1, s2 []float64, from, to int) {
	a := &l.Panes[area.Pane].axis
	area.From = len(l.ax)
	for from < to {
		i := min((l.Columns.column(from)+1)*l.Columns.Per, to) - 1
		y1, y2 := math.NaN(), math.NaN()
		if finite(s1[i]) && finite(s2[i]) {
			y1, y2 = a.y(s1[i]), a.y(s2[i])
		}
		x := l.xs[i]
		if l.Columns.Per > 1 {
			x = (l.xs[from] + l.xs[i]) / 2
		}
		l.ax, l.ay, l.by = append(l.ax, x), append(l.ay, y1), append(l.by, y2)
		from = i + 1
	}
	area.To = len(l.ax)
	if area.To-area.From > 1 {
		l.Fills = append(l.Fills, area)
	}
}

// fillColors returns the colours where the first series is above and below the
// second.
func (l *layout) fillColors(v *shown, f *ta.Fill) (above, below raster.Color) {
	switch f.Style {
	case ta.Cloud, ta.Block:
		return l.theme.up.Alpha(cloudFill), l.theme.down.Alpha(cloudFill)
	case ta.Area:
		return l.theme.up.Alpha(areaFill), l.theme.down.Alpha(areaFill)
	case ta.Zone:
		color := l.theme.up // a low region suggests buying, a high one selling
		if middleOf(f) > (v.value.lo+v.value.hi)/2 {
			color = l.theme.down
		}
		return color.Alpha(bandFill), color.Alpha(bandFill)
	case ta.Channel:
	}
	return v.color.Alpha(bandFill), v.color.Alpha(bandFill)
}

// middleOf returns the height of a fill at its first column that has one.
func middleOf(f *ta.Fill) float64 {
	for i := range min(len(f.Y1), len(f.Y2)) {
		if m := (f.Y1[i] + f.Y2[i]) / 2; finite(m) {
			return m
		}
	}
	return 0
}

// profilesShare is the part of the plot that all profiles of one side may take.
const profilesShare = 0.4

// drawProfiles places the horizontal bars of profiles, a pixel apart. Profiles on one
// side of the plot stand beside each other.
func (l *layout) drawProfiles() {
	var reach, begin [2]float64 // of the left and the right side
	for v := range l.each {
		side, extent := profileExtent(v.HBars)
		reach[side] += extent
	}
	for v := range l.each {
		side, extent := profileExtent(v.HBars)
		shrink := min(1, profilesShare/max(reach[side], 1e-9))
		l.profile(v, v.HBars, func(b *ta.HBar) (x0, x1 int) {
			width := float64(l.axisX)
			near := int(math.Floor(float64(unit(begin[side]+float64(b.Offset*shrink))*width) + 0.5))
			far := int(math.Floor(float64(unit(begin[side]+float64((b.Offset+b.Width)*shrink))*width) + 0.5))
			if b.Left {
				return near, far
			}
			return l.axisX - far, l.axisX - near
		})
		begin[side] += float64(extent * shrink)
		for _, p := range v.Profiles {
			l.sessionProfile(v, p)
		}
	}
}

// profileExtent returns the side of a profile, 0 for left, and how far it reaches.
func profileExtent(bars []ta.HBar) (side int, extent float64) {
	for i := range bars {
		if finite(bars[i].Offset) && finite(bars[i].Width) {
			extent = max(extent, unit(bars[i].Offset+bars[i].Width))
		}
	}
	if len(bars) > 0 && !bars[0].Left {
		side = 1
	}
	return side, extent
}

// Sizes of the profile of a session.
const (
	sessionShare = 0.7 // of its width, for the longest bar
	sessionLeast = 24  // logical pixels of a session with a profile
)

// sessionProfile places the profile of a session over its bars.
func (l *layout) sessionProfile(v *shown, p ta.Profile) {
	if p.From < 0 || p.To > l.n || p.From >= p.To {
		return
	}
	half := l.Columns.pixelsPerBar() / 2
	left, right := l.xs[p.From]-half, l.xs[p.To-1]+half
	if right-left < float64(sessionLeast*l.s) {
		return
	}
	l.profile(v, p.Bars, func(b *ta.HBar) (x0, x1 int) {
		return int(left), int(left + float64(sessionShare*float64(unit(b.Width)*(right-left))))
	})
}

// profile places the bars of one profile between the columns that place returns.
func (l *layout) profile(v *shown, bars []ta.HBar, place func(*ta.HBar) (x0, x1 int)) {
	a := &l.Panes[v.pane].axis
	for b, half := range profileRows(bars) {
		top, bottom := a.row(b.Y+half), a.row(b.Y-half)
		if bottom-top > l.s+1 {
			top += l.s
		}
		if x0, x1 := place(b); x0 < x1 {
			l.Profile = append(l.Profile, Box{Rect{x0, top, x1, max(bottom, top+1)}, v.pane, l.profileColor(b.Style, v)})
		}
	}
}

// profileRows yields the bars of a profile that can be drawn, with half their height.
func profileRows(bars []ta.HBar) iter.Seq2[*ta.HBar, float64] {
	pitch := profilePitch(bars)
	return func(yield func(*ta.HBar, float64) bool) {
		for i := range bars {
			b := &bars[i]
			if !finite(b.Y) || !finite(b.Height) || !finite(b.Width) || !finite(b.Offset) {
				continue
			}
			half := math.Abs(b.Height) / 2
			if pitch < 3*half { // adjacent rows: leave a gap
				half = pitch / 2
			}
			if !yield(b, half) {
				return
			}
		}
	}
}

// profilePitch returns the distance between the rows of a profile, infinite when
// there is only one.
func profilePitch(bars []ta.HBar) float64 {
	pitch := math.Inf(1)
	for i := 1; i < len(bars); i++ {
		if d := math.Abs(bars[i].Y - bars[i-1].Y); d > 0 { // the halves of a split row have one Y
			pitch = min(pitch, d)
		}
	}
	return pitch
}

func unit(v float64) float64 { return min(max(v, 0), 1) }

func (l *layout) profileColor(style ta.HBarStyle, v *shown) raster.Color {
	look := v.Look
	if look == nil {
		look = &ta.Look{}
	}
	color, alpha := v.color, profileOut
	switch style {
	case ta.ValueArea:
		alpha = profileArea
	case ta.POC:
		alpha = profilePOC
	case ta.UpVolume:
		color, alpha = asked(look.Up, l.theme.up), profileArea
	case ta.DownVolume:
		color, alpha = asked(look.Down, l.theme.down), profileArea
	case ta.Outside:
	}
	if look.Opacity != nil {
		alpha *= *look.Opacity / profileArea
	}
	return color.Alpha(alpha)
}

// asked returns the colour written #rrggbb, or else the theme's.
func asked(text string, theme raster.Color) raster.Color {
	rgb, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 16, 24)
	if err != nil {
		return theme
	}
	return raster.Hex(uint32(rgb))
}

// drawRules places the levels of results that are in sight.
func (l *layout) drawRules() {
	for v, a := range l.each {
		for _, h := range v.HLines {
			if !finite(h.Y) || !a.shows(h.Y) || v.pane > 0 && l.isLow(v.pane) {
				continue
			}
			r := Rule{X1: l.axisX, Y: a.row(h.Y), Thick: l.s, Pane: v.pane, Color: l.ruleColor(h.Style, v)}
			if h.Style == ta.Secondary || h.Style == ta.Reference {
				r.On, r.Off = 4*l.s, 4*l.s
			}
			if h.Look != nil {
				r.paint(h.Look, l.s)
			}
			l.Rules = append(l.Rules, r)
		}
	}
}

// paint gives a level the look that a script wants.
func (r *Rule) paint(look *ta.HLook, scale int) {
	r.Color, r.Thick = tone(look.Color), min(max(look.Width, 1), 10)*scale
	on, off := dashes(look.Dash, float64(r.Thick), float64(scale))
	r.On, r.Off = int(on), int(off)
}

func (l *layout) ruleColor(style ta.HLineStyle, v *shown) raster.Color {
	switch style {
	case ta.Primary, ta.Secondary:
		return v.color.Alpha(levelLine)
	case ta.Reference:
		return l.theme.muted.Alpha(levelLine)
	case ta.Zero:
	}
	return l.theme.border
}
