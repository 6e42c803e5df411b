package ta

import (
	"math"
	"slices"

	"candela/lib/market"
)

// volumeCurve is the volume below each price of the bars added so far. Each bar's is a
// slope between its low and high, so the curve at a price follows from the sums of two
// numbers over the ends of bars below it. A Fenwick tree over the ends of all bars of
// the session, in order of price, adds a bar and answers for a price in logarithmic
// time, where a profile would go through all bars.
//
// Sums are kept in pairs of floats and are exact to about 30 digits, so the only
// differences to a profile are the roundings of the profile itself. They have a bound,
// and a decision within it is left to the profile.
type volumeCurve struct {
	ends  []float64 // prices, rising
	bars  []barEnds // of the session
	nodes []curveNode

	count          int     // bars added that have volume
	volume, slopes float64 // sums over them
	highest        float64 // magnitude of a price

	rows []weight // scratch
}

// barEnds are the places of a bar's low and high in ends, and its volume by price. A bar
// without range has one place and no slope.
type barEnds struct {
	low, high     int // places in ends, counted from 1; 0 for a bar without volume
	volume, slope float64
}

// curveNode holds sums over some ends.
type curveNode struct {
	slope, offset pair
	ends          int // how many
	open          int // bars that begin there less bars that end there
}

// newVolumeCurve returns the empty curve for the bars [from, to), or nil if it cannot hold
// one of them: a close outside the bar, or a slope beyond all numbers.
func newVolumeCurve(b *market.Bars, from, to int) *volumeCurve {
	c := &volumeCurve{bars: make([]barEnds, to-from)}
	for i := from; i < to; i++ {
		if !usable(b, i) || b.V[i] == 0 {
			continue
		}
		if b.C[i] < b.L[i] || b.C[i] > b.H[i] {
			return nil
		}
		c.ends = append(c.ends, b.L[i], b.H[i])
		c.highest = max(c.highest, math.Abs(b.L[i]), math.Abs(b.H[i]))
	}
	slices.Sort(c.ends)
	place := func(price float64) int {
		at, _ := slices.BinarySearch(c.ends, price)
		return at + 1
	}
	for i := range c.bars {
		k := from + i
		if !usable(b, k) || b.V[k] == 0 {
			continue
		}
		e := barEnds{low: place(b.L[k]), high: place(b.H[k]), volume: b.V[k]}
		if b.H[k] > b.L[k] {
			e.slope = b.V[k] / (b.H[k] - b.L[k])
		}
		if math.IsInf(e.slope, 0) || math.IsInf(e.slope*c.highest, 0) {
			return nil
		}
		c.bars[i] = e
	}
	c.nodes = make([]curveNode, len(c.ends)+1)
	return c
}

// add adds the session's bar i.
func (c *volumeCurve) add(i int) {
	e := c.bars[i]
	if e.low == 0 {
		return
	}
	c.count++
	c.volume += e.volume
	c.slopes += e.slope
	if e.slope == 0 {
		c.put(e.low, curveNode{offset: pair{-e.volume, 0}, ends: 1})
		return
	}
	low, high := c.ends[e.low-1], c.ends[e.high-1]
	c.put(e.low, curveNode{slope: pair{e.slope, 0}, offset: product(e.slope, low), ends: 1, open: 1})
	c.put(e.high, curveNode{slope: pair{-e.slope, 0}, offset: product(-e.slope, high), ends: 1, open: -1})
}

func (c *volumeCurve) put(place int, v curveNode) {
	for ; place < len(c.nodes); place += place & -place {
		c.nodes[place].add(&v)
	}
}

func (n *curveNode) add(v *curveNode) {
	n.slope, n.offset = n.slope.plus(v.slope), n.offset.plus(v.offset)
	n.ends += v.ends
	n.open += v.open
}

// below returns the sums over the first ends.
func (c *volumeCurve) below(ends int) curveNode {
	var sum curveNode
	for ; ends > 0; ends &= ends - 1 {
		sum.add(&c.nodes[ends])
	}
	return sum
}

// area returns the value area of p's rows for the bars added, and whether it is certain.
func (c *volumeCurve) area(p *profile) (valueArea, bool) {
	if c.count == 0 || !c.distribute(p) {
		return valueArea{}, false
	}
	w := weighing{rows: c.rows, sum: weight{value: c.volume, error: c.rounding()}, certain: true}
	return w.area()
}

// epsilon bounds the relative rounding of one operation.
const epsilon = 0x1p-52

// rounding bounds what a profile loses when it adds up the shares of all bars.
func (c *volumeCurve) rounding() float64 { return 4 * epsilon * float64(c.count) * c.volume }

// distribute fills the weights of p's rows. It returns false if the end of a bar is so
// near an edge that a profile may count the bar as part of the next row.
func (c *volumeCurve) distribute(p *profile) bool {
	n := len(p.total)
	c.rows = slices.Grow(c.rows[:0], n)[:n]
	near := 16 * epsilon * c.highest // prices that may be equal but for rounding
	noise := float64(2 * profileNoise * p.row)
	if near > noise/8 {
		return false
	}
	var low, sums curveNode // sums is below(at)
	volume, at, steep, sum := pair{}, 0, 0.0, c.rounding()
	for r := range n {
		high, above, steepAbove := curveNode{ends: 2 * c.count}, pair{c.volume, 0}, 0.0
		if r < n-1 {
			edge, before := p.bottom(r+1), at
			at = firstFrom(c.ends, at, edge-noise)
			if at != before {
				sums = c.below(at)
			}
			high = sums
			above = high.slope.times(edge).plus(high.offset.negative())
			steepAbove = high.slope.high
			if at < len(c.ends) && c.ends[at] <= edge+near {
				if c.ends[at] < edge-near {
					return false
				}
				steepAbove = c.slopes // of the bars that begin here, at most
			}
		}
		c.rows[r] = weight{
			value: above.plus(volume.negative()).high,
			error: sum + float64(near*(steep+steepAbove)),
			empty: high.ends == low.ends && low.open == 0,
		}
		low, volume, steep = high, above, steepAbove
	}
	return true
}

// firstFrom returns the index of the first of ascending values, from an index on, that is not
// below a bound. It tries near ones first: the bounds of a profile are close together.
func firstFrom(values []float64, from int, bound float64) int {
	step := 1
	for from+step <= len(values) && values[from+step-1] < bound {
		from += step
		step *= 2
	}
	to := min(from+step, len(values))
	for from < to {
		if middle := int(uint(from+to) >> 1); values[middle] < bound {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from
}

// weight is the weight of rows that a profile gives to within error.
type weight struct {
	value, error float64
	empty        bool // no bar reaches into it, so it is 0
}

// weighing finds a value area as profile.area does with a step of 1.
type weighing struct {
	rows    []weight
	sum     weight
	certain bool // false after a decision within the errors
}

// heavier is heavier of two weights.
func (w *weighing) heavier(a, b weight) bool {
	d := float64((1-profileNoise)*a.value) - b.value
	if math.Abs(d) <= 2*(a.error+b.error) {
		w.certain = false
	}
	return d > 0
}

func (w *weighing) area() (valueArea, bool) {
	poc := w.heaviest()
	a, last := valueArea{poc: poc, first: poc, last: poc}, len(w.rows)-1
	inside, share := w.rows[poc], w.sum
	share.value = float64(valueShare * share.value)
	for w.certain && (a.first > 0 || a.last < last) && w.heavier(share, inside) {
		row := &w.rows[max(a.first-1, 0)]
		if a.first == 0 || a.last < last && w.up(a) {
			a.last++
			row = &w.rows[a.last]
		} else {
			a.first--
		}
		inside.value += row.value
		inside.error += row.error
	}
	return a, w.certain
}

// heaviest is heaviest of the rows.
func (w *weighing) heaviest() int {
	n, most := len(w.rows), 0
	for r := range w.rows {
		if w.rows[r].value > w.rows[most].value {
			most = r
		}
	}
	at := -1
	for r, v := range w.rows {
		if (r == most || !w.heavier(w.rows[most], v)) && (at < 0 || middleDistance(r, n) < middleDistance(at, n)) {
			at = r
		}
	}
	return at
}

// up reports whether the row above the area is heavier than the one below.
func (w *weighing) up(a valueArea) bool {
	above, below := w.rows[a.last+1], w.rows[a.first-1]
	if above.empty && below.empty {
		return false
	}
	return w.heavier(above, below)
}

// pair is a number as the sum of two floats, of which the second is below the last bit of
// the first.
type pair struct{ high, low float64 }

// product returns a times b without rounding.
func product(a, b float64) pair {
	p := float64(a * b)
	return pair{p, math.FMA(a, b, -p)}
}

// plus returns the sum, rounded to about 30 digits.
func (p pair) plus(q pair) pair {
	s := p.high + q.high
	t := s - p.high
	rest := (p.high - (s - t)) + (q.high - t) + (p.low + q.low)
	high := s + rest
	return pair{high, rest - (high - s)}
}

func (p pair) negative() pair { return pair{-p.high, -p.low} }

// times returns the product with a float, rounded to about 30 digits.
func (p pair) times(x float64) pair {
	q := product(p.high, x)
	return q.plus(pair{float64(p.low * x), 0})
}
