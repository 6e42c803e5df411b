package ta

import "math"

// Memory holds the columns of computations, so that the next ones can use it again. The
// zero value is ready, and nil allocates each column. Not safe for concurrent use.
type Memory struct {
	cells []float64
	used  int
}

// Reset takes back all columns. Results that were computed with them must not be used
// any more.
func (m *Memory) Reset() { m.used = 0 }

// take returns n cells of any content.
func (m *Memory) take(n int) []float64 {
	if m == nil {
		return make([]float64, n)
	}
	if len(m.cells)-m.used < n {
		// Columns in use keep the old block.
		m.cells, m.used = make([]float64, max(n, 2*len(m.cells))), 0
	}
	cells := m.cells[m.used : m.used+n : m.used+n]
	m.used += n
	return cells
}

// columns returns k columns of n NaNs.
func (m *Memory) columns(k, n int) [][]float64 {
	cells := m.take(k * n)
	setAll(cells, math.NaN())
	columns := make([][]float64, k)
	for c := range columns {
		columns[c] = cells[c*n : (c+1)*n : (c+1)*n]
	}
	return columns
}
