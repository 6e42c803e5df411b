package calc

import "math"

// LinReg fits a line through the last n values by least squares and writes its
// slope per bar, its height at the window's oldest bar and its height at the
// newest. With one bar the line is flat.
func LinReg(slope, intercept, value, src []float64, n int, slots Slots) {
	slope, intercept, value = slope[:len(src)], intercept[:len(src)], value[:len(src)]
	l := newLine(n)
	walk := newBlocks(slots, len(src), n)
	for walk.next() {
		a, end := walk.from, walk.to
		shift, run := src[a], weights{rest: float64(n)}
		block, slopes, starts, ends := src[a:end], slope[a:end], intercept[a:end], value[a:end]
		slopes, starts, ends = slopes[:len(block)], starts[:len(block)], ends[:len(block)]
		weightedTails(slopes, starts, older(src, a, n), n, shift)
		for i, x := range block {
			run.add(x - shift)
			slopes[i], starts[i], ends[i] = l.fit(run.total(slopes[i]), starts[i]+run.sum, shift)
		}
	}
	warm(slope, n)
	warm(intercept, n)
	warm(value, n)
}

// line holds the constants of a fit over n bars.
type line struct{ part, middle, scale, reach float64 }

func newLine(n int) line {
	f := float64(n)
	l := line{part: 1 / f, middle: (f + 1) / 2, reach: (f - 1) / 2}
	if n > 1 {
		l.scale = 12 / (f * (f - 1) * (f + 1))
	}
	return l
}

// fit takes the sum of the differences from shift, once with the weights 1 to n
// and once without. Relative to the middle the weights sum to 0, so the line passes
// through the mean there.
func (l *line) fit(weighted, sum, shift float64) (slope, intercept, value float64) {
	slope = (weighted - float64(l.middle*sum)) * l.scale
	mean := shift + float64(sum*l.part)
	reach := float64(slope * l.reach)
	return slope, mean - reach, mean + reach
}

// LinRegState is the state of a linear regression.
type LinRegState struct {
	window weightedWindow
	line   line
}

// LinReg makes the state of a linear regression over n bars.
func (s *Slab) LinReg(n int) LinRegState {
	return LinRegState{window: s.newWeightedWindow(n), line: newLine(n)}
}

// Step takes the value of the bar at slot and returns the line's slope, its
// height at the oldest bar and its height at the newest.
func (l *LinRegState) Step(slot Slot, x float64) (slope, intercept, value float64) {
	weighted, sum, shift, ok := l.window.step(slot, x)
	if !ok {
		return math.NaN(), math.NaN(), math.NaN()
	}
	return l.line.fit(weighted, sum, shift)
}
