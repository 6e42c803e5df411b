package fake

import (
	"slices"
	"sync"
	"time"

	"github.com/shopspring/decimal"
)

// Gap is a time in which a part of a position had no stop that works.
type Gap struct {
	From, To time.Time       // To is zero while it lasts
	Quantity decimal.Decimal // the most that had none
}

// Gaps measures at a venue how long parts of a position have no stop. It is safe for concurrent
// use.
type Gaps struct {
	least decimal.Decimal

	mu  sync.Mutex
	all []Gap
}

// NewGaps returns a measurement for which less than least counts as nothing, because no stop
// can be had for it.
func NewGaps(least decimal.Decimal) *Gaps { return &Gaps{least: least} }

// See records how much is held at a time, and how much of it stops would close. Times never
// decrease.
func (g *Gaps) See(at time.Time, held, covered decimal.Decimal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	bare, last := held.Sub(covered), len(g.all)-1
	lasts := last >= 0 && g.all[last].To.IsZero()
	open := bare.IsPositive() && bare.GreaterThanOrEqual(g.least)
	switch {
	case open && lasts:
		g.all[last].Quantity = decimal.Max(g.all[last].Quantity, bare)
	case open:
		g.all = append(g.all, Gap{From: at, Quantity: bare})
	case lasts && at.Equal(g.all[last].From): // within one step of the venue
		g.all = g.all[:last]
	case lasts:
		g.all[last].To = at
	}
}

// All returns the gaps, oldest first.
func (g *Gaps) All() []Gap {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.all)
}

// Longest returns how long the longest gap lasted until now.
func (g *Gaps) Longest(now time.Time) time.Duration {
	var longest time.Duration
	for _, one := range g.All() {
		if one.To.IsZero() {
			one.To = now
		}
		longest = max(longest, one.To.Sub(one.From))
	}
	return longest
}
