package evaluate

import (
	"math"
	"slices"
	"sort"

	"candela/internal/alerting/alert"
	"candela/lib/market"
	"candela/lib/ta"
)

// Columns returns the values of every bar, with those of Last at each, to the last bit, and the
// signals if they are wanted. The indicator begins again every few hundred bars, as a chart does,
// so it is computed in spans of bars with the same beginning.
func (s *Evaluator) Columns(bars *market.Bars, signals bool) *alert.Columns {
	if s.history.Stable == 0 || !s.Streams() || signals && s.selection.Def.Orders {
		return s.stepped(bars)
	}
	n, lines := bars.Len(), s.selection.Def.Lines
	c := &alert.Columns{}
	for range lines {
		c.Values = append(c.Values, make([]float64, n))
	}
	var memory ta.Memory
	for i := 0; i < n; {
		from := s.begin(bars, i)
		to := i + 1 + sort.Search(n-i-1, func(k int) bool { return s.begin(bars, i+1+k) != from })
		seen := bars.Slice(from, to)
		// One bar more is shown than is new, for the row before.
		result := s.selection.Compute(ta.Input{Env: s.env, Bars: &seen, Shown: to - i + 1, Memory: &memory, NoSignals: !signals})
		// A chart's limits hold for all bars together, an alert's for each.
		if result.Drawn != nil && result.Drawn.Problem != nil || !s.add(c, result, i, from, to) {
			return s.stepped(bars)
		}
		for _, signal := range result.Signals {
			if signal.Confirmed >= i-from {
				c.Mark(signal.Label, from+signal.Confirmed, n)
			}
		}
		memory.Reset()
		i = to
	}
	return c
}

// add takes over the values of the bars [i, to) from a result that begins at a bar. It reports
// false if the result lacks a line: a stream has lines that the picture leaves out.
func (s *Evaluator) add(c *alert.Columns, result *ta.Result, i, from, to int) bool {
	before := make([]float64, len(c.Values))
	for j, label := range s.selection.Def.Lines {
		k := slices.IndexFunc(result.Lines, func(l ta.Line) bool { return l.Label == label })
		if k < 0 {
			return false
		}
		values := result.Lines[k].Values
		copy(c.Values[j][i:to], values[i-from:])
		if before[j] = math.NaN(); i > from {
			before[j] = values[i-from-1]
		}
	}
	c.Begin(i, before)
	return true
}

// begin returns where the computation of a bar begins.
func (s *Evaluator) begin(bars *market.Bars, i int) int {
	seen := bars.Slice(0, i+1)
	return s.history.Begin(&seen, false)
}

// stepped computes the values bar by bar.
func (s *Evaluator) stepped(bars *market.Bars) *alert.Columns {
	n := bars.Len()
	c := &alert.Columns{}
	for i := range n {
		seen := bars.Slice(0, i+1)
		row := s.Last(&seen)
		if s.inner != nil && s.inner.Err() != nil {
			break // Failed says why
		}
		for len(c.Values) < len(row.Values) {
			c.Values = append(c.Values, missing(n))
		}
		follows := i > 0
		for j, v := range row.Prev {
			follows = follows && math.Float64bits(v) == math.Float64bits(c.Values[j][i-1])
		}
		if !follows {
			c.Begin(i, slices.Clone(row.Prev))
		}
		for j, v := range row.Values {
			c.Values[j][i] = v
		}
		for _, signal := range row.Signals {
			c.Mark(signal.Label, i, n)
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
