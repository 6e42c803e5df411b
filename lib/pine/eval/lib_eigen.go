package eval

import (
	"cmp"
	"math"
	"slices"

	"candela/lib/pine/check"
)

// eigenSweeps bounds the rounds of both methods; they end after far fewer.
const eigenSweeps = 60

// eigenpair is an eigenvalue, of which a complex one keeps the real part, with its vector.
type eigenpair struct {
	value   float64
	complex bool
	vector  []float64
}

// matrixEigenvalues is matrix.eigenvalues.
func matrixEigenvalues(s *site, a []float64) float64 {
	o := s.eigenMatrix(a[0])
	pairs := s.eigen(o.n, o.rows, false)
	out := make([]float64, len(pairs))
	for i := range pairs {
		out[i] = pairs[i].value
	}
	return s.h.newArray(s.h.m.types.plain(check.Float), out)
}

// matrixEigenvectors is matrix.eigenvectors: a column of length 1 for each eigenvalue, na
// for a complex one.
func matrixEigenvectors(s *site, a []float64) float64 {
	o := s.eigenMatrix(a[0])
	n := o.rows
	out := make([]float64, n*n)
	for c, p := range s.eigen(o.n, n, true) {
		for r := range n {
			out[r*n+c] = math.NaN()
			if !p.complex {
				out[r*n+c] = p.vector[r]
			}
		}
	}
	return s.newMatrix(s.h.m.types.plain(check.Float), n, n, out)
}

// eigenMatrix returns a square matrix without na.
func (s *site) eigenMatrix(x float64) *object {
	o := s.square(x)
	for _, v := range o.n {
		if v-v != 0 {
			s.fail("A matrix with na or an infinite element has no eigenvalues.")
		}
	}
	return o
}

// eigen returns the eigenvalues of a square matrix, largest first.
func (s *site) eigen(m []float64, n int, vectors bool) []eigenpair {
	var out []eigenpair
	if symmetric(&object{n: m, rows: n, cols: n}) {
		out = s.symmetricEigen(slices.Clone(m), n)
	} else {
		out = s.generalEigen(m, n, vectors)
	}
	slices.SortStableFunc(out, func(a, b eigenpair) int { return cmp.Compare(b.value, a.value) })
	return out
}

// symmetricEigen rotates a symmetric matrix until it is diagonal, by the method of Jacobi.
func (s *site) symmetricEigen(m []float64, n int) []eigenpair {
	v := identity(n)
	for range eigenSweeps {
		if s.rotateAll(m, v, n) {
			break
		}
	}
	out := make([]eigenpair, n)
	for c := range out {
		out[c] = eigenpair{value: m[c*n+c], vector: make([]float64, n)}
		for r := range n {
			out[c].vector[r] = v[r*n+c]
		}
	}
	return out
}

// rotateAll clears every element beside the diagonal once, and reports whether all of them
// were 0 already.
func (s *site) rotateAll(m, v []float64, n int) bool {
	done := true
	for p := range n {
		s.pay(1 + n/readAStep)
		for q := p + 1; q < n; q++ {
			x, scale := m[p*n+q], math.Abs(m[p*n+p])+math.Abs(m[q*n+q])
			if scale+math.Abs(x) == scale {
				m[p*n+q], m[q*n+p] = 0, 0
				continue
			}
			done = false
			s.pay(1 + n/2)
			rotate(m, v, n, p, q)
		}
	}
	return done
}

// rotate turns the plane of p and q so that the element of both is 0.
func rotate(m, v []float64, n, p, q int) {
	half := (m[q*n+q] - m[p*n+p]) / float64(2*m[p*n+q])
	t := 1 / (math.Abs(half) + math.Sqrt(float64(half*half)+1))
	if half < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(float64(t*t)+1)
	s := float64(t * c)
	for k := range n {
		a, b := m[k*n+p], m[k*n+q]
		m[k*n+p], m[k*n+q] = float64(c*a)-float64(s*b), float64(s*a)+float64(c*b)
		a, b = v[k*n+p], v[k*n+q]
		v[k*n+p], v[k*n+q] = float64(c*a)-float64(s*b), float64(s*a)+float64(c*b)
	}
	for k := range n {
		a, b := m[p*n+k], m[q*n+k]
		m[p*n+k], m[q*n+k] = float64(c*a)-float64(s*b), float64(s*a)+float64(c*b)
	}
	m[p*n+q], m[q*n+p] = 0, 0
}

// pseudoInverse is the inverse of Moore and Penrose, from the eigenvectors of mᵀm.
func (s *site) pseudoInverse(o *object) []float64 {
	t := transposed(o)
	s.pay(2 * o.cols * o.cols * max(o.cols, o.rows))
	pairs := s.symmetricEigen(multiplied(t.n, o.n, o.cols, o.rows, o.cols), o.cols)
	largest := 0.0
	for _, p := range pairs {
		largest = max(largest, p.value)
	}
	inner := make([]float64, o.cols*o.cols)
	for _, p := range pairs {
		if p.value <= largest*1e-14 {
			continue
		}
		for r, x := range p.vector {
			for c, y := range p.vector {
				inner[r*o.cols+c] += float64(x*y) / p.value
			}
		}
	}
	return multiplied(inner, t.n, o.cols, o.cols, o.rows)
}
