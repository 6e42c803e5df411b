package calc

import "math"

// window is shared by the states of windowed kernels: the last n values, the anchor,
// and sums over the values before the anchor. Entry j of sums(m, c), column c, is
// over the j newest values before the anchor.
type window struct {
	region
	n, columns int
}

// The numbers a window keeps besides its values and sums.
const (
	windowSeen  = iota // values added in total
	windowBlock        // block of slots that the anchor opened
	windowCount        // values from the anchor on
	windowShift        // the anchor's value
	windowHead  = iota + 1
)

// newWindow makes a window with columns of sums; each has its own running sum from the
// anchor on.
func (s *Slab) newWindow(n, columns int) window {
	checkWindow(n)
	w := window{n: n, columns: columns}
	w.region = s.reserve(w.size())
	return w
}

func (w *window) size() int { return windowHead + w.columns + w.n + w.columns*w.n }

// open begins the bar at slot and reports whether it is an anchor: the caller then
// fills the sums.
func (w *window) open(m []float64, slot Slot, x float64) bool {
	block := float64(floorDiv(int64(slot), int64(w.n)))
	count := int(m[windowCount])
	if m[windowSeen] > 0 && block == m[windowBlock] && count < w.n {
		return false
	}
	m[windowBlock], m[windowCount], m[windowShift] = block, 0, x
	clear(w.running(m))
	return true
}

// running returns the numbers kept from the anchor on, 0 at the anchor.
func (w *window) running(m []float64) []float64 { return m[windowHead : windowHead+w.columns] }

// sums returns column c of the sums before the anchor.
func (w *window) sums(m []float64, c int) []float64 {
	at := windowHead + w.columns + w.n + c*w.n
	return m[at : at+w.n]
}

// values returns the ring of the last n values and the place of the next one.
func (w *window) values(m []float64) (ring []float64, next int) {
	at := windowHead + w.columns
	return m[at : at+w.n], int(m[windowSeen]) % w.n
}

// reach returns how many values before the bar the sums need: n-1, or fewer when
// fewer were seen.
func (w *window) reach(m []float64) int { return int(min(m[windowSeen], float64(w.n-1))) }

// push stores x and returns how many values of the full window lie before the
// anchor, or -1 while the window is not full.
func (w *window) push(m []float64, x float64) int {
	ring, next := w.values(m)
	ring[next] = x
	m[windowSeen]++
	m[windowCount]++
	if m[windowSeen] < float64(w.n) {
		return -1
	}
	return w.n - int(m[windowCount])
}

// back returns the place in the ring of the value before the one at place i.
func (w *window) back(i int) int {
	if i == 0 {
		return w.n - 1
	}
	return i - 1
}

// sumsBack fills column 0 with the sums of the values less shift.
func (w *window) sumsBack(m []float64, shift float64) {
	ring, at := w.values(m)
	sums, sum := w.sums(m, 0), 0.0
	sums[0] = 0
	for j := 1; j <= w.reach(m); j++ {
		at = w.back(at)
		sum += ring[at] - shift
		sums[j] = sum
	}
}

// warm marks the values before the first full window of n bars as missing.
func warm(dst []float64, n int) {
	for i := range min(n-1, len(dst)) {
		dst[i] = math.NaN()
	}
}

// checkWindow panics on an impossible window. Callers validate user input.
func checkWindow(n int) {
	if n < 1 {
		panic("calc: a window needs at least 1 bar")
	}
}

// missing reports whether x is NaN or an infinity, which would stay in a recursive
// mean forever.
func missing(x float64) bool { return x-x != 0 }
