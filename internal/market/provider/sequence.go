package provider

import "time"

// EventFilter turns what a venue sends, which may repeat itself, arrive late or out
// of order, into what a Streamer promises. It drops; it never holds back. The
// zero value is ready; one goroutine only.
type EventFilter struct{ last map[Sub]lastSent }

// lastSent is the last event let through of a subscription.
type lastSent struct {
	at              time.Time
	closed, forming int64 // open times
	hasClosed       bool
	hasForming      bool
}

// Allow reports whether the event may be sent after those admitted before. An
// event that is admitted gets a time no earlier than theirs.
func (s *EventFilter) Allow(e *Event) bool {
	if e.Kind == Ending || e.Kind == Alive {
		return true
	}
	t := s.last[e.Sub]
	switch e.Kind {
	case Closed:
		if t.hasClosed && e.Bar.T <= t.closed {
			return false
		}
		t.closed, t.hasClosed = e.Bar.T, true
	case Forming:
		if t.hasClosed && e.Bar.T <= t.closed || t.hasForming && e.Bar.T < t.forming {
			return false
		}
		if t.hasForming && e.Bar.T == t.forming && e.At.Before(t.at) {
			return false // an older state of the bar than the one sent
		}
		t.forming, t.hasForming = e.Bar.T, true
	default:
	}
	if e.At.Before(t.at) {
		e.At = t.at
	}
	t.at = e.At
	if s.last == nil {
		s.last = make(map[Sub]lastSent)
	}
	s.last[e.Sub] = t
	return true
}

// Forget lets a subscription start again.
func (s *EventFilter) Forget(sub Sub) { delete(s.last, sub) }
