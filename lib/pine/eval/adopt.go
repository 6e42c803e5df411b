package eval

import (
	"math"

	"candela/lib/pine/check"
)

// heldCopy is where a request keeps the copy that it made of a collection or an object: its handle, and the open of
// the longer bar that it is of. Both lie in the chart's machine, so that a try undoes them.
type heldCopy struct{ handle, of *float64 }

// holdCopy makes the place of a copy for a value that is a collection or an object. The child keeps what the value
// refers to between its bars.
func (c *compiler) holdCopy(child *Machine, out *float64, t *check.Type) heldCopy {
	if !t.Reference() {
		return heldCopy{}
	}
	h := heldCopy{handle: c.m.keep.add(math.NaN()), of: c.m.keep.add(math.NaN())}
	c.m.heap.roots = append(c.m.heap.roots, h.handle)
	child.heap.roots = append(child.heap.roots, out)
	return h
}

// latestCopy returns the copy of a value of the last longer bar that was kept. It is made once: scripts see the same
// object until the next longer bar.
func (r *request) latestCopy(h *heldCopy, value float64) float64 {
	if !r.kept || value != value {
		return math.NaN()
	}
	if *h.of != float64(r.keptAt) {
		r.child.rewind() // the objects are as they were after the bar
		*h.handle, *h.of = r.m.heap.adopt(&r.child.heap, value), float64(r.keptAt)
	}
	return *h.handle
}

// adopt copies an object of another heap with all that it refers to, and returns the handle of the copy.
func (h *heap) adopt(from *heap, handle float64) float64 {
	if handle != handle {
		return handle
	}
	copies := map[int]float64{}
	var made []float64 // copies whose references are still those of the other heap
	take := func(x float64) float64 {
		if x != x {
			return x
		}
		if at, ok := copies[int(x)]; ok {
			return at
		}
		o := &from.objects[int(x)]
		if o.kind >= check.Line && o.kind <= check.Polyline {
			h.m.fail(h.m.place, CodeRuntime, "A request cannot hand over drawings. Return their numbers, and draw outside of it.")
		}
		h.m.spend(h.m.place, o.copying())
		c := o.clone()
		c.live = false
		at := h.add(c)
		copies[int(x)] = at
		made = append(made, at)
		return at
	}
	root := take(handle)
	for len(made) > 0 {
		at := made[len(made)-1]
		made = made[:len(made)-1]
		h.refer(int(at), take)
	}
	return root
}

// refer replaces the handles that an object holds. It may add objects, which moves them.
func (h *heap) refer(at int, by func(float64) float64) {
	o := h.objects[at]
	switch o.kind { //nolint:exhaustive // the others hold no handles
	case check.Array, check.Matrix, check.Map:
		from := by(o.from)
		h.objects[at].from = from
		if isHandle(o.elem) {
			replace(o.n, by)
		}
		if isHandle(o.key) {
			replace(o.keys, by)
		}
	case check.Object:
		for i, f := range o.fields.Fields {
			if isHandle(f.Type) {
				o.n[i] = by(o.n[i])
			}
		}
	}
}

// cut removes the objects from the n-th on. Nothing may refer to them.
func (h *heap) cut(n int) {
	if len(h.objects) <= n {
		return
	}
	size := 0
	for i := range h.objects[:n] {
		size += h.objects[i].words()
	}
	clear(h.objects[n:])
	h.objects = h.objects[:n]
	h.resize(size)
}

func replace(handles []float64, by func(float64) float64) {
	for i, x := range handles {
		handles[i] = by(x)
	}
}
