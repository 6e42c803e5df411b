// Package deflate compresses the rows of chart pictures into zlib streams (RFC 1950 and
// 1951). It knows where such rows repeat: in the pixel before, in the row above, and in a
// pattern seen shortly before, such as a letter or the edge of a line. A general
// compressor searches longer for the same matches. It writes no other format and does not
// decompress; package raster calls it.
//
// The same rows give the same bytes on every architecture.
package deflate

import "encoding/binary"

const (
	// window is how far back a match may reach, RFC 1951 2.
	window = 1 << 15

	minMatch = 3
	maxMatch = 258

	// hashBits sets the size of the table of recent patterns. At 13 bits it fits the
	// first-level cache beside the rows; a larger one finds hardly more.
	hashBits = 13

	// blockTokens is the number of literals and matches in a block. Colours change on the way
	// down a picture, so codes fit better in short blocks; the codes themselves take about
	// 100 bytes.
	blockTokens = 4096
)

// Encoder is the state of a compression, 66 KB, to be used again for the next one. The
// zero value is ready. Not safe for concurrent use.
type Encoder struct {
	// Pause is called after each block, so that other work can go before; nil for none.
	Pause func()

	rows          []byte
	stride, pixel int // bytes from one row and pixel to the next, within the window
	strideExtra   int // bits after the code of the distance stride
	recent        [1 << hashBits]uint32
	block         block

	tree     tree
	literals [literals]code
	offsets  [distances]code
	header   header
	out      bitWriter
}

// AppendZlib appends rows, of stride bytes each and pixel bytes for each pixel, as a zlib
// stream to dst and returns the longer slice. The last row may be shorter. A stride or
// pixel that does not fit the rows makes the stream longer, not wrong.
func (e *Encoder) AppendZlib(dst, rows []byte, stride, pixel int) []byte {
	e.rows = rows
	e.stride, e.pixel = min(max(stride, 1), window), min(max(pixel, 1), 4)
	e.strideExtra = extraBits(e.stride)
	clear(e.recent[:]) // 0 is a position like any other: matches are compared
	e.block.reset(0)
	dst = append(dst, 0x78, 0x01) // a window of 32 KB, no dictionary
	e.out = bitWriter{buf: dst, at: len(dst)}
	e.parse()
	e.endBlock(len(rows), true)
	dst = e.out.end()
	e.rows, e.out = nil, bitWriter{}
	return binary.BigEndian.AppendUint32(dst, Checksum(rows))
}
