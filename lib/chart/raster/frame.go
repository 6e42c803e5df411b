package raster

// Frame is a picture being drawn. It starts indexed; a palette that overflows
// is reported by Overflowed, and the caller draws the same picture again into
// a frame in true colour (Stock.Render does both). One goroutine only.
//
// Each row of pix starts with a zero byte, the PNG filter type "none", so the
// whole buffer is what the encoder compresses. It also makes the stride odd
// for the usual even widths, which keeps the rows of one column from falling
// into the same cache set.
type Frame struct {
	// Pause is called many times while the frame is encoded, so that other work can go before;
	// nil for none. It may panic to end the work: the frame must not be used any more then.
	Pause func()

	stock  *Stock
	w, h   int
	stride int
	bpp    int // bytes per pixel: 1 indexed, 3 true colour
	pix    []byte
	clip   rect
	pal    palette
	plain  paint // the paint in use, in true colour
	col    column
	segs   []segment
	scan   scan

	missing []rune // drawn as boxes
}

type rect struct{ x0, y0, x1, y1 int }

// Overflowed reports that the picture needs more colours than a palette holds.
// Once it is true further drawing has no effect, and EncodePNG refuses.
func (f *Frame) Overflowed() bool { return f.pal.overflow }

// Reserve registers opaque colours before anything is drawn, so that there is room
// for all of them. Translucent ones are ignored; they are registered on use.
func (f *Frame) Reserve(colors ...Color) {
	if f.bpp != 1 {
		return
	}
	for _, c := range colors {
		if c.A == 255 {
			f.pal.exactly(c.rgb(), solid)
		}
	}
}

// Ramp registers every shade of an antialiased glyph in ink on under, so that
// text keeps its exact edges however full the palette gets.
func (f *Frame) Ramp(ink, under Color) {
	if f.bpp != 1 {
		return
	}
	f.pal.exactly(under.rgb(), ground)
	for level := 1; level <= full; level++ {
		f.pal.near(mix(ink, level, under.rgb()), ground)
	}
}

// Clip limits drawing to the pixels of [x0, x1) x [y0, y1) within the frame.
func (f *Frame) Clip(x0, y0, x1, y1 int) {
	f.clip = rect{max(x0, 0), max(y0, 0), min(x1, f.w), min(y1, f.h)}
	if f.clip.x0 >= f.clip.x1 || f.clip.y0 >= f.clip.y1 {
		f.clip = rect{}
	}
}

// NoClip lets drawing reach the whole frame again.
func (f *Frame) NoClip() { f.clip = rect{0, 0, f.w, f.h} }

// ink returns c ready to blend, or nil when there is nothing to draw.
func (f *Frame) ink(c Color) *paint {
	if c.A == 0 || f.pal.overflow {
		return nil
	}
	if f.bpp == 3 {
		f.plain = paint{color: c}
		return &f.plain
	}
	return f.pal.paint(c)
}

// at returns the offset of a pixel in pix.
func (f *Frame) at(x, y int) int { return y*f.stride + 1 + x*f.bpp }

// Rect fills the pixels of [x0, x1) x [y0, y1).
func (f *Frame) Rect(x0, y0, x1, y1 int, c Color) {
	x0, y0 = max(x0, f.clip.x0), max(y0, f.clip.y0)
	x1, y1 = min(x1, f.clip.x1), min(y1, f.clip.y1)
	if x0 >= x1 || y0 >= y1 {
		return
	}
	if c.A == 255 && f.bpp == 1 && !f.pal.overflow {
		f.rectSolid(x0, y0, x1, y1, f.pal.exactly(c.rgb(), solid))
		return
	}
	p := f.ink(c)
	if p == nil {
		return
	}
	if f.bpp == 3 {
		f.rectRGB(x0, y0, x1, y1, p)
		return
	}
	row := p.table[full<<8:]
	for y := y0; y < y1; y++ {
		line := f.pix[f.at(x0, y):f.at(x1, y)]
		for i, old := range line {
			v := row[old]
			if v == 0 {
				v = f.pal.resolve(p, full, old)
			}
			line[i] = ^v
		}
	}
}

// rectSolid writes one index. Bars are a few pixels wide, where a loop beats
// the call of a fill.
func (f *Frame) rectSolid(x0, y0, x1, y1 int, index uint8) {
	if x1-x0 > 32 {
		first := f.pix[f.at(x0, y0):f.at(x1, y0)]
		for i := range first {
			first[i] = index
		}
		for y := y0 + 1; y < y1; y++ {
			copy(f.pix[f.at(x0, y):], first)
		}
		return
	}
	for y := y0; y < y1; y++ {
		line := f.pix[f.at(x0, y):f.at(x1, y)]
		for i := range line {
			line[i] = index
		}
	}
}

func (f *Frame) rectRGB(x0, y0, x1, y1 int, p *paint) {
	if p.color.A == 255 {
		c := p.color
		line := f.pix[f.at(x0, y0):f.at(x1, y0)]
		for i := 0; i+3 <= len(line); i += 3 {
			line[i], line[i+1], line[i+2] = c.R, c.G, c.B
		}
		for y := y0 + 1; y < y1; y++ {
			copy(f.pix[f.at(x0, y):], line)
		}
		return
	}
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			f.blendRGB(f.at(x, y), full, p)
		}
	}
}

// HLine draws a horizontal rule from x0 up to x1, its top edge at y, thick
// pixels high.
func (f *Frame) HLine(x0, x1, y, thick int, c Color, d Dash) {
	if d.solid() {
		f.Rect(x0, y, x1, y+thick, c)
		return
	}
	on, off := d.whole()
	for x := skip(x0, f.clip.x0, on+off); x < min(x1, f.clip.x1); x += on + off {
		f.Rect(x, y, min(x+on, x1), y+thick, c)
	}
}

// skip moves start by whole periods to just before edge, so a rule that begins
// far outside costs nothing.
func skip(start, edge, period int) int {
	if start >= edge {
		return start
	}
	start = max(start, -1<<40) // keeps the difference from wrapping
	return start + (edge-start)/period*period
}

// blend puts p on the indexed pixel at off.
func (f *Frame) blend(off, level int, p *paint) {
	old := f.pix[off]
	v := p.table[level<<8|int(old)]
	if v == 0 {
		v = f.pal.resolve(p, level, old)
	}
	f.pix[off] = ^v
}

// blendRGB puts p on the true colour pixel at off.
func (f *Frame) blendRGB(off, level int, p *paint) {
	px := f.pix[off : off+3 : off+3]
	v := mix(p.color, level, uint32(px[0])<<16|uint32(px[1])<<8|uint32(px[2]))
	px[0], px[1], px[2] = uint8(v>>16&0xff), uint8(v>>8&0xff), uint8(v&0xff)
}
