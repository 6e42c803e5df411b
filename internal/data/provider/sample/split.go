package sample

import "math"

// node is a bar in whole ticks and whole units, so that the parts of a bar add
// up to it exactly. Volume is what was bought by takers and what was sold.
type node struct{ o, h, l, c, buy, sell int64 }

// add extends a bar by the one that follows it. The zero node is no bar.
func (a node) add(b node) node {
	if a.o == 0 {
		return b
	}
	return node{o: a.o, h: max(a.h, b.h), l: min(a.l, b.l), c: b.c, buy: a.buy + b.buy, sell: a.sell + b.sell}
}

// The levels of the tree. Each bar is split into bars of the next level, and
// every interval is made of bars of the longest level that divides it.
const (
	levelDay = iota
	level12h
	level4h
	level2h
	levelHour
	levelQuarter
	levelMinute
	levelStep
)

const maxParts = 15

// seconds is how long a bar of a level is.
func seconds(level int) int64 { return [...]int64{86400, 43200, 14400, 7200, 3600, 900, 60, 4}[level] }

// each calls yield with every bar of the level that opens at from or later and
// before to, ascending. Both must be multiples of the level's length.
func (p *path) each(level int, from, to int64, yield func(t int64, n node)) {
	for d := from / seconds(levelDay); d*seconds(levelDay) < to; d++ {
		p.descend(p.day(d), levelDay, d*seconds(levelDay), level, from, to, yield)
	}
}

func (p *path) descend(n node, at int, t int64, level int, from, to int64, yield func(int64, node)) {
	if at == level {
		yield(t, n)
		return
	}
	var buffer [maxParts]node
	step := seconds(at + 1)
	children := buffer[:seconds(at)/step]
	var share [maxParts]float64
	random := stream(p.seed, forSplit+uint64(at), t) //nolint:gosec // a level is small and not negative
	for i := range children {
		share[i] = random.skewed(0.45)
		if at < levelHour {
			share[i] *= busy(t + int64(i)*step + step/2)
		}
	}
	split(n, children, &share, &random)
	for i, child := range children {
		if open := t + int64(i)*step; open+step > from && open < to {
			p.descend(child, at+1, open, level, from, to, yield)
		}
	}
}

// split shares a bar out to its parts: the first opens where it opens, the last
// closes where it closes, their highest high and lowest low are its own, and
// their volumes add up to its volume. The weights say how lively each part is.
func split(n node, parts []node, share *[maxParts]float64, random *noise) {
	var walk [maxParts + 1]float64
	var high, low [maxParts]float64
	// How much a path varies that spans and moves as far as the bar does: Garman
	// and Klass 1980, the estimator from range and body.
	span, body := float64(n.h-n.l), float64(n.c-n.o)
	variance := 0.5*span*span - 0.386*body*body
	total := 0.0
	for i := range parts {
		total += share[i]
	}
	for i := range parts {
		share[i] /= total
		walk[i+1] = walk[i] + math.Sqrt(variance*share[i])*random.normal()
	}
	// Turned into a bridge: what the walk misses at the end is taken back along the way.
	open, closing := float64(n.o), float64(n.c)
	miss, passed := closing-open-walk[len(parts)], 0.0
	for i := range parts {
		passed += share[i]
		walk[i] += open
		walk[i+1] += passed * miss
	}
	walk[len(parts)] = closing
	for i := range parts {
		high[i] = random.extreme(walk[i], walk[i+1], variance*share[i])
		low[i] = -random.extreme(-walk[i], -walk[i+1], variance*share[i])
	}
	fit(n, parts, walk[:len(parts)+1], high[:len(parts)], low[:len(parts)])
	spread(n, parts, random)
}

// busy is how lively a time of the day is: most at 15:00 UTC, when Europe and
// America both trade, least twelve hours away.
func busy(t int64) float64 {
	away := float64(t%86400)/3600 - 15
	away = math.Abs(away)
	return 1.5 - min(away, 24-away)/12
}

// fit squeezes what lies above and below the bar's body so that no part reaches
// beyond its high and low, which one part each then gets as a wick. Squeezing
// keeps order, so every part stays a sound bar; pulling a path apart instead
// would make it jump to and fro.
func fit(n node, parts []node, walk, high, low []float64) {
	top, bottom := float64(max(n.o, n.c)), float64(min(n.o, n.c))
	highest, lowest := 0, 0
	for i := range parts {
		if high[i] > high[highest] {
			highest = i
		}
		if low[i] < low[lowest] {
			lowest = i
		}
	}
	up, down := 0.0, 0.0
	if reach := high[highest] - top; reach > 0 {
		up = min(1, (float64(n.h)-top)/reach)
	}
	if reach := bottom - low[lowest]; reach > 0 {
		down = min(1, (bottom-float64(n.l))/reach)
	}
	place := func(y float64) int64 {
		switch {
		case y > top:
			y = top + (y-top)*up
		case y < bottom:
			y = bottom - (bottom-y)*down
		}
		return min(max(int64(math.Round(y)), n.l), n.h)
	}
	before := n.o
	for i := range parts {
		after := place(walk[i+1])
		parts[i] = node{o: before, c: after, h: max(place(high[i]), before, after), l: min(place(low[i]), before, after)}
		before = after
	}
	parts[highest].h, parts[lowest].l = n.h, n.l
}

// spread shares out the volume: more to the parts that span more, and within a
// part more to buyers when it rises.
func spread(n node, parts []node, random *noise) {
	var weight, lean [maxParts]float64
	span := 0.0
	for i := range parts {
		span += float64(parts[i].h - parts[i].l)
	}
	even := max(1, span) / float64(len(parts))
	buys, sells := 0.0, 0.0
	for i, p := range parts {
		wide := float64(p.h - p.l)
		weight[i] = (0.35*even + 0.65*wide) * random.skewed(0.3)
		if wide > 0 {
			lean[i] = 0.4 * float64(p.c-p.o) / wide
		}
		buys += weight[i] * (1 + lean[i])
		sells += weight[i] * (1 - lean[i])
	}
	// Rounding the running sums, not the shares, makes them add up exactly.
	var bought, sold int64
	buyPart, sellPart := 0.0, 0.0
	for i := range parts {
		buyPart += weight[i] * (1 + lean[i])
		sellPart += weight[i] * (1 - lean[i])
		b, s := int64(float64(n.buy)*min(1, buyPart/buys)), int64(float64(n.sell)*min(1, sellPart/sells))
		if i == len(parts)-1 {
			b, s = n.buy, n.sell
		}
		parts[i].buy, parts[i].sell = b-bought, s-sold
		bought, sold = b, s
	}
}
