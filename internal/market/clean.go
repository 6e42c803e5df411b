package market

import (
	"cmp"
	"math"
	"slices"
)

// Report lists what Clean found.
type Report struct {
	Duplicates int        // bars equal to another of the same open time, dropped
	Conflicts  []Conflict // bars that differ from another of the same open time, ascending
	Disorder   []int64    // open times that came after a later one, in the order found
}

// Conflict is an open time with two different bars.
type Conflict struct{ Kept, Dropped Bar }

// Clean returns b with one bar per open time, ascending, and a report of the changes. Of
// two bars that differ it keeps the one with more volume, because the volume of a forming
// bar only grows and the smaller is the older reading; at equal volume it keeps the later
// one. Missing bars stay missing.
//
// The result shares b's memory when there was nothing to do.
func Clean(b *Bars) (Bars, Report) {
	var r Report
	ascending := true
	latest := int64(math.MinInt64)
	for k, t := range b.T {
		ascending = ascending && (k == 0 || t > latest)
		if t < latest {
			r.Disorder = append(r.Disorder, t)
		}
		latest = max(latest, t)
	}
	if ascending {
		return b.Slice(0, b.Len()), r
	}
	order := make([]int, b.Len())
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(b.T[x], b.T[y]) })
	out := MakeBars(b.Len(), b.TakerBuy != nil)
	kept := b.At(order[0])
	for _, k := range order[1:] {
		bar := b.At(k)
		switch {
		case bar.T != kept.T:
			out.Append(kept)
			kept = bar
		case bar.Equal(kept):
			r.Duplicates++
		case bar.V >= kept.V:
			r.Conflicts = append(r.Conflicts, Conflict{Kept: bar, Dropped: kept})
			kept = bar
		default:
			r.Conflicts = append(r.Conflicts, Conflict{Kept: kept, Dropped: bar})
		}
	}
	out.Append(kept)
	return out, r
}
