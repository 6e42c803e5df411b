package eval

import (
	"math"
	"slices"
)

// shapeRows are the functions that ask for the shape of a matrix.
func shapeRows() functions {
	return functions{
		"matrix.is_antidiagonal":  priced(elements(readAStep, 0), shaped(square(func(o *object, r, c int) bool { return r+c == o.cols-1 || o.at(r, c) == 0 }))),
		"matrix.is_antisymmetric": priced(elements(readAStep, 0), shaped(square(func(o *object, r, c int) bool { return o.at(r, c) == -o.at(c, r) }))),
		"matrix.is_binary":        priced(elements(readAStep, 0), shaped(each(func(o *object, r, c int) bool { return o.at(r, c) == 0 || o.at(r, c) == 1 }))),
		"matrix.is_diagonal":      priced(elements(readAStep, 0), shaped(square(func(o *object, r, c int) bool { return r == c || o.at(r, c) == 0 }))),
		"matrix.is_identity":      priced(elements(readAStep, 0), shaped(square(func(o *object, r, c int) bool { return o.at(r, c) == toFloat(r == c) }))),
		"matrix.is_square":        priced(elements(readAStep, 0), shaped(square(func(*object, int, int) bool { return true }))),
		"matrix.is_stochastic":    priced(elements(readAStep, 0), shaped(stochasticMatrix)),
		"matrix.is_symmetric":     priced(elements(readAStep, 0), shaped(symmetric)),
		"matrix.is_triangular":    priced(elements(readAStep/2, 0), shaped(triangular)),
		"matrix.is_zero":          priced(elements(readAStep, 0), shaped(each(func(o *object, r, c int) bool { return o.at(r, c) == 0 }))),
	}
}

// shaped is a question about a matrix.
func shaped(is func(o *object) bool) plain {
	return func(s *site, a []float64) float64 { return toFloat(is(s.matrix(a[0]))) }
}

func (o *object) at(r, c int) float64 { return o.n[r*o.cols+c] }

// each reports whether all elements of a matrix fit.
func each(fits func(o *object, r, c int) bool) func(o *object) bool {
	return func(o *object) bool {
		for r := range o.rows {
			for c := range o.cols {
				if !fits(o, r, c) {
					return false
				}
			}
		}
		return true
	}
}

// square reports whether a matrix is square and all of its elements fit.
func square(fits func(o *object, r, c int) bool) func(o *object) bool {
	all := each(fits)
	return func(o *object) bool { return o.rows == o.cols && all(o) }
}

// stochasticMatrix reports whether the rows of a square matrix are chances.
func stochasticMatrix(o *object) bool {
	for r := range o.rows {
		if row := o.n[r*o.cols : (r+1)*o.cols]; !(math.Abs(totalOf(row)-1) <= tolerance) {
			return false
		}
	}
	return square(func(o *object, r, c int) bool { return o.at(r, c) >= 0 })(o)
}

func symmetric(o *object) bool {
	return square(func(o *object, r, c int) bool { return o.at(r, c) == o.at(c, r) })(o)
}

// triangular reports whether all elements above the diagonal are 0, or all below it.
func triangular(o *object) bool {
	upper := square(func(o *object, r, c int) bool { return r <= c || o.at(r, c) == 0 })
	lower := square(func(o *object, r, c int) bool { return r >= c || o.at(r, c) == 0 })
	return upper(o) || lower(o)
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
