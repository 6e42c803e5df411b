package eval

import (
	"math"
	"slices"

	"candela/lib/pine/check"
)

// rankRows are the functions that look at all values of a window on each bar.
func rankRows() functions {
	return functions{
		"ta.cog":                             built(ownWork, ranked(true, plainly(gravity))),
		"ta.median":                          built(ownWork, ranked(true, plainly(medianOf))),
		"ta.mode":                            built(ownWork, ranked(true, plainly(modeOf))),
		"ta.percentile_linear_interpolation": built(ownWork, ranked(false, func(w, a []float64) float64 { return interpolated(w, a[0]) })),
		"ta.percentile_nearest_rank":         built(ownWork, ranked(false, func(w, a []float64) float64 { return nearestRank(w, a[0]) })),
		"ta.percentrank":                     built(ownWork, percentRank),
		"ta.rci":                             built(ownWork, rankIndex),
	}
}

// plainly is a function over a window that takes no further arguments.
func plainly(of func(w []float64) float64) func(w, args []float64) float64 {
	return func(w, _ []float64) float64 { return of(w) }
}

func gravity(w []float64) float64 {
	sum, weighted := 0.0, 0.0
	for i, x := range w {
		sum += x
		weighted += float64(x * float64(len(w)-i))
	}
	return -weighted / sum
}

func rankIndex(c *compiler, call *check.Call) num {
	n, m := c.mustLength(call, 1), c.m
	rank := ranked(false, plainly(rankCorrelation))(c, call)
	return func() float64 {
		v := rank()
		if m.index < n {
			return math.NaN()
		}
		return v
	}
}

// ranked computes a function over the last n values; with skip over those that are not
// missing. On a missing value it is na. Further arguments are handed to the function.
func ranked(skip bool, of func(w, args []float64) float64) build {
	return func(c *compiler, call *check.Call) num {
		x := c.num(call.Args[0])
		var more []num
		for _, a := range call.Args[2:] {
			if a != nil {
				more = append(more, c.num(a))
			}
		}
		args := make([]float64, len(more))
		read := func() {
			for i, f := range more {
				args[i] = f()
			}
		}
		m, at := c.m, call.Where().From
		n, ok := c.length(call, 1)
		if !ok {
			return c.dynamic(call, x, c.num(call.Args[1]), true, func(w []float64) float64 {
				read()
				return of(w, args)
			})
		}
		s := c.m.slab.Recent(n)
		return func() float64 {
			v := x()
			if skip && v != v {
				return v
			}
			w := s.Step(v)
			read()
			if w == nil || v != v {
				return math.NaN()
			}
			m.spend(at, n)
			return of(w, args)
		}
	}
}

// sorted returns the values of a window that are not missing in order.
func sorted(w []float64) []float64 {
	out := make([]float64, 0, len(w))
	for _, x := range w {
		if x == x {
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return out
}

func medianOf(w []float64) float64 {
	s := sorted(w)
	if len(s) == 0 {
		return math.NaN()
	}
	if k := len(s) / 2; len(s)%2 == 0 {
		return (s[k-1] + s[k]) / 2
	}
	return s[len(s)/2]
}

// modeOf is the most frequent value, the smallest of several.
func modeOf(w []float64) float64 {
	best, most := math.NaN(), 0
	s := sorted(w)
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		if j-i > most {
			best, most = s[i], j-i
		}
		i = j
	}
	return best
}

// nearestRank counts missing values as the largest.
func nearestRank(w []float64, percent float64) float64 {
	s := sorted(w)
	rank := max(int(math.Ceil(float64(percent*float64(len(w)))/100)), 1)
	if rank > len(s) {
		return math.NaN()
	}
	return s[rank-1]
}

func interpolated(w []float64, percent float64) float64 {
	s := sorted(w)
	if len(s) == 0 || percent != percent {
		return math.NaN()
	}
	place := float64(float64(len(w))*percent)/100 + 0.5
	if whole := math.Round(place); math.Abs(place-whole) < 1e-9 {
		place = whole
	}
	low := math.Floor(place)
	at := func(rank float64) float64 {
		i := int(min(max(rank, 1), float64(len(w)))) - 1
		if i >= len(s) {
			return math.NaN()
		}
		return s[i]
	}
	if low == place {
		return at(place)
	}
	a, b := at(low), at(low+1)
	return a + float64((place-low)*(b-a))
}

// percentRank is the share of the n values before that are at or below the value.
func percentRank(c *compiler, call *check.Call) num {
	x := c.num(call.Args[0])
	n, ok := c.length(call, 1)
	if !ok {
		length := c.num(call.Args[1])
		return c.dynamic(call, x, func() float64 { return length() + 1 }, true, rankOfLast)
	}
	s, m, at := c.m.slab.Recent(n+1), c.m, call.Where().From
	return func() float64 {
		v := x()
		w := s.Step(v)
		if w == nil || v != v {
			return math.NaN()
		}
		m.spend(at, n)
		return rankOfLast(w)
	}
}

func rankOfLast(w []float64) float64 {
	last, count := w[len(w)-1], 0
	for _, v := range w[:len(w)-1] {
		if v-last <= tolerance {
			count++
		}
	}
	return float64(100*float64(count)) / float64(len(w)-1)
}

// rankCorrelation is Spearman's, of the values with their order in time, in percent. Equal
// values share the mean of their ranks.
func rankCorrelation(w []float64) float64 {
	n := len(w)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case w[a] < w[b]:
			return -1
		case w[a] > w[b]:
			return 1
		}
		return 0
	})
	ranks, times := make([]float64, n), make([]float64, n)
	for i := 0; i < n; {
		j := i
		for j < n && w[order[j]]-w[order[i]] < tolerance {
			j++
		}
		if j == i { // a missing value
			return math.NaN()
		}
		for k := i; k < j; k++ {
			ranks[order[k]] = float64(i+j-1) / 2
		}
		i = j
	}
	for i := range times {
		times[i] = float64(i)
	}
	return 100 * correlatePlain(ranks, times)
}

func correlatePlain(v, w []float64) float64 {
	mv, mw := meanOf(v), meanOf(w)
	products, squares, others := 0.0, 0.0, 0.0
	for i := range v {
		products += float64((v[i] - mv) * (w[i] - mw))
		squares += float64((v[i] - mv) * (v[i] - mv))
		others += float64((w[i] - mw) * (w[i] - mw))
	}
	if squares == 0 || others == 0 {
		return math.NaN()
	}
	return products / math.Sqrt(float64(squares*others))
}
