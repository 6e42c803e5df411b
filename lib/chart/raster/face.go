package raster

import (
	"math"
	"sync/atomic"
)

const (
	minCap = 4
	maxCap = 64
	phases = 4 // horizontal positions a pixel
)

// Face is one weight at one size. Its masks are made when a text first needs them. Safe
// for concurrent use.
type Face struct {
	font  *font
	scale float64                // pixels per font unit
	masks []atomic.Pointer[mask] // slot*phases + phase
}

// mask is the coverage of a glyph at one horizontal phase, cells from the pen position
// and the baseline. Immutable.
type mask struct {
	left, top int // of the first cell
	w, h      int
	cells     []uint8 // row, column; 0 to full
}

// Face returns the face whose capitals are capPx pixels high, clamped to 4 to
// 64: sizing by capitals puts their edges on whole pixels. Capitals of 9 are
// Roboto at 12.66 pixels.
func (s *Stock) Face(w Weight, capPx int) *Face {
	w = min(w, Medium)
	capPx = min(max(capPx, minCap), maxCap)
	n := &s.fonts[w]
	n.once.Do(func() { n.open(w); n.fallback = &s.others })
	n.mu.Lock()
	defer n.mu.Unlock()
	f := n.faces[capPx]
	if f == nil {
		f = &Face{font: n, scale: float64(capPx) / float64(n.capital), masks: make([]atomic.Pointer[mask], len(n.glyphs)*phases)}
		n.faces[capPx] = f
	}
	return f
}

// mask returns the mask of a glyph at a phase. Two callers that make the same one
// make it equal, so either may be kept.
func (f *Face) mask(slot, phase int, s *scan) *mask {
	cell := &f.masks[slot*phases+phase]
	m := cell.Load()
	if m == nil {
		m = s.mask(f.font.glyph(slot).curves, f.scale, phase)
		cell.Store(m)
	}
	return m
}

// Width returns how far s advances, in pixels.
func (f *Face) Width(s string) float64 {
	units, prev, n := 0, -1, f.font
	for _, r := range visual(s) {
		slot := n.slot(r)
		units += n.kerned(prev, slot) + n.sign(r, slot).advance
		prev = slot
	}
	return float64(float64(units) * f.scale)
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
	for _, r := range visual(s) {
		slot := n.slot(r)
		units += n.kerned(prev, slot)
		quarter := int(math.Floor(float64((x+float64(float64(units)*face.scale))*phases) + 0.5))
		f.stamp(f.mask(face, r, slot, quarter&(phases-1)), quarter>>2, baseline, p)
		units += n.sign(r, slot).advance
		prev = slot
	}
	return x + float64(float64(units)*face.scale)
}

// mask returns the mask of a character, whose slot is known, and notes that it is a box.
func (f *Frame) mask(face *Face, r rune, slot, phase int) *mask {
	if n := face.font; n.beyond(slot) {
		if g := n.other(r); g != n.none() {
			return f.scan.mask(g.curves, face.scale, phase)
		}
		f.miss(r)
	}
	return face.mask(slot, phase, &f.scan)
}

// stamp blends one mask, clipped.
func (f *Frame) stamp(m *mask, x, baseline int, p *paint) {
	x, y := x+m.left, baseline+m.top
	x0, x1 := max(f.clip.x0-x, 0), min(f.clip.x1-x, m.w)
	y0, y1 := max(f.clip.y0-y, 0), min(f.clip.y1-y, m.h)
	if x0 >= x1 {
		return
	}
	for row := y0; row < y1; row++ {
		i := row * m.w
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
