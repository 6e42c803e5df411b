package sink

import (
	"sync/atomic"
	"time"
)

// tally counts what became of notifications.
type tally struct {
	delivered, refused, failed, dropped atomic.Uint64
	waits                               atomic.Int64 // when the one came that is being tried, unix nanoseconds; 0 for none
}

func (t *tally) settle(delivered bool) {
	t.waits.Store(0)
	if delivered {
		t.delivered.Add(1)
	} else {
		t.refused.Add(1)
	}
}

// Status is what is known of a sink. The counters only grow.
type Status struct {
	Name      string
	Delivered uint64
	Refused   uint64    // by the receiver, for good
	Failed    uint64    // attempts, each of which is made again
	Dropped   uint64    // too old, or too many came after them
	Waits     time.Time // when the notification came that is being tried; zero for none
}

// Status returns what is known now.
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
