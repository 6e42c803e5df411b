package ta

import (
	"math"

	"candela/lib/ta/calc"
)

// zones follows ranges of prices, such as gaps, until the price has gone through them.
// Each side keeps the newest; a zone also ends after zoneAge bars, so that zones do
// not depend on earlier history.
type zones struct {
	most  int // on each side
	cells calc.Cells
}

// zoneAge is how many bars a zone lasts at most.
const zoneAge = 500

// The cells of a side: how many zones it has, then these, the oldest first.
const (
	zoneBorn = iota // index of the bar that made it
	zoneTop
	zoneBottom
	zoneCells
)

// The columns of an indicator with zones. The first four are drawn as lines, the others
// are what draws the zones.
const (
	zoneUpTop = iota // the newest zone below the price
	zoneUpBottom
	zoneDownTop // the newest zone above the price
	zoneDownBottom
	zoneSide // 1 or -1 if the bar made a zone, else NaN
	zoneNewTop
	zoneNewBottom
	zoneProbeLow // the prices that end zones
	zoneProbeHigh
	zoneColumns
)

// zoneLabels are the lines of an indicator with zones.
func zoneLabels() []string { return []string{"Up Top", "Up Bottom", "Down Top", "Down Bottom"} }

// mostZones describes the parameter of how many zones are followed.
func mostZones() Param {
	return Int("max_zones", 3, 1, 20, "open zones followed on each side, the newest").As("max")
}

func newZones(m *calc.Slab, most int) zones {
	return zones{most: most, cells: m.Cells(2 * (1 + most*zoneCells))}
}

// side returns the zones below the price, or those above it.
func (z *zones) side(up bool) []float64 {
	m := z.cells.Mem()
	if up {
		return m[:len(m)/2]
	}
	return m[len(m)/2:]
}

// at returns zone i of a side.
func zoneAt(side []float64, i int) []float64 { return side[1+i*zoneCells : 1+(i+1)*zoneCells] }

// expire ends the zones that the bar has gone through or that are too old: those below
// the price when low is at or below their bottom, those above it when high is at or
// above their top. It calls done for each that the price ended.
func (z *zones) expire(index int, low, high float64, done func(up bool, zone []float64)) {
	for _, up := range [...]bool{true, false} {
		side, kept := z.side(up), 0
		for i := range int(side[0]) {
			zone := zoneAt(side, i)
			through := up && low <= zone[zoneBottom] || !up && high >= zone[zoneTop]
			if through && done != nil {
				done(up, zone)
			}
			if !through && index-int(zone[zoneBorn]) < zoneAge {
				copy(zoneAt(side, kept), zone)
				kept++
			}
		}
		side[0] = float64(kept)
	}
}

// add begins a zone. The oldest one gives way.
func (z *zones) add(index int, up bool, top, bottom float64) {
	side := z.side(up)
	n := int(side[0])
	if n == z.most {
		copy(side[1:], side[1+zoneCells:])
		n--
	}
	zone := zoneAt(side, n)
	zone[zoneBorn], zone[zoneTop], zone[zoneBottom] = float64(index), top, bottom
	side[0] = float64(n + 1)
}

// advance ends zones, then begins the new one that the row names, and writes the newest
// of each side to the row.
func (z *zones) advance(r *Row, low, high float64, done func(up bool, zone []float64)) {
	v := r.Values
	v[zoneProbeLow], v[zoneProbeHigh] = low, high
	z.expire(r.Index, low, high, done)
	if s := v[zoneSide]; s == s {
		z.add(r.Index, s > 0, v[zoneNewTop], v[zoneNewBottom])
	}
	for i, up := range [...]bool{true, false} {
		if side := z.side(up); side[0] > 0 {
			newest := zoneAt(side, int(side[0])-1)
			v[2*i], v[2*i+1] = newest[zoneTop], newest[zoneBottom]
		}
	}
}

// drawZones follows the zones of finished columns once more and draws each as an area
// from the bar that made it. Zones that overlap in time have areas of their own.
func drawZones(most int) func(r *Result, col [][]float64) {
	return func(r *Result, col [][]float64) {
		z := newZones(calc.NewSlab(), most)
		n := len(col[zoneSide])
		var up, down lanes
		for i := range n {
			z.expire(i, col[zoneProbeLow][i], col[zoneProbeHigh][i], nil)
			if s := col[zoneSide][i]; s == s {
				z.add(i, s > 0, col[zoneNewTop][i], col[zoneNewBottom][i])
			}
			up.write(n, i, z.side(true), zoneTop, zoneBottom)
			down.write(n, i, z.side(false), zoneBottom, zoneTop)
		}
		r.Fills = append(up.fills, down.fills...)
	}
}

// lanes are areas that each hold one zone at a time.
type lanes struct {
	fills []Fill
	born  []int // the zone a lane holds
	last  []int // the last bar it has a value at
}

// write adds bar i to the lanes of the zones of a side. A lane rests a bar between two
// zones, so that they are not joined.
func (l *lanes) write(n, i int, side []float64, first, second int) {
	for k := range int(side[0]) {
		zone := zoneAt(side, k)
		at := l.lane(n, i, int(zone[zoneBorn]))
		l.last[at] = i
		l.fills[at].Y1[i], l.fills[at].Y2[i] = zone[first], zone[second]
	}
}

// lane returns the lane of a zone, or a free one.
func (l *lanes) lane(n, i, born int) int {
	free := -1
	for at := range l.fills {
		if l.born[at] == born {
			return at
		}
		if free < 0 && l.last[at] < i-1 {
			free = at
		}
	}
	if free < 0 {
		free = len(l.fills)
		cells := make([]float64, 2*n)
		setAll(cells, math.NaN())
		l.fills = append(l.fills, Fill{Y1: cells[:n:n], Y2: cells[n:], Style: Block})
		l.born, l.last = append(l.born, 0), append(l.last, 0)
	}
	l.born[free] = born
	return free
}
