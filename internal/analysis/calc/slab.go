package calc

import "fmt"

// Slab is the memory of one stream: every state made from it keeps all that
// changes in one run of numbers, so that taking, restoring and storing a
// snapshot is one copy. Make all states first, then step them.
//
// A state holds its place in the slab, not a piece of it, hence the slab may
// grow while states are being made. The zero value is ready. One goroutine only.
type Slab struct {
	mem   []float64
	spare []float64
}

// NewSlab returns an empty slab.
func NewSlab() *Slab { return &Slab{} }

// Len returns how many numbers a snapshot has.
func (s *Slab) Len() int { return len(s.mem) }

// Snapshot copies the memory of every state into dst, growing it if needed, and
// returns the copy. A nil dst allocates.
func (s *Slab) Snapshot(dst []float64) []float64 { return append(dst[:0], s.mem...) }

// Restore brings every state back to a snapshot of this slab or of one built by
// the same calls. A snapshot of another length is refused and changes nothing.
func (s *Slab) Restore(src []float64) error {
	if len(src) != len(s.mem) {
		return fmt.Errorf("snapshot has %d numbers, the states need %d", len(src), len(s.mem))
	}
	copy(s.mem, src)
	return nil
}

// Reset brings every state back to its beginning.
func (s *Slab) Reset() { clear(s.mem) }

// Peek runs step and then undoes what it did to the states, so that the value of
// a bar that is still forming can be read without closing it. Only the first
// call on a slab allocates. Calls do not nest.
func (s *Slab) Peek(step func()) {
	s.spare = append(s.spare[:0], s.mem...)
	step()
	copy(s.mem, s.spare)
}

// place is where a state's memory begins in its slab.
type place struct {
	slab *Slab
	at   int
}

// reserve gives a state size numbers, all zero: a state of zeros is a state that
// has seen nothing.
func (s *Slab) reserve(size int) place {
	at := len(s.mem)
	s.mem = append(s.mem, make([]float64, size)...)
	return place{slab: s, at: at}
}

// mem returns the state's memory. It must not be kept across calls: making
// another state may move it.
func (p place) mem(size int) []float64 { return p.slab.mem[p.at : p.at+size : p.at+size] }

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
