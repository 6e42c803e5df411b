package raster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/flate"
)

// ErrOverflow is returned for a frame whose palette overflowed. Draw the
// picture again into a true colour frame.
var ErrOverflow = errors.New("more colours than a palette holds")

// DefaultLevel is the deflate level that EncodePNG is measured with.
const DefaultLevel = 1

// PNG colour types, ISO/IEC 15948 11.2.2.
const (
	pngTrueColor = 2
	pngIndexed   = 3
)

// compressor is a pooled deflater that appends to out.
type compressor struct {
	flate *flate.Writer
	out   []byte
}

func (c *compressor) Write(p []byte) (int, error) {
	c.out = append(c.out, p...)
	return len(p), nil
}

// EncodePNG appends the frame as a PNG to dst and returns the longer slice.
// level is a deflate level, 1 to 9.
func (f *Frame) EncodePNG(dst []byte, level int) ([]byte, error) {
	if f.pal.overflow {
		return dst, ErrOverflow
	}
	if level < 1 || level > 9 {
		return dst, fmt.Errorf("deflate level %d: must be 1 to 9", level)
	}
	z, err := f.stock.compressor(level)
	if err != nil {
		return dst, err
	}
	defer f.stock.writers[level].Put(z)

	dst = append(dst, "\x89PNG\r\n\x1a\n"...)
	dst = f.appendHeader(dst)
	if f.bpp == 1 {
		dst = f.appendPalette(dst)
	}
	dst, start := beginChunk(dst, "IDAT")
	if dst, err = z.append(dst, f.pix); err != nil {
		return dst[:start], fmt.Errorf("compress %dx%d frame: %w", f.w, f.h, err)
	}
	dst = endChunk(dst, start)
	dst, start = beginChunk(dst, "IEND")
	return endChunk(dst, start), nil
}

// append writes p as a zlib stream, RFC 1950 2.2: deflate with a 32 KB window,
// no dictionary, then the checksum.
func (c *compressor) append(dst, p []byte) ([]byte, error) {
	c.out = append(dst, 0x78, 0x01)
	c.flate.Reset(c)
	_, err := c.flate.Write(p)
	if e := c.flate.Close(); err == nil {
		err = e
	}
	dst, c.out = c.out, nil
	return binary.BigEndian.AppendUint32(dst, adler32(p)), err
}

func (s *Stock) compressor(level int) (*compressor, error) {
	if z, ok := s.writers[level].Get().(*compressor); ok {
		return z, nil
	}
	z := new(compressor)
	w, err := flate.NewWriter(z, level)
	if err != nil {
		return nil, fmt.Errorf("deflate level %d: %w", level, err)
	}
	z.flate = w
	return z, nil
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
