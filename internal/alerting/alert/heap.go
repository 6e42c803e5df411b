package alert

// entry is an alert in a heap, which is ordered by ascending key.
type entry struct {
	key  float64
	slot uint32
}

// noSlot is the position of an alert outside a heap, and the end of a list.
const noSlot = ^uint32(0)

// toUint32 converts n to the width of slots and positions.
func toUint32(n int) uint32 {
	return uint32(n) //nolint:gosec // four billion alerts need more memory than there is
}

// heap is a binary heap that stores the position of each entry in its record, so that any
// entry can be removed.
type heap struct {
	first    float64 // the key of the first entry: most ticks compare nothing else
	entries  []entry
	position func(slot uint32) *uint32 // the stored position of an alert
}

// reached reports whether an entry has a key of at most limit; for NaN it is false.
func (h *heap) reached(limit float64) bool {
	return h.first <= limit && len(h.entries) > 0
}

func (h *heap) push(key float64, slot uint32) {
	h.entries = append(h.entries, entry{})
	h.up(len(h.entries)-1, entry{key, slot})
}

// remove removes the entry at position i.
func (h *heap) remove(i uint32) {
	*h.position(h.entries[i].slot) = noSlot
	last := len(h.entries) - 1
	moved := h.entries[last]
	h.entries = h.entries[:last]
	switch at := int(i); {
	case at == last:
	case at > 0 && moved.key < h.entries[(at-1)/2].key:
		h.up(at, moved)
	default:
		h.down(at, moved)
	}
	// Release half of the memory once three quarters are free.
	if c := cap(h.entries); c > 64 && last < c/4 {
		h.entries = append(make([]entry, 0, c/2), h.entries...)
	}
}

// up places e at position i or above.
func (h *heap) up(i int, e entry) {
	for i > 0 {
		parent := (i - 1) / 2
		if h.entries[parent].key <= e.key {
			break
		}
		h.set(i, h.entries[parent])
		i = parent
	}
	h.set(i, e)
}

// down places e at position i or below.
func (h *heap) down(i int, e entry) {
	for {
		child := 2*i + 1
		if child >= len(h.entries) {
			break
		}
		if right := child + 1; right < len(h.entries) && h.entries[right].key < h.entries[child].key {
			child = right
		}
		if e.key <= h.entries[child].key {
			break
		}
		h.set(i, h.entries[child])
		i = child
	}
	h.set(i, e)
}

func (h *heap) set(i int, e entry) {
	if h.entries[i] = e; i == 0 {
		h.first = e.key
	}
	*h.position(e.slot) = toUint32(i)
}
