package market

import (
	"fmt"
	"math"
	"time"
)

// Gap is a run of missing bars. Nothing fills it.
type Gap struct {
	From    int64 // open time of the first missing bar
	To      int64 // open time of the bar after the gap
	Missing int   // how many bars are missing
	// Holiday is set when whole sessions are missing and nothing else: a
	// calendar knows no holidays, so the gap may be one.
	Holiday bool
}

// mostHolidays is how many consecutive sessions a market usually closes for holidays:
// Easter has two, a golden week more, and is then reported as a gap.
const mostHolidays = 3

// Missed returns how many bars the gaps leave out, without those that may be
// holidays: up to three whole sessions.
func (c Calendar) Missed(gaps []Gap) (bars int) {
	for _, g := range gaps {
		if !g.Holiday || c.Count(Day1, Span{Open: g.From, Close: g.To}) > mostHolidays {
			bars += g.Missing
		}
	}
	return bars
}

// GapsWithin returns the gaps that overlap the time from open to end, nil for none.
func GapsWithin(gaps []Gap, open, end int64) []Gap {
	var within []Gap
	for _, g := range gaps {
		if g.To > open && g.From < end {
			within = append(within, g)
		}
	}
	return within
}

// Holes lists what is missing from a run of bars.
type Holes struct {
	Gaps    []Gap   // ascending
	OffGrid []int64 // open times that are no bar's open under the calendar, ascending
}

// Gaps reports where bars of interval i are missing between the first and the
// last of b, and which do not stand on the calendar's grid. Open times must
// ascend; otherwise it returns an error.
func Gaps(b *Bars, i Interval, c Calendar) (Holes, error) {
	if !i.Valid() {
		return Holes{}, fmt.Errorf("gaps: %v is no interval", i)
	}
	g := newGrid(c, i)
	for k, t := range b.T {
		if k > 0 && t <= b.T[k-1] {
			return Holes{}, disorder(b.T[k-1], t)
		}
		if t == g.want && g.started || g.enter(t) {
			g.advance(t)
		}
	}
	return g.holes, nil
}

func disorder(before, t int64) error {
	return fmt.Errorf("bar %s does not come after the bar before it (%s)", Stamp(t), Stamp(before))
}

// Stamp writes a Unix time in seconds, such as the open time of a bar, as RFC 3339 in UTC.
func Stamp(t int64) string { return time.Unix(t, 0).UTC().Format(time.RFC3339) }

// grid follows ascending bars and knows which open time comes next, so that the
// common case costs one addition and one comparison per bar.
type grid struct {
	cal     Calendar
	iv      Interval
	step    int64
	close   int64 // end of the stretch in which bars are step apart
	want    int64 // the open time that should come next
	started bool
	holes   Holes
}

func newGrid(c Calendar, i Interval) grid {
	g := grid{cal: c, iv: i, step: i.Seconds(), close: math.MinInt64}
	if c.zone == nil && i.Even() {
		g.close = math.MaxInt64
	}
	return g
}

// enter handles a bar that is not the expected one: it records the gap before it, or that
// the bar is off the grid, and reports whether the bar counts.
func (g *grid) enter(t int64) bool {
	span, ok := g.cal.Bucket(g.iv, t)
	if !ok || span.Open != t {
		g.holes.OffGrid = append(g.holes.OffGrid, t)
		return false
	}
	if g.started {
		g.holes.Gaps = append(g.holes.Gaps, g.gap(t))
	}
	g.started = true
	g.stretch(t)
	return true
}

// stretch finds the end of the session that t opens in.
func (g *grid) stretch(t int64) {
	if g.iv < Day1 && g.close != math.MaxInt64 {
		if s, ok := g.cal.group(g.iv, g.cal.dayOf(t)); ok {
			g.close = s.Close
		}
	}
}

// advance sets the open time that should follow a bar at t.
func (g *grid) advance(t int64) {
	g.want = t + g.step
	if g.want >= g.close {
		g.want = g.cal.Next(g.iv, t).Open
		g.stretch(g.want)
	}
}

func (g *grid) gap(t int64) Gap {
	gap := Gap{From: g.want, To: t, Missing: g.cal.Count(g.iv, Span{Open: g.want, Close: t})}
	if g.cal.zone != nil && g.iv < Week1 {
		from, _ := g.cal.session(g.cal.dayOf(gap.From))
		to, _ := g.cal.session(g.cal.dayOf(gap.To))
		gap.Holiday = from.Open == gap.From && to.Open == gap.To
	}
	return gap
}
