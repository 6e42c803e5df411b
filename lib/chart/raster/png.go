package raster

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"candela/lib/chart/deflate"
)

// ErrOverflow is returned for a frame whose palette overflowed. Draw the
// picture again into a true colour frame.
var ErrOverflow = errors.New("more colours than a palette holds")

// PNG colour types, ISO/IEC 15948 11.2.2.
const (
	pngTrueColor = 2
	pngIndexed   = 3
)

// EncodePNG appends the frame as a PNG to dst and returns the longer slice.
func (f *Frame) EncodePNG(dst []byte) ([]byte, error) {
	if f.pal.overflow {
		return dst, ErrOverflow
	}
	z, ok := f.stock.encoders.Get().(*deflate.Encoder)
	if !ok {
		z = new(deflate.Encoder)
	}
	z.Pause = f.Pause

	dst = slices.Grow(dst, len(f.pix)/16) // what most charts take
	dst = append(dst, "\x89PNG\r\n\x1a\n"...)
	dst = f.appendHeader(dst)
	if f.bpp == 1 {
		dst = f.appendPalette(dst)
	}
	dst, start := beginChunk(dst, "IDAT")
	dst = endChunk(z.AppendZlib(dst, f.pix, f.stride, f.bpp), start)
	z.Pause = nil
	f.stock.encoders.Put(z)
	dst, start = beginChunk(dst, "IEND")
	return endChunk(dst, start), nil
}

func (f *Frame) appendHeader(dst []byte) []byte {
	dst, start := beginChunk(dst, "IHDR")
	dst = binary.BigEndian.AppendUint32(dst, uint32(f.w)) //nolint:gosec // at most MaxSide
	dst = binary.BigEndian.AppendUint32(dst, uint32(f.h)) //nolint:gosec // at most MaxSide
	kind := byte(pngIndexed)
	if f.bpp == 3 {
		kind = pngTrueColor
	}
	dst = append(dst, 8, kind, 0, 0, 0) // depth, type, deflate, filters, no interlace
	return endChunk(dst, start)
}

func (f *Frame) appendPalette(dst []byte) []byte {
	dst, start := beginChunk(dst, "PLTE")
	for _, c := range f.pal.rgb[:f.pal.n] {
		dst = append(dst, byte(c>>16&0xff), byte(c>>8&0xff), byte(c&0xff))
	}
	return endChunk(dst, start)
}

// beginChunk appends a chunk's header with its length left open.
func beginChunk(dst []byte, kind string) (out []byte, start int) {
	start = len(dst)
	dst = append(dst, 0, 0, 0, 0)
	return append(dst, kind...), start
}

// endChunk fills in the length and appends the checksum of type and data.
func endChunk(dst []byte, start int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-8)) //nolint:gosec // far below 2^31
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start+4:]))
}
