package raster

// Lines, areas and small shapes are drawn one pixel column at a time. A column
// is sampled at a few sub-columns; on each the shape is one vertical interval
// (or several), whose coverage of every pixel is exact in y.

// unit is the accumulated weight of a pixel that is covered entirely: 256
// steps in y times 16 shares of sub-columns.
const unit = 256 * 16

// column accumulates the coverage of one pixel column. acc holds differences:
// the running sum down to row y is the coverage of row y.
type column struct {
	acc         []int32
	lo, hi      int // rows touched; lo > hi when none is
	top, bottom float64
}

func (c *column) reset(h int) {
	if cap(c.acc) < h+2 {
		c.acc = make([]int32, h+2)
	}
	c.acc = c.acc[:h+2]
	clear(c.acc)
	c.lo, c.hi = h+2, -1
}

// limit sets the rows that add may reach.
func (c *column) limit(clip rect) {
	c.top, c.bottom = float64(clip.y0), float64(clip.y1)
}

// add covers the rows from t to b with weight shares of 16. Where intervals of one
// sub-column overlap, the pixel counts as covered. NaN adds nothing.
func (c *column) add(t, b float64, weight int32) {
	if t < c.top {
		t = c.top
	}
	if b > c.bottom {
		b = c.bottom
	}
	if !(t < b) { // the negation rejects NaN
		return
	}
	// The products are by a power of two, exact, so fusing cannot matter.
	ti, bi := int32(t*256+0.5), int32(b*256+0.5)
	i, j := int(ti>>8), int(bi>>8)
	tf, bf := ti&255, bi&255
	c.acc[i] += (256 - tf) * weight
	c.acc[i+1] += tf * weight
	c.acc[j] -= (256 - bf) * weight
	c.acc[j+1] -= bf * weight
	if i < c.lo {
		c.lo = i
	}
	if j+1 > c.hi {
		c.hi = j + 1
	}
}

// flush blends the accumulated column into column x of the frame and empties
// it. Rows below the clip rectangle have coverage zero, because add cuts every
// interval at a pixel edge there.
func (f *Frame) flush(x int, p *paint) {
	c := &f.col
	if c.lo > c.hi {
		return
	}
	acc := c.acc[c.lo : c.hi+1]
	off := f.at(x, c.lo)
	c.lo, c.hi = len(c.acc), -1
	if f.bpp == 3 {
		f.flushRGB(off, acc, p)
		return
	}
	pix, table, stride := f.pix, p.table, f.stride
	sum := int32(0)
	for i, a := range acc {
		sum += a
		acc[i] = 0
		if level := level(sum); level > 0 {
			old := pix[off]
			v := table[(level<<8|int(old))&(len(table)-1)] // the mask drops a bounds check
			if v == 0 {
				v = f.pal.resolve(p, level, old)
			}
			pix[off] = ^v
		}
		off += stride
	}
}

// level rounds an accumulated weight to a coverage level. The sum is never
// negative; saying so makes the division a shift. It can exceed a full pixel
// where a wide line turns back on itself within one column.
func level(sum int32) int {
	return int(min(uint32(sum*full+unit/2)/unit, full)) //nolint:gosec // see above
}

func (f *Frame) flushRGB(off int, acc []int32, p *paint) {
	sum := int32(0)
	for i, a := range acc {
		sum += a
		acc[i] = 0
		if level := level(sum); level > 0 {
			f.blendRGB(off, level, p)
		}
		off += f.stride
	}
}
