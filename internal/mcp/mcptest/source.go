package mcptest

import (
	"context"
	"sync"

	"candela/internal/mcp"
)

// Source is an mcp.Streams that a test feeds. It has one stream at a time.
type Source struct {
	Opened chan Opening // receives each Open
	Err    error        // what Open returns

	mu        sync.Mutex
	waiting   []mcp.Event
	given     int // of those, what the last Take gave
	delivered int
	closed    int
	ready     chan struct{}
}

// Opening is how a stream was asked for.
type Opening struct {
	Caller mcp.Caller
	Last   string
}

// NewSource returns a source. Made inside a bubble it belongs to it.
func NewSource() *Source {
	return &Source{Opened: make(chan Opening, 8), ready: make(chan struct{}, 1)}
}

// Open returns the stream.
func (s *Source) Open(_ context.Context, caller mcp.Caller, last string) (mcp.Stream, error) {
	s.Opened <- Opening{caller, last}
	return s, s.Err
}

// Send hands an event on.
func (s *Source) Send(e mcp.Event) {
	s.mu.Lock()
	s.waiting = append(s.waiting, e)
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// TakeOver says that the caller's stream is somewhere else. Nothing can be sent from
// then on.
func (s *Source) TakeOver() { close(s.ready) }

// Counts returns how many events count as delivered, and how often a stream was
// closed.
func (s *Source) Counts() (delivered, closed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delivered, s.closed
}

// Ready delivers after Send.
func (s *Source) Ready() <-chan struct{} { return s.ready }

// Take gives what was sent.
func (s *Source) Take(dst []mcp.Event) []mcp.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delivered += s.given
	s.waiting = s.waiting[s.given:]
	s.given = len(s.waiting)
	return append(dst, s.waiting...)
}

// Close ends the stream.
func (s *Source) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = 0
	s.closed++
}
