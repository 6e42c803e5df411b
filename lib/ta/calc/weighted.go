package calc

import "math"

// weightedWindow weights its values from 1 for the oldest to n for the newest. It keeps
// the weighted sums in column 0 and the plain ones in column 1.
type weightedWindow struct{ window }

func (s *Slab) newWeightedWindow(n int) weightedWindow { return weightedWindow{s.newWindow(n, 2)} }

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
	run, place := w.running(m), m[windowCount]+1
	run[0] += float64(place * (x - shift))
	run[1] += x - shift
	j := w.push(m, x)
	if j < 0 {
		return 0, 0, 0, false
	}
	// The j values before the anchor raise the weight of every later one by j.
	return (weighted[j] + run[0]) + float64(float64(j)*run[1]), sums[j] + run[1], shift, true
}

// weightedBack fills both columns. Each further value raises every weight by one, which
// adds the plain sum.
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

// WMAState is the state of a weighted mean.
type WMAState struct {
	window weightedWindow
	part   float64 // 1 over the sum of the weights
}

// WMA makes the state of a linearly weighted mean over n bars.
func (s *Slab) WMA(n int) WMAState {
	return WMAState{window: s.newWeightedWindow(n), part: 2 / (float64(n) * (float64(n) + 1))}
}

// Step takes the value of the bar at slot and returns the weighted mean.
func (w *WMAState) Step(slot Slot, x float64) float64 {
	total, _, shift, ok := w.window.step(slot, x)
	if !ok {
		return math.NaN()
	}
	return shift + float64(total*w.part)
}

// HMAState is the state of Hull's moving average: the WMA over the root of n bars of
// twice the WMA over half of n less the WMA over n.
type HMAState struct{ slow, fast, out WMAState }

// HMA makes the state of Hull's moving average over n bars. Half and root round down,
// as on TradingView, but never below one bar.
func (s *Slab) HMA(n int) HMAState {
	return HMAState{slow: s.WMA(n), fast: s.WMA(max(n/2, 1)), out: s.WMA(int(math.Sqrt(float64(n))))}
}

// Step takes the value of the bar at slot and returns the average.
func (h *HMAState) Step(slot Slot, x float64) float64 {
	slow := h.slow.Step(slot, x)
	return h.out.Step(slot, float64(2*h.fast.Step(slot, x))-slow)
}

// LinRegState is the state of a linear regression with its constants.
type LinRegState struct {
	window                    weightedWindow
	part, middle, scale, half float64
}

// LinReg makes the state of a linear regression over n bars.
func (s *Slab) LinReg(n int) LinRegState {
	f := float64(n)
	l := LinRegState{window: s.newWeightedWindow(n), part: 1 / f, middle: (f + 1) / 2, half: (f - 1) / 2}
	if n > 1 {
		l.scale = 12 / (f * (f - 1) * (f + 1))
	}
	return l
}

// Step takes the value of the bar at slot, fits a line through the window by least
// squares and returns its slope per bar, its height at the oldest bar and its height at
// the newest. With one bar the line is flat.
func (l *LinRegState) Step(slot Slot, x float64) (slope, intercept, value float64) {
	weighted, sum, shift, ok := l.window.step(slot, x)
	if !ok {
		return math.NaN(), math.NaN(), math.NaN()
	}
	// Relative to the middle the weights sum to 0, so the line passes through the mean
	// there.
	slope = (weighted - float64(l.middle*sum)) * l.scale
	mean, rise := shift+float64(sum*l.part), float64(slope*l.half)
	return slope, mean - rise, mean + rise
}
