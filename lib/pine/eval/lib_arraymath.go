package eval

import (
	"math"
	"slices"

	"candela/lib/pine/check"
)

// statisticRows are the statistics of arrays; na elements are left out.
func statisticRows() functions {
	return functions{
		"array.abs":                             priced(elements(1, 0), changed(absolute)),
		"array.avg":                             priced(elements(1, 0), arrayOf(full(meanOf))),
		"array.covariance":                      priced(elements(readAStep, 0, 1), covariance),
		"array.every":                           priced(elements(1, 0), func(s *site, a []float64) float64 { return toFloat(!slices.ContainsFunc(s.array(a[0]), fails)) }),
		"array.max":                             priced(ordered(), arrayOf(nth(true))),
		"array.median":                          priced(ordered(), arrayOf(full(medianOf))),
		"array.min":                             priced(ordered(), arrayOf(nth(false))),
		"array.mode":                            priced(ordered(), arrayOf(full(modeOf))),
		"array.percentile_linear_interpolation": priced(ordered(), percentile(interpolated)),
		"array.percentile_nearest_rank":         priced(ordered(), percentile(nearestRank)),
		"array.percentrank":                     priced(elements(1, 0), arrayRank),
		"array.range":                           priced(elements(1, 0), arrayOf(full(rangeOf))),
		"array.some":                            priced(elements(1, 0), func(s *site, a []float64) float64 { return toFloat(slices.ContainsFunc(s.array(a[0]), holds)) }),
		"array.standardize":                     priced(elements(1, 0), changed(standardize)),
		"array.stdev":                           priced(elements(1, 0), arrayOf(spread(math.Sqrt))),
		"array.sum":                             priced(elements(1, 0), arrayOf(full(totalOf))),
		"array.variance":                        priced(elements(1, 0), arrayOf(spread(itself))),
	}
}

// statistic is a function over the values of an array or matrix that are not missing. a are the
// arguments of the call.
type statistic func(s *site, v, a []float64) float64

func arrayOf(of statistic) plain {
	return func(s *site, a []float64) float64 { return of(s, present(s.array(a[0])), a) }
}

// full is a function of at least one value.
func full(f func([]float64) float64) statistic {
	return func(_ *site, v, _ []float64) float64 {
		if len(v) == 0 {
			return math.NaN()
		}
		return f(v)
	}
}

// nth is the greatest or smallest value, or the one after so many others as argument 1 says.
func nth(greatest bool) statistic {
	return func(s *site, v, a []float64) float64 {
		k := 0
		if s.given(1) && a[1] == a[1] {
			k = whole(a[1])
		}
		return nthOf(v, k, greatest)
	}
}

// spread is the variance, of a sample if argument 1 is false, or what is made of it.
func spread(of func(variance float64) float64) statistic {
	return func(s *site, v, a []float64) float64 {
		if len(v) == 0 {
			return math.NaN()
		}
		return of(unbias(varianceOf(v), len(v), !s.given(1) || a[1] != 0))
	}
}

func rangeOf(v []float64) float64 { return slices.Max(v) - slices.Min(v) }

// holds reports whether a bool is true.
func holds(x float64) bool { return x > 0 || x < 0 }

func fails(x float64) bool { return !holds(x) }

// changed is a new array with the values of another, all of them changed.
func changed(change func(v []float64)) plain {
	return func(s *site, a []float64) float64 {
		out := slices.Clone(s.array(a[0]))
		change(out)
		return s.h.newArray(s.h.objects[int(a[0])].elem, out)
	}
}

func absolute(v []float64) {
	for i, x := range v {
		v[i] = math.Abs(x)
	}
}

func percentile(of func(v []float64, percent float64) float64) plain {
	return func(s *site, a []float64) float64 {
		v := s.array(a[0])
		if len(v) == 0 {
			return math.NaN()
		}
		return of(v, a[1])
	}
}

func arrayRank(s *site, a []float64) float64 {
	v := s.array(a[0])
	i := s.place(a[1], len(v))
	if len(v) < 2 || v[i] != v[i] {
		return math.NaN()
	}
	count := -1
	for _, x := range v {
		if x <= v[i] {
			count++
		}
	}
	return float64(100*float64(count)) / float64(len(v)-1)
}

// present returns the values that are not missing.
func present(v []float64) []float64 {
	if !slices.ContainsFunc(v, math.IsNaN) {
		return v
	}
	return slices.DeleteFunc(slices.Clone(v), math.IsNaN)
}

// nthOf returns the k-th smallest or greatest value.
func nthOf(v []float64, k int, greatest bool) float64 {
	if k < 0 || k >= len(v) {
		return math.NaN()
	}
	if k == 0 && greatest {
		return slices.Max(v)
	}
	if k == 0 {
		return slices.Min(v)
	}
	s := sorted(v)
	if greatest {
		return s[len(s)-1-k]
	}
	return s[k]
}

func standardize(v []float64) {
	if len(v) == 0 {
		return
	}
	mean, dev := meanOf(v), deviationOf(v)
	for i, x := range v {
		if dev == 0 {
			v[i] = 1
		} else {
			v[i] = (x - mean) / dev
		}
	}
}

func covariance(s *site, a []float64) float64 {
	v, w := s.array(a[0]), s.array(a[1])
	n := min(len(v), len(w))
	if n == 0 {
		return math.NaN()
	}
	mv, mw, sum := meanOf(v[:n]), meanOf(w[:n]), 0.0
	for i := range n {
		sum += float64((v[i] - mv) * (w[i] - mw))
	}
	return unbias(sum/float64(n), n, !s.given(2) || a[2] != 0)
}

// mapRows are the functions on maps.
func mapRows() functions {
	return functions{
		"map.clear":    priced(flat(4), mapClear),
		"map.contains": priced(keyed(), func(s *site, a []float64) float64 { return toFloat(s.h.lookup(s.mapped(a[0]), a[1]) >= 0) }),
		"map.copy":     priced(copied(0), func(s *site, a []float64) float64 { return s.h.add(s.mapped(a[0]).clone()) }),
		"map.get":      priced(keyed(), mapGet),
		"map.keys": priced(elements(1, 0), func(s *site, a []float64) float64 {
			return s.h.newArray(s.mapped(a[0]).key, slices.Clone(s.mapped(a[0]).keys))
		}),
		"map.new":     priced(flat(1), mapNew),
		"map.put":     priced(keyed(), func(s *site, a []float64) float64 { return s.put(a[0], a[1], a[2]) }),
		"map.put_all": priced(copied(1), mapPutAll),
		"map.remove":  priced(keyed(), mapRemove),
		"map.size":    priced(flat(1), func(s *site, a []float64) float64 { return float64(len(s.mapped(a[0]).keys)) }),
		"map.values": priced(elements(1, 0), func(s *site, a []float64) float64 {
			return s.h.newArray(s.mapped(a[0]).elem, slices.Clone(s.mapped(a[0]).n))
		}),
	}
}

// mapped returns a map argument to read it.
func (s *site) mapped(x float64) *object { return s.h.get(s.at, x, "map") }

func mapClear(s *site, a []float64) float64 {
	o := s.h.change(s.at, a[0], "map")
	o.n, o.keys, o.pairs = nil, nil, 0
	o.index()
	return math.NaN()
}

func mapPutAll(s *site, a []float64) float64 {
	from := s.mapped(a[1]).clone()
	for i, k := range from.keys {
		s.pay(2)
		s.put(a[0], k, from.n[i])
	}
	return math.NaN()
}

// keyed is the cost of finding the key of a map in argument 1: a text is read whole.
func keyed() cost {
	return sized(func(s *site, a []float64) int64 {
		if isHandle(s.exprs[1].Type()) {
			return int64(s.textSize(a, 1) / bytesAStep)
		}
		return 0
	})
}

// copied is the cost of a copy of the map in argument i.
func copied(i int) cost {
	return sized(func(s *site, a []float64) int64 {
		if a[i] != a[i] {
			return 0
		}
		o := &s.h.objects[int(a[i])]
		return int64(max(len(o.n), o.copying()))
	})
}

func mapNew(s *site, _ []float64) float64 {
	o := object{kind: check.Map, from: math.NaN()}
	switch t := s.call.Type(); {
	case t != nil && t.Key != nil:
		o.key, o.elem = t.Key, t.Elem
	case len(s.call.Elems) == 2:
		o.key, o.elem = s.call.Elems[0], s.call.Elems[1]
	}
	o.index()
	return s.h.add(o)
}

// index gives a map without pairs the index of its keys.
func (o *object) index() {
	if o.key != nil && o.key.Kind == check.String {
		o.texts = map[string]int{}
	} else {
		o.numbers = map[float64]int{}
	}
}

// lookup finds the place of a key, -1 if there is none.
func (h *heap) lookup(o *object, key float64) int {
	var i int
	var ok bool
	if o.texts != nil {
		i, ok = o.texts[h.text(key)]
	} else {
		i, ok = o.numbers[key]
	}
	if !ok {
		return -1
	}
	return i
}

func (h *heap) index(o *object, key float64, i int) {
	if o.texts != nil {
		o.texts[h.text(key)] = i
	} else {
		o.numbers[key] = i
	}
}

// put stores a pair and returns the value before it.
func (s *site) put(handle, key, value float64) float64 {
	o := s.h.change(s.at, handle, "map")
	if i := s.h.lookup(o, key); i >= 0 {
		old := o.n[i]
		o.n[i] = value
		return old
	}
	if len(o.n) >= maxElements/2 {
		s.m.fail(s.at, CodeMemory, "A map has more than %d pairs.", maxElements/2)
	}
	if len(o.keys) >= o.pairs {
		s.h.grow(pairWords)
		o.pairs++
	}
	before := cap(o.n)
	o.keys, o.n = append(o.keys, key), append(o.n, value)
	s.h.grown(before, o.n)
	s.h.index(o, key, len(o.n)-1)
	return math.NaN()
}

func mapGet(s *site, a []float64) float64 {
	o := s.mapped(a[0])
	if i := s.h.lookup(o, a[1]); i >= 0 {
		return o.n[i]
	}
	return math.NaN()
}

func mapRemove(s *site, a []float64) float64 {
	i := s.h.lookup(s.mapped(a[0]), a[1])
	if i < 0 {
		return math.NaN()
	}
	o := s.h.change(s.at, a[0], "map")
	old := o.n[i]
	if o.texts != nil {
		delete(o.texts, s.h.text(a[1]))
	} else {
		delete(o.numbers, a[1])
	}
	s.pay(len(o.n) - i)
	o.keys, o.n = slices.Delete(o.keys, i, i+1), slices.Delete(o.n, i, i+1)
	for k := i; k < len(o.keys); k++ {
		s.h.index(o, o.keys[k], k)
	}
	return old
}
