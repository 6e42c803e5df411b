package eval

import (
	"math"
	"slices"
	"strings"

	"candela/lib/pine/check"
)

// newArray puts an array on the heap.
func (h *heap) newArray(elem *check.Type, values []float64) float64 {
	if len(values) > maxElements {
		h.m.fail(h.m.place, CodeMemory, "An array has more than %d elements.", maxElements)
	}
	return h.add(object{kind: check.Array, n: values, elem: elem, from: math.NaN()})
}

// elements returns an array's values to read them.
func (h *heap) elements(handle float64) []float64 {
	o := &h.objects[int(handle)]
	if o.from != o.from {
		return o.n
	}
	below := h.elements(o.from)
	first := min(o.rows, len(below))
	return below[first:min(first+o.cols, len(below))]
}

// length returns an array's size.
func (h *heap) length(handle float64) int { return len(h.elements(handle)) }

// array returns the values of an array argument to read them.
func (s *site) array(x float64) []float64 {
	s.h.get(s.at, x, "array")
	return s.h.elements(x)
}

// writable returns the values of an array argument to change them in place.
func (s *site) writable(x float64) []float64 {
	o := s.h.change(s.at, x, "array")
	if o.from == o.from {
		s.writable(o.from)
	}
	return s.h.elements(x)
}

// splice replaces the elements from i to j by values. A slice changes the array it shows.
func (s *site) splice(x float64, i, j int, values ...float64) {
	o := s.h.change(s.at, x, "array")
	if o.from == o.from {
		first := o.rows
		o.cols += len(values) - (j - i)
		s.splice(o.from, first+i, first+j, values...)
		return
	}
	if len(o.n)+len(values) > maxElements {
		s.m.fail(s.at, CodeMemory, "An array has more than %d elements.", maxElements)
	}
	s.pay((len(o.n) - i + len(values)) / movedAStep)
	before := cap(o.n)
	o.n = slices.Replace(o.n, i, j, values...)
	s.h.grown(before, o.n)
}

// place checks an index. In version 6 a negative one counts from the end.
func (s *site) place(x float64, size int) int {
	i := whole(x)
	if x != x {
		s.fail("The index is na.")
	}
	if i < 0 && s.c.version >= 6 {
		i += size
	}
	if i < 0 || i >= size {
		s.fail("The index %d is outside the array, which has %d elements.", whole(x), size)
	}
	return i
}

// elemOf returns the type of the elements of a new array.
func (s *site) elemOf() *check.Type {
	if t := s.call.Type(); t != nil && t.Elem != nil {
		return t.Elem
	}
	if len(s.call.Elems) > 0 {
		return s.call.Elems[0]
	}
	return s.h.m.types.plain(check.Float)
}

// arrayRows are the functions that read and change arrays.
func arrayRows() functions {
	return functions{
		"array.binary_search":           priced(elements(1, 0), searched(exactly)),
		"array.binary_search_leftmost":  priced(elements(1, 0), searched(leftmost)),
		"array.binary_search_rightmost": priced(elements(1, 0), searched(rightmost)),
		"array.clear":                   priced(flat(1), arrayClear),
		"array.concat":                  priced(elements(1, 1), arrayConcat),
		"array.copy":                    priced(elements(1, 0), arrayCopy),
		"array.fill":                    priced(flat(1), arrayFill),
		"array.first":                   priced(flat(1), func(s *site, a []float64) float64 { return s.nonEmpty(a[0])[0] }),
		"array.from":                    priced(flat(1), func(s *site, a []float64) float64 { return s.h.newArray(s.elemOf(), slices.Clone(a)) }),
		"array.get":                     priced(flat(1), arrayGet).directly(arrayGetDirect),
		"array.includes":                priced(elements(1, 0), func(s *site, a []float64) float64 { return toFloat(s.find(a, false) >= 0) }),
		"array.indexof":                 priced(elements(1, 0), func(s *site, a []float64) float64 { return s.find(a, false) }),
		"array.insert":                  priced(flat(1), arrayInsert),
		"array.join":                    priced(flat(1), arrayJoin),
		"array.last":                    priced(flat(1), arrayLast),
		"array.lastindexof":             priced(elements(1, 0), func(s *site, a []float64) float64 { return s.find(a, true) }),
		"array.new":                     priced(flat(1), arrayNew),
		"array.new_bool":                priced(flat(1), arrayNew),
		"array.new_box":                 priced(flat(1), arrayNew),
		"array.new_color":               priced(flat(1), arrayNew),
		"array.new_float":               priced(flat(1), arrayNew),
		"array.new_int":                 priced(flat(1), arrayNew),
		"array.new_label":               priced(flat(1), arrayNew),
		"array.new_line":                priced(flat(1), arrayNew),
		"array.new_linefill":            priced(flat(1), arrayNew),
		"array.new_string":              priced(flat(1), arrayNew),
		"array.new_table":               priced(flat(1), arrayNew),
		"array.pop":                     priced(flat(1), func(s *site, a []float64) float64 { return s.take(a[0], len(s.nonEmpty(a[0]))-1) }),
		"array.push":                    priced(flat(1), arrayPush),
		"array.remove":                  priced(flat(1), func(s *site, a []float64) float64 { return s.take(a[0], s.place(a[1], len(s.array(a[0])))) }),
		"array.reverse":                 priced(elements(1, 0), arrayReverse),
		"array.set":                     priced(flat(1), arraySet).directly(arraySetDirect),
		"array.shift":                   priced(flat(1), arrayShift),
		"array.size":                    priced(flat(1), func(s *site, a []float64) float64 { return float64(len(s.array(a[0]))) }).directly(arraySizeDirect),
		"array.slice":                   priced(flat(1), arraySlice),
		"array.sort":                    priced(ordered(), arraySort),
		"array.sort_indices":            priced(ordered(), sortIndices),
		"array.unshift":                 priced(flat(1), arrayUnshift),
	}
}

// arrayGet reads an element. There is none at an index that is na.
func arrayGet(s *site, a []float64) float64 {
	v := s.array(a[0])
	if a[1] != a[1] {
		if s.c.version >= 6 && s.call.Type().Kind == check.Bool {
			return 0
		}
		return math.NaN()
	}
	return v[s.place(a[1], len(v))]
}

func arraySet(s *site, a []float64) float64 {
	v := s.writable(a[0])
	v[s.place(a[1], len(v))] = a[2]
	return math.NaN()
}

func arrayPush(s *site, a []float64) float64 {
	n := len(s.array(a[0]))
	s.splice(a[0], n, n, a[1])
	return math.NaN()
}

func arrayUnshift(s *site, a []float64) float64 {
	s.splice(a[0], 0, 0, a[1])
	return math.NaN()
}

func arrayInsert(s *site, a []float64) float64 {
	n := len(s.array(a[0]))
	i := whole(a[1])
	if i != n {
		i = s.place(a[1], n)
	}
	s.splice(a[0], i, i, a[2])
	return math.NaN()
}

func arrayClear(s *site, a []float64) float64 {
	s.splice(a[0], 0, len(s.array(a[0])))
	return math.NaN()
}

// take removes element i and returns it.
func (s *site) take(x float64, i int) float64 {
	value := s.array(x)[i]
	s.splice(x, i, i+1)
	return value
}

func arrayShift(s *site, a []float64) float64 {
	s.nonEmpty(a[0])
	return s.take(a[0], 0)
}

func arrayLast(s *site, a []float64) float64 {
	v := s.nonEmpty(a[0])
	return v[len(v)-1]
}

// nonEmpty returns the values of an array argument that has at least one.
func (s *site) nonEmpty(x float64) []float64 {
	v := s.array(x)
	if len(v) == 0 {
		s.fail("The array is empty.")
	}
	return v
}

func arrayNew(s *site, a []float64) float64 {
	size, initial := 0, math.NaN()
	if s.given(0) && a[0] == a[0] {
		size = whole(a[0])
	}
	if s.given(1) {
		initial = a[1]
	} else if s.elemOf().Kind == check.Bool && s.c.version >= 6 {
		initial = 0
	}
	if size < 0 || size > maxElements {
		s.m.fail(s.at, CodeMemory, "An array has from 0 to %d elements (got %d).", maxElements, size)
	}
	s.pay(size)
	values := make([]float64, size, max(size, 4))
	for i := range values {
		values[i] = initial
	}
	return s.h.newArray(s.elemOf(), values)
}

// maxDepthOfSlices bounds slices of slices: each reads through all below it.
const maxDepthOfSlices = 64

// checkDepth refuses a slice of an array that is a slice of too many others.
func (s *site) checkDepth(x float64) {
	for range maxDepthOfSlices {
		if x = s.h.objects[int(x)].from; x != x {
			return
		}
	}
	s.m.fail(s.at, CodeMemory, "A slice shows more than %d slices of slices.", maxDepthOfSlices)
}

func arrayCopy(s *site, a []float64) float64 {
	v := s.array(a[0])
	return s.h.newArray(s.h.objects[int(a[0])].elem, slices.Clone(v))
}

func arrayConcat(s *site, a []float64) float64 {
	n, more := len(s.array(a[0])), slices.Clone(s.array(a[1]))
	s.splice(a[0], n, n, more...)
	return a[0]
}

func arraySlice(s *site, a []float64) float64 {
	n := len(s.array(a[0]))
	from, to := whole(a[1]), whole(a[2])
	if from < 0 || to < from || to > n {
		s.fail("The part from %d to %d is outside the array, which has %d elements.", from, to, n)
	}
	s.checkDepth(a[0])
	return s.h.add(object{kind: check.Array, elem: s.h.objects[int(a[0])].elem, from: a[0], rows: from, cols: to - from})
}

func arrayFill(s *site, a []float64) float64 {
	v := s.writable(a[0])
	from, to := whole(s.number(a, 2, 0)), len(v)
	if s.given(3) && a[3] == a[3] {
		to = whole(a[3])
	}
	from, to = max(from, 0), min(to, len(v))
	s.pay(max(to-from, 0))
	for i := from; i < to; i++ {
		v[i] = a[1]
	}
	return math.NaN()
}

func arrayReverse(s *site, a []float64) float64 {
	slices.Reverse(s.writable(a[0]))
	return math.NaN()
}

func arraySort(s *site, a []float64) float64 {
	v := s.writable(a[0])
	s.sort(v, s.order(s.h.objects[int(a[0])].elem, a[2]), s.text(a, 1, "ascending") == "descending")
	return math.NaN()
}

func arrayJoin(s *site, a []float64) float64 {
	v, elem, w := s.array(a[0]), s.h.objects[int(a[0])].elem, s.writer()
	w.list(v, elem, "", s.text(a, 1, ""))
	return w.text()
}

// order compares two elements; na is the greatest. Objects are compared by a field.
func (s *site) order(elem *check.Type, field float64) func(a, b float64) int {
	if elem != nil && elem.Kind == check.Object {
		i := whole(field)
		compare := s.order(elem.Object.Fields[i].Type, 0)
		return func(a, b float64) int { return compare(s.fieldOf(a, i), s.fieldOf(b, i)) }
	}
	if elem != nil && elem.Kind == check.String {
		return func(a, b float64) int {
			x, y := s.h.text(a), s.h.text(b)
			s.pay(1 + min(len(x), len(y))/bytesAStep)
			return strings.Compare(x, y)
		}
	}
	return func(a, b float64) int {
		switch {
		case a < b || a == a && b != b:
			return -1
		case a > b || a != a && b == b:
			return 1
		}
		return 0
	}
}

// fieldOf is a field of an object, na of na.
func (s *site) fieldOf(object float64, i int) float64 {
	if object != object {
		return object
	}
	return s.h.objects[int(object)].n[i]
}

func (s *site) sort(v []float64, compare func(a, b float64) int, descending bool) {
	if descending {
		slices.SortStableFunc(v, func(a, b float64) int { return compare(b, a) })
		return
	}
	slices.SortStableFunc(v, compare)
}

func sortIndices(s *site, a []float64) float64 {
	v := s.array(a[0])
	out := make([]float64, len(v))
	for i := range out {
		out[i] = float64(i)
	}
	compare := s.order(s.h.objects[int(a[0])].elem, a[2])
	sign := 1
	if s.text(a, 1, "ascending") == "descending" {
		sign = -1
	}
	slices.SortStableFunc(out, func(i, j float64) int { return sign * compare(v[int(i)], v[int(j)]) })
	return s.h.newArray(s.h.m.types.plain(check.Int), out)
}

// find returns the place of the value in argument 1, -1 if there is none.
func (s *site) find(a []float64, last bool) float64 {
	v := s.array(a[0])
	same, at := s.c.equal(s.h.objects[int(a[0])].elem), -1
	for i, y := range v {
		if same(a[1], y) {
			at = i
			if !last {
				break
			}
		}
	}
	return float64(at)
}

// searched looks for a value in an array that is in order. pick chooses the place: first is that of
// the first value that is not smaller.
func searched(pick func(v []float64, first int, found bool) int) plain {
	return func(s *site, a []float64) float64 {
		v := s.array(a[0])
		if elem := s.h.objects[int(a[0])].elem; elem != nil && elem.Kind == check.Object {
			return float64(s.searchField(v, elem.Object.Fields[whole(a[2])].Type, a, pick))
		}
		first, found := slices.BinarySearch(v, a[1])
		return float64(pick(v, first, found))
	}
}

// searchField looks for the value of a field among objects that are in order of it.
func (s *site) searchField(v []float64, field *check.Type, a []float64, pick func(v []float64, first int, found bool) int) int {
	compare := s.order(field, 0)
	values := make([]float64, len(v))
	for i, x := range v {
		values[i] = s.fieldOf(x, whole(a[2]))
	}
	first, found := slices.BinarySearchFunc(values, a[1], compare)
	if field.Kind == check.String { // equal texts have handles of their own
		for i := first; i < len(values) && compare(values[i], a[1]) == 0; i++ {
			values[i] = a[1]
		}
	}
	return pick(values, first, found)
}

func exactly(_ []float64, first int, found bool) int {
	if !found {
		return -1
	}
	return first
}

func leftmost(_ []float64, first int, found bool) int {
	if !found {
		return first - 1
	}
	return first
}

func rightmost(v []float64, first int, found bool) int {
	last := first
	for found && last+1 < len(v) && v[last+1] == v[first] {
		last++
	}
	return last
}
