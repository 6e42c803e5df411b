package raster

// The palette grows while a frame is drawn. Solid colours and translucent
// areas are exact; only a pixel on an antialiased edge may take a colour that
// is merely near, and how near depends on how full the palette is.

const (
	paletteMax = 256
	// edgeMax is where edges stop adding colours, so that a solid colour met
	// late still finds room.
	edgeMax = 240
	// paintMax bounds the look-up tables of one frame, 4 KB each.
	paintMax = 192
	// Hash tables have power-of-two sizes at least twice their load.
	exactSlots = 1024
	paintSlots = 512
	cellSlots  = 4096
)

// lut maps coverage level and old index to the complement of the new index.
// Zero means "not computed yet"; index 255, whose complement is zero, is
// computed again each time.
type lut [levels * 256]uint8

// paint is a colour prepared for blending.
type paint struct {
	color Color
	table *lut // nil in true colour
}

// palette is the growing set of colours of one frame. One goroutine only.
type palette struct {
	rgb      [paletteMax]uint32
	edge     [paletteMax]bool // made by an edge, so blends over it may be approximate
	n        int
	overflow bool

	exact [exactSlots]uint64 // colour<<8 | index, plus one; zero is empty
	cells [cellSlots]uint32  // cell<<9 | index<<1 | 1; a cache, collisions overwrite

	paints [paintMax]paint
	byKey  [paintSlots]uint16 // paint number plus one
	used   int
	luts   []*lut // luts[i] belongs to paints[i]; kept from frame to frame
}

func (p *palette) reset() {
	p.n, p.used, p.overflow = 0, 0, false
	clear(p.edge[:])
	clear(p.exact[:])
	clear(p.cells[:])
	clear(p.byKey[:])
}

func hash24(v uint32, size uint32) uint32 { return (v * 0x9e3779b1) >> 7 & (size - 1) }

// find returns the slot of rgb in the exact table and its index, or -1.
func (p *palette) find(rgb uint32) (slot uint32, index int) {
	slot = hash24(rgb, exactSlots)
	for p.exact[slot] != 0 {
		if e := p.exact[slot] - 1; e>>8 == uint64(rgb) {
			return slot, int(e & 0xff)
		}
		slot = (slot + 1) & (exactSlots - 1)
	}
	return slot, -1
}

// add appends a colour that find did not find. The caller checks for room.
func (p *palette) add(slot, rgb uint32, edge bool) uint8 {
	i := p.n
	p.rgb[i], p.edge[i] = rgb, edge
	p.exact[slot] = uint64(rgb)<<8 + uint64(i) + 1 //nolint:gosec // i < 256
	p.n++
	return uint8(i) //nolint:gosec // i < 256
}

// solid returns the index of exactly rgb. With no room left it reports
// overflow, after which the picture is worthless and will be drawn again.
func (p *palette) solid(rgb uint32) uint8 {
	slot, i := p.find(rgb)
	switch {
	case i >= 0:
		p.edge[i] = false
		return uint8(i) //nolint:gosec // i < 256
	case p.n < paletteMax:
		return p.add(slot, rgb, false)
	}
	p.overflow = true
	return 0
}

// near returns the index of a colour close enough to rgb for an antialiased
// edge: one from the same cell of 4 levels a channel, else one within the
// tolerance, else a new one.
func (p *palette) near(rgb uint32) uint8 {
	cell := rgb >> 2 & 0x3f3f3f
	cache := &p.cells[hash24(cell, cellSlots)]
	if c := *cache; c&1 == 1 && c>>9 == cell&0x7fffff {
		return uint8(c >> 1 & 0xff)
	}
	i := p.search(rgb)
	*cache = cell<<9 | uint32(i)<<1 | 1
	return i
}

func (p *palette) search(rgb uint32) uint8 {
	slot, i := p.find(rgb)
	if i >= 0 {
		return uint8(i) //nolint:gosec // i < 256
	}
	best, bestDist := 0, uint32(1<<8)
	for i, c := range p.rgb[:p.n] {
		if d := distance(c, rgb); d < bestDist {
			best, bestDist = i, d
		}
	}
	switch {
	case bestDist <= p.tolerance():
		return uint8(best)
	case p.n < edgeMax:
		return p.add(slot, rgb, true)
	}
	p.overflow = true
	return uint8(best)
}

// tolerance is the largest error of a channel an edge may have at this fill.
func (p *palette) tolerance() uint32 {
	switch {
	case p.n < 128:
		return 4
	case p.n < 176:
		return 8
	case p.n < 208:
		return 12
	}
	return 16
}

// distance is the largest difference of a channel.
func distance(a, b uint32) uint32 {
	return max(absDiff(a>>16, b>>16), absDiff(a>>8&0xff, b>>8&0xff), absDiff(a&0xff, b&0xff))
}

func absDiff(a, b uint32) uint32 {
	if a > b {
		return a - b
	}
	return b - a
}

// paint returns c with its look-up table.
func (p *palette) paint(c Color) *paint {
	key := c.key()
	slot := hash24(key, paintSlots)
	for p.byKey[slot] != 0 {
		if q := &p.paints[p.byKey[slot]-1]; q.color == c {
			return q
		}
		slot = (slot + 1) & (paintSlots - 1)
	}
	if p.used == paintMax {
		p.overflow = true
		return &p.paints[0]
	}
	if p.used == len(p.luts) {
		p.luts = append(p.luts, new(lut))
	}
	q := &p.paints[p.used]
	*q = paint{color: c, table: p.luts[p.used]}
	p.used++
	p.byKey[slot] = uint16(p.used) //nolint:gosec // used <= paintMax
	clear(q.table[:])
	if c.A == 255 {
		// Full coverage hides whatever was there.
		v := ^p.solid(c.rgb())
		row := q.table[full<<8:]
		for i := range row {
			row[i] = v
		}
	}
	return q
}

// resolve computes one entry of q's table and returns it, complemented.
func (p *palette) resolve(q *paint, level int, old uint8) uint8 {
	rgb := mix(q.color, level, p.rgb[old])
	var i uint8
	if level == full && !p.edge[old] {
		i = p.solid(rgb)
	} else {
		i = p.near(rgb)
	}
	q.table[level<<8|int(old)] = ^i
	return ^i
}
