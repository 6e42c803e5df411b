package cluster

import (
	"sync"
	"time"

	"candela/internal/fault"
)

// history is the stream of orders as a replica has known it, by its own writes or by
// the heartbeats of others. It is safe for concurrent use.
type history struct {
	mu    sync.Mutex
	known historyForm
}

// historyForm is what members tell each other of it.
type historyForm struct {
	Born time.Time `json:"born,omitzero"`  // when the stream was made, zero for not known
	Last uint64    `json:"last,omitempty"` // the highest number that is known
}

// now returns what is known.
func (h *history) now() historyForm {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known
}

// learn notes what another member knows. The first stream that is known stays the one.
func (h *history) learn(other historyForm) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known.Born.IsZero() {
		h.known = other
	}
	if h.known.Born.Equal(other.Born) {
		h.known.Last = max(h.known.Last, other.Last)
	}
}

// wrote notes the number of what was written last.
func (h *history) wrote(seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known.Last = max(h.known.Last, seq)
}

// goesOn refuses a stream of orders, made at a time and with a message that was just
// written, that does not go on where the one that is known was: orders were taken away,
// and with them perhaps that trading is halted.
func (h *history) goesOn(born time.Time, fence uint64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known.Born.IsZero() && (!h.known.Born.Equal(born) || fence <= h.known.Last) {
		return &fault.Error{
			Kind: fault.Unavailable, Code: "orders_lost",
			Message: "the NATS servers have lost orders that replicas knew, or somebody has put an older state back: nothing is traded. " +
				"Compare the account at the venue, then stop all replicas and start them anew",
		}
	}
	h.known.Born, h.known.Last = born, max(h.known.Last, fence)
	return nil
}
