package sink

import (
	"sync/atomic"
	"time"
)

// tally counts the outcomes of notifications.
type tally struct {
	delivered, refused, failed, dropped atomic.Uint64
	waits                               atomic.Int64 // commit time of the notification being tried, unix nanoseconds; 0 for none
}

func (t *tally) settle(delivered bool) {
	t.waits.Store(0)
	if delivered {
		t.delivered.Add(1)
	} else {
		t.refused.Add(1)
	}
}

// Status describes a sink. The counters only grow.
type Status struct {
	Name      string
	Delivered uint64
	Refused   uint64    // permanently, by the receiver
	Failed    uint64    // attempts that are retried
	Dropped   uint64    // too old or too many
	Waits     time.Time // commit time of the notification being tried; zero for none
}

// Status returns the current status.
func (s *Sink) Status() Status {
	status := Status{
		Name: s.to.Name(), Delivered: s.tally.delivered.Load(), Refused: s.tally.refused.Load(),
		Failed: s.tally.failed.Load(), Dropped: s.tally.dropped.Load(),
	}
	if at := s.tally.waits.Load(); at != 0 {
		status.Waits = time.Unix(0, at)
	}
	return status
}
