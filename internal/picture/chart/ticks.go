package chart

import "math"

// maxTicks bounds what a pane can ask for, whatever its range.
const maxTicks = 200

// niceStep returns the smallest step of {1, 2, 2.5, 5} x 10^k that is at least
// want, and the number of decimals its multiples need.
func niceStep(want float64) (step float64, decimals int) {
	if !(want > 0) || math.IsInf(want, 1) {
		return 1, 0
	}
	k := int(math.Floor(math.Log10(want)))
	for _, e := range [...]int{k - 1, k, k + 1} {
		for _, m := range [...]float64{10, 20, 25, 50} {
			step = m * pow10(e-1)
			if step >= want*(1-1e-12) {
				decimals = max(0, -e)
				if m == 25 { // 2.5 needs one more digit than its power of ten
					decimals = max(0, 1-e)
				}
				return step, decimals
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

// tickValues appends the values to mark on s, at least gap device pixels apart,
// and returns the decimals their labels need.
func tickValues(dst []float64, s *axis, gap float64) ([]float64, int) {
	if s.log {
		return logTicks(dst, s, gap)
	}
	step, decimals := niceStep(gap / (s.bottom - s.top) * (s.hi - s.lo))
	first := math.Ceil(s.lo/step - 1e-9)
	for i := range maxTicks {
		v := float64((first + float64(i)) * step)
		if v > s.hi+float64(step*1e-9) {
			break
		}
		if len(dst) > 0 && v == dst[len(dst)-1] { // the step is below the value's resolution
			break
		}
		dst = append(dst, v)
	}
	return dst, decimals
}

// logTicks goes down from the top. Pixels per unit grow on the way, so the step is
// recomputed at each tick.
func logTicks(dst []float64, s *axis, gap float64) ([]float64, int) {
	decimals := 0
	next := s.hi
	for range maxTicks {
		// The step that spans gap pixels just below next.
		want := next - s.value(s.y(next)+gap)
		step, d := niceStep(want)
		v := float64(math.Floor(next/step+1e-9) * step)
		if v < s.lo || v <= 0 {
			break
		}
		if len(dst) == 0 || s.y(v)-s.y(dst[len(dst)-1]) >= gap*0.9 {
			dst = append(dst, v)
			decimals = max(decimals, d)
		}
		next = float64(v - step*0.5)
		if len(dst) > 0 && dst[len(dst)-1] == v {
			next = s.value(s.y(v) + gap)
		}
		if next <= s.lo || next <= 0 {
			break
		}
	}
	return dst, decimals
}
