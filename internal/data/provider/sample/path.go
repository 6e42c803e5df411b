package sample

import "math"

const (
	cellDays  = 512   // days between two anchors of the price
	daily     = 0.028 // typical standard deviation of a day's log return
	anchorDev = 0.55  // of the log price at anchors, around the symbol's level
)

// path is the log price at every midnight of one symbol. At anchors, a cell
// apart, it is drawn around the symbol's level, so that it never wanders off;
// between them it is a Brownian bridge whose variance is shared out unevenly at
// each halving. That multiplicative cascade (Mandelbrot, Calvet and Fisher 1997)
// makes quiet and wild times at all scales. One goroutine only.
type path struct {
	seed   uint64
	level  float64 // log of the price around which the symbol moves
	volume float64 // units traded on a typical day
	scale  float64 // ticks in one unit of price
	digits int32   // decimals of a price

	cell     int64 // the cell held below
	loaded   bool
	log      [cellDays + 1]float64 // of the price at midnight
	price    [cellDays + 1]float64 // in ticks
	variance [cellDays]float64     // of each day
}

func newPath(seed uint64, name string) *path {
	n := noise(seed)
	for _, c := range []byte(name) {
		n = noise(n.next() ^ uint64(c))
	}
	p := &path{seed: n.next(), scale: 100, digits: 2}
	p.level = math.Log(50) + n.uniform()*math.Log(1000) // 50 to 50,000
	p.volume = 3e9 / math.Exp(p.level)
	if p.level < math.Log(1000) {
		p.scale, p.digits = 10_000, 4 // a minute of a cheap symbol must span several ticks
	}
	return p
}

func (p *path) load(cell int64) {
	if p.loaded && p.cell == cell {
		return
	}
	p.cell, p.loaded = cell, true
	n := stream(p.seed, forCell, cell)
	p.log[0], p.log[cellDays] = p.anchor(cell), p.anchor(cell+1)
	p.halve(&n, 0, cellDays, cellDays*daily*daily*n.skewed(0.4))
	for i, log := range p.log {
		p.price[i] = max(1, math.Round(math.Exp(log)*p.scale))
	}
}

func (p *path) anchor(cell int64) float64 {
	n := stream(p.seed, forAnchor, cell)
	return p.level + anchorDev*n.normal()
}

// halve draws the middle of a stretch given its ends and its variance. The
// draws come in a fixed order because a cell is always made whole.
func (p *path) halve(n *noise, from, to int, variance float64) {
	if to-from == 1 {
		p.variance[from] = variance
		return
	}
	share := 0.5 + 0.13*n.normal()
	share = min(max(share, 0.15), 0.85)
	mid := (from + to) / 2
	p.log[mid] = p.log[from] + share*(p.log[to]-p.log[from]) + math.Sqrt(variance*share*(1-share))*n.normal()
	p.halve(n, from, mid, variance*share)
	p.halve(n, mid, to, variance*(1-share))
}

// day returns the bar of a day, counted from 1970-01-01.
func (p *path) day(d int64) node {
	p.load(d / cellDays)
	i := d % cellDays
	n := stream(p.seed, forDay, d)
	move, dev := p.log[i+1]-p.log[i], math.Sqrt(p.variance[i])
	up, down := n.extreme(0, move, dev*dev), n.extreme(0, -move, dev*dev)
	reach := (up + down) / dev / 1.6 // 1 on average
	total := p.volume * (0.4 + 0.6*dev/daily) * (0.4 + 0.6*reach) * n.skewed(0.25)
	buys := 0.5 + 0.1*move/(dev+math.Abs(move)) + 0.02*n.normal()
	open, closing := p.price[i], p.price[i+1]
	return node{
		o: int64(open), c: int64(closing),
		h:   int64(max(math.Round(open*growth(up)), open, closing)),
		l:   int64(max(1, min(math.Round(open/growth(down)), open, closing))),
		buy: int64(total * buys), sell: int64(total * (1 - buys)),
	}
}

// growth stands for the exponential of a log return that is small and not
// negative: the first terms of its series, which suffice for a wick.
func growth(x float64) float64 { return 1 + x*(1+x/2*(1+x/3*(1+x/4))) }
