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
			sv, sw, sx, sy := byteSum(v), byteSum(w), byteSum(x), byteSum(y)
			b += 24*sv + 16*sw + 8*sx + weighted(v) + weighted(w) + weighted(x) + weighted(y)
			a += sv + sw + sx + sy
		}
		for _, c := range q {
			a += uint64(c)
			b += a
		}
		a, b = a%modulus, b%modulus
	}
	return uint32(b<<16 | a) //nolint:gosec // both are below 2^16
}

// The eight bytes of a word are summed four at a time in 16-bit lanes: a
// product with one weight per lane leaves the weighted sum in the top lane, and
// 255 times all weights fits a lane.
const lanes = 0x00ff00ff00ff00ff

func byteSum(v uint64) uint64 {
	return (v&lanes + v>>8&lanes) * (1<<48 | 1<<32 | 1<<16 | 1) >> 48
}

// weighted counts the first byte, in the low end of v, eight times, the last
// once: as often as the first sum that holds it enters the second.
func weighted(v uint64) uint64 {
	return v&lanes*(8<<48|6<<32|4<<16|2)>>48 + v>>8&lanes*(7<<48|5<<32|3<<16|1)>>48
}
