package mcptest

import (
	"context"
	"sync"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
)

// Source is an notify.Streams that a test feeds. It has one stream at a time.
type Source struct {
	Opened chan Opening // receives each Open
	Err    error        // what Open returns

	mu        sync.Mutex
	waiting   []notify.Event
	given     int // of those, what the last Take gave
	delivered int
	closed    int
	taken     bool   // by another server
	elsewhere string // the session there
	ready     chan struct{}
}

// Opening is how a stream was asked for.
type Opening struct {
	Caller principal.Caller
	Last   string
}

// NewSource returns a source. Made inside a bubble it belongs to it.
func NewSource() *Source {
	return &Source{Opened: make(chan Opening, 8), ready: make(chan struct{}, 1)}
}

// Open returns the stream.
func (s *Source) Open(_ context.Context, caller principal.Caller, last string) (notify.Stream, error) {
	s.Opened <- Opening{caller, last}
	return s, s.Err
}

// Attached says what TakeOver has said.
func (s *Source) Attached(principal.Caller) (session string, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.elsewhere, s.taken
}

// Send hands an event on.
func (s *Source) Send(e notify.Event) {
	s.mu.Lock()
	s.waiting = append(s.waiting, e)
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// TakeOver says that the caller's stream is somewhere else, with a session. Nothing can be
// sent until Return.
func (s *Source) TakeOver(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.elsewhere, s.taken = session, true
	close(s.ready)
}

// Return says that the stream somewhere else has ended.
func (s *Source) Return() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken, s.ready = false, make(chan struct{}, 1)
}

// Counts returns how many events count as delivered, and how often a stream was
// closed.
func (s *Source) Counts() (delivered, closed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delivered, s.closed
}

// Ready delivers after Send.
func (s *Source) Ready() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

// Take gives what was sent.
func (s *Source) Take(dst []notify.Event) []notify.Event {
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
