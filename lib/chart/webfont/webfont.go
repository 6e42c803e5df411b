// Package webfont packs the typeface of the pictures for browsers: the characters of Latin texts
// as a WOFF file, without hints. Pages that serve it look the same on every machine.
package webfont

import (
	"encoding/binary"
	"fmt"
	"slices"

	"eliasnaur.com/font/roboto/robotomedium"
	"eliasnaur.com/font/roboto/robotoregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Weight is a weight of the typeface.
type Weight uint8

// The weights.
const (
	Regular Weight = iota
	Medium
)

// Kind is the media type of a file.
const Kind = "font/woff"

// ranges returns the characters that a file has, first and last of each range: ASCII, Latin, the
// letters of formulas, punctuation, currencies and signs. Browsers take the others from the machine.
func ranges() [][2]rune {
	return [][2]rune{
		{' ', '~'},
		{0xa0, 0x17f},
		{0x394, 0x394},
		{0x3bc, 0x3bc},
		{0x3c3, 0x3c3},
		{0x2010, 0x2026},
		{0x2030, 0x203a},
		{0x20ac, 0x20ac},
		{0x2122, 0x2122},
		{0x2202, 0x2265},
	}
}

// WOFF returns the file of a weight. An error would be a defect of this build, whose fonts are
// compiled in.
func WOFF(w Weight) ([]byte, error) {
	ttf := robotoregular.TTF
	if w == Medium {
		ttf = robotomedium.TTF
	}
	s, err := newSubset(ttf)
	if err != nil {
		return nil, fmt.Errorf("webfont: %w", err)
	}
	packed, err := pack(s.tables())
	if err != nil {
		return nil, fmt.Errorf("webfont: %w", err)
	}
	return packed, nil
}

// subset is a part of a font. Glyphs have new numbers: 0 is the box, those of runes follow in
// order, then the parts that others are made of.
type subset struct {
	from   map[string][]byte // tables of the whole font
	runes  []rune
	glyphs []uint16          // old numbers
	number map[uint16]uint16 // old to new
	pairs  []pair
}

// pair is the correction between two glyphs.
type pair struct {
	left, right uint16
	by          int16
}

func newSubset(ttf []byte) (*subset, error) {
	s := &subset{from: split(ttf), glyphs: []uint16{0}, number: map[uint16]uint16{0: 0}}
	for _, name := range copied() {
		if s.from[name] == nil {
			return nil, fmt.Errorf("the font has no table %s", name)
		}
	}
	f, err := sfnt.Parse(ttf)
	if err != nil {
		return nil, fmt.Errorf("the font: %w", err)
	}
	var buf sfnt.Buffer
	for _, span := range ranges() {
		for r := span[0]; r <= span[1]; r++ {
			id, err := f.GlyphIndex(&buf, r)
			if err != nil {
				return nil, fmt.Errorf("the glyph of %U: %w", r, err)
			}
			if id != 0 {
				s.runes = append(s.runes, r)
				s.glyphs = append(s.glyphs, uint16(id))
			}
		}
	}
	for i := 1; i < len(s.glyphs); i++ {
		if _, ok := s.number[s.glyphs[i]]; !ok {
			s.number[s.glyphs[i]] = word(i)
		}
	}
	s.addParts()
	return s, s.kern(f, &buf)
}

// addParts adds the glyphs that others are made of.
func (s *subset) addParts() {
	for i := 0; i < len(s.glyphs); i++ {
		for part := range parts(s.outline(s.glyphs[i])) {
			if _, ok := s.number[part.id]; !ok {
				s.number[part.id] = word(len(s.glyphs))
				s.glyphs = append(s.glyphs, part.id)
			}
		}
	}
}

// kern reads the corrections between letters, as the pictures have them.
func (s *subset) kern(f *sfnt.Font, buf *sfnt.Buffer) error {
	ppem := fixed.Int26_6(f.UnitsPerEm()) << 6
	for i, a := range s.runes {
		for j, b := range s.runes {
			if !letter(a) || !letter(b) {
				continue
			}
			left, right := word(i+1), word(j+1)
			k, err := f.Kern(buf, sfnt.GlyphIndex(s.glyphs[left]), sfnt.GlyphIndex(s.glyphs[right]), ppem, 0)
			if err != nil && err != sfnt.ErrNotFound { //nolint:errorlint // it is returned as it is
				return fmt.Errorf("the space between %q and %q: %w", a, b, err)
			}
			if by := int16(k.Round()); by != 0 { //nolint:gosec // a fraction of 2048 units
				s.pairs = append(s.pairs, pair{left, right, by})
			}
		}
	}
	return nil
}

func letter(r rune) bool { return 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' }

// outline returns the bytes of an old glyph, none for one without an outline.
func (s *subset) outline(id uint16) []byte {
	loca, glyf := s.from["loca"], s.from["glyf"]
	if binary.BigEndian.Uint16(s.from["head"][50:]) == 0 {
		return glyf[2*int(binary.BigEndian.Uint16(loca[2*int(id):])) : 2*int(binary.BigEndian.Uint16(loca[2*int(id)+2:]))]
	}
	return glyf[binary.BigEndian.Uint32(loca[4*int(id):]):binary.BigEndian.Uint32(loca[4*int(id)+4:])]
}

// split returns the tables of a font.
func split(ttf []byte) map[string][]byte {
	all := map[string][]byte{}
	for i := range int(binary.BigEndian.Uint16(ttf[4:])) {
		entry := ttf[12+16*i:]
		at, length := binary.BigEndian.Uint32(entry[8:]), binary.BigEndian.Uint32(entry[12:])
		all[string(entry[:4])] = slices.Clone(ttf[at : at+length])
	}
	return all
}
