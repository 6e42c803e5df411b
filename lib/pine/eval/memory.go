package eval

import "math"

// chunk is how many cells are allocated at once. Cells never move: closures hold pointers
// to them.
const chunk = 256

// cells is a growing set of numbers at fixed addresses.
type cells struct {
	chunks [][]float64
	used   int // in the last chunk
}

// add returns a new cell with the value x.
func (c *cells) add(x float64) *float64 {
	if len(c.chunks) == 0 || c.used == chunk {
		c.chunks = append(c.chunks, make([]float64, chunk))
		c.used = 0
	}
	p := &c.chunks[len(c.chunks)-1][c.used]
	c.used++
	*p = x
	return p
}

// size is the number of cells.
func (c *cells) size() int {
	if len(c.chunks) == 0 {
		return 0
	}
	return (len(c.chunks)-1)*chunk + c.used
}

// part returns the cells of a chunk.
func (c *cells) part(i int) []float64 {
	if i == len(c.chunks)-1 {
		return c.chunks[i][:c.used]
	}
	return c.chunks[i]
}

// save appends all cells to dst.
func (c *cells) save(dst []float64) []float64 {
	for i := range c.chunks {
		dst = append(dst, c.part(i)...)
	}
	return dst
}

// load is the reverse of save. It returns what follows.
func (c *cells) load(src []float64) []float64 {
	for i := range c.chunks {
		src = src[copy(c.part(i), src):]
	}
	return src
}

// ring is the history of one series: the values of the bars that were kept. It is never
// written by a try.
type ring struct {
	now *float64 // the value of this bar
	ran bool     // now was set on this bar
	// held is the last value committed; a bar on which the series did not run repeats it.
	held float64
	buf  []float64
	head int // where the next value goes
	n    int // values in buf
	max  int // longest offset
	// compact leaves out bars on which the series did not run.
	compact bool
	handles bool // the values are handles
	always  bool // set on every bar
	meter   *meter
}

func newRing(now *float64, limit int, t *meter) *ring {
	return &ring{now: now, held: math.NaN(), max: max(limit, 1), meter: t}
}

// back returns the value k bars before this one, k at least 1.
func (r *ring) back(k int) float64 {
	if k > r.n {
		return math.NaN()
	}
	at := r.head - k
	if at < 0 {
		at += len(r.buf)
	}
	return r.buf[at]
}

// commit ends a bar that is kept.
func (r *ring) commit() {
	if r.ran || r.always {
		r.held = *r.now
		r.ran = false
	} else if r.compact {
		return
	}
	if r.n == len(r.buf) && r.n < r.max {
		r.grow()
	}
	r.buf[r.head] = r.held
	if r.head++; r.head == len(r.buf) {
		r.head = 0
	}
	if r.n < len(r.buf) {
		r.n++
	}
}

// grow doubles the buffer, the oldest value first.
func (r *ring) grow() {
	size := min(max(2*len(r.buf), 8), r.max)
	r.meter.held += 8 * int64(size-len(r.buf)) // the machine looks at it after the bar
	next := make([]float64, size)
	n := copy(next, r.buf[r.head:])
	copy(next[n:], r.buf[:r.head])
	r.buf, r.head = next, r.n
	if r.head == len(r.buf) {
		r.head = 0
	}
}

// save appends the ring's state to dst, and load reads it again.
func (r *ring) save(dst []float64) []float64 {
	dst = append(dst, r.held, float64(r.n))
	for k := r.n; k > 0; k-- {
		dst = append(dst, r.back(k))
	}
	return dst
}

func (r *ring) load(src []float64) ([]float64, bool) {
	if len(src) < 2 {
		return nil, false
	}
	n := int(src[1])
	if n < 0 || n > r.max || len(src) < 2+n {
		return nil, false
	}
	size := 0
	for size < n {
		size = min(max(2*size, 8), r.max)
	}
	r.held, r.n, r.ran = src[0], n, false
	r.meter.held += 8 * int64(size-len(r.buf))
	r.buf, r.head = make([]float64, size), 0
	copy(r.buf, src[2:2+n])
	if size > 0 {
		r.head = n % size
	}
	return src[2+n:], true
}
