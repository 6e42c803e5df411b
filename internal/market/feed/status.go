package feed

import "time"

// Status is what is known of a feed. The counters only grow.
type Status struct {
	Venue         string
	Subscriptions int
	Connected     int       // lines whose stream is up
	Lines         int       // streams that there should be; 0 for a venue that is read by the clock
	Silent        int       // lines without any event for a minute
	Late          int       // subscriptions whose next bar is overdue
	Heard         time.Time // when the last event came over a stream

	Streamed uint64 // closed bars that came over a stream
	Filled   uint64 // closed bars that were read
	Repeated uint64 // events that told nothing new
	Gaps     uint64 // closed bars that came before one that was missing
	Holes    uint64 // times the venue had no bar where one should be
	OffGrid  uint64 // bars that are none of their interval
	Replaced uint64 // prices that a newer one overtook before there was room
	Streams  uint64 // streams opened
	Lost     uint64 // streams that ended unasked
	Failed   uint64 // reads that failed

	orders uint64
}

// Status returns what is known now, at most a second old.
func (f *Feed) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (l *loop) publish(now time.Time) {
	s := l.count
	s.Venue, s.Subscriptions, s.Lines = l.f.p.Name(), len(l.order), len(l.lines)
	for _, ln := range l.lines {
		if ln.active != nil && ln.active.live {
			s.Connected++
			if ln.active.heard.After(s.Heard) {
				s.Heard = ln.active.heard
			}
		}
		if ln.silent {
			s.Silent++
		}
	}
	for _, t := range l.order {
		if t.order.known && now.After(t.ends().Add(2*overdue)) {
			s.Late++
		}
	}
	l.f.mu.Lock()
	s.orders = l.f.status.orders
	l.f.status = s
	l.f.mu.Unlock()
}
