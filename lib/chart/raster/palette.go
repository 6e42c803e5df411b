package raster

import "math/bits"

// The palette grows while a frame is drawn. Solid colours are exact, and so are
// translucent areas while there is room; a pixel on an antialiased edge may get a
// near colour, with a tolerance that grows as the palette fills.

const (
	paletteMax = 256
	// edgeMax is where edges stop adding colours, so that a solid colour met
	// late still finds room.
	edgeMax = 240
	// shapeEdgeMax is the same for edges on a shape, such as text on a pill, which
	// are drawn last and must be read.
	shapeEdgeMax = 254
	// crowded is where edges and areas begin to share colours: a picture that is
	// drawn again in true colour takes twice the time and twice the bytes. Then
	// these errors of a channel are accepted: on an edge, on an edge when no more
	// are added, in an area, in an area over a shape.
	crowded          = 224
	crowdedTolerance = 32
	edgeTolerance    = 56
	areaTolerance    = 4
	shapeTolerance   = 16
	// paintMax bounds the look-up tables of one frame, 4 KB each.
	paintMax = 192
	// Hash tables have power-of-two sizes at least twice their load.
	exactSlots = 1024
	paintSlots = 512
	cellSlots  = 4096
	// A band is a range of 1<<bandBits values of a channel.
	bandBits = 3
	bands    = 256 >> bandBits
)

// members is a set of colours of a palette, a bit for each.
type members [paletteMax / 64]uint64

// lut maps coverage level and old index to the complement of the new index.
// Zero means "not computed yet"; index 255, whose complement is zero, is
// computed again each time.
type lut [levels * 256]uint8

// paint is a colour prepared for blending.
type paint struct {
	color Color
	table *lut // nil in true colour
}

// kind says what a colour was made for, and so how exact a blend over it is.
type kind uint8

const (
	edge   kind = iota // made by an antialiased edge: approximate itself
	solid              // a shape
	ground             // background, grid, area: what most edges lie on
)

// palette is the growing set of colours of one frame. One goroutine only.
type palette struct {
	rgb      [paletteMax]uint32
	lanes    [paletteMax]uint64 // rgb again, for search
	kind     [paletteMax]kind
	n        int
	overflow bool

	below [3][bands + 1]members // by channel, those in a lower band; for search

	exact [exactSlots]uint64 // colour<<8 | index, plus one; zero is empty
	cells [cellSlots]uint32  // cell<<9 | index<<1 | 1; a cache, collisions overwrite

	paints [paintMax]paint
	byKey  [paintSlots]uint16 // paint number plus one
	used   int
	luts   []*lut // luts[i] belongs to paints[i]; kept from frame to frame
}

func (p *palette) reset() {
	p.n, p.used, p.overflow = 0, 0, false
	clear(p.kind[:])
	clear(p.below[:])
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
func (p *palette) add(slot, rgb uint32, k kind) uint8 {
	i := p.n
	p.rgb[i], p.lanes[i], p.kind[i] = rgb, lanes3(rgb), k
	p.exact[slot] = uint64(rgb)<<8 + uint64(i) + 1 //nolint:gosec // i < 256
	for ch := range p.below {
		sets := p.below[ch][rgb>>(8*ch)&0xff>>bandBits+1:]
		for k := range sets {
			sets[k][i>>6] |= 1 << (i & 63)
		}
	}
	p.n++
	return uint8(i) //nolint:gosec // i < 256
}

// band returns two sets of which the second has more: the colours whose value of a
// channel is within tolerance of that of rgb, and others of the same bands.
func (p *palette) band(ch int, rgb, tolerance uint32) (without, with *members) {
	v := rgb >> (8 * ch) & 0xff
	sets := &p.below[ch]
	return &sets[(v-min(v, tolerance))>>bandBits%bands], &sets[min(v+tolerance, 255)>>bandBits+1]
}

// exactly returns the index of rgb itself. With no room left it reports
// overflow, after which the picture must be drawn again.
func (p *palette) exactly(rgb uint32, k kind) uint8 {
	slot, i := p.find(rgb)
	switch {
	case i >= 0:
		p.kind[i] = max(p.kind[i], k)
		return uint8(i) //nolint:gosec // i < 256
	case p.n < paletteMax:
		return p.add(slot, rgb, k)
	}
	p.overflow = true
	return 0
}

// near returns the index of a colour close enough to rgb for an antialiased
// edge: one from the same cell of 4 levels a channel, else one within the
// tolerance, else a new one.
func (p *palette) near(rgb uint32, over kind) uint8 {
	// Six bits of each channel and the kind, since what is near enough over one
	// kind may be too far over another.
	cell := rgb>>18&0x3f<<14 | rgb>>10&0x3f<<8 | rgb>>2&0x3f<<2 | uint32(over)
	cache := &p.cells[hash24(cell, cellSlots)]
	if c := *cache; c&1 == 1 && c>>9 == cell {
		return uint8(c >> 1 & 0xff)
	}
	i := p.search(rgb, over)
	*cache = cell<<9 | uint32(i)<<1 | 1
	return i
}

// search returns the nearest colour within the tolerance, or adds rgb.
//
// It runs for every new combination of paint, level and old colour, so each
// step does little: with the channels in 16-bit lanes whose top bit is set,
// tolerance + a - b keeps that bit in every lane where a - b >= -tolerance.
func (p *palette) search(rgb uint32, over kind) uint8 {
	slot, i := p.find(rgb)
	if i >= 0 {
		return uint8(i) //nolint:gosec // i < 256
	}
	const ones, tops = 1<<32 | 1<<16 | 1, 0x8000 * (1<<32 | 1<<16 | 1)
	want := lanes3(rgb)
	tolerance := p.tolerance(over)
	within := uint64(tolerance)*ones + tops
	best := -1
	b0, b1 := p.band(0, rgb, tolerance)
	g0, g1 := p.band(1, rgb, tolerance)
	r0, r1 := p.band(2, rgb, tolerance)
	for k := range len(members{}) {
		for set := (b0[k] ^ b1[k]) & (g0[k] ^ g1[k]) & (r0[k] ^ r1[k]); set != 0; set &= set - 1 {
			i := k<<6 | bits.TrailingZeros64(set)
			c := p.lanes[i]
			if (within+want-c)&(within+c-want)&tops == tops {
				best = i
				// Only a nearer one will do from here on; a distance of zero
				// would have been found above.
				within = uint64(distance(p.rgb[i], rgb)-1)*ones + tops
			}
		}
	}
	switch {
	case best >= 0:
		return uint8(best)
	case p.n < edgeMax, over == solid && p.n < shapeEdgeMax:
		return p.add(slot, rgb, edge)
	}
	index, least := p.nearest(rgb)
	p.overflow = p.overflow || least > edgeTolerance
	return index
}

// nearest returns the nearest colour and how far it is.
func (p *palette) nearest(rgb uint32) (index uint8, least uint32) {
	least = 256
	for i, c := range p.rgb[:p.n] {
		if d := distance(c, rgb); d < least {
			index, least = uint8(i), d
		}
	}
	return index, least
}

// area returns the index of a translucent area's colour: its own, and in a crowded
// palette one that is indistinguishable.
func (p *palette) area(rgb uint32, over kind) uint8 {
	if p.n < crowded {
		return p.exactly(rgb, over)
	}
	most := uint32(areaTolerance)
	if over == solid {
		most = shapeTolerance // a legend's backing over candles
	}
	if i, d := p.nearest(rgb); d <= most {
		return i
	}
	return p.exactly(rgb, over)
}

// lanes3 spreads the channels of a colour over 16-bit lanes.
func lanes3(rgb uint32) uint64 {
	return uint64(rgb>>16)<<32 | uint64(rgb>>8&0xff)<<16 | uint64(rgb&0xff)
}

// tolerance is the largest error of a channel an edge may have at this fill.
// Most edges lie on the ground and are the most exact; where two edges cross, in a few
// pixels, there are many mixtures and errors are not visible.
func (p *palette) tolerance(over kind) uint32 {
	switch {
	case p.n >= crowded:
		return crowdedTolerance
	case over == edge:
		return 24
	case over == solid:
		return 16
	case p.n < 112:
		return 4
	case p.n < 144:
		return 8
	case p.n < 176:
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
		// Full coverage hides the old colour.
		v := ^p.exactly(c.rgb(), solid)
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
	if over := p.kind[old]; level == full && over != edge {
		i = p.area(rgb, over)
	} else {
		i = p.near(rgb, over)
	}
	q.table[level<<8|int(old)] = ^i
	return ^i
}
