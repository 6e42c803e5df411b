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

// mostPieces is how many pieces the filled areas of scripts have together in a picture.
const mostPieces = 100_000

// crossings returns the sides of a polygon that go through each column between two cuts, from
// top to bottom, and how many there are. It returns none if there are more than most.
func crossings(xs, ys, cuts []float64, most int) (columns [][]edge, pieces int) {
	columns = make([][]edge, max(len(cuts)-1, 0))
	for i := range xs {
		k := (i + 1) % len(xs)
		a, b, ya, yb := math.Round(xs[i]), math.Round(xs[k]), ys[i], ys[k]
		if a > b {
			a, b, ya, yb = b, a, yb, ya
		}
		if a == b {
			continue
		}
		at := func(x float64) float64 { return ya + float64((x-a)/(b-a)*(yb-ya)) }
		first, _ := slices.BinarySearch(cuts, a)
		for c := first; c < len(columns) && cuts[c+1] <= b; c++ {
			if pieces++; pieces > most {
				return nil, 0
			}
			columns[c] = append(columns[c], edge{at(cuts[c]), at(cuts[c+1])})
		}
	}
	for _, c := range columns {
		slices.SortFunc(c, func(a, b edge) int { return cmp.Compare(a.y0+a.y1, b.y0+b.y1) })
	}
	return columns, pieces
}
