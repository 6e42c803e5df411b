package conn

import "sync"

// OrderHistory is the stream of orders as a replica has known it, by its own writes or by
// the heartbeats of others. It is safe for concurrent use.
type OrderHistory struct {
	mu    sync.Mutex
	known OrderPosition
}

// OrderPosition is what members tell each other of it.
type OrderPosition struct {
	Stream string `json:"stream,omitempty"` // the id of the stream, "" for not known
	Last   uint64 `json:"last,omitempty"`   // the highest number that is known
	// Mark is the number of the last change that was sealed for its number, 0 for none,
	// and Name the name of that change. Only the message itself opens there.
	Mark uint64 `json:"mark,omitempty"`
	Name string `json:"name,omitempty"`
}

// Position returns what is known.
func (h *OrderHistory) Position() OrderPosition {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known
}

// Learn notes what another member knows. The first stream that is known stays the one.
func (h *OrderHistory) Learn(other OrderPosition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known.Stream == "" {
		h.known = other
	}
	if h.known.Stream == other.Stream {
		h.add(other)
	}
}

// Wrote notes a change of the stream that is known: its name and its last number.
func (h *OrderHistory) Wrote(name string, last uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(OrderPosition{Last: last, Mark: last, Name: name})
}

// add notes what is known of the same stream. The caller has locked.
func (h *OrderHistory) add(other OrderPosition) {
	h.known.Last = max(h.known.Last, other.Last)
	if other.Mark > h.known.Mark {
		h.known.Mark, h.known.Name = other.Mark, other.Name
	}
}
