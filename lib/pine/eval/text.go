package eval

import (
	"strings"

	"candela/lib/pine/syntax"
)

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

// writer writes a text. It pays for what it writes and ends the run at the longest text.
type writer struct {
	m     *Machine
	at    syntax.Pos
	b     strings.Builder
	bytes int // written and not paid for
}

func (s *site) writer() *writer { return &writer{m: s.m, at: s.at} }

// write appends a text.
func (w *writer) write(s string) {
	if w.b.Len()+len(s) > maxText {
		w.m.tooLong(w.at)
	}
	if w.bytes += len(s); w.bytes >= bytesAStep {
		w.m.spend(w.at, w.bytes/bytesAStep)
		w.bytes %= bytesAStep
	}
	w.b.WriteString(s)
}

// text puts what was written on the heap.
func (w *writer) text() float64 { return w.m.heap.newText(w.b.String()) }
