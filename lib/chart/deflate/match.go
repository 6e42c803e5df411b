package deflate

import (
	"encoding/binary"
	"math/bits"
)

// A match is judged by the bits it saves, roughly: a literal takes literalBits, a match
// matchBits and the extra bits of its distance. Beyond longMatch nothing better is sought.
const (
	literalBits = 5
	matchBits   = 6
	longMatch   = 64
	lazyGain    = longMatch * literalBits / 4

	maxDelay = 8  // bytes by which a match is put off
	reserve  = 32 // tokens that the delay, or the end of the rows, may add to a block
)

// match is a repetition of the n bytes that begin back before.
type match struct {
	n, back int
	gain    int // bits saved; not positive for no match
}

// parse divides the rows into literals and matches. A match is put off by a byte while
// the next byte has a better one.
func (e *Encoder) parse() {
	p, b, i := e.rows, &e.block, 0
	for ; i < min(e.pixel, len(p)); i++ {
		b.literal(p[i])
	}
	for i+8+maxDelay <= len(p) {
		if b.n > blockTokens-reserve {
			e.endBlock(i, false)
		}
		m := e.longest(i)
		if m.gain <= 0 {
			b.literal(p[i])
			i++
			continue
		}
		for delay := 0; m.gain < lazyGain && delay < maxDelay; delay++ {
			next := e.longest(i + 1)
			if next.gain <= m.gain {
				break
			}
			b.literal(p[i])
			i++
			m = next
		}
		e.repeat(i, m)
		i += m.n
	}
	if b.n > blockTokens-reserve {
		e.endBlock(i, false)
	}
	for ; i < len(p); i++ {
		b.literal(p[i])
	}
}

// longest returns the best match of the bytes at i, of which there are at least eight.
// Which candidate matches is hard to predict, so they are compared and judged without
// branches if none is longer than seven.
func (e *Encoder) longest(i int) match {
	p := e.rows
	v := binary.LittleEndian.Uint64(p[i:])
	// Positions are kept modulo 2^32; their difference is exact within the window.
	here := uint32(i)                                      //nolint:gosec // see above
	slot := &e.recent[uint32(v)*0x9e3779b1>>(32-hashBits)] //nolint:gosec // the first four bytes
	above, before, seen := min(e.stride, i), e.pixel, int(here-*slot)
	if seen < 1 || seen > min(window, i) {
		seen = before
	}
	*slot = here
	a := bits.TrailingZeros64(v^binary.LittleEndian.Uint64(p[i-above:])) >> 3
	b := bits.TrailingZeros64(v^binary.LittleEndian.Uint64(p[i-before:])) >> 3
	c := bits.TrailingZeros64(v^binary.LittleEndian.Uint64(p[i-seen:])) >> 3
	if (a|b|c)&8 != 0 {
		if a == 8 {
			a += equal(p[i+8:], p[i+8-above:])
			if a >= longMatch {
				return match{a, above, gain(a, e.strideExtra)}
			}
		}
		if b == 8 {
			b += equal(p[i+8:], p[i+8-before:])
		}
		if c == 8 {
			c += equal(p[i+8:], p[i+8-seen:])
		}
	}
	best := match{a, above, gain(a, e.strideExtra)}
	if g := gain(b, 0); g > best.gain {
		best = match{b, before, g}
	}
	if g := gain(c, extraBits(seen)); g > best.gain {
		best = match{c, seen, g}
	}
	return best
}

// gain returns the bits that a match of n bytes saves.
func gain(n, extra int) int {
	if n < minMatch {
		n = 0
	}
	return min(n, longMatch)*literalBits - matchBits - extra
}

// equal counts the bytes at the start of a that equal those of b, which is longer.
func equal(a, b []byte) int {
	all := len(a)
	b = b[:all]
	for len(a) >= 32 && len(b) >= 32 {
		x, y := (*[32]byte)(a), (*[32]byte)(b)
		d := binary.LittleEndian.Uint64(x[0:]) ^ binary.LittleEndian.Uint64(y[0:])
		d |= binary.LittleEndian.Uint64(x[8:]) ^ binary.LittleEndian.Uint64(y[8:])
		d |= binary.LittleEndian.Uint64(x[16:]) ^ binary.LittleEndian.Uint64(y[16:])
		d |= binary.LittleEndian.Uint64(x[24:]) ^ binary.LittleEndian.Uint64(y[24:])
		if d != 0 {
			break
		}
		a, b = a[32:], b[32:]
	}
	for len(a) >= 8 && len(b) >= 8 {
		if x := binary.LittleEndian.Uint64(a) ^ binary.LittleEndian.Uint64(b); x != 0 {
			return all - len(a) + bits.TrailingZeros64(x)>>3
		}
		a, b = a[8:], b[8:]
	}
	for i := range a {
		if a[i] != b[i] {
			return all - len(a) + i
		}
	}
	return all
}
