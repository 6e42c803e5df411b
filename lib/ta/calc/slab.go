package calc

import "fmt"

// Slab is the memory of one stream. All its states keep their mutable values in one
// slice, so that a snapshot is one copy. Make all states first, then step them.
//
// A state holds an offset into the slab, so the slab may grow while states are
// made. The zero value is ready to use. Not safe for concurrent use.
type Slab struct {
	mem   []float64
	spare []float64
}

// NewSlab returns an empty slab.
func NewSlab() *Slab { return &Slab{} }

// Size returns how many numbers the states hold.
func (s *Slab) Size() int { return len(s.mem) }

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

// Clear brings every state back to the one before its first bar.
func (s *Slab) Clear() { clear(s.mem) }

// Peek runs step and then restores the states, to compute the value of a forming
// bar. Only the first call on a slab allocates. Calls do not nest.
func (s *Slab) Peek(step func()) {
	s.spare = append(s.spare[:0], s.mem...)
	step()
	copy(s.mem, s.spare)
}

// region is where a state's memory begins in its slab.
type region struct {
	slab *Slab
	at   int
}

// reserve allocates size zeros, the state before the first bar.
func (s *Slab) reserve(size int) region {
	at := len(s.mem)
	s.mem = append(s.mem, make([]float64, size)...)
	return region{slab: s, at: at}
}

// mem returns the state's memory. It must not be kept across calls: making
// another state may move it.
func (p region) mem(size int) []float64 { return p.slab.mem[p.at : p.at+size : p.at+size] }

// Cells are numbers of a slab for a caller's own state, initially zero.
type Cells struct {
	region
	n int
}

// Cells reserves n numbers.
func (s *Slab) Cells(n int) Cells { return Cells{region: s.reserve(n), n: n} }

// Mem returns the numbers. Do not keep it across calls: making another state of
// the slab may move them.
func (c Cells) Mem() []float64 { return c.mem(c.n) }
