package chart

import (
	"math"
	"slices"
)

// maxTicks bounds what a pane can ask for, whatever its range.
const maxTicks = 200

// minLabels is how many labels an axis shows beside its pills, if it has the height.
const minLabels = 3

// tickGaps are the least distances of even ticks in logical pixels, in the order tried: a
// later one is used where pills and edges leave fewer than minLabels of the one before.
// Steps grow by a factor of two at most, so the first puts ticks 32 to 64 pixels apart,
// about 45 on average.
//
//nolint:gochecknoglobals // a table, never written
var tickGaps = [...]struct {
	gap   int
	steps *stepKind
}{{32, &niceSteps}, {25, &niceSteps}, {20, &niceSteps}, {20, &evenSteps}}

// labelPitches are the least distances of two labels of an axis in logical pixels, in the
// order tried: labels are closer than the first only where an axis has no room for
// minLabels otherwise, and then it has no more than those.
//
//nolint:gochecknoglobals // a table, never written
var labelPitches = [...]int{20, 16, 12}

// A stepKind is the steps of ticks within a decade, in tenths of its power of ten.
type stepKind [4]float64

// niceSteps are the steps that readers expect, evenSteps those between them: less round, for
// short axes on which ticks of the others would be uneven.
//
//nolint:gochecknoglobals // tables, never written
var niceSteps, evenSteps = stepKind{10, 20, 25, 50}, stepKind{30, 40, 60, 80}

// niceStep returns the smallest step of {1, 2, 2.5, 5} x 10^k that is at least
// want, and the number of decimals its multiples need.
func niceStep(want float64) (step float64, decimals int) { return niceSteps.atLeast(want) }

// atLeast returns the smallest step that is at least want, and the number of decimals its
// multiples need.
func (kind *stepKind) atLeast(want float64) (step float64, decimals int) {
	if !(want > 0) || math.IsInf(want, 1) {
		return 1, 0
	}
	k := int(math.Floor(math.Log10(want)))
	for _, e := range [...]int{k - 1, k, k + 1} {
		for _, m := range kind {
			step = m * pow10(e-1)
			if step >= want*(1-1e-12) {
				if m == 25 { // 2.5 needs one more digit than its power of ten
					e--
				}
				return step, max(0, -e)
			}
		}
	}
	return pow10(k + 2), max(0, -k-2)
}

// pow10 is 10^k, exact where a float64 can be.
func pow10(k int) float64 {
	if k < 0 {
		return 1 / math.Pow10(-k)
	}
	return math.Pow10(k)
}

// tickValues appends the values to mark on s, at least gap device pixels apart and
// from those already in dst, in steps of a kind, and returns the decimals their labels
// need.
func tickValues(dst []float64, s *axis, gap float64, steps *stepKind) ([]float64, int) {
	// On a logarithmic axis over less than half a decade, equal steps are spaced well
	// enough: the lowest is at most three times as high as the highest.
	if s.log && s.hi > 3*s.lo {
		return logTicks(dst, s, gap)
	}
	want := gap / (s.bottom - s.top) * (s.hi - s.lo)
	if s.log { // steps are lowest at the top
		want = s.hi - s.value(s.top+gap)
	}
	step, decimals := steps.atLeast(want)
	given := len(dst)
	between := func(v float64) bool { return math.Abs(math.Remainder(v, step)) > step*1e-9 }
	if slices.ContainsFunc(dst, between) { // finer steps meet the places that such values leave
		step, decimals = niceStep(want / 2)
	}
	first := math.Ceil(s.lo/step - 1e-9)
	for i := range maxTicks {
		v := float64((first + float64(i)) * step)
		if v > s.hi+float64(step*1e-9) {
			break
		}
		if len(dst) > given && v == dst[len(dst)-1] { // the step is below the value's resolution
			break
		}
		if given == 0 || s.apart(v, dst, gap) {
			dst = append(dst, v)
		}
	}
	return dst, decimals
}

// apart reports whether v is drawn at least gap device pixels from all others.
func (s *axis) apart(v float64, others []float64, gap float64) bool {
	y := s.y(v)
	for _, o := range others {
		if math.Abs(s.y(o)-y) < gap {
			return false
		}
	}
	return true
}

// logTicks places round numbers, the roundest first: powers of ten, then fives and
// twos, then the other digits, then finer steps between them.
func logTicks(dst []float64, s *axis, gap float64) ([]float64, int) {
	decimals := 0
	low, high := int(math.Floor(math.Log10(s.lo))), int(math.Floor(math.Log10(s.hi)))
	every := max(1, (high-low)/maxTicks) // decades that can have a tick at all
	try := func(v float64, d int) {
		if len(dst) < maxTicks && v >= s.lo && v <= s.hi && s.apart(v, dst, gap) {
			dst = append(dst, v)
			decimals = max(decimals, d)
		}
	}
	for _, round := range [...]struct{ first, step, last, decimals int }{
		{10, 10, 10, 0}, {50, 10, 50, 0}, {20, 10, 20, 0}, {30, 10, 90, 0}, {15, 10, 95, 1}, {11, 1, 99, 1},
	} {
		for k := low; k <= high; k += every {
			unit := pow10(k - 1)
			near := float64(float64(round.first) * unit)
			if wide := s.y(near) - s.y(float64(near+float64(round.step)*unit)); round.step < round.last-round.first && wide < gap/2 {
				continue // the widest step of the decade is too narrow
			}
			for m := round.first; m <= round.last; m += round.step {
				try(float64(float64(m)*unit), max(0, round.decimals-k))
			}
		}
	}
	return dst, decimals
}

// fillTicks appends most round values where there is room for a label: gap device
// pixels from the others, and free. It is for axes on which no even spacing has enough.
func fillTicks(dst []float64, s *axis, gap float64, most int, free func(v float64) bool) ([]float64, int) {
	step, decimals := niceStep(gap / 10 / (s.bottom - s.top) * (s.hi - s.lo))
	given := len(dst)
	// The roundest first; if they leave no room for the others, as many as there can be.
	for _, rounds := range [...][]float64{{10, 5, 2, 1}, {1}} {
		dst = dst[:given]
		for _, round := range rounds {
			each := round * step
			first := math.Ceil(s.lo / each)
			for i := range maxTicks {
				v := float64((first + float64(i)) * each)
				if v > s.hi || len(dst) == given+most {
					break
				}
				if s.apart(v, dst, gap) && free(v) {
					dst = append(dst, v)
				}
			}
		}
		if len(dst) == given+most {
			break
		}
	}
	fewest := 0
	for _, v := range dst[given:] {
		fewest = max(fewest, notation{decimals: decimals}.shortest(v))
	}
	return dst, fewest
}
