package conn

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
		Forged: c.Seals.refusals.Read(), Calls: c.calls.Read(),
	}
}

// CountCall counts a call by its outcome.
func (c *Conn) CountCall(outcome string) { c.calls.Add(outcome) }
