package eval

// nodesAStep is how many expressions are computed in the time of a step.
const nodesAStep = 64

// nodeBytes is what the closures of an expression and its values hold.
const nodeBytes = 128

// node counts an expression or statement that is compiled, and the memory of the windows that
// the one before it has made. A kernel is held twice: a try copies it.
func (c *compiler) node() {
	c.nodes++
	bytes := nodeBytes
	if n := c.m.slab.Size(); n != c.slabbed {
		bytes += 16 * (n - c.slabbed)
		c.slabbed = n
	}
	c.m.hold(c.m.place, bytes)
	c.m.owe(c.m.place, 1)
}

// weight returns how many steps the expressions compiled since before take each time they
// run. They are then no part of what is compiled around them.
func (c *compiler) weight(before int) int64 {
	n := c.nodes - before
	c.nodes = before + 1
	return 1 + int64(n)/nodesAStep
}

// beginCompile gives a machine the steps for what is computed before the first bar.
func (m *Machine) beginCompile() {
	m.give(max(m.env.Limits.BarSteps, m.env.Limits.TotalSteps))
}
