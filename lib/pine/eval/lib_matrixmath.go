package eval

import (
	"math"
	"slices"

	"candela/lib/pine/check"
)

// matrixMathRows are the functions that compute with matrices.
func matrixMathRows() functions {
	return functions{
		"matrix.avg":          priced(elements(1, 0), matrixOf(full(meanOf))),
		"matrix.concat":       priced(elements(1, 1), matrixConcat),
		"matrix.det":          priced(cubic(1), determinant),
		"matrix.diff":         priced(elements(1, 0), func(s *site, a []float64) float64 { return s.addEach(a, -1) }),
		"matrix.eigenvalues":  priced(cubic(1), matrixEigenvalues),
		"matrix.eigenvectors": priced(cubic(1), matrixEigenvectors),
		"matrix.inv":          priced(cubic(1), inverse),
		"matrix.kron":         priced(flat(1), kronecker),
		"matrix.max":          priced(ordered(), matrixOf(full(slices.Max[[]float64]))),
		"matrix.median":       priced(ordered(), matrixOf(full(medianOf))),
		"matrix.min":          priced(ordered(), matrixOf(full(slices.Min[[]float64]))),
		"matrix.mode":         priced(ordered(), matrixOf(full(modeOf))),
		"matrix.mult":         priced(elements(1, 0), matrixMult),
		"matrix.pinv":         priced(cubic(2), pseudoInverse),
		"matrix.pow":          priced(cubic(1), matrixPow),
		"matrix.rank":         priced(cubic(1), func(s *site, a []float64) float64 { return rankOf(s.matrix(a[0])) }),
		"matrix.submatrix":    priced(elements(1, 0), submatrix),
		"matrix.sum":          priced(elements(1, 0), func(s *site, a []float64) float64 { return s.addEach(a, 1) }),
		"matrix.trace":        priced(cubic(1), trace),
		"matrix.transpose":    priced(elements(1, 0), transpose),
	}
}

// matrixOf is a statistic of all elements of a matrix.
func matrixOf(of statistic) plain {
	return func(s *site, a []float64) float64 { return of(s, present(s.matrix(a[0]).n), a) }
}

func transpose(s *site, a []float64) float64 {
	t := transposed(s.matrix(a[0]))
	return s.newMatrix(t.elem, t.rows, t.cols, t.n)
}

func determinant(s *site, a []float64) float64 {
	o := s.square(a[0])
	return eliminate(slices.Clone(o.n), nil, o.rows)
}

func pseudoInverse(s *site, a []float64) float64 {
	o := s.matrix(a[0])
	return s.newMatrix(o.elem, o.cols, o.rows, s.pseudoInverse(o))
}

func inverse(s *site, a []float64) float64 {
	o := s.square(a[0])
	unit := identity(o.rows)
	d := eliminate(slices.Clone(o.n), unit, o.rows)
	if d == 0 || d != d {
		return math.NaN()
	}
	return s.newMatrix(o.elem, o.rows, o.rows, unit)
}

func trace(s *site, a []float64) float64 {
	o := s.square(a[0])
	sum := 0.0
	for i := range o.rows {
		sum += o.n[i*o.cols+i]
	}
	return sum
}

func matrixConcat(s *site, a []float64) float64 {
	other := s.matrix(a[1]).clone()
	o := s.changing(a[0])
	if o.cols != other.cols && o.rows > 0 {
		s.fail("The matrices have %d and %d columns.", o.cols, other.cols)
	}
	if len(o.n)+len(other.n) > maxElements {
		s.m.fail(s.at, CodeMemory, "A matrix has more than %d elements.", maxElements)
	}
	before := cap(o.n)
	o.n, o.rows, o.cols = append(o.n, other.n...), o.rows+other.rows, other.cols
	s.h.grown(before, o.n)
	return a[0]
}

func (s *site) square(x float64) *object {
	o := s.matrix(x)
	if o.rows != o.cols {
		s.fail("The matrix is not square: it has %d rows and %d columns.", o.rows, o.cols)
	}
	return o
}

// addEach adds a number or a matrix so many times.
func (s *site) addEach(a []float64, times float64) float64 {
	o := s.matrix(a[0])
	out := slices.Clone(o.n)
	if s.call.Args[1].Type().Kind == check.Matrix {
		other := s.matrix(a[1])
		if other.rows != o.rows || other.cols != o.cols {
			s.fail("The matrices differ in size.")
		}
		for i := range out {
			out[i] += float64(times * other.n[i])
		}
	} else {
		for i := range out {
			out[i] += float64(times * a[1])
		}
	}
	return s.newMatrix(o.elem, o.rows, o.cols, out)
}

// matrixMult multiplies with a number, an array or a matrix.
func matrixMult(s *site, a []float64) float64 {
	o := s.matrix(a[0])
	switch s.call.Args[1].Type().Kind {
	case check.Matrix:
		other := s.matrix(a[1])
		if o.cols != other.rows {
			s.fail("A matrix of %d columns cannot be multiplied with one of %d rows.", o.cols, other.rows)
		}
		s.pay(o.rows * o.cols * other.cols)
		return s.newMatrix(o.elem, o.rows, other.cols, multiplied(o.n, other.n, o.rows, o.cols, other.cols))
	case check.Array:
		v := s.array(a[1])
		if o.cols != len(v) {
			s.fail("A matrix of %d columns cannot be multiplied with an array of %d.", o.cols, len(v))
		}
		return s.h.newArray(o.elem, multiplied(o.n, v, o.rows, o.cols, 1))
	default: // a number
	}
	out := slices.Clone(o.n)
	for i := range out {
		out[i] *= a[1]
	}
	return s.newMatrix(o.elem, o.rows, o.cols, out)
}

func multiplied(a, b []float64, rows, inner, cols int) []float64 {
	out := make([]float64, rows*cols)
	for r := range rows {
		for c := range cols {
			sum := 0.0
			for k := range inner {
				sum += float64(a[r*inner+k] * b[k*cols+c])
			}
			out[r*cols+c] = sum
		}
	}
	return out
}

func identity(n int) []float64 {
	out := make([]float64, n*n)
	for i := range n {
		out[i*n+i] = 1
	}
	return out
}

// eliminate reduces a square matrix to the identity, does the same to other, and returns
// the determinant.
func eliminate(m, other []float64, n int) float64 {
	det := 1.0
	for c := range n {
		pivot := c
		for r := c + 1; r < n; r++ {
			if math.Abs(m[r*n+c]) > math.Abs(m[pivot*n+c]) {
				pivot = r
			}
		}
		if m[pivot*n+c] == 0 || m[pivot*n+c] != m[pivot*n+c] {
			return m[pivot*n+c] * 0
		}
		if pivot != c {
			swapRows(m, n, c, pivot)
			swapRows(other, n, c, pivot)
			det = -det
		}
		p := m[c*n+c]
		det *= p
		scaleRow(m, n, c, p)
		scaleRow(other, n, c, p)
		for r := range n {
			if factor := m[r*n+c]; r != c && factor != 0 {
				takeRow(m, n, r, c, factor)
				takeRow(other, n, r, c, factor)
			}
		}
	}
	return det
}

func swapRows(m []float64, n, i, j int) {
	for k := range n {
		if m != nil {
			m[i*n+k], m[j*n+k] = m[j*n+k], m[i*n+k]
		}
	}
}

func scaleRow(m []float64, n, i int, by float64) {
	for k := range n {
		if m != nil {
			m[i*n+k] /= by
		}
	}
}

func takeRow(m []float64, n, from, row int, factor float64) {
	for k := range n {
		if m != nil {
			m[from*n+k] -= float64(factor * m[row*n+k])
		}
	}
}

// rankOf counts the rows that are independent.
func rankOf(o *object) float64 {
	m, rank := slices.Clone(o.n), 0
	for c := 0; c < o.cols && rank < o.rows; c++ {
		pivot := rank
		for r := rank + 1; r < o.rows; r++ {
			if math.Abs(m[r*o.cols+c]) > math.Abs(m[pivot*o.cols+c]) {
				pivot = r
			}
		}
		if math.Abs(m[pivot*o.cols+c]) <= tolerance {
			continue
		}
		swapRows(m, o.cols, rank, pivot)
		for r := rank + 1; r < o.rows; r++ {
			takeRow(m, o.cols, r, rank, m[r*o.cols+c]/m[rank*o.cols+c])
		}
		rank++
	}
	return float64(rank)
}

func matrixPow(s *site, a []float64) float64 {
	o := s.square(a[0])
	n := whole(a[1])
	if n < 0 || n > 1000 {
		s.fail("The power of a matrix must be from 0 to 1000 (got %d).", n)
	}
	out := identity(o.rows)
	for range n {
		s.pay(o.rows * o.rows * o.rows)
		out = multiplied(out, o.n, o.rows, o.rows, o.rows)
	}
	return s.newMatrix(o.elem, o.rows, o.rows, out)
}

func submatrix(s *site, a []float64) float64 {
	o := s.matrix(a[0])
	from, to := whole(s.number(a, 1, 0)), whole(s.number(a, 2, float64(o.rows)))
	left, right := whole(s.number(a, 3, 0)), whole(s.number(a, 4, float64(o.cols)))
	if from < 0 || left < 0 || to > o.rows || right > o.cols || from > to || left > right {
		s.fail("The part is outside the matrix, which has %d rows and %d columns.", o.rows, o.cols)
	}
	var out []float64
	for r := from; r < to; r++ {
		out = append(out, o.n[r*o.cols+left:r*o.cols+right]...)
	}
	return s.newMatrix(o.elem, to-from, right-left, out)
}

// matrixSort sorts the rows by a column.
func matrixSort(s *site, a []float64) float64 {
	o := s.changing(a[0])
	c := s.spot(s.number(a, 1, 0), o.cols, "column")
	rows := make([][]float64, o.rows)
	for r := range rows {
		rows[r] = slices.Clone(o.n[r*o.cols : (r+1)*o.cols])
	}
	compare, sign := s.order(o.elem, a[3]), 1
	if s.text(a, 2, "ascending") == "descending" {
		sign = -1
	}
	slices.SortStableFunc(rows, func(x, y []float64) int { return sign * compare(x[c], y[c]) })
	for r, row := range rows {
		copy(o.n[r*o.cols:], row)
	}
	return math.NaN()
}
