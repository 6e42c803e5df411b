package raster

import (
	"fmt"
	"slices"
	"sync"
)

const (
	// MaxSide is the largest width or height of a frame: 4096 at scale 3.
	MaxSide = 3 * 4096
	// keepFrames and keepBytes bound what idle frames hold in pixels, keepLuts
	// and keepSegs what each holds besides: half a megabyte.
	keepFrames = 32
	keepBytes  = 64 << 20
	keepLuts   = 64
	keepSegs   = 2048

	// large is the size in bytes from which on a frame of one byte a pixel and another of
	// three would be too much for one picture.
	large = 4 << 20
)

// Stock owns the resources that drawings share: idle frames, compressors and glyph masks.
// One per process is enough. Safe for concurrent use. The zero value is not
// ready; use NewStock.
type Stock struct {
	mu    sync.Mutex
	idle  []*Frame
	bytes int // of pix, over idle

	encoders sync.Pool // of *deflate.Encoder
	fonts    [weights]font
	others   fallback
}

// NewStock returns an empty Stock. Glyphs are made at first use.
func NewStock() *Stock { return &Stock{} }

// Render calls draw with an indexed frame and, if the picture has too many
// colours for a palette, again with one in true colour. draw must make the
// same calls each time. The caller releases the frame.
func (s *Stock) Render(w, h int, background Color, draw func(*Frame)) (*Frame, error) {
	if err := checkSides(w, h); err != nil {
		return nil, err
	}
	size := frameBytes(w, h, 1)
	if size > large {
		size = frameBytes(w, h, 3) // so that one buffer serves both
	}
	f := s.idleFrame(size)
	f.begin(s, w, h, 1, background)
	draw(f)
	if !f.Overflowed() {
		return f, nil
	}
	if size = frameBytes(w, h, 3); cap(f.pix) < size {
		f.Release()
		f = s.idleFrame(size)
	}
	f.begin(s, w, h, 3, background)
	draw(f)
	return f, nil
}

func checkSides(w, h int) error {
	if w < 1 || h < 1 || w > MaxSide || h > MaxSide {
		return fmt.Errorf("frame %dx%d: sides must be 1 to %d pixels", w, h, MaxSide)
	}
	return nil
}

// frameBytes is the size of a frame's buffer.
func frameBytes(w, h, bpp int) int { return (w*bpp + 1) * h }

// begin makes an empty picture of the frame, whose buffer is large enough.
func (f *Frame) begin(s *Stock, w, h, bpp int, background Color) {
	f.stock, f.w, f.h, f.bpp, f.stride = s, w, h, bpp, w*bpp+1
	f.pix = f.pix[:f.stride*h]
	f.missing = f.missing[:0]
	f.NoClip()
	f.pal.reset()
	f.col.reset(h)
	background.A = 255
	clear(f.pix)
	if bpp == 1 {
		f.pal.exactly(background.rgb(), ground) // index 0, which clear has written
	} else {
		f.Rect(0, 0, w, h, background)
	}
}

// idleFrame returns the smallest idle frame whose buffer holds n bytes without
// wasting more than half of it, or a new one.
func (s *Stock) idleFrame(n int) *Frame {
	s.mu.Lock()
	best := -1
	for i, f := range s.idle {
		if c := cap(f.pix); c >= n && c <= 2*n && (best < 0 || c < cap(s.idle[best].pix)) {
			best = i
		}
	}
	var f *Frame
	if best >= 0 {
		f = s.idle[best]
		s.bytes -= cap(f.pix)
		s.idle = slices.Delete(s.idle, best, best+1)
	}
	s.mu.Unlock()
	if f == nil {
		f = &Frame{pix: make([]byte, n)}
	}
	return f
}

// Release returns the frame to the stock. It must not be used afterwards; a second
// Release does nothing.
func (f *Frame) Release() {
	s := f.stock
	if s == nil {
		return
	}
	f.stock, f.Pause = nil, nil
	if len(f.pal.luts) > keepLuts {
		f.pal.luts = slices.Clone(f.pal.luts[:keepLuts])
		f.pal.paints = [paintMax]paint{} // they point to the tables
	}
	if cap(f.segs) > keepSegs {
		f.segs = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cap(f.pix) > keepBytes {
		return
	}
	for len(s.idle) > 0 && (len(s.idle) == keepFrames || s.bytes+cap(f.pix) > keepBytes) {
		// Drop the oldest, so that unused sizes do not stay forever.
		s.bytes -= cap(s.idle[0].pix)
		s.idle = slices.Delete(s.idle, 0, 1)
	}
	s.idle = append(s.idle, f)
	s.bytes += cap(f.pix)
}
