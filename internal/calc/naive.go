// Code generated as a stand-in until the windowed kernels land, which replace this file whole. DO NOT EDIT.

// Package calc holds the arithmetic under the indicators.
package calc

import (
	"fmt"
	"math"
)

// Slab is the memory of one stream: every state made from it keeps all that
// changes in one run of numbers, so that taking, restoring and storing a
// snapshot is one copy. Make all states first, then step them.
//
// A state holds its place in the slab, not a piece of it, hence the slab may
// grow while states are being made. The zero value is ready. One goroutine only.
type Slab struct {
	mem   []float64
	spare []float64
}

// NewSlab returns an empty slab.
func NewSlab() *Slab { return &Slab{} }

// Len returns how many numbers a snapshot has.
func (s *Slab) Len() int { return len(s.mem) }

// Snapshot copies the memory of every state into dst, growing it if needed, and
// returns the copy. A nil dst allocates.
func (s *Slab) Snapshot(dst []float64) []float64 { return append(dst[:0], s.mem...) }

// Restore brings every state back to a snapshot of this slab or of one built by
// the same calls. A snapshot of another length is refused and changes nothing.
func (s *Slab) Restore(src []float64) error {
	if len(src) != len(s.mem) {
		return fmt.Errorf("snapshot has %d numbers, the states need %d", len(src), len(s.mem))
	}
	copy(s.mem, src)
	return nil
}

// Reset brings every state back to its beginning.
func (s *Slab) Reset() { clear(s.mem) }

// Peek runs step and then undoes what it did to the states, so that the value of
// a bar that is still forming can be read without closing it. Only the first
// call on a slab allocates. Calls do not nest.
func (s *Slab) Peek(step func()) {
	s.spare = append(s.spare[:0], s.mem...)
	step()
	copy(s.mem, s.spare)
}

// place is where a state's memory begins in its slab.
type place struct {
	slab *Slab
	at   int
}

// reserve gives a state size numbers, all zero: a state of zeros is a state that
// has seen nothing.
func (s *Slab) reserve(size int) place {
	at := len(s.mem)
	s.mem = append(s.mem, make([]float64, size)...)
	return place{slab: s, at: at}
}

// mem returns the state's memory. It must not be kept across calls: making
// another state may move it.
func (p place) mem(size int) []float64 { return p.slab.mem[p.at : p.at+size : p.at+size] }

// EMA writes the exponential moving average with factor 2/(n+1), seeded with the
// mean of the first n values.
func EMA(dst, src []float64, n int) { smooth(dst, src, exponential(n)) }

// RMA writes Wilder's moving average: an EMA with factor 1/n.
func RMA(dst, src []float64, n int) { smooth(dst, src, wilder(n)) }

// average is a recursive mean held in registers: the one definition of the seed
// and of the step that batch kernels and states share.
type average struct {
	k, rest float64 // weight of the new value, weight of the old mean
	need    int     // values in the seed
	seen    int     // values taken, up to need
	value   float64 // their sum until the seed is complete, then the mean
}

func exponential(n int) average {
	checkWindow(n)
	k := 2 / (float64(n) + 1)
	return average{k: k, rest: 1 - k, need: n}
}

func wilder(n int) average {
	checkWindow(n)
	k := 1 / float64(n)
	return average{k: k, rest: 1 - k, need: n}
}

func (a *average) ready() bool { return a.seen >= a.need }

// take adds x and returns the mean, NaN before the seed is complete. The loops of
// the batch kernels repeat its last lines to keep the mean in a register. Whether
// x is missing is for the caller to ask, once per bar.
func (a *average) take(x float64) float64 {
	if a.seen < a.need {
		a.value += x
		a.seen++
		if a.seen < a.need {
			return math.NaN()
		}
		a.value /= float64(a.need)
		return a.value
	}
	a.value = float64(a.k*x) + float64(a.rest*a.value)
	return a.value
}

func smooth(dst, src []float64, a average) {
	dst = dst[:len(src)]
	first := 0
	for ; first < len(src) && !a.ready(); first++ {
		dst[first] = math.NaN()
		if !missing(src[first]) {
			dst[first] = a.take(src[first])
		}
	}
	src, dst = src[first:], dst[first:]
	dst = dst[:len(src)]
	k, rest, value := a.k, a.rest, a.value
	for i, x := range src {
		if missing(x) {
			dst[i] = math.NaN()
			continue
		}
		value = float64(k*x) + float64(rest*value)
		dst[i] = value
	}
}

// EMAState is the state of an EMA or, with another factor, of an RMA.
type EMAState struct {
	place
	average // k, rest and need; the changing fields live in the slab
}

const averageSize = 2

// EMA makes the state of an EMA of n bars.
func (s *Slab) EMA(n int) EMAState { return s.average(exponential(n)) }

// RMA makes the state of an RMA of n bars.
func (s *Slab) RMA(n int) EMAState { return s.average(wilder(n)) }

func (s *Slab) average(a average) EMAState {
	return EMAState{place: s.reserve(averageSize), average: a}
}

// Step takes the bar's value and returns the mean.
func (e *EMAState) Step(x float64) float64 {
	if missing(x) {
		return math.NaN()
	}
	return e.take(x)
}

func (e *EMAState) take(x float64) float64 {
	m := e.mem(averageSize)
	a := e.average
	a.value, a.seen = m[0], int(m[1])
	out := a.take(x)
	m[0], m[1] = a.value, float64(a.seen)
	return out
}

// MACD writes the difference of a fast and a slow EMA, its own EMA, and the
// difference of the two. Each average is seeded at its own length, as on
// TradingView: with 12, 26, 9 the line begins at 25 and the signal at 33.
func MACD(line, signal, hist, src []float64, fast, slow, smoothing int) {
	line, signal, hist = line[:len(src)], signal[:len(src)], hist[:len(src)]
	f, s, g := exponential(fast), exponential(slow), exponential(smoothing)
	first := 0
	for ; first < len(src) && !(f.ready() && s.ready() && g.ready()); first++ {
		line[first], signal[first], hist[first] = math.NaN(), math.NaN(), math.NaN()
		if x := src[first]; !missing(x) {
			m, v := f.take(x)-s.take(x), math.NaN()
			if m == m {
				v = g.take(m)
			}
			line[first], signal[first], hist[first] = m, v, m-v
		}
	}
	src, line, signal, hist = src[first:], line[first:], signal[first:], hist[first:]
	line, signal, hist = line[:len(src)], signal[:len(src)], hist[:len(src)]
	fk, frest, fv := f.k, f.rest, f.value
	sk, srest, sv := s.k, s.rest, s.value
	gk, grest, gv := g.k, g.rest, g.value
	for i, x := range src {
		if missing(x) {
			line[i], signal[i], hist[i] = math.NaN(), math.NaN(), math.NaN()
			continue
		}
		fv = float64(fk*x) + float64(frest*fv)
		sv = float64(sk*x) + float64(srest*sv)
		m := fv - sv
		gv = float64(gk*m) + float64(grest*gv)
		line[i], signal[i], hist[i] = m, gv, m-gv
	}
}

// MACDState is the state of a MACD.
type MACDState struct{ fast, slow, signal EMAState }

// MACD makes the state of a MACD.
func (s *Slab) MACD(fast, slow, smoothing int) MACDState {
	return MACDState{fast: s.EMA(fast), slow: s.EMA(slow), signal: s.EMA(smoothing)}
}

// Step takes the bar's value and returns the line, the signal and their
// difference.
func (m *MACDState) Step(x float64) (line, signal, hist float64) {
	line, signal = math.NaN(), math.NaN()
	if missing(x) {
		return line, signal, line
	}
	line = m.fast.take(x) - m.slow.take(x)
	if line == line {
		signal = m.signal.take(line)
	}
	return line, signal, line - signal
}

// fillNaN marks every value of dst as missing.
func fillNaN(dst []float64) {
	nan := math.NaN()
	for i := range dst {
		dst[i] = nan
	}
}

// warm marks the values before the first full window of n bars as missing.
func warm(dst []float64, n int) { fillNaN(dst[:min(n-1, len(dst))]) }

// checkWindow panics on a window that cannot exist: the caller checks what a
// user asked for, so that only a programmer can get here.
func checkWindow(n int) {
	if n < 1 {
		panic("calc: a window needs at least 1 bar")
	}
}

// missing reports whether x is no number to go on with. An infinity counts as
// missing too: one of them in a recursive mean would stay for ever.
func missing(x float64) bool { return x-x != 0 }

// RSI writes Wilder's relative strength index: 100 times the mean rise over the
// sum of the mean rise and the mean fall, both RMAs of n changes. The first value
// is at n. Without any fall it is 100, as on TradingView.
func RSI(dst, src []float64, n int) {
	dst = dst[:len(src)]
	up, down := wilder(n), wilder(n)
	previous, seen := 0.0, false
	first := 0
	for ; first < len(src) && !up.ready(); first++ {
		dst[first] = math.NaN()
		x := src[first]
		if missing(x) {
			continue
		}
		if seen {
			rise, fall := split(x - previous)
			dst[first] = strength(up.take(rise), down.take(fall))
		}
		previous, seen = x, true
	}
	src, dst = src[first:], dst[first:]
	dst = dst[:len(src)]
	k, rest, u, d := up.k, up.rest, up.value, down.value
	for i, x := range src {
		if missing(x) {
			dst[i] = math.NaN()
			continue
		}
		rise, fall := split(x - previous)
		previous = x
		u = float64(k*rise) + float64(rest*u)
		d = float64(k*fall) + float64(rest*d)
		if d == 0 {
			dst[i] = 100
			continue
		}
		dst[i] = 100 * (u / (u + d))
	}
}

// split parts a change into its rise and its fall, one of which is 0. Whether a
// price rises is a coin toss, so a branch here would be mispredicted every other
// bar.
func split(change float64) (rise, fall float64) {
	size := math.Abs(change)
	return 0.5 * (size + change), 0.5 * (size - change)
}

func strength(up, down float64) float64 {
	if down == 0 {
		return 100
	}
	return 100 * (up / (up + down))
}

// RSIState is the state of an RSI.
type RSIState struct {
	place
	up, down EMAState
}

// RSI makes the state of an RSI of n bars.
func (s *Slab) RSI(n int) RSIState {
	return RSIState{place: s.reserve(2), up: s.RMA(n), down: s.RMA(n)}
}

// Step takes the bar's value and returns the index.
func (r *RSIState) Step(x float64) float64 {
	if missing(x) {
		return math.NaN()
	}
	m := r.mem(2)
	previous, seen := m[0], m[1] != 0
	m[0], m[1] = x, 1
	if !seen {
		return math.NaN()
	}
	rise, fall := split(x - previous)
	return strength(r.up.take(rise), r.down.take(fall))
}

// Slot is the number of a bar on the time axis: its open time divided by the
// interval. A type of its own, so that Step cannot be called without one or with
// a price in its place.
type Slot int64

// Slots tells a windowed kernel where its bars lie in time, so that it anchors
// its windows to the clock and not to the first bar it was given. T holds the
// ascending open times, one per bar, no two in one slot, holes allowed; Step is
// the interval in the unit of T. Months have no fixed length: number them (12*year+month) and use a
// Step of 1.
//
// The zero value counts bars from the first. Values are then as exact, but their
// last bits change with the start of the history.
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

// SlotOf returns the slot of a bar that opens at t, both in one unit. A step
// below 1 is a programmer's mistake and panics.
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
	t       []int64
	n       int
	bars    int
	step    int64
	regular int // blocks are known to have n bars each up to this index
}

// strip is how many blocks are checked for holes at once: the times would
// otherwise be read at every block, and that is memory the kernels are short of.
const strip = 64

func newBlocks(s Slots, bars, n int) blocks {
	if s.T == nil || bars == 0 {
		return blocks{n: n, bars: bars, regular: bars}
	}
	if s.Step < 1 {
		panic("calc: slots with times need a step of at least 1")
	}
	return blocks{t: s.T[:bars], n: n, bars: bars, step: s.Step}
}

// end returns the index after the block that begins at bar a.
func (b *blocks) end(a int) int {
	if a+b.n <= b.regular {
		return a + b.n
	}
	return b.look(a)
}

// look finds the end of the block at bar a, and whether more blocks without
// holes follow.
func (b *blocks) look(a int) int {
	limit := min(a+b.n, b.bars)
	if b.t == nil {
		return limit
	}
	slot, n := floorDiv(b.t[a], b.step), int64(b.n)
	first := floorDiv(slot, n) * n
	// Slots ascend, so as many bars as slots between two of them means that none
	// is missing.
	if all := a + strip*b.n; slot == first && all <= b.bars && floorDiv(b.t[all-1], b.step)-slot == strip*n-1 {
		b.regular = all
		return limit
	}
	stop := (first + n) * b.step
	if b.t[limit-1] < stop {
		return limit
	}
	low := a + 1
	for low < limit {
		if mid := int(uint(low+limit) >> 1); b.t[mid] < stop { //nolint:gosec // both are indices
			low = mid + 1
		} else {
			limit = mid
		}
	}
	return low
}

type ring struct {
	c Cells
	n int
}

func (s *Slab) ring(n int) ring { return ring{s.Cells(n + 1), n} }
func (r ring) push(x float64) ([]float64, bool) {
	m := r.c.Mem()
	copy(m[1:], m[2:])
	m[r.n] = x
	m[0]++
	return m[1:], m[0] >= float64(r.n)
}

type SumState struct{ ring }

func (s *Slab) Sum(n int) SumState { return SumState{s.ring(n)} }
func (s *SumState) Step(_ Slot, x float64) float64 {
	w, ok := s.push(x)
	if !ok {
		return math.NaN()
	}
	t := 0.0
	for _, v := range w {
		t += v
	}
	return t
}

type SMAState struct{ SumState }

func (s *Slab) SMA(n int) SMAState                 { return SMAState{s.Sum(n)} }
func (s *SMAState) Step(t Slot, x float64) float64 { return s.SumState.Step(t, x) / float64(s.n) }

type DeviationState struct{ ring }

func (s *Slab) Deviation(n int) DeviationState { return DeviationState{s.ring(n)} }
func (s *DeviationState) Step(_ Slot, x float64) (float64, float64) {
	w, ok := s.push(x)
	if !ok {
		return math.NaN(), math.NaN()
	}
	t, q := 0.0, 0.0
	for _, v := range w {
		t += v
	}
	t /= float64(s.n)
	for _, v := range w {
		q += (v - t) * (v - t)
	}
	return t, math.Sqrt(q / float64(s.n))
}

type MeanDeviationState struct{ ring }

func (s *Slab) MeanDeviation(n int) MeanDeviationState { return MeanDeviationState{s.ring(n)} }
func (s *MeanDeviationState) Step(_ Slot, x float64) (float64, float64) {
	w, ok := s.push(x)
	if !ok {
		return math.NaN(), math.NaN()
	}
	t, q := 0.0, 0.0
	for _, v := range w {
		t += v
	}
	t /= float64(s.n)
	for _, v := range w {
		q += math.Abs(v - t)
	}
	return t, q / float64(s.n)
}

type ExtremeState struct {
	ring
	max bool
}

func (s *Slab) Max(n int) ExtremeState { return ExtremeState{s.ring(n), true} }
func (s *Slab) Min(n int) ExtremeState { return ExtremeState{s.ring(n), false} }
func (s *ExtremeState) Step(x float64) float64 {
	w, ok := s.push(x)
	if !ok {
		return math.NaN()
	}
	t := w[0]
	for _, v := range w {
		if s.max {
			t = max(t, v)
		} else {
			t = min(t, v)
		}
	}
	return t
}

type LagState struct{ ring }

func (s *Slab) Lag(n int) LagState { return LagState{s.ring(n + 1)} }
func (s *LagState) Step(x float64) float64 {
	w, ok := s.push(x)
	if !ok {
		return math.NaN()
	}
	return w[0]
}

type TrueRangeState struct{ Cells }

func (s *Slab) TrueRange() TrueRangeState { return TrueRangeState{s.Cells(2)} }
func (s *TrueRangeState) Step(h, l, c float64) float64 {
	m := s.Mem()
	pc, seen := m[0], m[1]
	m[0], m[1] = c, 1
	if seen == 0 {
		return h - l
	}
	return max(h, pc) - min(l, pc)
}

type ATRState struct {
	tr TrueRangeState
	a  EMAState
}

func (s *Slab) ATR(n int) ATRState               { return ATRState{s.TrueRange(), s.RMA(n)} }
func (s *ATRState) Step(h, l, c float64) float64 { return s.a.Step(s.tr.Step(h, l, c)) }
func ATR(dst, h, l, c []float64, n int) {
	m := NewSlab()
	s := m.ATR(n)
	for i := range h {
		dst[i] = s.Step(h[i], l[i], c[i])
	}
}

type ADXState struct {
	c            Cells
	tr, p, q, dx EMAState
}

func (s *Slab) ADX(n int) ADXState {
	return ADXState{s.Cells(4), s.RMA(n), s.RMA(n), s.RMA(n), s.RMA(n)}
}
func (s *ADXState) Step(h, l, c float64) (float64, float64, float64) {
	m := s.c.Mem()
	ph, pl, pc, seen := m[0], m[1], m[2], m[3]
	m[0], m[1], m[2], m[3] = h, l, c, 1
	if seen == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	up, dn := h-ph, pl-l
	a, b := 0.0, 0.0
	if up > dn && up > 0 {
		a = up
	}
	if dn > up && dn > 0 {
		b = dn
	}
	tr := s.tr.Step(max(h, pc) - min(l, pc))
	pd, md := 100*s.p.Step(a)/tr, 100*s.q.Step(b)/tr
	x := 0.0
	if pd+md != 0 {
		x = math.Abs(pd-md) / (pd + md)
	}
	return 100 * s.dx.Step(x), pd, md
}
func ADX(d, p, q, h, l, c []float64, n int) {
	m := NewSlab()
	s := m.ADX(n)
	for i := range h {
		d[i], p[i], q[i] = s.Step(h[i], l[i], c[i])
	}
}

type StochasticState struct {
	hi, lo ExtremeState
	k, d   SMAState
}

func (s *Slab) Stochastic(n, k, d int) StochasticState {
	return StochasticState{s.Max(n), s.Min(n), s.SMA(k), s.SMA(d)}
}
func (s *StochasticState) Step(t Slot, h, l, c float64) (float64, float64) {
	a, b := s.hi.Step(h), s.lo.Step(l)
	k := s.k.Step(t, 100*(c-b)/(a-b))
	return k, s.d.Step(t, k)
}
func Stochastic(k, d, h, l, c []float64, n, ks, ds int, sl Slots) {
	m := NewSlab()
	s := m.Stochastic(n, ks, ds)
	for i := range h {
		k[i], d[i] = s.Step(sl.At(i), h[i], l[i], c[i])
	}
}

type BollingerState struct {
	d DeviationState
	k float64
}

func (s *Slab) Bollinger(n int, k float64) BollingerState { return BollingerState{s.Deviation(n), k} }
func (s *BollingerState) Step(t Slot, x float64) (float64, float64, float64) {
	m, d := s.d.Step(t, x)
	return m + s.k*d, m, m - s.k*d
}
func Bollinger(u, mid, lo, src []float64, n int, k float64, sl Slots) {
	m := NewSlab()
	s := m.Bollinger(n, k)
	for i := range src {
		u[i], mid[i], lo[i] = s.Step(sl.At(i), src[i])
	}
}

type WMAState struct{ ring }

func (s *Slab) WMA(n int) WMAState { return WMAState{s.ring(n)} }
func (s *WMAState) Step(_ Slot, x float64) float64 {
	w, ok := s.push(x)
	if !ok {
		return math.NaN()
	}
	t := 0.0
	for i, v := range w {
		t += float64(i+1) * v
	}
	return t / float64(s.n*(s.n+1)/2)
}

type HMAState struct{ a, b, c WMAState }

func (s *Slab) HMA(n int) HMAState {
	return HMAState{s.WMA(n / 2), s.WMA(n), s.WMA(int(math.Sqrt(float64(n))))}
}
func (s *HMAState) Step(t Slot, x float64) float64 {
	return s.c.Step(t, 2*s.a.Step(t, x)-s.b.Step(t, x))
}

type PivotState struct {
	ring
	left int
}

func (s *Slab) Pivot(l, r int) PivotState { return PivotState{s.ring(l + r + 1), l} }
func (s *PivotState) Step(x float64) (top, bottom float64) {
	w, ok := s.push(x)
	top, bottom = math.NaN(), math.NaN()
	if !ok {
		return
	}
	c := w[s.left]
	hi, lo := true, true
	for i, v := range w {
		if i != s.left {
			hi = hi && c > v
			lo = lo && c < v
		}
	}
	if hi {
		top = c
	}
	if lo {
		bottom = c
	}
	return
}
