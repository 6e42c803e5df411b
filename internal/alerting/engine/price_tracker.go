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

// maxPriceAge is how old the newest price may be when an alert is set. What the price
// did in that time before the alert may still fire it.
const maxPriceAge = 3 * time.Second

// afterAllAlerts opens after every alert was made, so a bar of it counts whole.
const afterAllAlerts = 1 << 50

// priceTracker follows the price of an instrument, by the bars of the shortest interval
// there is: they tell how far the price went between two events.
type priceTracker struct {
	tracker
	need       alert.Dependency
	place      *listing // nil before anything was read
	sub        provider.Sub
	bar        market.Bar // the newest one, as far as it is known
	hasBar     bool       // bar is
	updatedAt  time.Time  // when a bar was last told
	lastClosed int64      // the newest bar that closed and was evaluated
	published  atomic.Pointer[lastPrice]
}

// lastPrice is a price for everyone to read.
type lastPrice struct {
	price        float64
	at           time.Time // the venue's, by our clock
	marketClosed bool      // the market is closed
}

// priceRead is the newest bar of an instrument, as it was read.
type priceRead struct {
	listing      *listing
	sub          provider.Sub
	bar          market.Bar
	closed       int64     // the newest bar that has closed
	asOf         time.Time // the venue's time of its close, by our clock
	readAt       time.Time
	marketClosed bool // the market is closed
}

// newPriceRead takes the newest bars of a set.
func newPriceRead(p *listing, i market.Interval, set *marketdata.BarSet) priceRead {
	n := set.Bars.Len()
	q := priceRead{listing: p, sub: provider.Sub{Symbol: p.symbol, Interval: i}, bar: set.Bars.At(n - 1), asOf: set.AsOf}
	_, open := p.calendar.Bucket(i, p.clock.Unix(set.AsOf))
	q.marketClosed = !open && p.closeTime(i, q.bar.T).Before(set.AsOf)
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
func (p *listing) dated(i market.Interval, open int64, told time.Time) time.Time {
	ended := p.closeTime(i, open)
	switch {
	case !told.Before(ended):
		return ended
	case p.caps.Files:
		return p.clock.Wall(open)
	default:
		return told
	}
}

// isFresh reports whether the price is known well enough to set an alert.
func (p *priceTracker) isFresh(now time.Time) bool {
	return p != nil && p.hasBar && now.Sub(p.updatedAt) <= maxPriceAge
}

// isFresh is the same of a quote: a loop that stood still may come to it late.
func (q *priceRead) isFresh(now time.Time) bool { return now.Sub(q.readAt) <= maxPriceAge }

// unreachedSince returns when the bar that runs opened, if the price has not reached the
// threshold in it; the zero time otherwise. After a restart that bar tells what
// happened to an alert that was made in it.
func (p *priceTracker) unreachedSince(c *alert.Condition, now time.Time) time.Time {
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

// start begins to follow by a quote, unless that is done already.
func (p *priceTracker) start(l *loop, q *priceRead) {
	if p.place == nil {
		p.place, p.sub, p.lastClosed = q.listing, q.sub, q.closed
		l.ensureSubscription(q.sub, q.closed).prices = p
	}
}

// handleEvent handles an event of the feed.
func (p *priceTracker) handleEvent(l *loop, e *feed.Event) {
	at, now := p.place.wallTime(e.At), l.cfg.Now()
	told := at
	if told.After(now) {
		told = now // the venue's clock is ahead of ours
	}
	switch e.Kind {
	case provider.Traded:
		l.fireRange(p, e.Price, e.Price, e.Price, at, false)
		p.published.Store(&lastPrice{price: e.Price, at: told})
		if span, ok := p.place.calendar.Bucket(p.sub.Interval, e.At.Unix()); ok && span.Open == p.bar.T {
			p.bar.H, p.bar.L, p.bar.C = max(p.bar.H, e.Price), min(p.bar.L, e.Price), e.Price
		}
	case provider.Forming:
		p.applyBar(l, e.Bar, told, at, false)
	case provider.Closed:
		closed := p.place.closeTime(p.sub.Interval, e.Bar.T)
		late := e.Backfilled && now.Sub(closed) > lateAfter
		if e.Backfilled {
			at = closed
		}
		p.close(l, e.Bar, told, at, closed, late)
	default:
	}
}

// close handles a bar that is final.
func (p *priceTracker) close(l *loop, bar market.Bar, told, at, closed time.Time, late bool) {
	if bar.T <= p.lastClosed {
		return
	}
	if bar.T < p.bar.T {
		// A newer bar was read meanwhile, and alerts may have been made since.
		l.newFirings = l.index.FireBar(l.newFirings, p.need.Instrument, p.wallBar(bar), closed, late)
	} else {
		p.applyBar(l, bar, told, at, late)
	}
	p.lastClosed = bar.T
	if p.ready { // else older bars are still to be evaluated
		l.setWatermark(&p.tracker, p.need, p.lastClosed)
	}
}

// applyBar handles what a bar has become, as the venue told at a time. What counts is
// where the price went since the last time: its close, its high and low where they
// went further than they were known to, and the whole of a bar that is new.
func (p *priceTracker) applyBar(l *loop, bar market.Bar, told, at time.Time, late bool) {
	if p.hasBar && bar.T < p.bar.T {
		return
	}
	lo, hi := bar.C, bar.C
	same := p.hasBar && bar.T == p.bar.T
	if !same || bar.H > p.bar.H {
		hi = max(hi, bar.H)
	}
	if !same || bar.L < p.bar.L {
		lo = min(lo, bar.L)
	}
	if same {
		bar.H, bar.L = max(bar.H, p.bar.H), min(bar.L, p.bar.L)
	}
	p.setLatest(l, bar, lastPrice{price: bar.C, at: p.place.dated(p.sub.Interval, bar.T, told)}, l.cfg.Now())
	l.fireRange(p, lo, hi, bar.C, at, late)
}

// applyRead handles a bar that was read. The first one may have begun before alerts of an
// earlier run were made: what it reached before them does not count.
func (p *priceTracker) applyRead(l *loop, q *priceRead, now time.Time) {
	shown := lastPrice{q.bar.C, q.asOf, q.marketClosed}
	if !p.hasBar {
		p.setLatest(l, q.bar, shown, now)
		l.newFirings = l.index.FireBar(l.newFirings, p.need.Instrument, p.wallBar(q.bar), now, false)
		return
	}
	p.applyBar(l, q.bar, q.asOf, now, false)
	if p.bar.T == q.bar.T && p.bar.C == q.bar.C {
		p.published.Store(&shown) // it also tells whether the market is closed
	}
}

// setLatest remembers the newest bar, and shows its price.
func (p *priceTracker) setLatest(l *loop, bar market.Bar, shown lastPrice, now time.Time) {
	if !p.hasBar {
		l.prices.put(p.need.Instrument, &p.published)
	}
	p.bar, p.hasBar, p.updatedAt = bar, true, now
	p.published.Store(&shown)
}

// fireRange fires the alerts between lo and hi.
func (l *loop) fireRange(p *priceTracker, lo, hi, price float64, at time.Time, late bool) {
	if late {
		l.newFirings = l.index.FireBar(l.newFirings, p.need.Instrument, market.Bar{T: afterAllAlerts, H: hi, L: lo, C: price}, at, true)
		return
	}
	l.newFirings = l.index.FirePrice(l.newFirings, p.need.Instrument, lo, hi, at)
}

// wallBar returns a bar with its open by the clock on the wall.
func (p *priceTracker) wallBar(bar market.Bar) market.Bar {
	if p.place.clock.Speed != 0 {
		bar.T = int64(math.Ceil(float64(p.place.clock.Wall(bar.T).UnixMilli()) / 1000))
	}
	return bar
}
