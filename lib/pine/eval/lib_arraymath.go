package eval

import (
	"math"
	"slices"
	"strings"

	"candela/lib/pine/check"
)

// arrayMath are the statistics of arrays; na elements are left out.
func arrayMath(name string) function {
	rest, ok := strings.CutPrefix(name, "array.")
	if !ok {
		return function{}
	}
	of := statistic(rest)
	if of != nil {
		return priced(statisticCost(rest), func(s *site, a []float64) float64 {
			v := s.array(a[0])
			return of(s, present(v), a)
		})
	}
	switch rest {
	case "abs", "standardize":
		return priced(elements(1, 0), func(s *site, a []float64) float64 {
			v := s.array(a[0])
			out := slices.Clone(v)
			if rest == "abs" {
				for i, x := range out {
					out[i] = math.Abs(x)
				}
			} else {
				standardize(out)
			}
			return s.h.newArray(s.h.objects[int(a[0])].elem, out)
		})
	case "covariance":
		return priced(elements(readAStep, 0, 1), func(s *site, a []float64) float64 {
			return covariance(s.array(a[0]), s.array(a[1]), !s.given(2) || a[2] != 0)
		})
	case "every", "some":
		return priced(elements(1, 0), func(s *site, a []float64) float64 {
			v := s.array(a[0])
			yes := func(x float64) bool { return x > 0 || x < 0 }
			if rest == "some" {
				return toFloat(slices.ContainsFunc(v, yes))
			}
			return toFloat(!slices.ContainsFunc(v, func(x float64) bool { return !yes(x) }))
		})
	case "percentile_nearest_rank", "percentile_linear_interpolation":
		return priced(ordered(), func(s *site, a []float64) float64 {
			v := s.array(a[0])
			if len(v) == 0 {
				return math.NaN()
			}
			if rest == "percentile_nearest_rank" {
				return nearestRank(v, a[1])
			}
			return interpolated(v, a[1])
		})
	case "percentrank":
		return priced(elements(1, 0), func(s *site, a []float64) float64 {
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
		})
	}
	return function{}
}

// statisticCost is that of a statistic of all elements: some of them put these in order.
func statisticCost(name string) cost {
	switch name {
	case "median", "mode", "min", "max":
		return ordered()
	}
	return elements(1, 0)
}

// present returns the values that are not missing.
func present(v []float64) []float64 {
	if !slices.ContainsFunc(v, math.IsNaN) {
		return v
	}
	return slices.DeleteFunc(slices.Clone(v), math.IsNaN)
}

// statistic returns a function over the values of an array.
func statistic(name string) func(s *site, v, a []float64) float64 {
	full := func(f func([]float64) float64) func(*site, []float64, []float64) float64 {
		return func(_ *site, v, _ []float64) float64 {
			if len(v) == 0 {
				return math.NaN()
			}
			return f(v)
		}
	}
	switch name {
	case "sum":
		return func(_ *site, v, _ []float64) float64 {
			if len(v) == 0 {
				return math.NaN()
			}
			return totalOf(v)
		}
	case "avg":
		return full(meanOf)
	case "median":
		return full(medianOf)
	case "mode":
		return full(modeOf)
	case "range":
		return full(func(v []float64) float64 { return slices.Max(v) - slices.Min(v) })
	case "min", "max":
		return func(s *site, v, a []float64) float64 {
			k := 0
			if s.given(1) && a[1] == a[1] {
				k = whole(a[1])
			}
			return nthOf(v, k, name == "max")
		}
	case "variance", "stdev":
		return func(s *site, v, a []float64) float64 {
			if len(v) == 0 {
				return math.NaN()
			}
			x := unbias(varianceOf(v), len(v), !s.given(1) || a[1] != 0)
			if name == "stdev" {
				return math.Sqrt(x)
			}
			return x
		}
	}
	return nil
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

func covariance(v, w []float64, biased bool) float64 {
	n := min(len(v), len(w))
	if n == 0 {
		return math.NaN()
	}
	mv, mw, sum := meanOf(v[:n]), meanOf(w[:n]), 0.0
	for i := range n {
		sum += float64((v[i] - mv) * (w[i] - mw))
	}
	return unbias(sum/float64(n), n, biased)
}

// mapFunction are the functions on maps.
func mapFunction(name string) function {
	rest, ok := strings.CutPrefix(name, "map.")
	if !ok {
		return function{}
	}
	switch rest {
	case "new":
		return priced(flat(1), mapNew)
	case "put", "get", "remove", "contains":
		return priced(keyed(1), func(s *site, a []float64) float64 { return s.pair(rest, a) })
	case "size":
		return priced(flat(1), func(s *site, a []float64) float64 { return float64(len(s.h.get(s.at, a[0], "map").keys)) })
	case "clear":
		return priced(flat(4), func(s *site, a []float64) float64 {
			o := s.h.change(s.at, a[0], "map")
			o.n, o.keys, o.pairs = nil, nil, 0
			o.index()
			return math.NaN()
		})
	case "keys", "values":
		return priced(elements(1, 0), func(s *site, a []float64) float64 {
			o := s.h.get(s.at, a[0], "map")
			if rest == "keys" {
				return s.h.newArray(o.key, slices.Clone(o.keys))
			}
			return s.h.newArray(o.elem, slices.Clone(o.n))
		})
	case "copy":
		return priced(copied(0), func(s *site, a []float64) float64 {
			o := s.h.get(s.at, a[0], "map").clone()
			return s.h.add(o)
		})
	case "put_all":
		return priced(copied(1), func(s *site, a []float64) float64 {
			from := s.h.get(s.at, a[1], "map").clone()
			for i, k := range from.keys {
				s.pay(2)
				s.put(a[0], k, from.n[i])
			}
			return math.NaN()
		})
	}
	return function{}
}

// keyed is the cost of finding the key of a map in argument i: a text is read whole.
func keyed(i int) cost {
	return sized(func(s *site, a []float64) int64 {
		if isHandle(s.exprs[i].Type()) {
			return int64(s.textSize(a, i) / bytesAStep)
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

func (s *site) pair(name string, a []float64) float64 {
	if name == "put" {
		return s.put(a[0], a[1], a[2])
	}
	i := s.h.lookup(s.h.get(s.at, a[0], "map"), a[1])
	switch {
	case name == "contains":
		return toFloat(i >= 0)
	case i < 0:
		return math.NaN()
	case name == "get":
		return s.h.objects[int(a[0])].n[i]
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
