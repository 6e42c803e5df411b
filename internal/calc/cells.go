// Package calc holds the arithmetic under the indicators.
package calc

// Cells are numbers of a slab for a state that this package does not offer. They
// are zero at first.
type Cells struct {
	place
	n int
}

// Cells reserves n numbers.
func (s *Slab) Cells(n int) Cells { return Cells{place: s.reserve(n), n: n} }

// Mem returns the numbers. Do not keep it across calls: making another state of
// the slab may move them.
func (c Cells) Mem() []float64 { return c.mem(c.n) }
