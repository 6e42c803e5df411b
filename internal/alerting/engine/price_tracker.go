package engine

import (
	"math"
	"sync/atomic"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/data/feed"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/lib/market"
)

// maxPriceAge is the greatest age of the price when an alert is created. Price moves of
// that time before the creation may fire the alert.
const maxPriceAge = 3 * time.Second

// priceTracker tracks the price of an instrument by the bars of the shortest interval:
// their highs and lows show how far the price went between two events.
type priceTracker struct {
	tracker
	sub        provider.Sub
	bar        market.Bar // the newest one; valid if hasBar
	hasBar     bool
	updatedAt  time.Time // of bar
	lastClosed int64     // the newest closed bar that was evaluated
	published  atomic.Pointer[lastPrice]
}

// lastPrice is the published price.
type lastPrice struct {
	price        float64
	at           time.Time // the venue's time, as wall time
	marketClosed bool
	mark         float64   // of a perpetual future, 0 if unknown
	markedAt     time.Time // the venue's time of it, as wall time
}

// publish makes a price known, with the mark that was.
func (p *priceTracker) publish(l lastPrice) {
	if before := p.published.Load(); before != nil {
		l.mark, l.markedAt = before.mark, before.markedAt
	}
	p.published.Store(&l)
}

// publishMark makes a mark price known beside the last price.
func (p *priceTracker) publishMark(price float64, at time.Time) {
	l := p.published.Load()
	if l == nil || at.Before(l.markedAt) {
		return
	}
	marked := *l
	marked.mark, marked.markedAt = price, at
	p.published.Store(&marked)
}

// priceRead is the newest bar of an instrument, read over REST.
type priceRead struct {
	listing      *listing
	sub          provider.Sub
	bar          market.Bar
	closed       int64     // the newest closed bar
	asOf         time.Time // the venue's time of the price, as wall time
	readAt       time.Time
	marketClosed bool
}

func newPriceRead(p *listing, i market.Interval, set *marketdata.BarSet) priceRead {
	n := set.Bars.Len()
	q := priceRead{listing: p, sub: provider.Sub{Symbol: p.symbol, Interval: i}, bar: set.Bars.At(n - 1)}
	_, open := p.calendar.Bucket(i, p.clock.Unix(set.AsOf))
	q.marketClosed = !open && p.closeTime(i, q.bar.T).Before(set.AsOf)
	q.asOf = p.priceTime(i, q.bar.T, set.AsOf)
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

// priceTime returns the wall time of the last price of a bar received at a time. The
// price of a forming bar is current; that of a closed bar is no newer than its close,
// however often it is read. In a file only the open of a bar has a time.
func (p *listing) priceTime(i market.Interval, open int64, received time.Time) time.Time {
	closed := p.closeTime(i, open)
	switch {
	case !received.Before(closed):
		return closed
	case p.caps.Files:
		return p.clock.Wall(open)
	default:
		return received
	}
}

// isFresh reports whether the price is new enough to create an alert.
func (p *priceTracker) isFresh(now time.Time) bool {
	return p != nil && p.hasBar && now.Sub(p.updatedAt) <= maxPriceAge
}

// isFresh reports the same of a read: a stalled loop may handle it late.
func (q *priceRead) isFresh(now time.Time) bool { return now.Sub(q.readAt) <= maxPriceAge }

// unreachedSince returns the open of the forming bar if the price has not reached the
// threshold in it, otherwise the zero time. After a restart the high and low of that bar
// then count for an alert created in it.
func (p *priceTracker) unreachedSince(a *alert.Alert, now time.Time) time.Time {
	span, open := p.listing.calendar.Bucket(p.sub.Interval, p.listing.clock.Unix(now))
	threshold := a.Condition.Threshold.InexactFloat64()
	above, below := a.Condition.Type == alert.PriceAbove, a.Condition.Type == alert.PriceBelow
	if a.Condition.Type == alert.PriceCrosses {
		above, below = a.State.Side < 0, a.State.Side > 0
	}
	switch {
	case !open || p.bar.T > span.Open:
		return time.Time{}
	case p.bar.T < span.Open: // no trade in it yet
	case above && threshold <= p.bar.H, below && threshold >= p.bar.L:
		return time.Time{}
	}
	return p.listing.clock.Wall(span.Open).UTC().Truncate(time.Second)
}

// side returns on which side of the threshold of a crossing the price is, 0 for other
// conditions.
func (p *priceTracker) side(c *alert.Condition) int8 {
	switch {
	case c.Type != alert.PriceCrosses:
		return 0
	case p.bar.C > c.Threshold.InexactFloat64():
		return 1
	}
	return -1
}

// start subscribes to live bars after the first read.
func (p *priceTracker) start(l *loop, q *priceRead) {
	if p.listing == nil {
		p.listing, p.sub, p.lastClosed = q.listing, q.sub, q.closed
		l.ensureSubscription(q.sub, q.closed).prices = p
	}
}

func (p *priceTracker) handleEvent(l *loop, e *feed.Event) {
	at, now := p.listing.wallTime(e.At), l.cfg.Now()
	received := at
	if received.After(now) {
		received = now // the venue's clock is ahead of ours
	}
	switch e.Kind {
	case provider.Traded:
		l.fireRange(p, e.Price, e.Price, e.Price, at, false)
		p.publish(lastPrice{price: e.Price, at: received})
		if span, ok := p.listing.calendar.Bucket(p.sub.Interval, e.At.Unix()); ok && span.Open == p.bar.T {
			p.bar.H, p.bar.L, p.bar.C = max(p.bar.H, e.Price), min(p.bar.L, e.Price), e.Price
		}
	case provider.Forming:
		p.applyBar(l, e.Bar, received, at, false)
	case provider.Closed:
		if e.Backfilled {
			at = p.listing.closeTime(p.sub.Interval, e.Bar.T)
		}
		p.close(l, e, received, at)
	case provider.Marked:
		p.publishMark(e.Price, received)
	default:
	}
}

// close applies a closed bar. One that is ahead of missing bars is evaluated at once, and
// counts as evaluated when it comes again.
func (p *priceTracker) close(l *loop, e *feed.Event, received, at time.Time) {
	bar, closed := e.Bar, p.listing.closeTime(p.sub.Interval, e.Bar.T)
	if bar.T <= p.lastClosed {
		return
	}
	late := l.isLate(e, closed)
	switch {
	case e.Again:
	case bar.T < p.bar.T:
		// A newer bar came ahead of it or was read meanwhile, and alerts may have been created since.
		l.newFirings = l.index.FireBehind(l.newFirings, p.dependency.Instrument, p.wallBar(bar), closed, late)
	default:
		p.applyBar(l, bar, received, at, late)
	}
	if e.Ahead {
		return
	}
	p.lastClosed = bar.T
	if p.ready { // otherwise older bars are still to be evaluated
		l.setWatermark(&p.tracker, p.lastClosed)
	}
}

// applyBar fires the alerts in the range of prices since the last update: the close, a
// high or low beyond the known ones, and the whole range of a new bar.
func (p *priceTracker) applyBar(l *loop, bar market.Bar, received, at time.Time, late bool) {
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
	p.setLatest(l, bar, lastPrice{price: bar.C, at: p.listing.priceTime(p.sub.Interval, bar.T, received)}, l.cfg.Now())
	l.fireRange(p, lo, hi, bar.C, at, late)
}

// applyRead applies a bar that was read. The first one may have opened before alerts of
// an earlier run were created; FireBar ignores what it reached before them.
func (p *priceTracker) applyRead(l *loop, q *priceRead, now time.Time) {
	price := lastPrice{price: q.bar.C, at: q.asOf, marketClosed: q.marketClosed}
	if !p.hasBar {
		p.setLatest(l, q.bar, price, now)
		l.newFirings = l.index.FireMissed(l.newFirings, p.dependency.Instrument, p.wallBar(q.bar), now, false)
		l.observe(p.firstEvent(q))
		return
	}
	p.applyBar(l, q.bar, q.asOf, now, false)
	if p.bar.T == q.bar.T && p.bar.C == q.bar.C {
		p.publish(price) // with marketClosed, which events do not carry
	}
}

// firstEvent returns the bar of the first read as an event: orders that rest need not wait
// for the stream.
func (p *priceTracker) firstEvent(q *priceRead) provider.Event {
	at := q.asOf
	if clock := p.listing.clock; clock.Speed != 0 {
		at = time.Unix(clock.Unix(at), 0)
	}
	return provider.Event{Sub: q.sub, Kind: provider.Forming, Bar: q.bar, Price: q.bar.C, At: at}
}

// setLatest sets the newest bar and publishes its price.
func (p *priceTracker) setLatest(l *loop, bar market.Bar, price lastPrice, now time.Time) {
	if !p.hasBar {
		l.prices.put(p.dependency.Instrument, &p.published)
	}
	p.bar, p.hasBar, p.updatedAt = bar, true, now
	p.publish(price)
}

// fireRange fires the alerts between lo and hi.
func (l *loop) fireRange(p *priceTracker, lo, hi, price float64, at time.Time, late bool) {
	if late {
		l.newFirings = l.index.FireLate(l.newFirings, p.dependency.Instrument, lo, hi, price, at)
		return
	}
	l.newFirings = l.index.FirePrice(l.newFirings, p.dependency.Instrument, lo, hi, price, at)
}

// wallBar returns a bar whose open is wall time.
func (p *priceTracker) wallBar(bar market.Bar) market.Bar {
	if p.listing.clock.Speed != 0 {
		bar.T = int64(math.Ceil(float64(p.listing.clock.Wall(bar.T).UnixMilli()) / 1000))
	}
	return bar
}
