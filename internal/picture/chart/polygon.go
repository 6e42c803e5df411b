package chart

import (
	"cmp"
	"math"
	"slices"
)

// edge is the part of a polygon's side within a column: its heights at both ends.
type edge struct{ y0, y1 float64 }

// mostCuts bounds the columns that a polygon is filled by.
const mostCuts = 4096

// polygonCuts returns the whole pixels at which the sides of a polygon begin or end,
// within the pane.
func polygonCuts(xs []float64, left, right float64) []float64 {
	cuts := []float64{left, right}
	lowest, highest := slices.Min(xs), slices.Max(xs)
	for _, x := range xs {
		if x = math.Round(x); x > left && x < right {
			cuts = append(cuts, x)
		}
	}
	cuts[0], cuts[1] = max(left, math.Round(lowest)), min(right, math.Round(highest))
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	return cuts[:min(len(cuts), mostCuts)]
}

// crossings returns the sides of a polygon that go through the column from x0 to x1, from
// top to bottom.
func crossings(dst []edge, xs, ys []float64, x0, x1 float64) []edge {
	for i := range xs {
		k := (i + 1) % len(xs)
		a, b, ya, yb := math.Round(xs[i]), math.Round(xs[k]), ys[i], ys[k]
		if a > b {
			a, b, ya, yb = b, a, yb, ya
		}
		if a == b || a > x0 || b < x1 {
			continue
		}
		at := func(x float64) float64 { return ya + float64((x-a)/(b-a)*(yb-ya)) }
		dst = append(dst, edge{at(x0), at(x1)})
	}
	slices.SortFunc(dst, func(a, b edge) int { return cmp.Compare(a.y0+a.y1, b.y0+b.y1) })
	return dst
}
