package eval

import "candela/internal/analysis/pine/syntax"

// bytesAStep is how many bytes of text are written, compared or searched in the time of a step.
const bytesAStep = 32

// tooLong ends the run at a text that is longer than texts may be.
func (m *Machine) tooLong(at syntax.Pos) {
	m.fail(at, CodeMemory, "A string has more than %d characters.", maxText)
}

// joined is the text of a followed by that of b.
func (h *heap) joined(a, b float64) float64 {
	x, y := h.text(a), h.text(b)
	h.m.spend(h.m.place, (len(x)+len(y))/bytesAStep)
	if len(x)+len(y) > maxText {
		h.m.tooLong(h.m.place)
	}
	return h.newText(x + y)
}

// same reports whether two handles have the same text.
func (h *heap) same(a, b float64) bool {
	x, y := h.text(a), h.text(b)
	if len(x) != len(y) {
		return false
	}
	if len(x) >= bytesAStep {
		h.m.spend(h.m.place, len(x)/bytesAStep)
	}
	return x == y
}
