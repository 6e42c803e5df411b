package ta

import (
	"slices"

	"candela/lib/market"
)

// Output is a value that an indicator has at every bar.
type Output struct {
	Label  string // of its line or histogram
	Column int    // in Row.Values
}

// Outputs returns the values that a condition can be about. Those of an indicator without a
// stream are its lines in the order of definition, and Column is the place in that order.
// A line that shows the values of other bars, such as one shifted back, is none.
func (s *Selection) Outputs() []Output {
	if inst, ok := s.Instance.(*series); ok {
		return inst.outputs()
	}
	all := make([]Output, len(s.Def.Lines))
	for i, label := range s.Def.Lines {
		all[i] = Output{label, i}
	}
	return all
}

// outputs finds the column that each line and histogram shows: it shares its memory, and
// the values are where they were.
func (s *series) outputs() []Output {
	const n = 64
	var m *Memory
	columns := m.columns(s.columns, n)
	for c := range columns {
		for i := range columns[c] {
			columns[c][i] = float64(1 + c*n + i)
		}
	}
	r := &Result{}
	for i, line := range s.lines {
		line.Values = columns[i]
		r.Lines = append(r.Lines, line)
	}
	if s.present != nil {
		s.present(r, columns)
	}
	count := make(map[string]int)
	for _, line := range r.Lines {
		count[line.Label]++
	}
	for _, h := range r.Hist {
		count[h.Label]++
	}
	var all []Output
	add := func(label string, values []float64) {
		c := slices.IndexFunc(columns, func(column []float64) bool { return len(values) == n && &values[0] == &column[0] })
		if c >= 0 && count[label] == 1 && values[0] == float64(1+c*n) && values[n-1] == float64(c*n+n) {
			all = append(all, Output{label, c})
		}
	}
	for _, line := range r.Lines {
		add(line.Label, line.Values)
	}
	for _, h := range r.Hist {
		add(h.Label, h.Values)
	}
	return all
}

// Price returns a price of a bar by the name that parameters have for it, such as hl2; the
// close for any other name.
func Price(name string) func(market.Bar) float64 { return sourceOf(name) }
