package alert

import (
	"math"
	"math/bits"
	"sort"

	"candela/lib/market"
	"candela/lib/ta"
)

// Columns are the rows of an indicator at many bars.
type Columns struct {
	Values  [][]float64         // by column, then by bar
	Signals map[string][]uint64 // by label: a bit for each bar, 64 to a word

	begun  []uint64    // a bit for each bar whose row before is not that of the bar before
	starts []int       // these bars, ascending
	before [][]float64 // by start, then by column
}

// Begin says that the row before bar i has these values. Without it they are those of bar i-1.
// Bars come in ascending order.
func (c *Columns) Begin(i int, before []float64) {
	for len(c.begun) <= i/wordBars {
		c.begun = append(c.begun, 0)
	}
	c.begun[i/wordBars] |= 1 << (i % wordBars)
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

// wordBars is the number of bars that are evaluated at once, a bit for each.
const wordBars = 64

// Verdicts says of each bar whether a condition holds and whether it rises there. It computes
// them where they are asked for. It is for one goroutine at a time.
type Verdicts struct {
	bars *market.Bars
	root columnNode
	word int // whose verdict is known
	said verdicts
	is   [2][wordBars]float64 // values of the two sides of a comparison
}

// columnNode is a node over columns.
type columnNode struct {
	*node
	left, right columnTerm
	signals     []uint64
	members     []columnNode
	longer      *longerNode // of a member on longer bars, in place of the rest
}

// columnTerm is a term at many bars.
type columnTerm struct {
	values []float64 // at each bar; nil for a number
	rows   *Columns  // of an indicator
	column int       // of its rows
	number float64
}

// verdicts is what a node says of the bars of a word, a bit for each.
type verdicts struct {
	holds, rises uint64
	held         uint64 // a comparison held at the bar before
}

// Over evaluates the condition over bars, with the verdicts of Evaluate at each. rows returns the
// columns of an indicator by its key, and longer the longer bars of an interval.
func (p *Probe) Over(bars *market.Bars, rows func(key string) *Columns, longer func(on market.Interval) LongerBars) *Verdicts {
	known := make(map[*indicatorGroup]*Columns, len(p.w.groups))
	for _, g := range p.w.groups {
		known[g] = rows(g.key)
	}
	v := &Verdicts{bars: bars, word: -1}
	v.root = v.bind(&p.node, known, longer)
	return v
}

// bind gives a node its columns.
func (v *Verdicts) bind(n *node, rows map[*indicatorGroup]*Columns, longer func(on market.Interval) LongerBars) columnNode {
	out := columnNode{node: n, left: v.term(&n.left, rows), right: v.term(&n.right, rows)}
	if n.kind == IndicatorSignal {
		out.signals = rows[n.left.group].Signals[n.label]
	}
	for i := range n.members {
		m := &n.members[i]
		if m.on == 0 {
			out.members = append(out.members, v.bind(m, rows, longer))
			continue
		}
		out.members = append(out.members, columnNode{node: m, longer: bindLonger(m, rows, longer(m.on))})
	}
	return out
}

func (v *Verdicts) term(t *term, rows map[*indicatorGroup]*Columns) columnTerm {
	switch {
	case t.group != nil:
		if c := rows[t.group]; t.column < len(c.Values) {
			return columnTerm{values: c.Values[t.column], rows: c, column: t.column}
		}
		return columnTerm{number: math.NaN()}
	case t.price > 0:
		return columnTerm{values: v.prices(t.price)}
	}
	return columnTerm{number: t.number}
}

// prices returns a price of each bar by its number.
func (v *Verdicts) prices(number int) []float64 {
	switch name := Prices()[number-1]; name {
	case "open":
		return v.bars.O
	case "high":
		return v.bars.H
	case "low":
		return v.bars.L
	case "close":
		return v.bars.C
	case "volume":
		return v.bars.V
	default:
		price, out := ta.Price(name), make([]float64, v.bars.Len())
		for i := range out {
			out[i] = price(v.bars.At(i))
		}
		return out
	}
}

// begun returns the bits of the bars of a word whose value before is not that of the bar before.
func (t *columnTerm) begun(base int) uint64 {
	if t.rows == nil || base/wordBars >= len(t.rows.begun) {
		return 0
	}
	return t.rows.begun[base/wordBars]
}

// prev returns the value before bar i, NaN if there is none.
func (t *columnTerm) prev(i int) float64 {
	switch {
	case t.values == nil:
		return t.number
	case t.begun(i)>>(i%wordBars)&1 != 0:
		return valueAt(t.rows.before[sort.SearchInts(t.rows.starts, i)], t.column)
	case i == 0:
		return math.NaN()
	}
	return t.values[i-1]
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
		v.word, v.said = word, v.evaluate(&v.root, word*wordBars)
	}
	return &v.said
}

func (v *Verdicts) evaluate(n *columnNode, base int) verdicts {
	if n.longer != nil {
		return n.longer.word(base, min(wordBars, v.bars.Len()-base))
	}
	switch n.kind {
	case IndicatorSignal:
		var came uint64
		if n.signals != nil {
			came = n.signals[base/wordBars]
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
func (v *Verdicts) any(n *columnNode, base int) verdicts {
	var out verdicts
	var event, held uint64
	for i := range n.members {
		m, member := v.evaluate(&n.members[i], base), &n.members[i]
		out.holds |= m.holds
		if member.kind != Value || member.op.Event() {
			event |= m.rises
			continue
		}
		out.rises |= m.rises
		held |= m.held
	}
	out.rises = event | out.rises&^held
	return out
}

// extreme says where the highest high of some bars rose, or the lowest low fell.
func (v *Verdicts) extreme(n *columnNode, base int) verdicts {
	var came uint64
	for i, now := range v.values(&n.left, base, 0) {
		before := n.left.prev(base + i)
		if n.kind == NewHigh && now > before || n.kind == NewLow && now < before {
			came |= 1 << i
		}
	}
	return verdicts{holds: came, rises: came}
}

// compare says where a comparison is true, as verdictOf does at one bar.
func (v *Verdicts) compare(n *columnNode, base int) verdicts {
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
func (v *Verdicts) ranged(n *columnNode, base int) verdicts {
	var came uint64
	for i, now := range v.values(&n.left, base, 0) {
		before := n.left.prev(base + i)
		if n.op == Enters && n.outside(before) && n.inside(now) || n.op == Leaves && n.inside(before) && n.outside(now) {
			came |= 1 << i
		}
	}
	return verdicts{holds: came, rises: came}
}

// sides compares the two sides of a node at the bars of a word and at the bar before each.
func (v *Verdicts) sides(n *columnNode, op Op, base int) (now, before uint64) {
	now = compareWord(op, v.values(&n.left, base, 0), v.values(&n.right, base, 1))
	// The bar before is that of the bit before, but where an indicator began again.
	before = now << 1
	apart := (n.left.begun(base) | n.right.begun(base) | 1) & v.all(base)
	for ; apart != 0; apart &= apart - 1 {
		bit := bits.TrailingZeros64(apart)
		before &^= 1 << bit
		if compareOne(op, n.left.prev(base+bit), n.right.prev(base+bit)) {
			before |= 1 << bit
		}
	}
	return now, before & v.all(base)
}

// values returns a term at the bars of a word; side is the buffer it may use.
func (v *Verdicts) values(t *columnTerm, base, side int) []float64 {
	n := min(wordBars, v.bars.Len()-base)
	if t.values != nil {
		return t.values[base : base+n]
	}
	out := v.is[side][:n]
	for i := range out {
		out[i] = t.number
	}
	return out
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

// greater has a bit for each value that is above another. Eight at a time shift by constants.
func greater(left, right []float64) uint64 {
	var out uint64
	right = right[:len(left)]
	i := 0
	for ; i+8 <= len(left); i += 8 {
		l, r := left[i:i+8:i+8], right[i:i+8:i+8]
		out |= (bit(l[0] > r[0]) | bit(l[1] > r[1])<<1 | bit(l[2] > r[2])<<2 | bit(l[3] > r[3])<<3 |
			bit(l[4] > r[4])<<4 | bit(l[5] > r[5])<<5 | bit(l[6] > r[6])<<6 | bit(l[7] > r[7])<<7) << i
	}
	for ; i < len(left); i++ {
		out |= bit(left[i] > right[i]) << i
	}
	return out
}

func greaterEqual(left, right []float64) uint64 {
	var out uint64
	right = right[:len(left)]
	i := 0
	for ; i+8 <= len(left); i += 8 {
		l, r := left[i:i+8:i+8], right[i:i+8:i+8]
		out |= (bit(l[0] >= r[0]) | bit(l[1] >= r[1])<<1 | bit(l[2] >= r[2])<<2 | bit(l[3] >= r[3])<<3 |
			bit(l[4] >= r[4])<<4 | bit(l[5] >= r[5])<<5 | bit(l[6] >= r[6])<<6 | bit(l[7] >= r[7])<<7) << i
	}
	for ; i < len(left); i++ {
		out |= bit(left[i] >= right[i]) << i
	}
	return out
}

// bit is 1 for true, without a branch.
func bit(is bool) uint64 {
	var out uint64
	if is {
		out = 1
	}
	return out
}
