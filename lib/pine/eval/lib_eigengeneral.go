package eval

import "math"

// pair is a complex number. Its operations round after every step, so that the result has
// the same bits on every processor.
type pair struct{ re, im float64 }

func (a pair) plus(b pair) pair  { return pair{a.re + b.re, a.im + b.im} }
func (a pair) minus(b pair) pair { return pair{a.re - b.re, a.im - b.im} }
func (a pair) conj() pair        { return pair{a.re, -a.im} }
func (a pair) times(b pair) pair {
	return pair{float64(a.re*b.re) - float64(a.im*b.im), float64(a.re*b.im) + float64(a.im*b.re)}
}
func (a pair) square() float64 { return float64(a.re*a.re) + float64(a.im*a.im) }
func (a pair) size() float64   { return math.Sqrt(a.square()) }
func (a pair) scale(x float64) pair {
	return pair{float64(a.re * x), float64(a.im * x)}
}

func (a pair) root() pair {
	r := a.size()
	re, im := math.Sqrt(max((r+a.re)/2, 0)), math.Sqrt(max((r-a.re)/2, 0))
	if a.im < 0 {
		im = -im
	}
	return pair{re, im}
}

// generalEigen finds the eigenvalues of any square matrix by the QR method with shifts,
// and the vectors of the real ones by solving for them.
func (s *site) generalEigen(m []float64, n int, vectors bool) []eigenpair {
	h := make([]pair, n*n)
	for i, x := range m {
		h[i].re = x
	}
	size := 0.0
	for _, x := range m {
		size = max(size, math.Abs(x))
	}
	s.shrink(h, n)
	out := make([]eigenpair, n)
	for i := range out {
		x := h[i*n+i]
		out[i] = eigenpair{value: x.re, complex: math.Abs(x.im) > float64(size*1e-9)}
		if vectors && !out[i].complex {
			s.pay(8 * n * n * n)
			out[i].vector = nullVector(m, n, x.re, size, i)
		}
	}
	return out
}

// shrink makes a matrix triangular, from its last row up.
func (s *site) shrink(h []pair, n int) {
	rounds := 0
	for last := n - 1; last > 0; {
		row := 0.0
		for c := range last {
			row += h[last*n+c].size()
		}
		scale := h[last*n+last].size() + h[(last-1)*n+last-1].size()
		if scale+row == scale || rounds > eigenSweeps {
			last, rounds = last-1, 0
			continue
		}
		rounds++
		s.pay((last + 1) * (last + 1) * (last + 1) / readAStep)
		shift := wilkinson(h, n, last)
		if rounds%11 == 10 { // breaks a cycle
			shift = pair{row + h[last*n+last].re, row / 2}
		}
		turn(h, n, last+1, shift)
	}
}

// wilkinson is the eigenvalue of the last two rows that is nearer to the last element.
func wilkinson(h []pair, n, last int) pair {
	a, b := h[(last-1)*n+last-1], h[(last-1)*n+last]
	c, d := h[last*n+last-1], h[last*n+last]
	half := a.minus(d).scale(0.5)
	root := half.times(half).plus(b.times(c)).root()
	x, y := d.plus(half).plus(root), d.plus(half).minus(root)
	if x.minus(d).square() < y.minus(d).square() {
		return x
	}
	return y
}

// turn is one step of the QR method on the first size rows and columns.
func turn(h []pair, n, size int, shift pair) {
	for i := range size {
		h[i*n+i] = h[i*n+i].minus(shift)
	}
	type rotation struct {
		p, q int
		c, s pair
	}
	var done []rotation
	for col := range size - 1 {
		for row := col + 1; row < size; row++ {
			a, b := h[col*n+col], h[row*n+col]
			length := math.Sqrt(a.square() + b.square())
			if length == 0 || b.square() == 0 {
				continue
			}
			r := rotation{col, row, a.scale(1 / length), b.scale(1 / length)}
			for k := col; k < size; k++ {
				x, y := h[col*n+k], h[row*n+k]
				h[col*n+k] = r.c.conj().times(x).plus(r.s.conj().times(y))
				h[row*n+k] = r.c.times(y).minus(r.s.times(x))
			}
			done = append(done, r)
		}
	}
	for _, r := range done {
		for k := range size {
			x, y := h[k*n+r.p], h[k*n+r.q]
			h[k*n+r.p] = r.c.times(x).plus(r.s.times(y))
			h[k*n+r.q] = r.c.conj().times(y).minus(r.s.conj().times(x))
		}
	}
	for i := range size {
		h[i*n+i] = h[i*n+i].plus(shift)
	}
}

// nullVector finds the vector that m turns into value times itself, by repeated solving.
func nullVector(m []float64, n int, value, size float64, seed int) []float64 {
	near := value + float64(max(math.Abs(value), size)*1e-10)
	x := make([]float64, n)
	for i := range x {
		x[i] = 1 / float64(1+(i+seed)%n)
	}
	for range 4 {
		work, unit := make([]float64, n*n), identity(n)
		copy(work, m)
		for i := range n {
			work[i*n+i] -= near
		}
		if d := eliminate(work, unit, n); d == 0 || d != d {
			near += float64(max(math.Abs(near), size) * 1e-12)
			continue
		}
		x = unitLength(multiplied(unit, x, n, n, 1))
	}
	return unitLength(x)
}

func unitLength(x []float64) []float64 {
	largest := 0.0
	for _, v := range x {
		largest = max(largest, math.Abs(v))
	}
	if largest == 0 {
		return x
	}
	sum := 0.0
	for i := range x {
		x[i] /= largest
		sum += float64(x[i] * x[i])
	}
	for i := range x {
		x[i] /= math.Sqrt(sum)
	}
	return x
}
