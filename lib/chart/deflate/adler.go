package deflate

import "encoding/binary"

// Checksum returns the Adler-32 of RFC 1950 8.2. hash/adler32 would take a quarter of the
// encoding time. Most of a frame is background, index 0, and zeros change only the
// second sum, by a multiple of the first, so 32 at a time cost one test.
func Checksum(p []byte) uint32 {
	const (
		modulus = 65521
		// block keeps both sums within 64 bits by a wide margin and the 16-bit
		// lanes below exact.
		block = 4096
	)
	a, b := uint64(1), uint64(0)
	for len(p) > 0 {
		q := p[:min(len(p), block)]
		p = p[len(q):]
		for len(q) >= 32 {
			r := (*[32]byte)(q)
			v, w := binary.LittleEndian.Uint64(r[0:]), binary.LittleEndian.Uint64(r[8:])
			x, y := binary.LittleEndian.Uint64(r[16:]), binary.LittleEndian.Uint64(r[24:])
			q = q[32:]
			b += 32 * a
			if v|w|x|y == 0 {
				continue
			}
			// Bytes at even and at odd places, added lane by lane; a word counts in the second
			// sum again for each word after it.
			sv, sw, sx := pairs(v), pairs(w), pairs(x)
			even := v&lanes + w&lanes + x&lanes + y&lanes
			odd := v>>8&lanes + w>>8&lanes + x>>8&lanes + y>>8&lanes
			b += 8*total(3*sv+2*sw+sx) + weighted(even, odd)
			a += total(even + odd)
		}
		for _, c := range q {
			a += uint64(c)
			b += a
		}
		a, b = a%modulus, b%modulus
	}
	return uint32(b<<16 | a) //nolint:gosec // both are below 2^16
}

// Bytes are summed in 16-bit lanes, four to a word: a product with one weight per lane
// leaves the weighted sum in the top lane. The largest sum, of the even bytes of four
// words, is 4*255*20.
const lanes = 0x00ff00ff00ff00ff

// pairs adds neighbouring bytes.
func pairs(v uint64) uint64 { return v&lanes + v>>8&lanes }

// total adds the lanes.
func total(v uint64) uint64 { return v * (1<<48 | 1<<32 | 1<<16 | 1) >> 48 }

// weighted counts the first byte of a word, in its low end, eight times, the last once: as
// often as the first sum that holds it enters the second.
func weighted(even, odd uint64) uint64 {
	return even*(8<<48|6<<32|4<<16|2)>>48 + odd*(7<<48|5<<32|3<<16|1)>>48
}
