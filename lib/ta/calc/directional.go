package calc

import "math"

// movement keeps the greater of the two if it is positive. The choice is made on
// bits because the compiler then moves conditionally; a branch would be
// mispredicted at every other bar.
func movement(up, down float64) (plus, minus float64) {
	up, down = 0.5*(up+math.Abs(up)), 0.5*(down+math.Abs(down))
	plusBits, minusBits := math.Float64bits(up), math.Float64bits(down)
	if up <= down {
		plusBits = 0
	}
	if down <= up {
		minusBits = 0
	}
	return math.Float64frombits(plusBits), math.Float64frombits(minusBits)
}

// ADX writes Wilder's average directional index and the directional indicators it
// is made of, all over n bars, as on TradingView: the indicators begin at n, the
// index at 2n-1. As long as no bar moved at all they are NaN, and the index counts
// its own n bars from the first indicator on.
func ADX(adx, plus, minus, h, l, c []float64, n int) {
	h, l = h[:len(c)], l[:len(c)]
	adx, plus, minus = adx[:len(c)], plus[:len(c)], minus[:len(c)]
	s := newDirection(n)
	first := 0
	for ; first < len(c) && !s.index.ready(); first++ {
		adx[first], plus[first], minus[first] = s.add(h[first], l[first], c[first])
	}
	h, l, c, adx, plus, minus = h[first:], l[first:], c[first:], adx[first:], plus[first:], minus[first:]
	h, l, adx, plus, minus = h[:len(c)], l[:len(c)], adx[:len(c)], plus[:len(c)], minus[:len(c)]
	k, rest, tr, up, down := s.tr.k, s.tr.rest, s.tr.value, s.plus.value, s.minus.value
	index := s.index.value
	high, low, previous := s.high, s.low, s.close
	for i, x := range c {
		if missingBar(h[i], l[i], x) {
			adx[i], plus[i], minus[i] = math.NaN(), math.NaN(), math.NaN()
			continue
		}
		p, m := movement(h[i]-high, low-l[i])
		t := span(h[i], l[i], previous)
		high, low, previous = h[i], l[i], x
		tr = float64(k*t) + float64(rest*tr)
		up = float64(k*p) + float64(rest*up)
		down = float64(k*m) + float64(rest*down)
		if tr == 0 {
			adx[i], plus[i], minus[i] = math.NaN(), math.NaN(), math.NaN()
			continue
		}
		var dx float64
		plus[i], minus[i], dx = indicators(up, down, tr)
		index = float64(k*dx) + float64(rest*index)
		adx[i] = index
	}
}

// indicators returns both directional indicators and the directional index of a
// range that is not 0.
func indicators(up, down, tr float64) (plus, minus, dx float64) {
	sum := up + down
	if sum == 0 {
		return 0, 0, 0
	}
	return 100 * (up / tr), 100 * (down / tr), 100 * (math.Abs(up-down) / sum)
}

// direction is the memory of an ADX in registers.
type direction struct {
	tr, plus, minus, index average
	high, low, close       float64
	seen                   bool
}

func newDirection(n int) direction {
	w := wilder(n)
	return direction{tr: w, plus: w, minus: w, index: w}
}

// add adds a bar; the loop of ADX repeats it.
func (d *direction) add(h, l, c float64) (adx, plus, minus float64) {
	adx, plus, minus = math.NaN(), math.NaN(), math.NaN()
	if missingBar(h, l, c) {
		return adx, plus, minus
	}
	if d.seen {
		p, m := movement(h-d.high, d.low-l)
		tr := d.tr.add(span(h, l, d.close))
		up, down := d.plus.add(p), d.minus.add(m)
		if d.tr.ready() && tr != 0 {
			var dx float64
			plus, minus, dx = indicators(up, down, tr)
			adx = d.index.add(dx)
		}
	}
	d.high, d.low, d.close, d.seen = h, l, c, true
	return adx, plus, minus
}

// DMState is the state of directional movement: the last high and low, and
// whether there were any.
type DMState struct{ region }

// DM makes the state of directional movement.
func (s *Slab) DM() DMState { return DMState{s.reserve(3)} }

// Step takes the bar's high and low and returns Wilder's movements: by how much the
// bar reaches above the one before it, or below it, whichever is more; the other is 0.
// The first bar has none.
func (d *DMState) Step(h, l float64) (plus, minus float64) {
	if missing(h) || missing(l) {
		return math.NaN(), math.NaN()
	}
	m := d.mem(3)
	high, low, seen := m[0], m[1], m[2] != 0
	m[0], m[1], m[2] = h, l, 1
	if !seen {
		return math.NaN(), math.NaN()
	}
	return movement(h-high, low-l)
}

// ADXState is the state of an average directional index.
type ADXState struct {
	region
	tr, plus, minus, index EMAState
}

// ADX makes the state of an average directional index over n bars.
func (s *Slab) ADX(n int) ADXState {
	return ADXState{region: s.reserve(4), tr: s.RMA(n), plus: s.RMA(n), minus: s.RMA(n), index: s.RMA(n)}
}

// Step takes the bar's high, low and close and returns the index and the
// indicators.
func (a *ADXState) Step(h, l, c float64) (adx, plus, minus float64) {
	m := a.mem(4)
	d := direction{
		tr: a.tr.load(), plus: a.plus.load(), minus: a.minus.load(), index: a.index.load(),
		high: m[0], low: m[1], close: m[2], seen: m[3] != 0,
	}
	adx, plus, minus = d.add(h, l, c)
	a.tr.store(d.tr)
	a.plus.store(d.plus)
	a.minus.store(d.minus)
	a.index.store(d.index)
	m[0], m[1], m[2] = d.high, d.low, d.close
	if d.seen {
		m[3] = 1
	}
	return adx, plus, minus
}
