package raster

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

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
// order. Those of figureRunes are drawn here; every other character is read when a text
// needs it, and its masks are not kept.
const extraRunes = "\u00a0\u00b0\u00b1\u00b2\u00b5\u00b7\u00d7\u0394\u03c3\u2013\u2014\u2026\u20ac\u2212\u2248\u2264\u2265"

const (
	firstRune = ' '
	lastRune  = '~'
	asciiLen  = int(lastRune-firstRune) + 1
)

// font holds one weight in font units. Outlines and kerning are read when a text first
// needs them: a chart uses a third of the characters and few of the 2,704 pairs of
// letters. Safe for concurrent use.
type font struct {
	once    sync.Once
	capital int // height of H
	extra   []rune
	glyphs  []atomic.Pointer[glyph]         // by slot; the last is the box
	kern    [letters * letters]atomic.Int32 // kernKnown plus the correction, or zero

	mu    sync.Mutex // of all below
	src   *sfnt.Font
	buf   sfnt.Buffer
	ppem  fixed.Int26_6 // one unit per pixel, so nothing is rounded
	faces [maxCap + 1]*Face

	others   map[rune]*glyph // of characters without a slot
	fallback *fallback
}

const (
	letters   = 2 * 26
	kernKnown = 1 << 16
)

// glyph is a character as closed quadratic curves, y growing downwards.
type glyph struct {
	id      sfnt.GlyphIndex
	advance int
	curves  []curve
}

// curve goes from a to c, drawn towards b. A straight line has b == a.
type curve struct{ a, b, c point }

type point struct{ x, y float64 }

// open parses the embedded font. An error would be a defect of this build, since the
// bytes are compiled in, so it panics, as do the functions below.
func (n *font) open(w Weight) {
	ttf := robotoregular.TTF
	if w == Medium {
		ttf = robotomedium.TTF
	}
	var err error
	if n.src, err = sfnt.Parse(ttf); err != nil {
		panic(fmt.Sprintf("raster: embedded font: %v", err))
	}
	n.ppem = fixed.Int26_6(n.src.UnitsPerEm()) << 6
	m, err := n.src.Metrics(&n.buf, n.ppem, 0)
	if err != nil {
		panic(fmt.Sprintf("raster: embedded font metrics: %v", err))
	}
	n.capital = m.CapHeight.Round()
	n.extra = []rune(extraRunes + figureRunes)
	slices.Sort(n.extra)
	n.glyphs = make([]atomic.Pointer[glyph], asciiLen+len(n.extra)+1)
	n.glyphs[len(n.glyphs)-1].Store(box(n.capital))
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

// glyph returns the glyph of a slot.
func (n *font) glyph(slot int) *glyph {
	if g := n.glyphs[slot].Load(); g != nil {
		return g
	}
	r := rune(firstRune + slot) //nolint:gosec // a character
	if slot >= asciiLen {
		r = n.extra[slot-asciiLen]
	}
	g := figure(r, n.capital)
	if g == nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		g = n.read(r)
	}
	n.glyphs[slot].Store(g)
	return g
}

// read reads a glyph. The caller holds the lock.
func (n *font) read(r rune) *glyph {
	id, err := n.src.GlyphIndex(&n.buf, r)
	if err != nil || id == 0 {
		panic(fmt.Sprintf("raster: embedded font lacks %U: %v", r, err))
	}
	advance, err := n.src.GlyphAdvance(&n.buf, id, n.ppem, 0)
	if err != nil {
		panic(fmt.Sprintf("raster: advance of %U: %v", r, err))
	}
	segs, err := n.src.LoadGlyph(&n.buf, id, n.ppem, nil)
	if err != nil {
		panic(fmt.Sprintf("raster: outline of %U: %v", r, err))
	}
	return &glyph{id: id, advance: advance.Round(), curves: curves(segs)}
}

// kerned returns the correction between two glyphs: of letters alone, so that prices of
// equal length are equally wide. There is none before the first of a text, prev -1.
func (n *font) kerned(prev, slot int) int {
	i, j := letter(prev), letter(slot)
	if i < 0 || j < 0 {
		return 0
	}
	cell := &n.kern[i*letters+j]
	if k := cell.Load(); k != 0 {
		return int(k) - kernKnown
	}
	left, right := n.glyph(prev).id, n.glyph(slot).id
	n.mu.Lock()
	defer n.mu.Unlock()
	k, err := n.src.Kern(&n.buf, left, right, n.ppem, 0)
	if err != nil {
		k = 0 // the font has none for the pair
	}
	cell.Store(int32(k.Round() + kernKnown)) //nolint:gosec // a fraction of 2048 units
	return k.Round()
}

// letter returns the number of the letter in a slot, or -1.
func letter(slot int) int {
	switch c := firstRune + slot; {
	case 'A' <= c && c <= 'Z':
		return c - 'A'
	case 'a' <= c && c <= 'z':
		return c - 'a' + 26
	}
	return -1
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
			out = cubic(out, pen, at(s.Args[0]), at(s.Args[1]), at(s.Args[2]))
			pen = at(s.Args[2])
		}
	}
	closeContour()
	return out
}

// cubic adds a cubic curve as quadratic ones.
func cubic(out []curve, a, b, c, d point) []curve {
	const parts = 4
	at := func(t float64) point {
		u := 1 - t
		k := [4]float64{float64(u * u * u), float64(3 * u * u * t), float64(3 * u * t * t), float64(t * t * t)}
		return point{
			float64(k[0]*a.x) + float64(k[1]*b.x) + float64(k[2]*c.x) + float64(k[3]*d.x),
			float64(k[0]*a.y) + float64(k[1]*b.y) + float64(k[2]*c.y) + float64(k[3]*d.y),
		}
	}
	from := a
	for i := range parts {
		middle, to := at((float64(i)+0.5)/parts), at(float64(i+1)/parts)
		if i == parts-1 {
			to = d
		}
		bend := point{float64(2*middle.x) - (from.x+to.x)/2, float64(2*middle.y) - (from.y+to.y)/2}
		out = append(out, curve{from, bend, to})
		from = to
	}
	return out
}

// box is the sign for a character without a glyph: a hollow rectangle.
func box(capital int) *glyph {
	h := float64(capital)
	w := float64(h * 0.6)
	side, stroke := float64(h*0.12), float64(h*0.1)
	g := &glyph{advance: int(w + 2*side)}
	g.rectangle(side, -h, side+w, 0)
	g.rectangle(side+w-stroke, stroke-h, side+stroke, -stroke) // the other way round: a hole
	return g
}

func (g *glyph) rectangle(x0, y0, x1, y1 float64) {
	p := [4]point{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}}
	for i := range p {
		g.curves = append(g.curves, curve{p[i], p[i], p[(i+1)%4]})
	}
}
