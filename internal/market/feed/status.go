package feed

import "time"

// Status describes a feed. The counters only grow.
type Status struct {
	Venue         string
	Subscriptions int
	Connected     int       // stream groups with a connected stream
	StreamGroups  int       // 0 for a venue without streams
	Silent        int       // stream groups without any event for a minute
	Overdue       int       // subscriptions whose next bar is overdue
	LastEvent     time.Time // of all streams

	Streamed    uint64 // closed bars received from a stream
	Backfilled  uint64 // closed bars read over REST
	Duplicates  uint64 // events without new information
	Gaps        uint64 // closed bars received before a missing one
	Holes       uint64 // bars that the venue does not have
	OffGrid     uint64 // bars whose time does not fit their interval
	Replaced    uint64 // prices replaced by a newer one before there was room
	Streams     uint64 // streams opened
	StreamsLost uint64 // streams that ended unexpectedly
	Failed      uint64 // failed reads

	requests uint64
}

// Status returns the present status, at most a second old.
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
