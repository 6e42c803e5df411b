package alert

import (
	"math"
	"math/bits"
	"sort"

	"candela/internal/analysis/indicator"
	"candela/internal/market"
)

// Columns are the rows of an indicator at many bars.
type Columns struct {
	Values  [][]float64         // by column, then by bar
	Signals map[string][]uint64 // by label: a bit for each bar, 64 to a word

	starts []int       // bars whose row before is not that of the bar before, ascending
	before [][]float64 // by start, then by column
}

// Begin says that the row before bar i has these values. Without it they are those of bar i-1.
// Bars come in ascending order.
func (c *Columns) Begin(i int, before []float64) {
	c.starts, c.before = append(c.starts, i), append(c.before, before)
}

// Mark notes that bar i of n confirms a signal.
func (c *Columns) Mark(label string, i, n int) {
	if c.Signals == nil {
		c.Signals = map[string][]uint64{}
	}
	if c.Signals[label] == nil {
		c.Signals[label] = make([]uint64, (n+wordBars-1)/wordBars)
	}
	c.Signals[label][i/wordBars] |= 1 << (i % wordBars)
}

// begun returns the bits of the bars of a word whose row before was given.
func (c *Columns) begun(base int) uint64 {
	var out uint64
	for _, i := range c.starts[sort.SearchInts(c.starts, base):] {
		if i >= base+wordBars {
			break
		}
		out |= 1 << (i - base)
	}
	return out
}

// prev returns a value of the row before bar i.
func (c *Columns) prev(column, i int) float64 {
	if k := sort.SearchInts(c.starts, i); k < len(c.starts) && c.starts[k] == i {
		return valueAt(c.before[k], column)
	}
	if i == 0 {
		return math.NaN()
	}
	return c.Values[column][i-1]
}

// wordBars is the number of bars that are evaluated at once, a bit for each.
const wordBars = 64

// Verdicts says of each bar whether a condition holds and whether it rises there. It computes
// them where they are asked for. It is for one goroutine at a time.
type Verdicts struct {
	bars *market.Bars
	node *node
	rows map[*indicatorGroup]*Columns
	word int // whose verdict is known
	said verdicts
	is   [2][wordBars]float64 // values of the two sides of a comparison
}

// verdicts is what a node says of the bars of a word, a bit for each.
type verdicts struct {
	holds, rises uint64
	held         uint64 // a comparison held at the bar before
}

// Over evaluates the condition over bars, with the verdicts of Evaluate at each. rows returns the
// columns of an indicator by its key.
func (p *Probe) Over(bars *market.Bars, rows func(key string) *Columns) *Verdicts {
	v := &Verdicts{bars: bars, node: &p.node, rows: make(map[*indicatorGroup]*Columns, len(p.w.groups)), word: -1}
	for _, g := range p.w.groups {
		v.rows[g] = rows(g.key)
	}
	return v
}

// NextRise returns the first bar from i on at which the condition rises, and a large number if
// there is none.
func (v *Verdicts) NextRise(i int) int {
	for ; i < v.bars.Len(); i = (i/wordBars + 1) * wordBars {
		if left := v.at(i/wordBars).rises >> (i % wordBars); left != 0 {
			return i + bits.TrailingZeros64(left)
		}
	}
	return math.MaxInt
}

// NextHold is NextRise for bars at which the condition holds.
func (v *Verdicts) NextHold(i int) int {
	for ; i < v.bars.Len(); i = (i/wordBars + 1) * wordBars {
		if left := v.at(i/wordBars).holds >> (i % wordBars); left != 0 {
			return i + bits.TrailingZeros64(left)
		}
	}
	return math.MaxInt
}

// Holds reports whether the condition holds at a bar, and Rises whether it rises there.
func (v *Verdicts) Holds(i int) bool { return v.at(i/wordBars).holds>>(i%wordBars)&1 != 0 }

// Rises reports whether the condition rises at a bar.
func (v *Verdicts) Rises(i int) bool { return v.at(i/wordBars).rises>>(i%wordBars)&1 != 0 }

// at returns the verdict on a word of bars.
func (v *Verdicts) at(word int) *verdicts {
	if v.word != word {
		v.word, v.said = word, v.evaluate(v.node, word*wordBars)
	}
	return &v.said
}

func (v *Verdicts) evaluate(n *node, base int) verdicts {
	switch n.kind {
	case IndicatorSignal:
		var came uint64
		if signals := v.rows[n.left.group].Signals[n.label]; signals != nil {
			came = signals[base/wordBars]
		}
		return verdicts{holds: came, rises: came}
	case NewHigh, NewLow:
		return v.extreme(n, base)
	case All:
		out := verdicts{holds: v.all(base)}
		for i := range n.members {
			m := v.evaluate(&n.members[i], base)
			out.holds &= m.holds
			out.rises |= m.rises
		}
		out.rises &= out.holds
		return out
	case Any:
		return v.any(n, base)
	default:
		return v.compare(n, base)
	}
}

// all returns the bits of the bars that a word has.
func (v *Verdicts) all(base int) uint64 {
	return math.MaxUint64 >> (wordBars - min(wordBars, v.bars.Len()-base))
}

// any is true if one member is, as in [node.any].
func (v *Verdicts) any(n *node, base int) verdicts {
	var out verdicts
	var event, held uint64
	for i := range n.members {
		m, member := v.evaluate(&n.members[i], base), &n.members[i]
		out.holds |= m.holds
		if member.kind != Value || member.op.Event() {
			event |= m.holds
			continue
		}
		out.rises |= m.rises
		held |= m.held
	}
	out.rises = event | out.rises&^held
	return out
}

// extreme says where the highest high of some bars rose, or the lowest low fell.
func (v *Verdicts) extreme(n *node, base int) verdicts {
	var came uint64
	for i, now := range v.values(&n.left, base, 0) {
		before := v.prev(&n.left, base+i)
		if n.kind == NewHigh && now > before || n.kind == NewLow && now < before {
			came |= 1 << i
		}
	}
	return verdicts{holds: came, rises: came}
}

// compare says where a comparison is true, as verdictOf does at one bar.
func (v *Verdicts) compare(n *node, base int) verdicts {
	switch n.op {
	case CrossesAbove:
		now, _ := v.sides(n, Greater, base)
		_, before := v.sides(n, LessEqual, base)
		return verdicts{holds: now & before, rises: now & before}
	case CrossesBelow:
		now, _ := v.sides(n, Less, base)
		_, before := v.sides(n, GreaterEqual, base)
		return verdicts{holds: now & before, rises: now & before}
	case Enters, Leaves:
		return v.ranged(n, base)
	default:
		now, before := v.sides(n, n.op, base)
		return verdicts{holds: now, rises: now &^ before, held: before}
	}
}

// ranged says where a value comes into a range or leaves it.
func (v *Verdicts) ranged(n *node, base int) verdicts {
	var came uint64
	for i, now := range v.values(&n.left, base, 0) {
		before := v.prev(&n.left, base+i)
		if n.op == Enters && n.outside(before) && n.inside(now) || n.op == Leaves && n.inside(before) && n.outside(now) {
			came |= 1 << i
		}
	}
	return verdicts{holds: came, rises: came}
}

// sides compares the two sides of a node at the bars of a word and at the bar before each.
func (v *Verdicts) sides(n *node, op Op, base int) (now, before uint64) {
	now = compareWord(op, v.values(&n.left, base, 0), v.values(&n.right, base, 1))
	// The bar before is that of the bit before, but where an indicator began again.
	before = now << 1
	apart := (v.begun(&n.left, base) | v.begun(&n.right, base) | 1) & v.all(base)
	for ; apart != 0; apart &= apart - 1 {
		bit := bits.TrailingZeros64(apart)
		before &^= 1 << bit
		if compareOne(op, v.prev(&n.left, base+bit), v.prev(&n.right, base+bit)) {
			before |= 1 << bit
		}
	}
	return now, before & v.all(base)
}

func (v *Verdicts) begun(t *term, base int) uint64 {
	if t.group == nil {
		return 0
	}
	return v.rows[t.group].begun(base)
}

// values returns a term at the bars of a word; side is the buffer it may use.
func (v *Verdicts) values(t *term, base, side int) []float64 {
	n := min(wordBars, v.bars.Len()-base)
	if t.group != nil {
		if columns := v.rows[t.group].Values; t.column < len(columns) {
			return columns[t.column][base : base+n]
		}
	}
	out := v.is[side][:n]
	switch {
	case t.group != nil:
		fill(out, math.NaN())
	case t.price > 0:
		return v.prices(t.price, base, out)
	default:
		fill(out, t.number)
	}
	return out
}

func fill(out []float64, x float64) {
	for i := range out {
		out[i] = x
	}
}

// prices returns a price of the bars of a word by its number.
func (v *Verdicts) prices(number, base int, out []float64) []float64 {
	var column []float64
	switch name := Prices()[number-1]; name {
	case "open":
		column = v.bars.O
	case "high":
		column = v.bars.H
	case "low":
		column = v.bars.L
	case "close":
		column = v.bars.C
	case "volume":
		column = v.bars.V
	default:
		price := indicator.Price(name)
		for i := range out {
			out[i] = price(v.bars.At(base + i))
		}
		return out
	}
	return column[base : base+len(out)]
}

// prev returns a term at the bar before bar i, NaN if there is none.
func (v *Verdicts) prev(t *term, i int) float64 {
	switch {
	case t.group != nil && t.column < len(v.rows[t.group].Values):
		return v.rows[t.group].prev(t.column, i)
	case t.group != nil || t.price > 0 && i == 0:
		return math.NaN()
	case t.price > 0:
		bar := v.bars.At(i - 1)
		return priceOf(&bar, t.price)
	}
	return t.number
}

func compareOne(op Op, left, right float64) bool {
	switch op {
	case Less:
		return left < right
	case LessEqual:
		return left <= right
	case Greater:
		return left > right
	default:
		return left >= right
	}
}

// compareWord compares as many values as a word has bits.
func compareWord(op Op, left, right []float64) uint64 {
	switch op {
	case Less:
		return greater(right, left)
	case LessEqual:
		return greaterEqual(right, left)
	case Greater:
		return greater(left, right)
	default:
		return greaterEqual(left, right)
	}
}

func greater(left, right []float64) uint64 {
	var out uint64
	right = right[:len(left)]
	for i, x := range left {
		var bit uint64
		if x > right[i] {
			bit = 1
		}
		out |= bit << (i & (wordBars - 1))
	}
	return out
}

func greaterEqual(left, right []float64) uint64 {
	var out uint64
	right = right[:len(left)]
	for i, x := range left {
		var bit uint64
		if x >= right[i] {
			bit = 1
		}
		out |= bit << (i & (wordBars - 1))
	}
	return out
}
