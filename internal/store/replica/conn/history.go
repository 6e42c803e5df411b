package conn

import "sync"

// OrderHistory is what a replica knows of the order stream, from its own writes and from other
// replicas' heartbeats. It is safe for concurrent use.
type OrderHistory struct {
	mu    sync.Mutex
	known OrderPosition
}

// OrderPosition is the part of it that heartbeats carry.
type OrderPosition struct {
	Stream string `json:"stream,omitempty"` // the ID of the stream, "" if unknown
	Last   uint64 `json:"last,omitempty"`   // the highest known sequence number
	// Mark is the sequence number of the last change sealed for its number, 0 for none,
	// and Name its change ID. No other message opens at that number.
	Mark uint64 `json:"mark,omitempty"`
	Name string `json:"name,omitempty"`
}

// Position returns the known position.
func (h *OrderHistory) Position() OrderPosition {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known
}

// Learn merges another replica's position. Positions of a stream other than the first known one
// are ignored.
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

// Wrote records a change by its ID and last sequence number.
func (h *OrderHistory) Wrote(id string, last uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(OrderPosition{Last: last, Mark: last, Name: id})
}

// add merges a position of the same stream. The caller holds mu.
func (h *OrderHistory) add(other OrderPosition) {
	h.known.Last = max(h.known.Last, other.Last)
	if other.Mark > h.known.Mark {
		h.known.Mark, h.known.Name = other.Mark, other.Name
	}
}
