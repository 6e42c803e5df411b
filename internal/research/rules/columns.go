package rules

import (
	"math"
	"slices"

	"candela/internal/analysis/simulate"
	"candela/internal/market"
	"candela/internal/research/replay"
)

// columned is an instance that knows what its conditions say of every bar.
type columned struct {
	account *simulate.Account
	bars    *market.Bars
	sides   []columnedSide
	timed   bool   // a position may end at any bar
	at      int    // index of the next bar
	woken   []bool // bars at which a condition speaks
	opens   []bool // bars at which one opens a position
}

type columnedSide struct {
	side
	enters, leaves []bool
}

// columned evaluates the conditions at all bars at once.
func (in *instance) columned(k *replay.Columns) *columned {
	n := k.Bars.Len()
	out := &columned{bars: k.Bars, account: in.account, woken: make([]bool, n), opens: make([]bool, n)}
	join := func(to, from []bool) {
		for b, is := range from {
			to[b] = to[b] || is
		}
	}
	never := make([]bool, n)
	for i := range in.sides {
		s := columnedSide{side: in.sides[i], enters: k.Of(in.sides[i].enter).Rises, leaves: never}
		if s.exit != nil {
			s.leaves = k.Of(s.exit).Holds
			join(out.woken, s.leaves)
		}
		join(out.woken, s.enters)
		join(out.opens, s.enters)
		out.timed = out.timed || s.rules.MaxBars > 0 || s.paper && s.rules.Stop > 0
		out.sides = append(out.sides, s)
	}
	return out
}

// Wake returns the next bar at which a condition speaks, or at which a position may be too old.
func (c *columned) Wake(i int) int {
	speaks := c.woken
	switch {
	case c.account.Idle():
		speaks = c.opens
	case c.timed:
		c.at = i
		return i
	}
	if k := slices.Index(speaks[min(i, len(speaks)):], true); k >= 0 {
		c.at = i + k
		return c.at
	}
	return math.MaxInt
}

// Next places the orders of the bar that Wake has returned.
func (c *columned) Next(market.Bar) error {
	for i := range c.sides {
		s := &c.sides[i]
		s.order(c.account, s.enters[c.at], s.leaves[c.at], c.bars.L[c.at], c.bars.H[c.at])
	}
	return nil
}
