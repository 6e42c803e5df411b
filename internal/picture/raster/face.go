package raster

import "math"

const (
	minCap = 4
	maxCap = 64
	phases = 4 // horizontal positions a pixel
)

// Face is one weight at one size with ready masks. Immutable, safe for
// concurrent use.
type Face struct {
	font   *font
	scale  float64 // pixels per font unit
	glyphs []mask  // by slot
}

// mask is the coverage of a glyph at each horizontal phase, cells from the
// pen position and the baseline.
type mask struct {
	left, top int // of the first cell
	w, h      int
	cells     []uint8 // phase, row, column; 0 to full
}

// Face returns the face whose capitals are capPx pixels high, clamped to 4 to
// 64: sizing by capitals puts their edges on whole pixels. Capitals of 9 are
// Roboto at 12.66 pixels. The first call for a face builds its masks.
func (s *Stock) Face(w Weight, capPx int) *Face {
	w = min(w, Medium)
	capPx = min(max(capPx, minCap), maxCap)
	n := &s.fonts[w]
	n.once.Do(func() { n.load(w) })
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.faces[capPx] == nil {
		n.faces[capPx] = newFace(n, capPx)
	}
	return n.faces[capPx]
}

func newFace(n *font, capPx int) *Face {
	f := &Face{font: n, scale: float64(capPx) / float64(n.capital)}
	f.glyphs = make([]mask, len(n.glyphs))
	var r scan
	for i := range n.glyphs {
		f.glyphs[i] = r.mask(n.glyphs[i].curves, f.scale)
	}
	return f
}

// Width returns how far s advances, in pixels.
func (f *Face) Width(s string) float64 {
	units, prev := 0, -1
	for _, r := range s {
		slot := f.font.slot(r)
		units += f.font.kerned(prev, slot) + f.font.glyphs[slot].advance
		prev = slot
	}
	return float64(float64(units) * f.scale)
}

// kerned returns the correction between two glyphs, 0 for the first of a text.
func (n *font) kerned(prev, slot int) int {
	if prev < 0 {
		return 0
	}
	return int(n.kern[prev*len(n.glyphs)+slot])
}

// Text draws s with its pen at x and its baseline on the lower edge of row
// baseline-1, and returns where the pen ends.
func (f *Frame) Text(face *Face, x float64, baseline int, s string, c Color) float64 {
	units, prev := 0, -1
	p := f.ink(c)
	if !(math.Abs(x) < far) || p == nil { // the negation rejects NaN
		return x + face.Width(s)
	}
	n := face.font
	for _, r := range s {
		slot := n.slot(r)
		units += n.kerned(prev, slot)
		quarter := int(math.Floor(float64((x+float64(float64(units)*face.scale))*phases) + 0.5))
		f.stamp(&face.glyphs[slot], quarter>>2, quarter&(phases-1), baseline, p)
		units += n.glyphs[slot].advance
		prev = slot
	}
	return x + float64(float64(units)*face.scale)
}

// stamp blends one mask, clipped.
func (f *Frame) stamp(m *mask, x, phase, baseline int, p *paint) {
	x, y := x+m.left, baseline+m.top
	x0, x1 := max(f.clip.x0-x, 0), min(f.clip.x1-x, m.w)
	y0, y1 := max(f.clip.y0-y, 0), min(f.clip.y1-y, m.h)
	if x0 >= x1 {
		return
	}
	for row := y0; row < y1; row++ {
		i := (phase*m.h + row) * m.w
		off := f.at(x+x0, y+row)
		for _, level := range m.cells[i+x0 : i+x1] {
			if level != 0 {
				if f.bpp == 3 {
					f.blendRGB(off, int(level), p)
				} else {
					f.blend(off, int(level), p)
				}
			}
			off += f.bpp
		}
	}
}
