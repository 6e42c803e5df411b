package feed

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/retry"
	"candela/lib/fault"
	"candela/lib/market"
)

// loop is a running feed. One goroutine owns it; others send to inbox and results.
type loop struct {
	f        *Feed
	ctx      context.Context
	stop     context.CancelFunc
	out      chan<- Event
	inbox    chan message
	results  chan result
	running  sync.WaitGroup
	streamer provider.Streamer // nil for a venue without streams

	subscriptions map[provider.Sub]*subscription
	order         []*subscription // in the order of their requests
	groups        []*streamGroup
	queue         []*subscription
	withLatest    []*subscription // whose latest event waits for room

	reads               int       // in progress
	consecutiveFailures int       // of reads
	paused              time.Time // no reads before

	count Status
}

func newLoop(ctx context.Context, f *Feed, out chan<- Event) *loop {
	l := &loop{
		f: f, out: out, inbox: make(chan message, inboxSize), results: make(chan result, workers),
		subscriptions: make(map[provider.Sub]*subscription),
	}
	l.ctx, l.stop = context.WithCancel(ctx)
	if s, ok := f.p.(provider.Streamer); ok && f.caps.Live {
		l.streamer = s
	}
	return l
}

// run handles messages, results and changes one at a time until the context ends.
func (l *loop) run() error {
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	defer l.close()
	l.syncSubscriptions()
	for {
		select {
		case <-l.ctx.Done():
			return l.ctx.Err()
		case m := <-l.inbox:
			l.handleMessage(m)
		case r := <-l.results:
			l.handleRead(r)
		case <-l.f.changed:
			l.syncSubscriptions()
		case <-ticker.C:
			l.onTick()
		}
	}
}

// close stops all goroutines and waits for them.
func (l *loop) close() {
	l.stop()
	l.running.Wait()
	l.publish(time.Now())
}

// syncSubscriptions adds and drops subscriptions as requested.
func (l *loop) syncSubscriptions() {
	l.f.mu.Lock()
	var added []*subscription
	for sub, o := range l.f.requested {
		if t, there := l.subscriptions[sub]; !there || t.request.id != o.id {
			added = append(added, &subscription{sub: sub, request: o, clock: l.f.clock})
		}
	}
	var dropped []*subscription
	for _, t := range l.order {
		if o, there := l.f.requested[t.sub]; !there || o.id != t.request.id {
			dropped = append(dropped, t)
		}
	}
	l.f.mu.Unlock()
	for _, t := range dropped {
		t.gone = true
		delete(l.subscriptions, t.sub)
		if t.group != nil {
			t.group.remove(t.sub)
		}
	}
	if len(dropped) > 0 {
		l.order = slices.DeleteFunc(l.order, func(t *subscription) bool { return t.gone })
		l.withLatest = slices.DeleteFunc(l.withLatest, func(t *subscription) bool { return t.gone })
		l.queue = slices.DeleteFunc(l.queue, func(t *subscription) bool { return t.gone })
	}
	slices.SortFunc(added, func(a, b *subscription) int { return cmp.Compare(a.request.id, b.request.id) })
	now := time.Now()
	for _, t := range added {
		l.subscriptions[t.sub] = t
		l.order = append(l.order, t)
		if t.request.hasCalendar {
			l.start(t, now)
		} else {
			t.due = now
		}
	}
	l.manageStreams(now)
	l.queueDue(now)
	l.dispatch(now)
}

// start starts a subscription whose calendar is known.
func (l *loop) start(t *subscription, now time.Time) {
	t.begin(now)
	if l.streamer != nil {
		l.assign(t)
	}
	t.schedule(l.f.cfg.Rand())
	if t.group == nil && t.hasClosed(now) {
		t.due = now // with a stream, after it is connected
	}
}

func (l *loop) onTick() {
	now := time.Now()
	l.manageStreams(now)
	l.queueDue(now)
	l.dispatch(now)
	l.flush()
	l.publish(now)
}

// handleMessage handles the buffered events or the end of a stream.
func (l *loop) handleMessage(m message) {
	if l.ctx.Err() != nil {
		return // the feed stops
	}
	now := time.Now()
	if events := m.conn.receive(); len(events) > 0 {
		l.markAlive(m.conn, now)
		for i := range events {
			l.handleEvent(&events[i], m.conn, now)
		}
		l.flush()
	}
	if m.ended {
		l.handleStreamEnd(m.conn, now)
	}
}

func (l *loop) handleEvent(e *provider.Event, c *conn, now time.Time) {
	if e.Kind == provider.Ending {
		c.ending = true
		l.manageStreams(now)
		return
	}
	t := l.subscriptions[e.Sub]
	if t == nil || !t.request.hasCalendar {
		return // an Alive, or a dropped subscription
	}
	switch e.Kind {
	case provider.Closed:
		l.handleClosed(t, e, now)
	case provider.Forming:
		l.handleForming(t, e, now)
	case provider.Traded:
		l.emitLatest(t, Event{Event: *e})
	case provider.Marked:
		l.emitMark(e)
	default:
	}
}

// emitMark delivers a mark price if there is room: the next one comes in a second.
func (l *loop) emitMark(e *provider.Event) {
	select {
	case l.out <- Event{Event: *e}:
	default:
		l.count.Replaced++
	}
}

func (l *loop) handleClosed(t *subscription, e *provider.Event, now time.Time) {
	switch t.classify(e.Bar) {
	case duplicate:
		l.count.Duplicates++
	case expected:
		l.emit(t, Event{Event: *e})
		l.catchUp(t)
		t.schedule(l.f.cfg.Rand())
	case afterGap:
		l.count.Gaps++
		l.emitAhead(t, Event{Event: *e})
		l.readGap(t, now)
	case offGrid:
		l.count.OffGrid++
	}
}

// handleForming drops an older state of the forming bar: two streams may deliver it
// during a replacement.
func (l *loop) handleForming(t *subscription, e *provider.Event, now time.Time) {
	switch {
	case e.Bar.T < t.next.Open || t.wasAhead(e.Bar.T) || e.Bar.T < t.seenT || e.Bar.T == t.seenT && e.At.Before(t.seenAt):
		l.count.Duplicates++
		return
	case e.Bar.T > t.next.Open:
		// The close of the previous bar was missed. Prices do not wait for it.
		t.newest = max(t.newest, e.Bar.T)
		l.readGap(t, now)
	}
	t.seenT, t.seenAt = e.Bar.T, e.At
	l.emitLatest(t, Event{Event: *e, Ahead: e.Bar.T > t.next.Open})
}

// emit delivers the next closed bar. It waits for room.
func (l *loop) emit(t *subscription, e Event) {
	e.Again = t.wasAhead(e.Bar.T)
	e.Late = !e.Again && t.isLate(time.Now())
	if !l.send(e) {
		return
	}
	t.advance(e.Bar)
	if e.Backfilled {
		l.count.Backfilled++
	} else {
		l.count.Streamed++
	}
}

// send waits for room. It reports false if the feed stops.
func (l *loop) send(e Event) bool {
	select {
	case l.out <- e:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// emitLatest delivers an event, or keeps it until there is room or a newer one replaces it.
func (l *loop) emitLatest(t *subscription, e Event) {
	if !t.hasLatest {
		select {
		case l.out <- e:
			return
		default:
			l.withLatest = append(l.withLatest, t)
		}
	} else {
		l.count.Replaced++
		if e.Kind == provider.Traded && t.latest.Kind == provider.Forming {
			t.latest.Price, t.latest.Bar.C = e.Price, e.Price
			t.latest.Bar.H, t.latest.Bar.L = max(t.latest.Bar.H, e.Price), min(t.latest.Bar.L, e.Price)
			t.latest.At = e.At
			return
		}
	}
	t.hasLatest, t.latest = true, e
}

// flush delivers the kept events while there is room.
func (l *loop) flush() {
	for n, t := range l.withLatest {
		if t.gone || !t.hasLatest {
			continue
		}
		select {
		case l.out <- t.latest:
			t.hasLatest = false
		default:
			l.withLatest = slices.Delete(l.withLatest, 0, n)
			return
		}
	}
	l.withLatest = l.withLatest[:0]
}

// result is the result of a read.
type result struct {
	sub        *subscription
	page       provider.BarPage
	instrument provider.Instrument
	err        error
}

func (l *loop) queueDue(now time.Time) {
	for _, t := range l.order {
		l.enqueue(t, now)
	}
}

func (l *loop) enqueue(t *subscription, now time.Time) {
	if !t.queued && !t.reading && !t.gone && !now.Before(t.due) {
		t.queued = true
		l.queue = append(l.queue, t)
	}
}

// dispatch starts the queued reads in the order in which they became due.
func (l *loop) dispatch(now time.Time) {
	most := workers
	if l.consecutiveFailures > 0 {
		most = 1 // a failing venue gets one read at a time
	}
	for len(l.queue) > 0 && l.reads < most && !now.Before(l.paused) {
		t := l.queue[0]
		l.queue = l.queue[1:]
		t.queued = false
		if now.Before(t.due) {
			continue // a live bar arrived meanwhile
		}
		t.reading = true
		l.reads++
		l.read(t, now)
	}
}

func (l *loop) read(t *subscription, now time.Time) {
	sub, known := t.sub, t.request.hasCalendar
	q := provider.BarQuery{Symbol: sub.Symbol, Interval: sub.Interval, From: t.next.Open}
	if known {
		q.Limit = 3 + t.cal.Count(sub.Interval, market.Span{Open: t.next.Open, Close: t.clock.Unix(now)})
	}
	l.running.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, readLimit)
		defer cancel()
		r := result{sub: t}
		if known {
			r.page, r.err = l.f.p.Bars(ctx, q)
		} else {
			r.instrument, r.err = l.f.p.Instrument(ctx, sub.Symbol)
		}
		l.results <- r
	})
}

func (l *loop) handleRead(r result) {
	now := time.Now()
	t := r.sub
	l.reads--
	t.reading = false
	switch {
	case t.gone || l.ctx.Err() != nil:
	case r.err != nil:
		l.readFailed(t, r.err, now)
	case !t.request.hasCalendar:
		l.consecutiveFailures = 0
		t.request.hasCalendar, t.request.calendar = true, r.instrument.Calendar
		l.start(t, now)
	default:
		l.consecutiveFailures = 0
		l.applyPage(t, r.page, now)
	}
	l.enqueue(t, now)
	l.dispatch(now)
}

// readFailed delays all reads of the venue, at least as long as the venue asks for: the
// next one would fail as well.
func (l *loop) readFailed(t *subscription, err error, now time.Time) {
	l.count.Failed++
	f := fault.Of(err)
	if f != nil && (f.Kind == fault.NotFound || f.Kind == fault.Invalid) {
		l.f.cfg.Log.WarnContext(l.ctx, "bars rejected", "venue", l.f.p.Name(), "symbol", t.sub.Symbol.Name, "interval", t.sub.Interval.String(), "error", err)
		t.due = now.Add(maxRetryInterval)
		return
	}
	l.consecutiveFailures++
	wait := retry.Backoff{First: minBackoff, Max: maxBackoff}.Delay(l.consecutiveFailures, l.f.cfg.Rand)
	if f != nil {
		wait = max(wait, f.RetryAfter)
	}
	l.paused = now.Add(wait)
	t.due = now
	if l.consecutiveFailures == 1 {
		l.f.cfg.Log.WarnContext(l.ctx, "bar read failed", "venue", l.f.p.Name(), "symbol", t.sub.Symbol.Name, "error", err)
	}
}

// applyPage delivers the closed bars of a page.
func (l *loop) applyPage(t *subscription, page provider.BarPage, now time.Time) {
	n := page.Bars.Len()
	if page.Running {
		n--
	}
	before := t.next.Open
	for i := range n {
		bar := page.Bars.At(i)
		switch t.classify(bar) {
		case duplicate:
			continue
		case offGrid:
			l.count.OffGrid++
			continue
		case afterGap:
			if !t.confirmHole(now) {
				l.applyAhead(t, page, i, now)
				t.due = now.Add(holeRecheck)
				return
			}
			l.count.Holes++
			t.next, _ = t.cal.Bucket(t.sub.Interval, bar.T)
		case expected:
		}
		if !t.hasClosed(now) {
			break
		}
		end := time.Unix(t.next.Close, 0).UTC()
		l.emit(t, Event{Event: provider.Event{Sub: t.sub, Kind: provider.Closed, Bar: bar, Price: bar.C, At: end}, Backfilled: true})
	}
	l.catchUp(t)
	l.applyRunning(t, page, now)
	l.reschedule(t, page, before, now)
}

// applyRunning delivers the forming bar of a page of a venue without streams.
func (l *loop) applyRunning(t *subscription, page provider.BarPage, now time.Time) {
	if !page.Running || t.group != nil {
		return
	}
	bar, at := page.Bars.At(page.Bars.Len()-1), now
	if l.f.caps.Files {
		at = time.Unix(bar.T, 0).UTC() // in a file only the open has a time
	}
	l.handleForming(t, &provider.Event{Sub: t.sub, Kind: provider.Forming, Bar: bar, Price: bar.C, At: at}, now)
}

// reschedule schedules the next read after a page.
func (l *loop) reschedule(t *subscription, page provider.BarPage, before int64, now time.Time) {
	switch {
	case page.More && t.next.Open != before:
		t.due = now
	case t.next.Open == before && (t.hasClosed(now) || len(t.ahead) > 0):
		t.retryLater(now, l.f.cfg.Rand) // the venue has nothing new yet
	default:
		t.schedule(l.f.cfg.Rand())
		if len(t.ahead) > 0 {
			t.readBy(now.Add(t.wait(gapGrace)))
		}
	}
}
