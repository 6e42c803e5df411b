package raster

import "math"

// Small shapes are convex, so each vertical cut is one interval. Sixteen
// sub-columns make their coverage smooth in x; there are few of them.
const shapeCuts = 16

// convex draws the shape between left and right whose cut at x is given by
// cut, with t >= b where there is none. All cuts from flat0 to flat1 are equal.
func (f *Frame) convex(left, right, flat0, flat1 float64, c Color, cut func(x float64) (t, b float64)) {
	p := f.ink(c)
	// The first test also rejects NaN.
	if p == nil || !(left < right) || f.clip == (rect{}) {
		return
	}
	f.col.limit(f.clip)
	x := max(int(math.Floor(max(left, -far))), f.clip.x0)
	end := min(int(math.Ceil(min(right, far))), f.clip.x1)
	for ; x < end; x++ {
		if float64(x) >= flat0 && float64(x+1) <= flat1 {
			t, b := cut(float64(x))
			if c.A == 255 && t == math.Floor(t) && b == math.Floor(b) {
				past := min(int(min(flat1, far)), end)
				f.Rect(x, int(clampFar(t)), past, int(clampFar(b)), c)
				x = past - 1
				continue
			}
			f.col.add(t, b, shapeCuts)
			f.flush(x, p)
			continue
		}
		for s := range shapeCuts {
			sx := float64(x) + (float64(s)+0.5)/shapeCuts
			if sx < left || sx > right {
				continue
			}
			t, b := cut(sx)
			f.col.add(t, b, 1)
		}
		f.flush(x, p)
	}
}

// Circle fills a circle of radius r around (cx, cy).
func (f *Frame) Circle(cx, cy, r float64, c Color) {
	f.convex(cx-r, cx+r, cx, cx, c, func(x float64) (t, b float64) {
		h := arc(r, x-cx)
		return cy - h, cy + h
	})
}

// Triangle fills a triangle given by its corners in any order.
func (f *Frame) Triangle(x0, y0, x1, y1, x2, y2 float64, c Color) {
	xs, ys := [4]float64{x0, x1, x2, x0}, [4]float64{y0, y1, y2, y0}
	f.convex(min(x0, x1, x2), max(x0, x1, x2), x0, x0, c, func(x float64) (t, b float64) {
		t, b = math.Inf(1), math.Inf(-1)
		for i := range 3 {
			ax, bx := xs[i], xs[i+1]
			if x < min(ax, bx) || x > max(ax, bx) || ax == bx {
				continue
			}
			y := ys[i] + float64((x-ax)/(bx-ax)*(ys[i+1]-ys[i]))
			t, b = min(t, y), max(b, y)
		}
		return t, b
	})
}

// RoundRect fills [x0, x1] x [y0, y1] with corners rounded at radius r, cut
// down to half the shorter side.
func (f *Frame) RoundRect(x0, y0, x1, y1, r float64, c Color) {
	r = max(min(r, (x1-x0)/2, (y1-y0)/2), 0)
	f.convex(x0, x1, x0+r, x1-r, c, func(x float64) (t, b float64) {
		in := 0.0
		if d := max(x0+r-x, x-(x1-r)); d > 0 {
			in = r - arc(r, d)
		}
		return y0 + in, y1 - in
	})
}
