package calc

// CrossUp reports whether a rises above b at bar i: above now and not above at
// the bar before. It is false at bar 0 and where a value is missing.
func CrossUp(a, b []float64, i int) bool {
	return i > 0 && crossUp(a[i-1], b[i-1], a[i], b[i])
}

// CrossDown reports whether a falls below b at bar i: below now and not below at
// the bar before. It is false at bar 0 and where a value is missing.
func CrossDown(a, b []float64, i int) bool {
	return i > 0 && crossUp(b[i-1], a[i-1], b[i], a[i])
}

func crossUp(a0, b0, a1, b1 float64) bool { return a1 > b1 && a0 <= b0 }

// CrossState is the state of a crossing: the last two values, and whether there
// were any.
type CrossState struct{ region }

// Cross makes the state of a crossing of two series.
func (s *Slab) Cross() CrossState { return CrossState{s.reserve(3)} }

// Step takes both values of the bar and reports whether a crossed b, upwards or
// downwards, by the rules of CrossUp and CrossDown.
func (c *CrossState) Step(a, b float64) (up, down bool) {
	m := c.mem(3)
	if m[2] != 0 {
		up, down = crossUp(m[0], m[1], a, b), crossUp(m[1], m[0], b, a)
	}
	m[0], m[1], m[2] = a, b, 1
	return up, down
}
