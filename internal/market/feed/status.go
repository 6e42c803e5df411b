package feed

import "time"

// Status is what is known of a feed. The counters only grow.
type Status struct {
	Venue         string
	Subscriptions int
	Connected     int       // lines whose stream is up
	StreamGroups  int       // streams that there should be; 0 for a venue that is read by the clock
	Silent        int       // lines without any event for a minute
	Overdue       int       // subscriptions whose next bar is overdue
	LastEvent     time.Time // when the last event came over a stream

	Streamed    uint64 // closed bars that came over a stream
	Backfilled  uint64 // closed bars that were read
	Duplicates  uint64 // events that told nothing new
	Gaps        uint64 // closed bars that came before one that was missing
	Holes       uint64 // times the venue had no bar where one should be
	OffGrid     uint64 // bars that are none of their interval
	Replaced    uint64 // prices that a newer one overtook before there was room
	Streams     uint64 // streams opened
	StreamsLost uint64 // streams that ended unasked
	Failed      uint64 // reads that failed

	requests uint64
}

// Status returns what is known now, at most a second old.
func (f *Feed) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (l *loop) publish(now time.Time) {
	s := l.count
	s.Venue, s.Subscriptions, s.StreamGroups = l.f.p.Name(), len(l.order), len(l.groups)
	for _, ln := range l.groups {
		if ln.active != nil && ln.active.live {
			s.Connected++
			if ln.active.heard.After(s.LastEvent) {
				s.LastEvent = ln.active.heard
			}
		}
		if ln.silent {
			s.Silent++
		}
	}
	for _, t := range l.order {
		if t.request.hasCalendar && now.After(t.ends().Add(2*streamGrace)) {
			s.Overdue++
		}
	}
	l.f.mu.Lock()
	s.requests = l.f.status.requests
	l.f.status = s
	l.f.mu.Unlock()
}
