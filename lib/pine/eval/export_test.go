package eval

// Hoisted returns how many columns were computed ahead.
func (m *Machine) Hoisted() int { return len(m.hoisted) + len(m.columns) }
