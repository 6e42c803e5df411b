package tape

import (
	"time"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// Compound is an alert on bars of several intervals, the shortest of which are minutes: the newest closed
// bar of each must have gone up, or down.
type Compound struct {
	Symbol string
	Parts  []Part // the first is of minutes
}

// Part is a condition on bars of one interval: they close above their open, or below it.
type Part struct {
	Interval market.Interval
	Up       bool
}

// closing is a bar that closed at a time.
type closing struct {
	symbol   string
	interval market.Interval
	at       int64
}

// ClosedBy returns the newest bar of an interval of whole minutes that had closed by a time, and when it closed.
func (t *Tape) ClosedBy(symbol string, i market.Interval, by int64) (market.Bar, int64) {
	length := i.Seconds()
	key := closing{symbol, i, by - by%length}
	t.mu.Lock()
	defer t.mu.Unlock()
	bar, ok := t.closings[key]
	if !ok {
		t.now = time.Unix(key.at, 0)
		bars, _ := t.prices.Bars(symbol, provider.BarQuery{Interval: i, Limit: 2})
		for k, open := range bars.T {
			if open == key.at-length {
				bar = bars.At(k)
			}
		}
		t.closings[key] = bar
	}
	return bar, key.at
}

// holds reports whether the newest bar that had closed by a time is as the part says, and when it closed.
func (t *Tape) holds(symbol string, p Part, by int64) (holds bool, closed int64) {
	bar, closed := t.ClosedBy(symbol, p.Interval, by)
	return p.Up && bar.C > bar.O || !p.Up && bar.C < bar.O, closed
}

// Holds reports whether all parts are true at the close of a minute, and whether one of them became true there.
func (t *Tape) Holds(c *Compound, at int64) (holds, rises bool) {
	for _, p := range c.Parts {
		now, closed := t.holds(c.Symbol, p, at)
		if !now {
			return false, false
		}
		before, _ := t.holds(c.Symbol, p, closed-1)
		rises = rises || closed == at && !before
	}
	return true, rises
}

// FirstOf returns what must have fired a compound that was made at a time: the first minute that closed after it and at
// which all parts were true, when that closed, and its close.
func (t *Tape) FirstOf(c *Compound, made, end time.Time) (closed time.Time, value float64, found bool) {
	for at := made.Unix() - made.Unix()%60 + 60; at <= end.Unix(); at += 60 {
		if holds, _ := t.Holds(c, at); holds {
			bar, _ := t.ClosedBy(c.Symbol, market.Minute1, at)
			return time.Unix(at, 0), bar.C, true
		}
	}
	return time.Time{}, 0, false
}
