package cluster

// WriteUnguarded switches compare-and-set off, for the tests that show what it does.
func (c *Conn) WriteUnguarded() { c.unguarded = true }
