package market

import (
	"fmt"
	"math"
)

// Aggregated is the result of Aggregate.
type Aggregated struct {
	Bars  Bars
	Holes // of the source, at the source's interval
	// Partial lists the indexes of bars built from fewer bars than their span has room
	// for, ascending: the first when the source starts inside it, the last when the
	// source ends before it, and any with a hole.
	Partial []int
}

// Aggregate builds bars of interval to from bars of interval from. Holes are
// reported and never filled: a bar with a hole is built from what is there and
// listed in Partial, and a bar with no source at all is absent. Bars off the
// calendar's grid are left out and listed, because counting them could count a
// trade twice. The taker-buy volume is NaN where any source bar's is.
//
// The source must pass Check, which Aggregate does not repeat: it returns an
// error only when from does not divide to or open times do not ascend.
func Aggregate(src *Bars, from, to Interval, c Calendar) (Aggregated, error) {
	if !from.Divides(to) {
		return Aggregated{}, fmt.Errorf("bars of %v cannot be built from bars of %v", to, from)
	}
	n := src.Len()
	if n == 0 {
		return Aggregated{}, nil
	}
	a := aggregator{src: src, cal: c, to: to, grid: newGrid(c, from)}
	room := min(int64(n), to.Most(max(0, src.T[n-1]-src.T[0]))+1)
	a.out.Bars = MakeBars(int(room), src.TakerBuy != nil)
	for i := 0; i < n; {
		t := src.T[i]
		if i > 0 && t <= src.T[i-1] {
			return Aggregated{}, disorder(src.T[i-1], t)
		}
		if (t != a.grid.want || !a.grid.started) && !a.grid.enter(t) {
			i++
			continue
		}
		if a.have == 0 || t >= a.span.Close {
			a.flush()
			a.span, _ = c.Bucket(to, t)
		}
		j := a.run(i)
		a.fold(i, j)
		i = j
	}
	a.flush()
	a.out.Holes = a.grid.holes
	return a.out, nil
}

// aggregator holds the bar being built. have is the number of source bars in it.
type aggregator struct {
	src  *Bars
	cal  Calendar
	to   Interval
	grid grid
	span Span
	bar  Bar
	have int
	out  Aggregated
}

// run returns the end of the stretch from i on in which bars are one step apart
// and belong to the current span.
func (a *aggregator) run(i int) int {
	end, step := min(a.grid.close, a.span.Close), a.grid.step
	want := a.src.T[i] + step
	j := i + 1
	for ; j < len(a.src.T) && a.src.T[j] == want && want < end; j++ {
		want += step
	}
	a.grid.advance(a.src.T[j-1])
	return j
}

// fold adds source bars [i, j), which is never empty, to the bar being built.
// One loop over all columns, so that the additions, each waiting for the one
// before it, overlap.
func (a *aggregator) fold(i, j int) {
	s := a.src
	if a.have == 0 {
		a.bar = Bar{T: a.span.Open, O: s.O[i], H: s.H[i], L: s.L[i]}
	}
	high, low, volume := a.bar.H, a.bar.L, a.bar.V
	highs := s.H[i:j]
	lows, volumes := s.L[i:j][:len(highs)], s.V[i:j][:len(highs)]
	for k, h := range highs {
		if h > high {
			high = h
		}
		if l := lows[k]; l < low {
			low = l
		}
		volume += volumes[k]
	}
	a.bar.H, a.bar.L, a.bar.C, a.bar.V = high, low, s.C[j-1], volume
	if s.TakerBuy != nil {
		for _, v := range s.TakerBuy[i:j] {
			a.bar.TakerBuy += v
		}
	}
	a.have += j - i
}

// flush appends the bar being built, if there is one.
func (a *aggregator) flush() {
	if a.have == 0 {
		return
	}
	if a.have < a.cal.Count(a.grid.iv, a.span) {
		a.out.Partial = append(a.out.Partial, a.out.Bars.Len())
	}
	bar := a.bar
	if a.src.TakerBuy == nil {
		bar.TakerBuy = math.NaN()
	}
	a.out.Bars.Append(bar)
	a.have = 0
}
