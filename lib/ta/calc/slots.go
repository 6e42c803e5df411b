package calc

// Slot is the number of a bar on the time axis: its open time divided by the
// interval. It is a distinct type so that a price cannot be passed in its place.
type Slot int64

// Slots holds the times of the bars, to which windowed kernels anchor their windows.
// T holds the ascending open times, one per bar, no two in one slot, holes allowed;
// Step is the interval in the unit of T. Months have no fixed length: number them
// (12*year+month) and use a Step of 1.
//
// The zero value counts bars from the first. Values are then as exact, but their
// last bits depend on the start of the history.
type Slots struct {
	T    []int64
	Step int64
}

// At returns the slot of bar i.
func (s Slots) At(i int) Slot {
	if s.T == nil {
		return Slot(i)
	}
	return SlotOf(s.T[i], s.Step)
}

// SlotOf returns the slot of a bar that opens at t, in the unit of step. It panics if
// step is below 1.
func SlotOf(t, step int64) Slot {
	if step < 1 {
		panic("calc: a slot needs a step of at least 1")
	}
	return Slot(floorDiv(t, step))
}

// floorDiv rounds down, where Go rounds to zero: the slots around 1970 would
// otherwise share a number.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// blocks walks the bars in blocks of n slots. A block never has more than n
// bars, even if several bars share a slot.
type blocks struct {
	from, to int // the block's bars
	n, bars  int
	t        []int64
	step     int64
	regular  int // blocks are known to have n bars each up to this index
}

// strip is the number of blocks checked for holes at once, to save memory bandwidth
// for reading times.
const strip = 64

func newBlocks(s Slots, bars, n int) blocks {
	checkWindow(n)
	if s.T == nil || bars == 0 {
		return blocks{n: n, bars: bars, regular: bars}
	}
	if s.Step < 1 {
		panic("calc: slots with times need a step of at least 1")
	}
	return blocks{t: s.T[:bars], n: n, bars: bars, step: s.Step}
}

// next goes to the next block and reports whether there is one.
func (b *blocks) next() bool {
	b.from = b.to
	if b.from+b.n <= b.regular {
		b.to += b.n
		return true
	}
	return b.look()
}

// strip advances over all blocks known to have n bars each, and reports whether
// there are any and all their windows are full: kernels have a fast loop for them.
func (b *blocks) strip() bool {
	if b.from < b.n-1 || b.regular-b.from < b.n {
		return false
	}
	b.to = b.regular - (b.regular-b.from)%b.n
	return true
}

// look finds where the block ends, and whether more blocks without holes follow.
func (b *blocks) look() bool {
	a := b.from
	if a >= b.bars {
		return false
	}
	limit := min(a+b.n, b.bars)
	b.to = limit
	if b.t == nil {
		return true
	}
	slot, n := floorDiv(b.t[a], b.step), int64(b.n)
	first := floorDiv(slot, n) * n
	// Slots ascend, so as many bars as slots between two of them means that none
	// is missing.
	if all := a + strip*b.n; slot == first && all <= b.bars && floorDiv(b.t[all-1], b.step)-slot == strip*n-1 {
		b.regular = all
		return true
	}
	stop := (first + n) * b.step
	if b.t[limit-1] < stop {
		return true
	}
	low := a + 1
	for low < limit {
		if mid := int(uint(low+limit) >> 1); b.t[mid] < stop {
			low = mid + 1
		} else {
			limit = mid
		}
	}
	b.to = low
	return true
}

// older returns the bars before bar a that windows of n bars ending from a on can
// reach back to: n-1, or fewer at the start.
//
// Sums over them, from the newest back, are called tails: entry k belongs to the
// window that ends at the block's bar k, and until the block's own sums are added
// it lies where that window's value will be. The newest value of older is in the
// tail n-2; the tail n-1 is empty.
func older(src []float64, a, n int) []float64 { return src[max(a-n+1, 0):a] }
