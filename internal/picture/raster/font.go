package raster

import (
	"fmt"
	"slices"
	"sync"

	"eliasnaur.com/font/roboto/robotomedium"
	"eliasnaur.com/font/roboto/robotoregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Weight is a weight of the one typeface, Roboto.
type Weight uint8

// The weights.
const (
	Regular Weight = iota
	Medium
	weights = 2
)

// extraRunes are the characters beyond printable ASCII that have masks, in
// order. Every other character is drawn as a box.
const extraRunes = "\u00a0\u00b0\u00b1\u00b2\u00b5\u00b7\u00d7\u0394\u03c3\u2013\u2014\u2026\u20ac\u2212\u2248\u2264\u2265"

const (
	firstRune = ' '
	lastRune  = '~'
	asciiLen  = int(lastRune-firstRune) + 1
)

// font holds outlines, advances and kerning of one weight in font units, from
// which faces of any size are built. Filled once, then read only.
type font struct {
	once    sync.Once
	glyphs  []outline // by slot; the last is the box
	kern    []int16   // slot*len(glyphs) + next slot
	capital int       // height of H
	extra   []rune

	mu    sync.Mutex
	faces [maxCap + 1]*Face
}

// outline is a glyph as closed quadratic curves, y growing downwards.
type outline struct {
	advance int
	curves  []curve
}

// curve goes from a to c, drawn towards b. A straight line has b == a.
type curve struct{ a, b, c point }

type point struct{ x, y float64 }

// load parses the embedded font. An error would be a defect of this build,
// since the bytes are compiled in, so it panics.
func (n *font) load(w Weight) {
	ttf := robotoregular.TTF
	if w == Medium {
		ttf = robotomedium.TTF
	}
	src, err := sfnt.Parse(ttf)
	if err != nil {
		panic(fmt.Sprintf("raster: embedded font: %v", err))
	}
	n.extra = []rune(extraRunes)
	l := loader{src: src, ppem: fixed.Int26_6(src.UnitsPerEm()) << 6}
	for r := rune(firstRune); r <= lastRune; r++ {
		l.add(r)
	}
	for _, r := range n.extra {
		l.add(r)
	}
	m, err := src.Metrics(&l.buf, l.ppem, 0)
	if err != nil {
		panic(fmt.Sprintf("raster: embedded font metrics: %v", err))
	}
	n.capital = m.CapHeight.Round()
	n.glyphs = append(l.glyphs, box(n.capital))
	n.kern = l.kerning(len(n.glyphs))
}

// slot returns the position of r in glyphs.
func (n *font) slot(r rune) int {
	if r >= firstRune && r <= lastRune {
		return int(r - firstRune)
	}
	if i, ok := slices.BinarySearch(n.extra, r); ok {
		return asciiLen + i
	}
	return len(n.glyphs) - 1
}

// loader reads glyphs at one unit per pixel, so nothing is rounded.
type loader struct {
	src    *sfnt.Font
	buf    sfnt.Buffer
	ppem   fixed.Int26_6
	ids    []sfnt.GlyphIndex
	glyphs []outline
}

func (l *loader) add(r rune) {
	id, err := l.src.GlyphIndex(&l.buf, r)
	if err != nil || id == 0 {
		panic(fmt.Sprintf("raster: embedded font lacks %U: %v", r, err))
	}
	advance, err := l.src.GlyphAdvance(&l.buf, id, l.ppem, 0)
	if err != nil {
		panic(fmt.Sprintf("raster: advance of %U: %v", r, err))
	}
	segs, err := l.src.LoadGlyph(&l.buf, id, l.ppem, nil)
	if err != nil {
		panic(fmt.Sprintf("raster: outline of %U: %v", r, err))
	}
	l.ids = append(l.ids, id)
	l.glyphs = append(l.glyphs, outline{advance: advance.Round(), curves: curves(segs)})
}

// curves turns the segments of a TrueType outline into closed contours.
func curves(segs sfnt.Segments) []curve {
	at := func(p fixed.Point26_6) point { return point{float64(p.X) / 64, float64(p.Y) / 64} }
	var out []curve
	var start, pen point
	closeContour := func() {
		if pen != start {
			out = append(out, curve{pen, pen, start})
		}
	}
	for _, s := range segs {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			closeContour()
			start = at(s.Args[0])
			pen = start
		case sfnt.SegmentOpLineTo:
			out = append(out, curve{pen, pen, at(s.Args[0])})
			pen = at(s.Args[0])
		case sfnt.SegmentOpQuadTo:
			out = append(out, curve{pen, at(s.Args[0]), at(s.Args[1])})
			pen = at(s.Args[1])
		case sfnt.SegmentOpCubeTo:
			panic("raster: embedded font has cubic outlines")
		}
	}
	closeContour()
	return out
}

// kerning reads the pairs of letters once. Digits and their separators keep
// their advance, so that prices of equal length are equally wide.
func (l *loader) kerning(n int) []int16 {
	kern := make([]int16, n*n)
	for i := range asciiLen {
		for j := range asciiLen {
			if !letter(i) || !letter(j) {
				continue
			}
			if k, err := l.src.Kern(&l.buf, l.ids[i], l.ids[j], l.ppem, 0); err == nil {
				kern[i*n+j] = int16(k.Round()) //nolint:gosec // a fraction of 2048 units
			}
		}
	}
	return kern
}

func letter(slot int) bool {
	c := int(firstRune) + slot
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// box is the sign for a character without a glyph: a hollow rectangle.
func box(capital int) outline {
	h := float64(capital)
	w := float64(h * 0.6)
	side, stroke := float64(h*0.12), float64(h*0.1)
	o := outline{advance: int(w + 2*side)}
	o.rectangle(side, -h, side+w, 0)
	o.rectangle(side+w-stroke, stroke-h, side+stroke, -stroke) // the other way round: a hole
	return o
}

func (o *outline) rectangle(x0, y0, x1, y1 float64) {
	p := [4]point{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}}
	for i := range p {
		o.curves = append(o.curves, curve{p[i], p[i], p[(i+1)%4]})
	}
}
