package porttest

// Outside is the range to choose from, for tests.
func Outside(own string) (first, end int) { return outside(own) }
