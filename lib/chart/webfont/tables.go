package webfont

import (
	"encoding/binary"
	"iter"
	"slices"
)

// copied lists the tables that a subset needs of the whole font.
func copied() []string {
	return []string{"OS/2", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "name", "post"}
}

// tables returns the tables of the subset.
func (s *subset) tables() map[string][]byte {
	glyf, loca := s.outlines()
	widths := s.widths() // before the number of glyphs changes
	head, hhea, maxp, post := s.from["head"], s.from["hhea"], s.from["maxp"], s.from["post"][:32]
	binary.BigEndian.PutUint16(head[50:], 1) // long offsets
	binary.BigEndian.PutUint16(hhea[34:], word(len(s.glyphs)))
	binary.BigEndian.PutUint16(maxp[4:], word(len(s.glyphs)))
	binary.BigEndian.PutUint32(post, 0x30000) // no names of glyphs
	return map[string][]byte{
		"OS/2": s.from["OS/2"], "cmap": s.cmap(), "glyf": glyf, "head": head, "hhea": hhea, "hmtx": widths, "kern": s.corrections(), "loca": loca,
		"maxp": maxp, "name": binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32(nil, 0), 6), "post": post,
	}
}

// outlines returns the glyphs and where each begins.
func (s *subset) outlines() (glyf, loca []byte) {
	for _, id := range s.glyphs {
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf))) //nolint:gosec // some KB
		glyf = append(glyf, s.bare(s.outline(id))...)
		for len(glyf)%4 != 0 {
			glyf = append(glyf, 0)
		}
	}
	return glyf, binary.BigEndian.AppendUint32(loca, uint32(len(glyf))) //nolint:gosec // some KB
}

// bare returns a glyph without hints, and with the new numbers of its parts.
func (s *subset) bare(old []byte) []byte {
	if len(old) == 0 {
		return nil
	}
	out := slices.Clone(old)
	if contours := int16(binary.BigEndian.Uint16(old)); contours >= 0 { //nolint:gosec // a signed field
		hints := 10 + 2*int(contours)
		out = append(out[:hints:hints], 0, 0)
		return append(out, old[hints+2+int(binary.BigEndian.Uint16(old[hints:])):]...)
	}
	end := 0
	for part := range parts(old) {
		binary.BigEndian.PutUint16(out[part.at:], binary.BigEndian.Uint16(out[part.at:])&^hasHints)
		binary.BigEndian.PutUint16(out[part.at+2:], s.number[part.id])
		end = part.end
	}
	return out[:end]
}

// Flags of a part of a glyph.
const (
	wordArguments = 1 << 0
	oneScale      = 1 << 3
	moreParts     = 1 << 5
	twoScales     = 1 << 6
	matrix        = 1 << 7
	hasHints      = 1 << 8
)

// part is a glyph that another is made of, and the bytes of the other that say so.
type part struct {
	id      uint16
	at, end int
}

// parts yields what a glyph is made of, nothing for one with contours of its own.
func parts(glyph []byte) iter.Seq[part] {
	return func(yield func(part) bool) {
		if len(glyph) == 0 || int16(binary.BigEndian.Uint16(glyph)) >= 0 { //nolint:gosec // a signed field
			return
		}
		for at := 10; ; {
			flags := binary.BigEndian.Uint16(glyph[at:])
			end := at + 6
			if flags&wordArguments != 0 {
				end += 2
			}
			switch {
			case flags&oneScale != 0:
				end += 2
			case flags&twoScales != 0:
				end += 4
			case flags&matrix != 0:
				end += 8
			}
			if !yield(part{binary.BigEndian.Uint16(glyph[at+2:]), at, end}) || flags&moreParts == 0 {
				return
			}
			at = end
		}
	}
}

// widths returns the advance and the left edge of each glyph.
func (s *subset) widths() []byte {
	full := int(binary.BigEndian.Uint16(s.from["hhea"][34:]))
	var out []byte
	for _, id := range s.glyphs {
		out = append(out, s.from["hmtx"][4*min(int(id), full-1):][:2]...)
		if int(id) < full {
			out = append(out, s.from["hmtx"][4*int(id)+2:][:2]...)
		} else {
			out = append(out, s.from["hmtx"][4*full+2*(int(id)-full):][:2]...)
		}
	}
	return out
}

// cmap returns the table from characters to glyphs: a segment for each run of characters.
func (s *subset) cmap() []byte {
	type run struct{ first, last, glyph uint16 }
	var runs []run
	for i, r := range s.runes {
		at, glyph := uint16(r), uint16(i+1) //nolint:gosec // characters below 65536
		if n := len(runs); n > 0 && runs[n-1].last+1 == at {
			runs[n-1].last = at
			continue
		}
		runs = append(runs, run{at, at, glyph})
	}
	runs = append(runs, run{0xffff, 0xffff, 0}) // the end that the format asks for
	var ends, starts, deltas, offsets []byte
	for _, r := range runs {
		ends = binary.BigEndian.AppendUint16(ends, r.last)
		starts = binary.BigEndian.AppendUint16(starts, r.first)
		deltas = binary.BigEndian.AppendUint16(deltas, r.glyph-r.first)
		offsets = binary.BigEndian.AppendUint16(offsets, 0)
	}
	search, selector, shift := searching(len(runs), 2)
	out := words(nil, 0, 1, 3, 1, 0, 12) // one table: Windows, the characters of Unicode
	out = words(out, 4, word(16+8*len(runs)), 0, word(2*len(runs)), search, selector, shift)
	return slices.Concat(out, ends, []byte{0, 0}, starts, deltas, offsets)
}

// corrections returns the table of spaces between letters.
func (s *subset) corrections() []byte {
	search, selector, shift := searching(len(s.pairs), 6)
	out := words(nil, 0, 1, 0, word(14+6*len(s.pairs)), 1, word(len(s.pairs)), search, selector, shift)
	for _, p := range s.pairs {
		out = words(out, p.left, p.right, uint16(p.by)) //nolint:gosec // a signed field
	}
	return out
}

// searching returns the three numbers of a table's header that say how to search its entries.
func searching(entries, size int) (search, selector, shift uint16) {
	power := 1
	for power*2 <= entries {
		power *= 2
		selector++
	}
	return word(power * size), selector, word((entries - power) * size)
}

// word is a number of a table: no table of a subset has 65536 of anything.
func word(n int) uint16 { return uint16(n) } //nolint:gosec // G115: see above

func words(to []byte, all ...uint16) []byte {
	for _, w := range all {
		to = binary.BigEndian.AppendUint16(to, w)
	}
	return to
}
