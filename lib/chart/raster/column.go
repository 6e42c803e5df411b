package raster

// Lines, areas and small shapes are drawn one pixel column at a time. A column
// is sampled at a few sub-columns; on each the shape is one vertical interval
// (or several), whose coverage of every pixel is exact in y.

// unit is the accumulated weight of a pixel that is covered entirely: 256
// steps in y times 16 shares of sub-columns.
const unit = 256 * 16

// column accumulates the coverage of one pixel column. The coverage of row y is the
// whole of all cells down to y, and the part of cell y.
type column struct {
	cells       []cell
	lo, hi      int // rows touched; lo > hi when none is
	top, bottom float64
}

// cell holds two changes of coverage at a row: whole<<32 lasts to the end of the column,
// and part, which may be negative, is for this row alone.
type cell int64

func (c cell) split() (whole, part int32) {
	part = int32(c)                                    //nolint:gosec // the lower half
	return int32((int64(c) - int64(part)) >> 32), part //nolint:gosec // the upper half
}

func (c *column) reset(h int) {
	if cap(c.cells) < h+1 {
		c.cells = make([]cell, h+1)
	}
	c.cells = c.cells[:h+1]
	clear(c.cells)
	c.lo, c.hi = h+1, -1
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
	c.cells[i] += cell(256<<32-int64(ti&255)) * cell(weight)
	c.cells[j] -= cell(256<<32-int64(bi&255)) * cell(weight)
	if i < c.lo {
		c.lo = i
	}
	if j > c.hi {
		c.hi = j
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
	cells := c.cells[c.lo : c.hi+1]
	off := f.at(x, c.lo)
	c.lo, c.hi = len(c.cells), -1
	if f.bpp == 3 {
		f.flushRGB(off, cells, p)
		return
	}
	pix, table, stride := f.pix, p.table, f.stride
	sum, below := int32(0), 0 // below is the level of the rows that follow
	for i, v := range cells {
		at := below
		if v != 0 {
			cells[i] = 0
			whole, part := v.split()
			sum += whole
			at, below = level(sum+part), level(sum)
		}
		if at > 0 {
			old := pix[off]
			v := table[(at<<8|int(old))&(len(table)-1)] // the mask drops a bounds check
			if v == 0 {
				v = f.pal.resolve(p, at, old)
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

func (f *Frame) flushRGB(off int, cells []cell, p *paint) {
	sum := int32(0)
	for i, v := range cells {
		cells[i] = 0
		whole, part := v.split()
		sum += whole
		if level := level(sum + part); level > 0 {
			f.blendRGB(off, level, p)
		}
		off += f.stride
	}
}
