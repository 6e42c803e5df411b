package raster

// HLine draws a horizontal rule from x0 up to x1, its top edge at y, thick
// pixels high.
func (f *Frame) HLine(x0, x1, y, thick int, c Color, d Dash) {
	if d.solid() {
		f.Rect(x0, y, x1, y+thick, c)
		return
	}
	on, off := d.whole()
	for x := skip(x0, f.clip.x0, on+off); x < min(x1, f.clip.x1); x += on + off {
		f.Rect(x, y, min(x+on, x1), y+thick, c)
	}
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

// skip moves start by whole periods to just before edge, so a rule that begins
// far outside costs nothing.
func skip(start, edge, period int) int {
	if start >= edge {
		return start
	}
	start = max(start, -1<<40) // keeps the difference from wrapping
	return start + (edge-start)/period*period
}
