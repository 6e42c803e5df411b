package cluster

// WriteUnguarded switches compare-and-set off, for the tests that show what it does.
func (c *Conn) WriteUnguarded() { c.unguarded = true }

// HoldBeats keeps a member from sending heartbeats until release is called, as a
// process that is stopped would.
func (m *Members) HoldBeats() (release func()) {
	m.beating.Lock()
	return m.beating.Unlock
}
