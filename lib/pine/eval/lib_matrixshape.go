package eval

import (
	"math"
	"slices"
)

// shape says what the elements of a matrix must be for a function such as is_diagonal.
type shape struct {
	anySize bool // otherwise square
	fits    func(o *object, r, c int) bool
	rows    func(sum float64) bool // the sum of each row; nil for any
}

// shapeOf returns the shape that a function of matrices asks for, and false if it is none of
// these functions.
func shapeOf(function string) (shape, bool) {
	at := func(o *object, r, c int) float64 { return o.n[r*o.cols+c] }
	switch function {
	case "is_square":
		return shape{fits: func(*object, int, int) bool { return true }}, true
	case "is_zero":
		return shape{anySize: true, fits: func(o *object, r, c int) bool { return at(o, r, c) == 0 }}, true
	case "is_binary":
		return shape{anySize: true, fits: func(o *object, r, c int) bool { return at(o, r, c) == 0 || at(o, r, c) == 1 }}, true
	case "is_identity":
		return shape{fits: func(o *object, r, c int) bool { return at(o, r, c) == toFloat(r == c) }}, true
	case "is_diagonal":
		return shape{fits: func(o *object, r, c int) bool { return r == c || at(o, r, c) == 0 }}, true
	case "is_antidiagonal":
		return shape{fits: func(o *object, r, c int) bool { return r+c == o.cols-1 || at(o, r, c) == 0 }}, true
	case "is_symmetric":
		return shape{fits: func(o *object, r, c int) bool { return at(o, r, c) == at(o, c, r) }}, true
	case "is_antisymmetric":
		return shape{fits: func(o *object, r, c int) bool { return at(o, r, c) == -at(o, c, r) }}, true
	case "is_stochastic":
		return shape{
			fits: func(o *object, r, c int) bool { return at(o, r, c) >= 0 },
			rows: func(sum float64) bool { return math.Abs(sum-1) <= tolerance },
		}, true
	}
	return shape{}, false
}

// shaped reports whether a matrix has a shape.
func (s shape) shaped(o *object) bool {
	if !s.anySize && o.rows != o.cols {
		return false
	}
	for r := range o.rows {
		sum := 0.0
		for c := range o.cols {
			if !s.fits(o, r, c) {
				return false
			}
			sum += o.n[r*o.cols+c]
		}
		if s.rows != nil && !s.rows(sum) {
			return false
		}
	}
	return true
}

// triangular reports whether all elements above the diagonal are 0, or all below it.
func triangular(o *object) bool {
	upper := shape{fits: func(o *object, r, c int) bool { return r <= c || o.n[r*o.cols+c] == 0 }}
	lower := shape{fits: func(o *object, r, c int) bool { return r >= c || o.n[r*o.cols+c] == 0 }}
	return upper.shaped(o) || lower.shaped(o)
}

// kronecker multiplies each element of the first matrix with the whole second one.
func kronecker(s *site, a []float64) float64 {
	o, other := s.matrix(a[0]), s.matrix(a[1])
	rows, cols := o.rows*other.rows, o.cols*other.cols
	if len(o.n)*len(other.n) > maxElements {
		return s.newMatrix(o.elem, rows, cols, nil) // the error of its size
	}
	s.pay(len(o.n) * len(other.n))
	out := make([]float64, 0, rows*cols)
	for r := range rows {
		for c := range cols {
			out = append(out, o.n[r/other.rows*o.cols+c/other.cols]*other.n[r%other.rows*other.cols+c%other.cols])
		}
	}
	return s.newMatrix(o.elem, rows, cols, slices.Clip(out))
}
