package eval

import (
	"maps"
	"math"
	"slices"

	"candela/lib/pine/check"
	"candela/lib/pine/syntax"
)

// object is one entry of the heap. What its parts mean depends on its kind.
type object struct {
	kind check.Kind
	// n holds an array's elements, a matrix's rows one after the other, a map's values, an
	// object's fields or a drawing's properties.
	n    []float64
	keys []float64 // a map's, in the order of insertion
	// places finds a map's pair; string keys are found by text.
	numbers map[float64]int
	texts   map[string]int
	pairs   int // the most pairs that it has had: a map keeps its memory

	text       string
	rows, cols int
	// from is the array that a slice shows, with its first element in rows and its length
	// in cols; NaN for other arrays.
	from float64

	elem, key *check.Type       // of collections
	fields    *check.ObjectType // of objects

	saved uint64 // the try that has a copy of it
	live  bool   // marked by the sweep
	free  bool
}

// heap holds everything that a value can refer to.
type heap struct {
	m       *Machine
	objects []object
	unused  []int // free entries
	fixed   int   // entries made while compiling; they are never swept

	lists [drawingKinds][]float64 // drawings in the order in which they were made

	try     uint64 // number of this try, 0 while a bar is kept
	tries   uint64
	mark    int // entries before the try
	undo    []undone
	kept    [drawingKinds][]float64
	keptBy  [drawingKinds]bool
	made    int // entries since the last sweep
	size    int // numbers and bytes in use, roughly
	roots   []*float64
	bars    int // kept since the last sweep
	scratch []float64
}

// undone is the copy of an object from before a try.
type undone struct {
	at  int
	old object
}

// The kinds of drawing that are listed.
const (
	lines = iota
	labels
	boxes
	tables
	linefills
	polylines
	drawingKinds
)

// isHandle reports whether values of the type refer to the heap.
func isHandle(t *check.Type) bool {
	return t != nil && (t.Kind == check.String || t.Kind == check.Option || t.Reference())
}

// add puts an object on the heap and returns its handle.
func (h *heap) add(o object) float64 {
	h.made++
	if len(h.objects)-len(h.unused) > maxObjects {
		h.m.fail(h.m.place, CodeMemory, "The script holds more than %d objects.", maxObjects)
	}
	h.grow(o.words())
	o.saved = h.try
	if n := len(h.unused); n > 0 && h.try == 0 {
		at := h.unused[n-1]
		h.unused = h.unused[:n-1]
		h.objects[at] = o
		return float64(at)
	}
	h.objects = append(h.objects, o)
	return float64(len(h.objects) - 1)
}

// grow counts numbers that the heap holds from now on.
func (h *heap) grow(words int) {
	h.m.make(h.m.place, 8*words)
	h.m.hold(h.m.place, 8*words)
	h.size += words
}

// grown counts what a collection holds more than before, when it had room for so many.
func (h *heap) grown(before int, now []float64) {
	if more := cap(now) - before; more > 0 {
		h.grow(more + more/8)
	}
}

// resize sets what the heap holds.
func (h *heap) resize(words int) {
	if words != h.size {
		h.m.meter.release(8 * int64(h.size-words))
		h.size = words
	}
}

// objectWords is what an entry of the heap holds besides its content, pairWords what a pair of
// a map does.
const (
	objectWords = 28
	pairWords   = 10
	mapWords    = 32 // of an empty map
)

// words is how many numbers an object holds, a byte of its text an eighth of one.
func (o *object) words() int {
	n := cap(o.n) + (len(o.text)+15)/8
	n += objectWords + n/8 // memory is given in pieces of certain sizes
	if o.kind == check.Map {
		n += mapWords + pairWords*max(o.pairs, len(o.keys))
	}
	return n
}

// copying is how many steps it takes to copy an object.
func (o *object) copying() int { return 1 + (len(o.n)+mapSteps*max(o.pairs, len(o.keys)))/wordsAStep }

// mapSteps is how many numbers are copied in the time in which a pair of a map is.
const mapSteps = 32

// maxObjects bounds the entries of the heap between two sweeps.
const maxObjects = 150_000

// text returns a string; that of na is empty.
func (h *heap) text(handle float64) string {
	if handle != handle {
		return ""
	}
	return h.objects[int(handle)].text
}

// newText puts a string on the heap. It must not be a part of another one, which would be
// held with it.
func (h *heap) newText(s string) float64 {
	if len(s) > maxText {
		h.m.tooLong(h.m.place)
	}
	return h.add(object{kind: check.String, text: s, from: math.NaN()})
}

// maxText is the longest string in bytes; maxElements the largest collection.
const (
	maxText     = 40_960
	maxElements = 100_000
)

// get returns the object of a handle to read it, and fails for na.
func (h *heap) get(at syntax.Pos, handle float64, what string) *object {
	if handle != handle {
		h.m.fail(at, CodeRuntime, "The %s is na. Create it before it is used.", what)
	}
	return &h.objects[int(handle)]
}

// change returns the object of a handle to change it. Within a try it is copied first.
func (h *heap) change(at syntax.Pos, handle float64, what string) *object {
	o := h.get(at, handle, what)
	if h.try != 0 && o.saved != h.try {
		h.m.spend(at, o.copying())
		h.grow(o.words())
		h.undo = append(h.undo, undone{at: int(handle), old: o.clone()})
		o.saved = h.try
	}
	return o
}

// clone copies an object with what it holds.
func (o *object) clone() object {
	c := *o
	c.n, c.keys = slices.Clone(o.n), slices.Clone(o.keys)
	c.numbers, c.texts = maps.Clone(o.numbers), maps.Clone(o.texts)
	return c
}

// begin starts a try.
func (h *heap) begin() {
	h.tries++
	h.try, h.mark = h.tries, len(h.objects)
	h.undo = h.undo[:0]
	h.keptBy = [drawingKinds]bool{}
}

// rewind undoes the try.
func (h *heap) rewind(size, made int) {
	for _, u := range slices.Backward(h.undo) {
		h.objects[u.at] = u.old
	}
	clear(h.undo)
	h.undo = h.undo[:0]
	clear(h.objects[h.mark:])
	h.objects = h.objects[:h.mark]
	for k := range h.lists {
		if h.keptBy[k] {
			h.lists[k] = append(h.lists[k][:0], h.kept[k]...)
		}
	}
	h.try, h.made = 0, made
	h.resize(size)
}

// list returns the drawings of a kind to change the list.
func (h *heap) list(kind int) *[]float64 {
	if h.try != 0 && !h.keptBy[kind] {
		h.keptBy[kind] = true
		h.kept[kind] = append(h.kept[kind][:0], h.lists[kind]...)
	}
	return &h.lists[kind]
}

// endBar counts a kept bar, and looks every 16 whether it is time to sweep.
func (h *heap) endBar() {
	if h.bars++; h.bars%16 == 0 || h.made > 20_000 {
		h.maySweep()
	}
}

// maySweep sweeps now and then, sooner where much was made or half of the memory is used.
func (h *heap) maySweep() {
	if h.bars >= 256 || h.made > 20_000 || 16*h.size > h.m.env.Limits.Memory {
		h.sweep()
	}
}

// sweep frees the objects that nothing refers to.
func (h *heap) sweep() {
	h.bars, h.made = 0, 0
	if len(h.objects) == h.fixed {
		return
	}
	h.m.meter.owed += int64(len(h.objects))/16 + int64(h.size)/wordsAStep
	for i := range h.objects {
		h.objects[i].live = i < h.fixed
	}
	for _, p := range h.roots {
		h.reach(*p)
	}
	for _, r := range h.m.rings {
		if r.handles {
			h.reach(r.held)
			for k := 1; k <= r.n; k++ {
				h.reach(r.back(k))
			}
		}
	}
	for _, list := range h.lists {
		for _, x := range list {
			h.reach(x)
		}
	}
	size := 0
	h.unused = h.unused[:0]
	for i := len(h.objects) - 1; i >= 0; i-- {
		o := &h.objects[i]
		if !o.live {
			*o = object{free: true}
			h.unused = append(h.unused, i)
			continue
		}
		size += o.words()
	}
	h.resize(size)
}

// reach marks an object and what it refers to.
func (h *heap) reach(handle float64) {
	if handle != handle {
		return
	}
	h.scratch = append(h.scratch[:0], handle)
	for len(h.scratch) > 0 {
		x := h.scratch[len(h.scratch)-1]
		h.scratch = h.scratch[:len(h.scratch)-1]
		if x != x || h.objects[int(x)].live {
			continue
		}
		o := &h.objects[int(x)]
		o.live = true
		h.references(o, func(y float64) { h.scratch = append(h.scratch, y) })
	}
}

// references visits every handle that an object holds.
func (h *heap) references(o *object, visit func(float64)) {
	switch o.kind {
	case check.Array, check.Matrix, check.Map:
		if o.from == o.from {
			visit(o.from)
		}
		if isHandle(o.elem) {
			for _, x := range o.n {
				visit(x)
			}
		}
		if isHandle(o.key) {
			for _, x := range o.keys {
				visit(x)
			}
		}
	case check.Object:
		for i, f := range o.fields.Fields {
			if isHandle(f.Type) {
				visit(o.n[i])
			}
		}
	case check.String:
	default:
		for i, x := range o.n {
			if drawingHandle(o.kind, i) {
				visit(x)
			}
		}
	}
}
