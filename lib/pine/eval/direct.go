package eval

import (
	"math"

	"candela/lib/pine/check"
)

// operands are the arguments of a call, with the places of those that have one.
type operands struct {
	num   []num
	place []*float64
	steps int64 // that a call takes
}

func (c *compiler) operands(written []check.Expr, args []num, steps int64) operands {
	o := operands{num: args, place: make([]*float64, len(args)), steps: steps}
	for i, e := range written {
		if e != nil {
			o.place[i] = c.address(e)
		}
	}
	return o
}

// element returns the place of an element of an array that shows no other, nil for
// everything else. It makes no copy, so a try must not write to it.
func (h *heap) element(array, index float64) *float64 {
	if array != array || !(index >= 0) {
		return nil
	}
	o := &h.objects[int(array)]
	if i := int(index); o.from != o.from && uint(i) < uint(len(o.n)) {
		return &o.n[i]
	}
	return nil
}

// arrayGetDirect reads an element that is there.
func arrayGetDirect(s *site, args operands, general func(a ...float64) float64) num {
	m, h, steps := s.m, s.h, args.steps
	if p, q := args.place[0], args.place[1]; p != nil && q != nil {
		return func() float64 {
			if x := h.element(*p, *q); x != nil && m.left >= steps {
				m.left -= steps
				return *x
			}
			return general(*p, *q)
		}
	}
	array, index := args.num[0], args.num[1]
	return func() float64 {
		a, i := array(), index()
		if x := h.element(a, i); x != nil && m.left >= steps {
			m.left -= steps
			return *x
		}
		return general(a, i)
	}
}

// arraySetDirect changes an element that is there, outside of a try.
func arraySetDirect(s *site, args operands, general func(a ...float64) float64) num {
	m, h, steps, value := s.m, s.h, args.steps, args.num[2]
	set := func(a, i, v float64) float64 {
		if x := h.element(a, i); x != nil && h.try == 0 && m.left >= steps {
			m.left -= steps
			*x = v
			return math.NaN()
		}
		return general(a, i, v)
	}
	if p, q := args.place[0], args.place[1]; p != nil && q != nil {
		return func() float64 {
			a, i := *p, *q
			return set(a, i, value())
		}
	}
	array, index := args.num[0], args.num[1]
	return func() float64 {
		a, i := array(), index()
		return set(a, i, value())
	}
}

// count counts the elements of an array that shows no other; false for everything else.
func (h *heap) count(array float64) (int, bool) {
	if array != array {
		return 0, false
	}
	o := &h.objects[int(array)]
	return len(o.n), o.from != o.from
}

// arraySizeDirect counts the elements of an array.
func arraySizeDirect(s *site, args operands, general func(a ...float64) float64) num {
	m, h, steps := s.m, s.h, args.steps
	if p := args.place[0]; p != nil {
		return func() float64 {
			if n, ok := h.count(*p); ok && m.left >= steps {
				m.left -= steps
				return float64(n)
			}
			return general(*p)
		}
	}
	array := args.num[0]
	return func() float64 {
		a := array()
		if n, ok := h.count(a); ok && m.left >= steps {
			m.left -= steps
			return float64(n)
		}
		return general(a)
	}
}

// powerDirect multiplies a value by itself. Other powers are left to the general code.
func powerDirect(s *site, args operands, general func(a ...float64) float64) num {
	if k, ok := s.call.Args[1].(*check.Const); !ok || k.NA || k.Num != 2 {
		return nil
	}
	m, base, steps := s.m, args.num[0], args.steps
	return func() float64 {
		x := base()
		if m.left >= steps {
			m.left -= steps
			return float64(x * x)
		}
		return general(x, 2)
	}
}
