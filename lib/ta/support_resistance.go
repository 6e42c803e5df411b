package ta

import (
	"fmt"
	"math"
	"slices"

	"candela/lib/ta/calc"
)

// mostSwings is how many swings support_resistance looks at.
const mostSwings = 64

func supportResistance() Def {
	return Def{
		Name: "support_resistance", Aliases: []string{"sr"}, Kind: Overlay, Group: GroupLevels,
		Doc: "Support and resistance from clusters of swings; the two nearest on each side of the close.",
		Formula: "Swing highs and lows as in `swings` of the last `lookback` bars, the newest 64, are sorted; from the lowest on, those within `width` percent of the range of all swings form a cluster. " +
			"Clusters of at least `touches` are levels, at their mean. R1, R2 are the nearest above the close, S1, S2 at or below it.",
		Truth: "own definition; second derivation in the tests",
		Params: []Param{
			sideBars(10), Int("lookback", 300, 10, 2000, "bars whose swings count"),
			Num("width", 5, 0.1, 50, "height of a cluster in percent of the range of the swings"), Int("touches", 2, 1, 20, "swings a level needs"),
		},
		Lines: []string{"R1", "S1", "R2", "S2"},
		Signals: []Trigger{
			{"breakout_up", "the close is above the R1 of the bar before; y is that level"},
			{"breakout_down", "the close is below the S1 of the bar before; y is that level"},
		},
		New: func(v Values) Instance {
			n, lookback := v.Int("length"), v.Int("lookback")
			return &series{
				label: fmt.Sprintf("S/R(%d, %d)", n, lookback), first: 2 * n, stable: lookback + 2*n + 2, columns: 4, lines: styled(Steps, "R1", "S1", "R2", "S2"),
				begin: func(m *calc.Slab, _ Env) step {
					c := clusters{
						find: newSwingFinder(m, n), lookback: lookback, width: v.Num("width") / 100, touches: v.Int("touches"),
						swings: m.Cells(1 + 2*mostSwings), levels: m.Cells(1 + mostSwings),
					}
					return c.next
				},
				detect: func(r *Row) {
					if r.Bar.C > r.Prev[0] {
						r.Signal("breakout_up", r.Prev[0])
					}
					if r.Bar.C < r.Prev[1] {
						r.Signal("breakout_down", r.Prev[1])
					}
				},
			}
		},
	}
}

// clusters keeps the last swings and the levels that follow from them.
type clusters struct {
	find              swingFinder
	lookback, touches int
	width             float64
	swings            calc.Cells // how many, then bar and price of each, the oldest first
	levels            calc.Cells // how many, then the prices, rising
}

func (c *clusters) next(r *Row) {
	top, bottom := c.find.next(r)
	m, changed := c.swings.Mem(), false
	for m[0] > 0 && r.Index-int(m[1]) >= c.lookback {
		c.drop(m)
		changed = true
	}
	for _, x := range [...]float64{top, bottom} {
		if x-x != 0 { // none
			continue
		}
		if m[0] == mostSwings {
			c.drop(m)
		}
		at := 1 + 2*int(m[0])
		m[at], m[at+1] = float64(r.Index-c.find.n), x
		m[0]++
		changed = true
	}
	if changed {
		c.gather(m[1 : 1+2*int(m[0])])
	}
	c.write(r)
}

// drop forgets the oldest swing.
func (c *clusters) drop(m []float64) {
	copy(m[1:], m[3:])
	m[0]--
}

// gather finds the levels of the swings.
func (c *clusters) gather(swings []float64) {
	var prices [mostSwings]float64
	n := len(swings) / 2
	for i := range n {
		prices[i] = swings[2*i+1]
	}
	slices.Sort(prices[:n])
	m := c.levels.Mem()
	m[0] = 0
	for from := 0; from < n; {
		to, sum := from, 0.0
		room := float64(c.width * (prices[n-1] - prices[0]))
		for to < n && prices[to]-prices[from] <= room {
			sum += prices[to]
			to++
		}
		if count := to - from; count >= c.touches {
			m[0]++
			m[int(m[0])] = sum / float64(count)
		}
		from = to
	}
}

// write finds the nearest levels.
func (c *clusters) write(r *Row) {
	m := c.levels.Mem()
	levels := m[1 : 1+int(m[0])]
	if math.IsNaN(r.Bar.C) {
		return
	}
	above, _ := slices.BinarySearchFunc(levels, r.Bar.C, func(level, price float64) int {
		if level > price {
			return 1
		}
		return -1
	})
	for i, at := range [...]int{above, above - 1, above + 1, above - 2} {
		if at >= 0 && at < len(levels) {
			r.Values[i] = levels[at]
		}
	}
}
