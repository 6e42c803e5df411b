package raster

import (
	"io"
	"math"
	"slices"
	"sync"
	"unicode"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

const (
	maxFallbacks = 16   // files that are read for characters which the typeface lacks
	maxOthers    = 2048 // glyphs kept of each weight, besides those with masks
	maxMissing   = 8    // characters that a frame names
)

// fallback is the fonts of others for characters that the typeface lacks. They are opened when
// a text first needs one. What they hold comes from outside: what cannot be read is missing.
type fallback struct {
	open  func() []io.ReaderAt
	once  sync.Once
	mu    sync.Mutex
	fonts []*sfnt.Font
	buf   sfnt.Buffer
}

// Fallback names the fonts for characters that the typeface lacks, the first that has one wins:
// TrueType and OpenType files, and the first font of a collection. open is called once, when a
// text first needs it. Call it before the first text.
func (s *Stock) Fallback(open func() []io.ReaderAt) { s.others.open = open }

// read returns the outline of a character at a size, or nil.
func (b *fallback) read(r rune, ppem fixed.Int26_6) *glyph {
	if b == nil || b.open == nil {
		return nil
	}
	b.once.Do(b.parse)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, src := range b.fonts {
		if g := readGlyph(src, &b.buf, r, ppem); g != nil {
			return g
		}
	}
	return nil
}

func (b *fallback) parse() {
	for _, file := range b.open() {
		if len(b.fonts) == maxFallbacks {
			return
		}
		if c, err := sfnt.ParseCollectionReaderAt(file); err == nil && c.NumFonts() > 0 {
			if src, err := c.Font(0); err == nil {
				b.fonts = append(b.fonts, src)
			}
		}
	}
}

// readGlyph reads a glyph, or returns nil for one that the font lacks or has without an outline, as
// fonts of coloured pictures have.
func readGlyph(src *sfnt.Font, buf *sfnt.Buffer, r rune, ppem fixed.Int26_6) *glyph {
	id, err := src.GlyphIndex(buf, r)
	if err != nil || id == 0 {
		return nil
	}
	advance, err := src.GlyphAdvance(buf, id, ppem, 0)
	if err != nil {
		return nil
	}
	segs, err := src.LoadGlyph(buf, id, ppem, nil)
	if err != nil || len(segs) == 0 && !unicode.IsSpace(r) {
		return nil
	}
	g := &glyph{id: id, advance: advance.Round(), curves: curves(segs)}
	if !g.sane(int(ppem >> 6)) {
		return nil
	}
	return g
}

// sane reports whether a glyph of a foreign font has the size of a letter, so that no mask of it
// is large.
func (g *glyph) sane(em int) bool {
	most := float64(4 * em)
	far := func(p point) bool { return math.Abs(p.x) > most || math.Abs(p.y) > most }
	return g.advance >= 0 && g.advance <= 4*em &&
		!slices.ContainsFunc(g.curves, func(c curve) bool { return far(c.a) || far(c.b) || far(c.c) })
}

// beyond reports whether a slot is that of all characters without their own.
func (n *font) beyond(slot int) bool { return slot == len(n.glyphs)-1 }

// sign returns the glyph of a character, whose slot is known.
func (n *font) sign(r rune, slot int) *glyph {
	if n.beyond(slot) {
		return n.other(r)
	}
	return n.glyph(slot)
}

// other returns the glyph of a character without a slot: of the typeface, else of a fallback,
// else the box. Marks that only steer other characters have none and take no room.
func (n *font) other(r rune) *glyph {
	n.mu.Lock()
	defer n.mu.Unlock()
	if g, ok := n.others[r]; ok {
		return g
	}
	g := n.find(r)
	if n.others == nil || len(n.others) == maxOthers {
		n.others = make(map[rune]*glyph)
	}
	n.others[r] = g
	return g
}

// find reads the glyph of a character without a slot. The caller holds the lock.
func (n *font) find(r rune) *glyph {
	switch {
	case r == unicode.ReplacementChar:
		return n.none()
	case steers(r):
		return &glyph{}
	}
	if g := readGlyph(n.src, &n.buf, r, n.ppem); g != nil {
		return g
	}
	if g := n.fallback.read(r, n.ppem); g != nil {
		return g
	}
	return n.none()
}

// none is the box.
func (n *font) none() *glyph { return n.glyphs[len(n.glyphs)-1].Load() }

// steers reports whether a character only steers others: joiners, marks of direction, selectors
// of a form.
func steers(r rune) bool {
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0000 && r <= 0xe01ef || unicode.Is(unicode.Cf, r)
}

// miss notes a character that was drawn as a box.
func (f *Frame) miss(r rune) {
	if len(f.missing) < maxMissing && !slices.Contains(f.missing, r) {
		f.missing = append(f.missing, r)
	}
}

// Missing returns the first characters that were drawn as boxes, because no font has them.
func (f *Frame) Missing() []rune { return slices.Clone(f.missing) }
