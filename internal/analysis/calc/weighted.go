package calc

import (
	"math"
	"slices"
)

// WMA writes the linearly weighted mean of the last n values: weight n for the
// newest, 1 for the oldest.
func WMA(dst, src []float64, n int, slots Slots) {
	dst = dst[:len(src)]
	part := weightedPart(n)
	walk := newBlocks(slots, len(src), n)
	for walk.next() {
		a, end := walk.from, walk.to
		shift, run := src[a], weights{rest: float64(n)}
		block, out := src[a:end], dst[a:end]
		out = out[:len(block)]
		weightedTails(out, nil, older(src, a, n), n, shift)
		for i, x := range block {
			run.add(x - shift)
			out[i] = shift + float64(run.total(out[i])*part)
		}
	}
	warm(dst, n)
}

// weightedPart is 1 over the sum of the weights 1 to n.
func weightedPart(n int) float64 { return 2 / (float64(n) * (float64(n) + 1)) }

// weights sums the values from the anchor on with their weights. A value's weight is
// its position after the anchor plus the number of values before the anchor.
type weights struct {
	place, rest   float64 // values from the anchor on, values before it
	sum, weighted float64
}

func (w *weights) add(d float64) {
	w.place++
	w.rest--
	w.sum += d
	w.weighted += float64(w.place * d)
}

// total adds the weighted sum of the values before the anchor.
func (w *weights) total(older float64) float64 {
	return (older + w.weighted) + float64(w.rest*w.sum)
}

// weightedTails fills totals with the weighted sums of the newest values of old
// less shift, and sums with the plain ones unless it is nil. Each further value
// raises every weight by one, which adds the plain sum.
func weightedTails(totals, sums, old []float64, n int, shift float64) {
	sum, total, k := 0.0, 0.0, n-1
	if k < len(totals) {
		totals[k] = 0
	}
	if k < len(sums) {
		sums[k] = 0
	}
	for _, x := range slices.Backward(old) {
		k--
		sum += x - shift
		total += sum
		if k < len(totals) {
			totals[k] = total
		}
		if k < len(sums) {
			sums[k] = sum
		}
	}
}

// HMA writes Hull's moving average: the WMA over the root of n bars of twice the
// WMA over half of n less the WMA over n. The scratch has the length of src and
// is overwritten.
func HMA(dst, scratch, src []float64, n int, slots Slots) {
	dst, scratch = dst[:len(src)], scratch[:len(src)]
	half, root := hullWindows(n)
	WMA(dst, src, n, slots)
	WMA(scratch, src, half, slots)
	for i, slow := range dst {
		scratch[i] = float64(2*scratch[i]) - slow
	}
	WMA(dst, scratch, root, slots)
}

// hullWindows rounds down, as TradingView does, but never below one bar.
func hullWindows(n int) (half, root int) {
	checkWindow(n)
	return max(n/2, 1), int(math.Sqrt(float64(n)))
}

// WMAState is the state of a weighted mean.
type WMAState struct{ weightedWindow }

// weightedWindow keeps the weighted sums in column 0 and the plain ones in
// column 1.
type weightedWindow struct {
	window
	part float64
}

func (s *Slab) newWeightedWindow(n int) weightedWindow {
	return weightedWindow{window: s.newWindow(n, 2), part: weightedPart(n)}
}

// step takes x and returns the weighted and the plain sum of the differences
// from shift, which is a value of the window. Before the window is full ok is
// false.
func (w *weightedWindow) step(slot Slot, x float64) (total, sum, shift float64, ok bool) {
	m := w.mem(w.size())
	weighted, sums := w.sums(m, 0), w.sums(m, 1)
	if w.open(m, slot, x) {
		w.weightedBack(m, weighted, sums, x)
	}
	shift = m[windowShift]
	place := m[windowCount]
	run := w.running(m)
	k := weights{place: place, rest: float64(w.n) - place, weighted: run[0], sum: run[1]}
	k.add(x - shift)
	run[0], run[1] = k.weighted, k.sum
	j := w.push(m, x)
	if j < 0 {
		return 0, 0, 0, false
	}
	return k.total(weighted[j]), sums[j] + k.sum, shift, true
}

func (w *weightedWindow) weightedBack(m, weighted, sums []float64, shift float64) {
	ring, at := w.values(m)
	sum, total := 0.0, 0.0
	weighted[0], sums[0] = 0, 0
	for j := 1; j <= w.reach(m); j++ {
		at = w.back(at)
		sum += ring[at] - shift
		total += sum
		weighted[j], sums[j] = total, sum
	}
}

// WMA makes the state of a weighted mean over n bars.
func (s *Slab) WMA(n int) WMAState { return WMAState{s.newWeightedWindow(n)} }

// Step takes the value of the bar at slot and returns the weighted mean.
func (w *WMAState) Step(slot Slot, x float64) float64 {
	total, _, shift, ok := w.step(slot, x)
	if !ok {
		return math.NaN()
	}
	return shift + float64(total*w.part)
}

// HMAState is the state of Hull's moving average.
type HMAState struct{ slow, fast, out WMAState }

// HMA makes the state of Hull's moving average over n bars.
func (s *Slab) HMA(n int) HMAState {
	half, root := hullWindows(n)
	return HMAState{slow: s.WMA(n), fast: s.WMA(half), out: s.WMA(root)}
}

// Step takes the value of the bar at slot and returns the average.
func (h *HMAState) Step(slot Slot, x float64) float64 {
	slow := h.slow.Step(slot, x)
	return h.out.Step(slot, float64(2*h.fast.Step(slot, x))-slow)
}
