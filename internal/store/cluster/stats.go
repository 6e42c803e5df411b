package cluster

import (
	"errors"
	"sync/atomic"

	"candela/internal/kit/fault"
)

// Stats is what is known of a connection. The counters only grow.
type Stats struct {
	Connected  bool
	Server     string // whom it is connected with, "" for nobody
	Reconnects uint64
	// Refused is how many changes were for a revision that was not the last: somebody
	// else was first, or the servers could not tell.
	Refused uint64
	// Calls is what became of calls to owners, by outcome: done, failed, refused (nobody
	// was ready) and unanswered (nobody knows).
	Calls map[string]uint64
	// Forged is how much of what the servers hold and carry was not ours and was passed
	// over: row (not sealed by us), replay (an older one of ours), call and answer.
	Forged map[string]uint64
}

// tallies counts what happens on a connection.
type tallies struct {
	moved                            atomic.Uint64
	done, failed, nobody, unanswered atomic.Uint64 // calls
}

// call counts what became of a call.
func (t *tallies) call(err error) {
	switch {
	case err == nil:
		t.done.Add(1)
	case errors.Is(err, ErrUnanswered):
		t.unanswered.Add(1)
	case errors.Is(err, ErrNotOwner) && fault.KindOf(err) == fault.Unavailable:
		t.nobody.Add(1)
	default:
		t.failed.Add(1)
	}
}

// Stats returns what is known now.
func (c *Conn) Stats() Stats {
	return Stats{
		Connected: c.nc.IsConnected(), Server: c.nc.ConnectedServerName(), Reconnects: c.nc.Stats().Reconnects, Refused: c.tallies.moved.Load(),
		Forged: c.trust.counts(),
		Calls: map[string]uint64{
			"done": c.tallies.done.Load(), "failed": c.tallies.failed.Load(),
			"refused": c.tallies.nobody.Load(), "unanswered": c.tallies.unanswered.Load(),
		},
	}
}
