package raster

import "math"

// AreaSplit fills between two series over the same xs, not decreasing, with above where
// y1 is higher in the picture than y2 and below where it is lower, usually translucent.
// Each pixel is blended once, so there are no seams. The series may cross. NaN or an
// infinity in either breaks the area.
func (f *Frame) AreaSplit(xs, y1, y2 []float64, above, below Color) {
	f.area(xs, y1, y2, above, 1)
	f.area(xs, y1, y2, below, -1)
}

// area fills everything (side 0) or only where y2-y1 has the sign of side.
func (f *Frame) area(xs, y1, y2 []float64, c Color, side float64) {
	p := f.ink(c)
	if p == nil || f.clip == (rect{}) {
		return
	}
	n := min(len(xs), len(y1), len(y2))
	f.col.limit(f.clip)
	for i := 0; i < n; {
		j := min(runEnd(xs[:n], y1[:n], i), runEnd(xs[:n], y2[:n], i))
		if j > i+1 {
			f.areaRun(xs[i:j], y1[i:j], y2[i:j], p, side)
		}
		i = max(j, i+1)
	}
}

func (f *Frame) areaRun(xs, y1, y2 []float64, p *paint, side float64) {
	last := len(xs) - 1
	first, end := clampFar(xs[0]), clampFar(xs[last])
	x := max(int(math.Floor(first)), f.clip.x0)
	stop := min(int(math.Ceil(end)), f.clip.x1)
	k := newTrapezoid(xs, y1, y2, 0)
	for ; x < stop; x++ {
		const n = 4
		if k.level && float64(x) >= k.x0 && float64(x+1) <= k.x1 {
			if a, b := k.a, k.b; !(side*(b-a) < 0) {
				f.col.add(min(a, b), max(a, b), 16)
				f.flush(x, p)
			}
			continue
		}
		for s := range n {
			sx := float64(x) + (float64(s)+0.5)/n
			if sx < first || sx >= end {
				continue
			}
			for sx >= k.x1 && k.i+1 < last {
				k = newTrapezoid(xs, y1, y2, k.i+1)
			}
			a, b := k.cut(sx)
			if side*(b-a) < 0 {
				continue
			}
			f.col.add(min(a, b), max(a, b), 16/n)
		}
		f.flush(x, p)
	}
}

// trapezoid is the area that ends between points i and i+1 and begins there too, unless it
// is level.
type trapezoid struct {
	i              int
	x0, x1         float64
	a, b           float64 // the two heights at x0
	slopeA, slopeB float64
	level          bool // every cut is the same
}

func newTrapezoid(xs, y1, y2 []float64, i int) trapezoid {
	k := trapezoid{i: i, x0: clampFar(xs[i]), x1: clampFar(xs[i+1]), a: clampFar(y1[i]), b: clampFar(y2[i])}
	if dx := k.x1 - k.x0; dx > 0 {
		k.slopeA = (clampFar(y1[i+1]) - k.a) / dx
		k.slopeB = (clampFar(y2[i+1]) - k.b) / dx
	}
	for j := i; j+1 < len(xs) && y1[j+1] == y1[i] && y2[j+1] == y2[i]; j++ {
		k.i, k.x1, k.level = j, clampFar(xs[j+1]), true
	}
	return k
}

func (k *trapezoid) cut(x float64) (a, b float64) {
	return k.a + float64(k.slopeA*(x-k.x0)), k.b + float64(k.slopeB*(x-k.x0))
}
