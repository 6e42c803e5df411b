package evaluate

import (
	"math"
	"slices"
	"sort"

	"candela/internal/alerting/alert"
	"candela/internal/analysis/indicator"
	"candela/internal/market"
)

// Columns returns the values of every bar, with those of Last at each, to the last bit. The
// indicator begins again every few hundred bars, as a chart does, so it is computed in spans of
// bars with the same beginning.
func (s *Evaluator) Columns(bars *market.Bars) *alert.Columns {
	if s.history.Stable == 0 || !s.Streams() {
		return s.stepped(bars)
	}
	n, lines := bars.Len(), s.selection.Def.Lines
	c := &alert.Columns{Signals: map[string][]bool{}}
	for range lines {
		c.Values, c.Prev = append(c.Values, missing(n)), append(c.Prev, missing(n))
	}
	for i := 0; i < n; {
		from := s.begin(bars, i)
		to := i + 1 + sort.Search(n-i-1, func(k int) bool { return s.begin(bars, i+1+k) != from })
		seen := bars.Slice(from, to)
		result := s.selection.Compute(indicator.Input{Env: s.env, Bars: &seen})
		for j, label := range lines {
			k := slices.IndexFunc(result.Lines, func(l indicator.Line) bool { return l.Label == label })
			if k < 0 { // a stream has lines that the picture leaves out
				return s.stepped(bars)
			}
			values := result.Lines[k].Values
			copy(c.Values[j][i:to], values[i-from:])
			first := max(i, from+1)
			copy(c.Prev[j][first:to], values[first-from-1:])
		}
		for _, signal := range result.Signals {
			if signal.Confirmed >= i-from {
				mark(c.Signals, signal.Label, from+signal.Confirmed, n)
			}
		}
		i = to
	}
	return c
}

// begin returns where the computation of a bar begins.
func (s *Evaluator) begin(bars *market.Bars, i int) int {
	seen := bars.Slice(0, i+1)
	return s.history.Begin(&seen, false)
}

// stepped computes the values bar by bar.
func (s *Evaluator) stepped(bars *market.Bars) *alert.Columns {
	n := bars.Len()
	c := &alert.Columns{Signals: map[string][]bool{}}
	for i := range n {
		seen := bars.Slice(0, i+1)
		row := s.Last(&seen)
		for len(c.Values) < len(row.Values) {
			c.Values, c.Prev = append(c.Values, missing(n)), append(c.Prev, missing(n))
		}
		for j, v := range row.Values {
			c.Values[j][i] = v
		}
		for j, v := range row.Prev {
			c.Prev[j][i] = v
		}
		for _, signal := range row.Signals {
			mark(c.Signals, signal.Label, i, n)
		}
	}
	return c
}

// missing returns n values that are none.
func missing(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	return out
}

func mark(to map[string][]bool, label string, at, n int) {
	if to[label] == nil {
		to[label] = make([]bool, n)
	}
	to[label][at] = true
}
