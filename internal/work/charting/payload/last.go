package payload

import (
	"math"
	"slices"
	"time"

	"candela/lib/market"
)

// day is the distance of the change in last, and dayOff how far from it the close may be that it is
// counted from.
const (
	day    = 24 * 60 * 60
	dayOff = 2 * 60 * 60
)

// last writes the newest bar: when it opened, whether it is closed, its close, and how far that is from
// the close of a day before, if there is a bar that closed then.
func (e *encoder) last(c *Chart) {
	b := c.Bars
	i := b.Len() - 1
	e.key("last")
	e.open('{')
	if c.sample() {
		e.null("bar")
	} else {
		e.text("bar", time.Unix(b.T[i], 0).UTC().Format(time.RFC3339))
	}
	e.flag("closed", c.LastBarClosed)
	e.number("close", b.C[i])
	if from, ok := c.dayBefore(); ok {
		e.number("change_24h_pct", math.Round(market.ChangePct(b.C[from], b.C[i])*1e4)/1e4)
	}
	e.close('}')
}

// dayBefore returns the bar whose close is nearest to 24 hours before the newest price, if it is near.
func (c *Chart) dayBefore() (bar int, ok bool) {
	b := c.Bars
	last, length := b.Len()-1, c.Interval.Seconds()
	if c.sample() || length > day {
		return 0, false
	}
	at := b.T[last] + length
	if !c.LastBarClosed {
		at = min(at, c.AsOf.Unix())
	}
	want := at - day - length // when the bar opened that closed then
	after, _ := slices.BinarySearch(b.T[:last], want)
	best := int64(dayOff + 1)
	for i := max(after-1, 0); i <= min(after, last-1); i++ {
		off := b.T[i] - want
		if off = max(off, -off); off < best && b.C[i] != 0 {
			bar, best = i, off
		}
	}
	return bar, best <= dayOff
}
