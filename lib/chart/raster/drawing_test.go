package raster

import "math"

// Calls that only the pictures of these tests need.

// TrueColor reports whether the frame has 3 bytes a pixel and no palette.
func (f *Frame) TrueColor() bool { return f.bpp == 3 }

// Colors returns how many palette entries are in use, 0 in true colour.
func (f *Frame) Colors() int { return f.pal.n }

// Frame returns an indexed frame filled with the colour of background, its
// alpha ignored. Call Release when done with it.
func (s *Stock) Frame(w, h int, background Color) (*Frame, error) {
	return s.frame(w, h, 1, background)
}

// TrueColorFrame returns a frame with 3 bytes a pixel and no limit on colours.
func (s *Stock) TrueColorFrame(w, h int, background Color) (*Frame, error) {
	return s.frame(w, h, 3, background)
}

func (s *Stock) frame(w, h, bpp int, background Color) (*Frame, error) {
	if err := checkSides(w, h); err != nil {
		return nil, err
	}
	f := s.idleFrame(frameBytes(w, h, bpp))
	f.begin(s, w, h, bpp, background)
	return f, nil
}

// ReserveOver registers what each translucent colour gives on each opaque
// one: an area over the background and over the grid.
func (f *Frame) ReserveOver(areas []Color, grounds ...Color) {
	if f.bpp != 1 {
		return
	}
	for _, g := range grounds {
		f.pal.exactly(g.rgb(), ground)
		for _, a := range areas {
			f.pal.exactly(mix(a, full, g.rgb()), ground)
		}
	}
}

// Segment strokes one straight line between two points in any order. A dashed
// one starts with a dash at (x0, y0).
func (f *Frame) Segment(x0, y0, x1, y1, width float64, c Color, d Dash) {
	phase := 0.0
	if x0 > x1 {
		if !d.solid() {
			phase = d.fromEnd(hypot(x1-x0, y1-y0))
		}
		x0, y0, x1, y1 = x1, y1, x0, y0
	}
	f.polyline([]float64{x0, x1}, []float64{y0, y1}, width, c, d, phase)
}

// fromEnd returns where in the pattern a line of the given length starts when
// the pattern is to start at its other end.
func (d Dash) fromEnd(length float64) float64 {
	period := d.On + d.Off
	return math.Mod(period+d.On-math.Mod(length, period), period)
}

// Area fills between two series over the same xs, not decreasing, where c is
// usually translucent. Each pixel is blended once, so there are no seams. The
// series may cross. NaN or an infinity in either breaks the area.
func (f *Frame) Area(xs, y1, y2 []float64, c Color) {
	f.area(xs, y1, y2, c, 0)
}

// VLine draws a vertical rule from y0 up to y1, its left edge at x, thick
// pixels wide.
func (f *Frame) VLine(x, y0, y1, thick int, c Color, d Dash) {
	if d.solid() {
		f.Rect(x, y0, x+thick, y1, c)
		return
	}
	on, off := d.whole()
	for y := skip(y0, f.clip.y0, on+off); y < min(y1, f.clip.y1); y += on + off {
		f.Rect(x, y, x+thick, min(y+on, y1), c)
	}
}
