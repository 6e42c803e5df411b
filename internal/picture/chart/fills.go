package chart

import (
	"math"
	"strconv"
	"strings"

	"candela/internal/analysis/indicator"
	"candela/internal/picture/raster"
)

// drawFills places the areas between series and the band between the guides of
// an oscillator.
func (l *layout) drawFills() {
	for v := range l.each {
		if v.pane > 0 {
			l.guideBand(v)
		}
		for k := range v.Fills {
			l.fill(v, &v.Fills[k])
		}
	}
}

// guideBand tints the space between the two innermost guides around the middle
// of a bounded panel: RSI between 30 and 70.
func (l *layout) guideBand(v *shown) {
	if v.YRange == nil {
		return
	}
	middle := (v.YRange[0] + v.YRange[1]) / 2
	below, above := math.Inf(-1), math.Inf(1)
	for _, h := range v.HLines {
		switch {
		case h.Style != indicator.Reference:
		case h.Y < middle:
			below = max(below, h.Y)
		case h.Y > middle:
			above = min(above, h.Y)
		}
	}
	if math.IsInf(below, 0) || math.IsInf(above, 0) {
		return
	}
	color := l.theme.cycle[indigo]
	if len(v.Lines) > 0 {
		color = v.ink(0)
	}
	a := &l.Panes[v.pane].axis
	l.Profile = append(l.Profile, Box{Rect{0, a.row(above), l.axisX, a.row(below)}, v.pane, color.Alpha(bandFill)})
}

func (l *layout) fill(v *shown, f *indicator.Fill) {
	a := &l.Panes[v.pane].axis
	area := Area{From: len(l.ax), Pane: v.pane}
	area.Color, area.Below = l.fillColors(v, f)
	n := min(len(f.Y1), len(f.Y2), l.n)
	for k := range l.Columns.N {
		from, to := l.Columns.bars(k)
		i := to - 1 // the column's last bar represents it
		if i >= n {
			break
		}
		y1, y2 := math.NaN(), math.NaN()
		if finite(f.Y1[i]) && finite(f.Y2[i]) {
			y1, y2 = a.y(f.Y1[i]), a.y(f.Y2[i])
		}
		x := l.xs[i]
		if l.Columns.Per > 1 {
			x = (l.xs[from] + l.xs[i]) / 2
		}
		l.ax, l.ay, l.by = append(l.ax, x), append(l.ay, y1), append(l.by, y2)
	}
	area.To = len(l.ax)
	if area.To-area.From > 1 {
		l.Fills = append(l.Fills, area)
	}
}

// fillColors returns the colours where the first series is above and below the
// second.
func (l *layout) fillColors(v *shown, f *indicator.Fill) (above, below raster.Color) {
	switch f.Style {
	case indicator.Cloud:
		return l.theme.up.Alpha(cloudFill), l.theme.down.Alpha(cloudFill)
	case indicator.Area:
		return l.theme.up.Alpha(areaFill), l.theme.down.Alpha(areaFill)
	case indicator.Zone:
		color := l.theme.up // a low region suggests buying, a high one selling
		if middleOf(f) > (v.value.lo+v.value.hi)/2 {
			color = l.theme.down
		}
		return color.Alpha(bandFill), color.Alpha(bandFill)
	case indicator.Channel:
	}
	color := l.theme.cycle[blue]
	if len(v.Lines) > 0 {
		color = v.ink(0)
	}
	return color.Alpha(bandFill), color.Alpha(bandFill)
}

// middleOf returns the height of a fill at its first column that has one.
func middleOf(f *indicator.Fill) float64 {
	for i := range min(len(f.Y1), len(f.Y2)) {
		if m := (f.Y1[i] + f.Y2[i]) / 2; finite(m) {
			return m
		}
	}
	return 0
}

// drawProfiles places the horizontal bars of profiles, a pixel apart.
func (l *layout) drawProfiles() {
	for v, a := range l.each {
		pitch := profilePitch(v.HBars)
		for _, b := range v.HBars {
			if !finite(b.Y) || !finite(b.Height) || !finite(b.Width) || !finite(b.Offset) {
				continue
			}
			half := math.Abs(b.Height) / 2
			if pitch < 3*half { // adjacent rows: leave a gap
				half = pitch / 2
			}
			top, bottom := a.row(b.Y+half), a.row(b.Y-half)
			if bottom-top > l.s+1 {
				top += l.s
			}
			width := float64(l.axisX)
			near := int(math.Floor(float64(unit(b.Offset)*width) + 0.5))
			far := int(math.Floor(float64(unit(b.Offset+b.Width)*width) + 0.5))
			r := Rect{near, top, far, max(bottom, top+1)}
			if !b.Left {
				r.X0, r.X1 = l.axisX-far, l.axisX-near
			}
			if r.X0 < r.X1 {
				l.Profile = append(l.Profile, Box{r, v.pane, l.profileColor(b.Style, v.Look)})
			}
		}
	}
}

// profilePitch returns the distance between the rows of a profile, infinite when
// there is only one.
func profilePitch(bars []indicator.HBar) float64 {
	pitch := math.Inf(1)
	for i := 1; i < len(bars); i++ {
		if d := math.Abs(bars[i].Y - bars[i-1].Y); d > 0 { // the halves of a split row have one Y
			pitch = min(pitch, d)
		}
	}
	return pitch
}

func unit(v float64) float64 { return min(max(v, 0), 1) }

func (l *layout) profileColor(style indicator.HBarStyle, look *indicator.Look) raster.Color {
	if look == nil {
		look = &indicator.Look{}
	}
	color, alpha := l.theme.profile, profileOut
	switch style {
	case indicator.ValueArea:
		alpha = profileArea
	case indicator.POC:
		color, alpha = l.theme.poc, profilePOC
	case indicator.UpVolume:
		color, alpha = asked(look.Up, l.theme.up), profileArea
	case indicator.DownVolume:
		color, alpha = asked(look.Down, l.theme.down), profileArea
	case indicator.Outside:
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

// drawRules places the levels of results. Those on the price show their name, if any.
func (l *layout) drawRules() {
	for v, a := range l.each {
		for _, h := range v.HLines {
			if !finite(h.Y) {
				continue
			}
			r := Rule{X1: l.axisX, Y: a.row(h.Y), Thick: l.s, Pane: v.pane}
			switch h.Style {
			case indicator.Zero:
				r.Color = l.theme.border
			case indicator.Primary:
				r.Color = l.theme.cycle[yellow].Alpha(levelLine)
			case indicator.Secondary:
				r.Color, r.On, r.Off = l.theme.profile.Alpha(levelLine), 4*l.s, 4*l.s
			case indicator.Reference:
				r.Color, r.On, r.Off = l.theme.muted.Alpha(levelLine), 4*l.s, 4*l.s
			}
			l.Rules = append(l.Rules, r)
			if v.pane == 0 && h.Label != "" {
				l.nameRule(&r, h.Label)
			}
		}
	}
}

// nameRule writes the name of a level above its line, near the right end, if there is
// room.
func (l *layout) nameRule(r *Rule, name string) {
	w := l.measure(name, Small, l.s)
	x := float64(l.axisX-8*l.s) - w
	l.placeText(Label{X: x, Width: w, Baseline: r.Y - 4*l.s, Text: name, Face: Small, Color: r.Color.Alpha(1)}, r.Pane)
}
