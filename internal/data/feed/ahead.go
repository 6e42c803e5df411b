package feed

import (
	"time"

	"candela/internal/data/provider"
)

// Delivery while bars are missing: events come ahead of them until the gap is closed.

// emitAhead delivers a closed bar before the missing ones, once.
func (l *loop) emitAhead(t *subscription, e Event) {
	if !t.bufferAhead(e.Bar) {
		return
	}
	e.Ahead = true
	if l.send(e) {
		t.newest = max(t.newest, e.Bar.T)
		t.dropLatest(e.Bar.T)
	}
}

// readGap reads the bars that are missing before one that was received, unless they come by
// themselves.
func (l *loop) readGap(t *subscription, now time.Time) {
	t.readBy(now.Add(t.wait(gapGrace)))
	l.enqueue(t, now)
	l.dispatch(now)
}

// applyAhead delivers the bars of a page from the one at index i on, while it is not known
// whether those before it exist.
func (l *loop) applyAhead(t *subscription, page provider.BarPage, i int, now time.Time) {
	for ; i < page.Bars.Len(); i++ {
		bar := page.Bars.At(i)
		end := t.cal.CloseOf(t.sub.Interval, bar.T)
		if !t.isFinal(end, now) {
			break
		}
		if t.classify(bar) != afterGap {
			continue // off the grid
		}
		l.emitAhead(t, Event{Event: provider.Event{Sub: t.sub, Kind: provider.Closed, Bar: bar, Price: bar.C, At: time.Unix(end, 0).UTC()}, Backfilled: true})
	}
	l.applyRunning(t, page, now)
}

// catchUp delivers the buffered bars after a gap that is closed. They were received live.
func (l *loop) catchUp(t *subscription) {
	for len(t.ahead) > 0 && t.ahead[0].T == t.next.Open && l.ctx.Err() == nil {
		bar := t.ahead[0]
		end := time.Unix(t.next.Close, 0).UTC()
		l.emit(t, Event{Event: provider.Event{Sub: t.sub, Kind: provider.Closed, Bar: bar, Price: bar.C, At: end}})
	}
}
