package candle

// ticks is a bar in whole ticks: open, high, low, close.
type ticks [4]int64

// random is splitmix64, as in testdata/generate.py.
type random uint64

func (r *random) below(n int64) int64 {
	*r += 0x9E3779B97F4A7C15
	z := uint64(*r)
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return int64((z ^ (z >> 31)) >> 11 % uint64(n))
}

// length is none, tiny, small or large, each often.
func (r *random) length(size int64) int64 {
	switch kind := r.below(8); {
	case kind < 2:
		return 0
	case kind < 4:
		return r.below(2 + size/8)
	case kind < 6:
		return r.below(1 + size/2)
	}
	return r.below(1 + size)
}

// walk makes the bars of walk in testdata/generate.py: their prices often meet those of
// the bars before.
func walk(seed uint64, n int, size int64) []ticks {
	r, bars := random(seed), make([]ticks, 0, n)
	centre := 1000 * size
	o, h, l, c := centre, centre, centre, centre
	for range n {
		above, under := h+1+r.length(size), l-1-r.length(size)
		start := [...]int64{c, c, o, above, under, h, l, (o + c) / 2}[r.below(8)]
		up := start < centre
		if start-centre < 40*size && centre-start < 40*size {
			up = r.below(2) == 0
		}
		body := r.length(size)
		end := start - body
		if up {
			end = start + body
		}
		if r.below(4) == 0 {
			end = [...]int64{o, c, h, l}[r.below(4)]
		}
		bare, upper, lower := r.below(3), int64(0), int64(0)
		if bare != 0 {
			upper = r.length(size)
		}
		if bare != 1 {
			lower = r.length(size)
		}
		o, c = start, end
		h, l = max(o, c)+upper, min(o, c)-lower
		bars = append(bars, ticks{o, h, l, c})
	}
	return bars
}
