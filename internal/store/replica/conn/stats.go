package conn

import "sync/atomic"

// Stats is what is known of a connection. The counters only grow.
type Stats struct {
	Connected  bool
	Server     string // the name of the connected server, "" for none
	Reconnects uint64
	// Conflicts counts changes for a revision that was not the latest.
	Conflicts uint64
	// Calls counts calls to shard owners by outcome: done, failed, refused (no replica
	// was ready) and unanswered (the outcome is unknown).
	Calls map[string]uint64
	// Forged counts messages that were ignored: row (not sealed by a replica), replay
	// (an older one of ours), call and answer.
	Forged map[string]uint64
}

// The outcomes of calls.
const (
	CallDone       = "done"
	CallFailed     = "failed"
	CallRefused    = "refused"
	CallUnanswered = "unanswered"
)

// Stats returns the present counters.
func (c *Conn) Stats() Stats {
	return Stats{
		Connected: c.nc.IsConnected(), Server: c.nc.ConnectedServerName(), Reconnects: c.nc.Stats().Reconnects, Conflicts: c.conflicts.Load(),
		Forged: c.Seals.refusals.values(), Calls: c.calls.values(),
	}
}

// CountCall counts a call by its outcome.
func (c *Conn) CountCall(outcome string) {
	if n := c.calls[outcome]; n != nil {
		n.Add(1)
	}
}

type counters map[string]*atomic.Uint64

func newCounters(kinds ...string) counters {
	c := make(counters, len(kinds))
	for _, kind := range kinds {
		c[kind] = new(atomic.Uint64)
	}
	return c
}

func (c counters) values() map[string]uint64 {
	values := make(map[string]uint64, len(c))
	for kind, n := range c {
		values[kind] = n.Load()
	}
	return values
}
