package engine

import (
	"math"
	"sync/atomic"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/market"
	"candela/internal/market/feed"
	"candela/internal/market/marketdata"
	"candela/internal/market/provider"
)

// freshFor is how old the newest price may be when an alert is set. What the price
// did in that time before the alert may still fire it.
const freshFor = 3 * time.Second

// always opens after every alert was made, so a bar of it counts whole.
const always = 1 << 50

// prices follows the price of an instrument, by the bars of the shortest interval
// there is: they tell how far the price went between two events.
type prices struct {
	loading
	need  alert.Need
	place *place // nil before anything was read
	sub   provider.Sub
	bar   market.Bar // the newest one, as far as it is known
	known bool       // bar is
	seen  time.Time  // when a bar was last told
	last  int64      // the newest bar that closed and was evaluated
	shown atomic.Pointer[last]
}

// last is a price for everyone to read.
type last struct {
	price float64
	at    time.Time // the venue's, by our clock
	shut  bool      // the market is closed
}

// quote is the newest bar of an instrument, as it was read.
type quote struct {
	place  *place
	sub    provider.Sub
	bar    market.Bar
	closed int64     // the newest bar that has closed
	asOf   time.Time // the venue's time of its close, by our clock
	read   time.Time
	shut   bool // the market is closed
}

// newQuote takes the newest bars of a set.
func newQuote(p *place, i market.Interval, set *marketdata.BarSet) quote {
	n := set.Bars.Len()
	q := quote{place: p, sub: provider.Sub{Symbol: p.symbol, Interval: i}, bar: set.Bars.At(n - 1), asOf: set.AsOf}
	_, open := p.calendar.Bucket(i, p.clock.Unix(set.AsOf))
	q.shut = !open && p.closes(i, q.bar.T).Before(set.AsOf)
	q.asOf = p.dated(i, q.bar.T, set.AsOf)
	switch {
	case !set.Forming:
		q.closed = q.bar.T
	case n > 1:
		q.closed = set.Bars.T[n-2]
	default:
		q.closed = p.calendar.Prev(i, q.bar.T).Open
	}
	return q
}

// dated returns the venue's time of the last price of a bar that was told or read at
// a time. While a bar runs, the venue says what the price is at that time. A bar that
// has ended tells none that is newer than its end, however often it is read, and of a
// bar in a file only the open has a time.
func (p *place) dated(i market.Interval, open int64, told time.Time) time.Time {
	ended := p.closes(i, open)
	switch {
	case !told.Before(ended):
		return ended
	case p.caps.Files:
		return p.clock.Wall(open)
	default:
		return told
	}
}

// fresh reports whether the price is known well enough to set an alert.
func (p *prices) fresh(now time.Time) bool {
	return p != nil && p.known && now.Sub(p.seen) <= freshFor
}

// fresh is the same of a quote: a loop that stood still may come to it late.
func (q *quote) fresh(now time.Time) bool { return now.Sub(q.read) <= freshFor }

// untouched returns when the bar that runs opened, if the price has not reached the
// threshold in it; the zero time otherwise. After a restart that bar tells what
// happened to an alert that was made in it.
func (p *prices) untouched(c *alert.Condition, now time.Time) time.Time {
	span, open := p.place.calendar.Bucket(p.sub.Interval, p.place.clock.Unix(now))
	threshold := c.Threshold.InexactFloat64()
	switch {
	case !open || p.bar.T > span.Open:
		return time.Time{}
	case p.bar.T < span.Open: // nothing was traded in it yet
	case c.Type == alert.PriceAbove && threshold <= p.bar.H, c.Type == alert.PriceBelow && threshold >= p.bar.L:
		return time.Time{}
	}
	return p.place.clock.Wall(span.Open).UTC().Truncate(time.Second)
}

// adopt begins to follow by a quote, unless that is done already.
func (p *prices) adopt(l *loop, q *quote) {
	if p.place == nil {
		p.place, p.sub, p.last = q.place, q.sub, q.closed
		l.join(q.sub, q.closed).prices = p
	}
}

// take handles an event of the feed.
func (p *prices) take(l *loop, e *feed.Event) {
	at, now := p.place.wall(e.At), l.cfg.Now()
	told := at
	if told.After(now) {
		told = now // the venue's clock is ahead of ours
	}
	switch e.Kind {
	case provider.Traded:
		l.touch(p, e.Price, e.Price, e.Price, at, false)
		p.shown.Store(&last{price: e.Price, at: told})
		if span, ok := p.place.calendar.Bucket(p.sub.Interval, e.At.Unix()); ok && span.Open == p.bar.T {
			p.bar.H, p.bar.L, p.bar.C = max(p.bar.H, e.Price), min(p.bar.L, e.Price), e.Price
		}
	case provider.Forming:
		p.tell(l, e.Bar, told, at, false)
	case provider.Closed:
		closed := p.place.closes(p.sub.Interval, e.Bar.T)
		late := e.Backfilled && now.Sub(closed) > lateAfter
		if e.Backfilled {
			at = closed
		}
		p.close(l, e.Bar, told, at, closed, late)
	default:
	}
}

// close handles a bar that is final.
func (p *prices) close(l *loop, bar market.Bar, told, at, closed time.Time, late bool) {
	if bar.T <= p.last {
		return
	}
	if bar.T < p.bar.T {
		// A newer bar was read meanwhile, and alerts may have been made since.
		l.found = l.book.TouchBar(l.found, p.need.Instrument, p.onWall(bar), closed, late)
	} else {
		p.tell(l, bar, told, at, late)
	}
	p.last = bar.T
	if p.ready { // else older bars are still to be evaluated
		l.mark(&p.loading, p.need, p.last)
	}
}

// tell handles what a bar has become, as the venue told at a time. What counts is
// where the price went since the last time: its close, its high and low where they
// went further than they were known to, and the whole of a bar that is new.
func (p *prices) tell(l *loop, bar market.Bar, told, at time.Time, late bool) {
	if p.known && bar.T < p.bar.T {
		return
	}
	lo, hi := bar.C, bar.C
	same := p.known && bar.T == p.bar.T
	if !same || bar.H > p.bar.H {
		hi = max(hi, bar.H)
	}
	if !same || bar.L < p.bar.L {
		lo = min(lo, bar.L)
	}
	if same {
		bar.H, bar.L = max(bar.H, p.bar.H), min(bar.L, p.bar.L)
	}
	p.know(l, bar, last{price: bar.C, at: p.place.dated(p.sub.Interval, bar.T, told)}, l.cfg.Now())
	l.touch(p, lo, hi, bar.C, at, late)
}

// hear handles a bar that was read. The first one may have begun before alerts of an
// earlier run were made: what it reached before them does not count.
func (p *prices) hear(l *loop, q *quote, now time.Time) {
	shown := last{q.bar.C, q.asOf, q.shut}
	if !p.known {
		p.know(l, q.bar, shown, now)
		l.found = l.book.TouchBar(l.found, p.need.Instrument, p.onWall(q.bar), now, false)
		return
	}
	p.tell(l, q.bar, q.asOf, now, false)
	if p.bar.T == q.bar.T && p.bar.C == q.bar.C {
		p.shown.Store(&shown) // it also tells whether the market is closed
	}
}

// know remembers the newest bar, and shows its price.
func (p *prices) know(l *loop, bar market.Bar, shown last, now time.Time) {
	if !p.known {
		l.lasts.put(p.need.Instrument, &p.shown)
	}
	p.bar, p.known, p.seen = bar, true, now
	p.shown.Store(&shown)
}

// touch fires the alerts between lo and hi.
func (l *loop) touch(p *prices, lo, hi, price float64, at time.Time, late bool) {
	if late {
		l.found = l.book.TouchBar(l.found, p.need.Instrument, market.Bar{T: always, H: hi, L: lo, C: price}, at, true)
		return
	}
	l.found = l.book.Touch(l.found, p.need.Instrument, lo, hi, at)
}

// onWall returns a bar with its open by the clock on the wall.
func (p *prices) onWall(bar market.Bar) market.Bar {
	if p.place.clock.Speed != 0 {
		bar.T = int64(math.Ceil(float64(p.place.clock.Wall(bar.T).UnixMilli()) / 1000))
	}
	return bar
}
