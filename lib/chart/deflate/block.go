package deflate

import "math/bits"

const (
	literals   = 286 // literals, the end of a block, and 29 codes of lengths
	distances  = 30
	endOfBlock = 256
)

// token is a literal, or a match as length-3, code of the distance and distance-1.
type token uint32

const matchToken token = 1 << 28

func newMatchToken(n, back int, code uint32) token {
	return matchToken | token(n-minMatch)<<20 | token(code)<<15 | token(back-1) //nolint:gosec // at most 255 and 2^15
}

func (t token) length() uint32   { return uint32(t) >> 20 & 0xff }
func (t token) code() uint32     { return uint32(t) >> 15 & 0x1f }
func (t token) distance() uint32 { return uint32(t) & 0x7fff }

// block collects tokens until their codes are decided.
type block struct {
	start    int // position of its first byte
	n        int
	tokens   [blockTokens]token
	literals [literals]uint32 // how often each is used; lengths are added at the end
	lengths  [256]uint32      // by length-3
	offsets  [distances]uint32
}

func (b *block) reset(start int) {
	b.start, b.n = start, 0
	clear(b.literals[:])
	clear(b.lengths[:])
	clear(b.offsets[:])
}

// literal adds a byte. The caller leaves room for it.
func (b *block) literal(c byte) {
	b.tokens[b.n] = token(c)
	b.n++
	b.literals[c]++
}

// repeat adds a match at i, in parts if it is longer than one can be.
func (e *Encoder) repeat(i int, m match) {
	b := &e.block
	code := distanceCode(uint32(m.back - 1)) //nolint:gosec // within the window
	for m.n > 0 {
		n := min(m.n, maxMatch)
		if rest := m.n - n; rest > 0 && rest < minMatch {
			n -= minMatch - rest
		}
		if b.n == blockTokens {
			e.endBlock(i, false)
		}
		b.tokens[b.n] = newMatchToken(n, m.back, code)
		b.n++
		b.lengths[n-minMatch]++
		b.offsets[code]++
		m.n -= n
		i += n
	}
}

// distanceCode returns the code of distance d+1, RFC 1951 3.2.5: two for every power
// of two.
func distanceCode(d uint32) uint32 {
	if d < 4 {
		return d
	}
	k := uint32(bits.Len32(d)) - 1 //nolint:gosec // at most 15
	return 2*k + d>>(k-1)&1
}

// extraBits returns the number of bits after the code of a distance.
func extraBits(back int) int {
	return max(bits.Len32(uint32(back-1)), 2) - 2 //nolint:gosec // within the window
}

// distanceBase returns the smallest d that has the code, and the number of bits that
// distinguish it from the others.
func distanceBase(code uint32) (base, extra uint32) {
	if code < 4 {
		return code, 0
	}
	extra = code/2 - 1
	return (2 + code&1) << extra, extra
}

// lengthCode returns the code of length n+3, counted from 257, with the bits that
// follow it: four codes for every power of two, and one for the longest.
func lengthCode(n uint32) (code, low, extra uint32) {
	if n < 8 {
		return n, 0, 0
	}
	if n == maxMatch-minMatch {
		return 28, 0, 0
	}
	extra = uint32(bits.Len32(n)) - 3 //nolint:gosec // at most 8
	return 4*extra + n>>extra, n & (1<<extra - 1), extra
}
