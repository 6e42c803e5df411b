package raster

import "math"

// scan turns glyph outlines into masks with exact area coverage. It is our own
// because golang.org/x/image/vector interpolates curves with products that
// arm64 fuses, which would make masks differ between architectures.
type scan struct {
	w, h int
	area []float64 // per cell, differences along the row
}

// mask scan-converts an outline at a phase.
func (s *scan) mask(curves []curve, scale float64, phase int) *mask {
	if len(curves) == 0 {
		return new(mask)
	}
	x0, y0, x1, y1 := bounds(curves, scale)
	m := &mask{left: int(math.Floor(x0)), top: int(math.Floor(y0))}
	shift := float64(phase) / phases
	m.w = int(math.Ceil(x1+shift)) - m.left
	m.h = int(math.Ceil(y1)) - m.top
	m.cells = make([]uint8, m.w*m.h)
	s.begin(m.w, m.h)
	for _, c := range curves {
		s.curve(c.place(scale, shift-float64(m.left), -float64(m.top)))
	}
	s.levels(m.cells)
	return m
}

// bounds returns the box of all control points in pixels.
func bounds(curves []curve, scale float64) (x0, y0, x1, y1 float64) {
	x0, y0, x1, y1 = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, c := range curves {
		for _, p := range [3]point{c.a, c.b, c.c} {
			x, y := float64(p.x*scale), float64(p.y*scale)
			x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
		}
	}
	return x0, y0, x1, y1
}

func (c curve) place(scale, dx, dy float64) curve {
	at := func(p point) point { return point{float64(p.x*scale) + dx, float64(p.y*scale) + dy} }
	return curve{at(c.a), at(c.b), at(c.c)}
}

func (s *scan) begin(w, h int) {
	s.w, s.h = w, h
	n := (w+1)*h + 1
	if cap(s.area) < n {
		s.area = make([]float64, n)
	}
	s.area = s.area[:n]
	clear(s.area)
}

// curve adds a curve as chords; glyph curves are a few pixels long, so eight
// chords are within a hundredth of a pixel of it.
func (s *scan) curve(c curve) {
	if c.a == c.b {
		s.line(c.a, c.c)
		return
	}
	const chords = 8
	from := c.a
	for i := 1; i <= chords; i++ {
		t := float64(i) / chords
		u := 1 - t
		to := point{
			float64(u*u*c.a.x) + float64(2*u*t*c.b.x) + float64(t*t*c.c.x),
			float64(u*u*c.a.y) + float64(2*u*t*c.b.y) + float64(t*t*c.c.y),
		}
		if i == chords {
			to = c.c
		}
		s.line(from, to)
		from = to
	}
}

// line adds the area to the right of a line: it is cut at every cell border it
// crosses, and each piece adds its height to the cell it is in, less the part
// left of its middle, which belongs to the next cell on.
func (s *scan) line(a, b point) {
	sign := 1.0
	if a.y > b.y {
		a, b, sign = b, a, -1
	}
	if a.y == b.y {
		return
	}
	slope := (b.x - a.x) / (b.y - a.y)
	y, x := a.y, a.x
	for y < b.y {
		row := math.Floor(y)
		y1 := min(row+1, b.y)
		x1 := a.x + float64(slope*(y1-a.y))
		if y1 == b.y {
			x1 = b.x
		}
		s.row(int(row), x, x1, float64(sign*(y1-y)))
		x, y = x1, y1
	}
}

// row adds a piece within one row that goes from xa to xb and is d high.
func (s *scan) row(row int, xa, xb, d float64) {
	if row < 0 || row >= s.h {
		return
	}
	if xa > xb {
		xa, xb = xb, xa
	}
	cells := s.area[row*(s.w+1) : (row+1)*(s.w+1)+1]
	for x := xa; ; {
		col := min(max(int(x), 0), s.w-1)
		next := min(float64(col+1), xb)
		part := d
		if xb > xa && (x != xa || next != xb) { // most pieces lie in one cell
			part = d * ((next - x) / (xb - xa))
		}
		mid := (x+next)/2 - float64(col)
		cells[col] += part - float64(part*mid)
		cells[col+1] += float64(part * mid)
		if next >= xb || col == s.w-1 {
			return
		}
		x = next
	}
}

// levels sums the differences into coverage levels.
func (s *scan) levels(dst []uint8) {
	// The least coverage of each level, ((level-0.5)/15)^1.18, lifts coverage
	// to the power 1/1.18, which thickens small text a little. Spelled out,
	// because math.Pow need not round alike everywhere.
	least := [levels]float64{
		0, 0.018072, 0.066069, 0.120721,
		0.179561, 0.241548, 0.306084, 0.372778,
		0.441351, 0.511595, 0.583346, 0.656471,
		0.730863, 0.806429, 0.883092, 0.960786,
	}
	for y := range s.h {
		sum := 0.0
		row := s.area[y*(s.w+1):]
		for x := range s.w {
			sum += row[x]
			level := uint8(0)
			// Most cells are empty or full.
			if c := math.Abs(sum); c >= least[full] {
				level = full
			} else {
				for c >= least[level+1] {
					level++
				}
			}
			dst[y*s.w+x] = level
		}
	}
}
