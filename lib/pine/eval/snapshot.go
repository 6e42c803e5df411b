package eval

import (
	"errors"
	"hash/fnv"
	"math"

	"candela/lib/pine/check"
)

// errSnapshot is returned for a snapshot of another script or of other inputs.
var errSnapshot = errors.New("the snapshot does not belong to this script and its inputs")

// shape is a number that differs between scripts: the first word of a snapshot.
func (m *Machine) shape() float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(m.prog.Title))
	for _, n := range []int{m.prog.Version, m.keep.size(), len(m.rings), len(m.slab.Snapshot(nil)), m.heap.fixed, len(m.requests)} {
		_, _ = h.Write([]byte{byte(n & 0xFF), byte(n >> 8 & 0xFF), byte(n >> 16 & 0xFF)})
	}
	return float64(h.Sum64() >> 12)
}

// Snapshot appends the machine's memory to dst as numbers. A try is undone first.
func (m *Machine) Snapshot(dst []float64) []float64 {
	m.rewind()
	slab := m.slab.Snapshot(nil)
	dst = append(dst, m.shape(), float64(m.index), float64(m.spent), float64(len(slab)))
	dst = append(dst, slab...)
	dst = m.keep.save(dst)
	for _, r := range m.rings {
		dst = r.save(dst)
	}
	dst = m.heap.save(dst)
	for _, r := range m.requests {
		dst = r.save(dst)
	}
	return dst
}

// Restore brings a machine made by the same script and inputs back to a snapshot.
func (m *Machine) Restore(src []float64) error {
	rest, err := m.restore(src)
	if err != nil {
		m.failed = err
		return err
	}
	if len(rest) != 0 {
		m.failed = errSnapshot
		return errSnapshot
	}
	return nil
}

func (m *Machine) restore(src []float64) ([]float64, error) {
	m.rewind()
	if len(src) < 4 || src[0] != m.shape() {
		return nil, errSnapshot
	}
	m.index, m.spent = int(src[1]), int64(src[2])
	n := int(src[3])
	src = src[4:]
	if n < 0 || len(src) < n+m.keep.size() {
		return nil, errSnapshot
	}
	if err := m.slab.Restore(src[:n]); err != nil {
		return nil, errors.Join(errSnapshot, err)
	}
	src = m.keep.load(src[n:])
	for _, r := range m.rings {
		rest, ok := r.load(src)
		if !ok {
			return nil, errSnapshot
		}
		src = rest
	}
	src, ok := m.heap.load(src)
	if !ok {
		return nil, errSnapshot
	}
	for _, r := range m.requests {
		var err error
		if src, err = r.restore(src); err != nil {
			return nil, err
		}
	}
	m.failed = nil
	return src, nil
}

func (r *request) save(dst []float64) []float64 {
	dst = append(dst, toFloat(r.kept), float64(r.keptAt), toFloat(r.smoothed.began), r.smoothed.open, r.smoothed.close)
	for i := range r.latest {
		dst = append(dst, r.latest[i])
		dst = saveText(dst, r.strings[i])
	}
	return r.child.Snapshot(dst)
}

func (r *request) restore(src []float64) ([]float64, error) {
	if len(src) < 5 {
		return nil, errSnapshot
	}
	r.kept, r.keptAt = src[0] != 0, int64(src[1])
	if r.feed != nil {
		r.feed.kept, r.feed.rows = int(*r.feed.at), nil
		r.feed.store.cut(0)
	}
	r.smoothed.began, r.smoothed.open, r.smoothed.close = src[2] != 0, src[3], src[4]
	src = src[5:]
	for i := range r.latest {
		if len(src) < 1 {
			return nil, errSnapshot
		}
		r.latest[i] = src[0]
		var ok bool
		if r.strings[i], src, ok = loadText(src[1:]); !ok {
			return nil, errSnapshot
		}
	}
	return r.child.restore(src)
}

// saveText writes a string as its length and words of six bytes.
func saveText(dst []float64, s string) []float64 {
	dst = append(dst, float64(len(s)))
	for i := 0; i < len(s); i += 6 {
		word := uint64(0)
		for k := i; k < min(i+6, len(s)); k++ {
			word |= uint64(s[k]) << (8 * (k - i))
		}
		dst = append(dst, float64(word))
	}
	return dst
}

func loadText(src []float64) (string, []float64, bool) {
	if len(src) < 1 || !(src[0] >= 0) || src[0] > maxText {
		return "", nil, false
	}
	n := int(src[0])
	words := (n + 5) / 6
	if len(src) < 1+words {
		return "", nil, false
	}
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(uint64(src[1+i/6]) >> (8 * (i % 6)) & 0xFF)
	}
	return string(out), src[1+words:], true
}

// save writes the objects above the fixed ones. Types are written as the place in the list
// of those that the program knows, so that they can be found again.
func (h *heap) save(dst []float64) []float64 {
	dst = append(dst, float64(len(h.objects)-h.fixed), float64(h.size), float64(h.made), float64(h.bars))
	types := h.m.types
	for i := h.fixed; i < len(h.objects); i++ {
		o := &h.objects[i]
		if o.free {
			dst = append(dst, -1)
			continue
		}
		dst = append(dst, float64(o.kind), float64(o.rows), float64(o.cols), o.from, types.place(o.elem), types.place(o.key), types.object(o.fields))
		dst = saveList(saveList(saveText(dst, o.text), o.n), o.keys)
	}
	dst = append(dst, float64(len(h.unused)))
	for _, i := range h.unused {
		dst = append(dst, float64(i))
	}
	for _, list := range h.lists {
		dst = saveList(dst, list)
	}
	return dst
}

func saveList(dst, list []float64) []float64 {
	return append(append(dst, float64(len(list))), list...)
}

func loadList(src []float64) (list, rest []float64, ok bool) {
	if len(src) < 1 || !(src[0] >= 0) || src[0] > float64(len(src)-1) {
		return nil, nil, false
	}
	n := int(src[0])
	return append([]float64(nil), src[1:1+n]...), src[1+n:], true
}

func (h *heap) load(src []float64) ([]float64, bool) {
	if len(src) < 4 || !(src[0] >= 0) || src[0] > float64(len(src)) {
		return nil, false
	}
	n := int(src[0])
	h.resize(int(src[1]))
	h.made, h.bars = int(src[2]), int(src[3])
	src = src[4:]
	h.objects = h.objects[:h.fixed]
	for range n {
		var o object
		var ok bool
		if o, src, ok = h.loadObject(src); !ok {
			return nil, false
		}
		h.objects = append(h.objects, o)
	}
	list, src, ok := loadList(src)
	if !ok {
		return nil, false
	}
	h.unused = h.unused[:0]
	for _, x := range list {
		h.unused = append(h.unused, int(x))
	}
	for i := range h.lists {
		if h.lists[i], src, ok = loadList(src); !ok {
			return nil, false
		}
	}
	return src, h.sound()
}

func (h *heap) loadObject(src []float64) (o object, rest []float64, ok bool) {
	if len(src) > 0 && src[0] == -1 {
		return object{free: true}, src[1:], true
	}
	if len(src) < 7 {
		return o, nil, false
	}
	types := h.m.types
	o = object{kind: check.Kind(src[0]), rows: int(src[1]), cols: int(src[2]), from: src[3], elem: types.at(src[4]), key: types.at(src[5]), fields: types.objectAt(src[6])}
	if o.text, src, ok = loadText(src[7:]); !ok {
		return o, nil, false
	}
	if o.n, src, ok = loadList(src); !ok {
		return o, nil, false
	}
	if o.keys, src, ok = loadList(src); !ok {
		return o, nil, false
	}
	return o, src, true
}

// sound checks that every handle leads somewhere, and finds the keys of maps again.
func (h *heap) sound() bool {
	good := true
	see := func(x float64) { good = good && (math.IsNaN(x) || x >= 0 && int(x) < len(h.objects)) }
	for i := range h.objects {
		o := &h.objects[i]
		if o.kind == check.Object && (o.fields == nil || len(o.fields.Fields) != len(o.n)) {
			return false
		}
		h.references(o, see)
	}
	for _, list := range h.lists {
		for _, x := range list {
			see(x)
		}
	}
	if !good {
		return false
	}
	for i := h.fixed; i < len(h.objects); i++ {
		o := &h.objects[i]
		if o.kind != check.Map {
			continue
		}
		if o.key != nil && o.key.Kind == check.String {
			o.texts = make(map[string]int, len(o.keys))
		} else {
			o.numbers = make(map[float64]int, len(o.keys))
		}
		for k, key := range o.keys {
			h.index(o, key, k)
		}
	}
	return true
}
