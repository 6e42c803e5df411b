package feed

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/retry"
	"candela/internal/market"
	"candela/internal/market/provider"
)

// loop is a running feed. One goroutine owns it; the others send to inbox and
// results.
type loop struct {
	f        *Feed
	ctx      context.Context
	stop     context.CancelFunc
	out      chan<- Event
	inbox    chan message
	results  chan result
	running  sync.WaitGroup
	streamer provider.Streamer // nil for a venue that is read by the clock

	tracks map[provider.Sub]*track
	order  []*track // as they were asked for
	lines  []*line
	queue  []*track
	held   []*track // with an event that waits for room

	busy   int       // reads under way
	fails  int       // reads in a row that failed
	paused time.Time // until when nothing is read

	count Status
}

func newLoop(ctx context.Context, f *Feed, out chan<- Event) *loop {
	l := &loop{
		f: f, out: out, inbox: make(chan message, inboxSize), results: make(chan result, workers),
		tracks: make(map[provider.Sub]*track),
	}
	l.ctx, l.stop = context.WithCancel(ctx)
	if s, ok := f.p.(provider.Streamer); ok && f.caps.Live {
		l.streamer = s
	}
	return l
}

// run handles one thing at a time until the context ends.
func (l *loop) run() error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	defer l.close()
	l.update()
	for {
		select {
		case <-l.ctx.Done():
			return l.ctx.Err()
		case m := <-l.inbox:
			l.take(m)
		case r := <-l.results:
			l.filled(r)
		case <-l.f.changed:
			l.update()
		case <-ticker.C:
			l.tick()
		}
	}
}

// close stops what was started and waits for it.
func (l *loop) close() {
	l.stop()
	l.running.Wait()
	l.publish(time.Now())
}

// update brings the tracks in line with what is wanted.
func (l *loop) update() {
	l.f.mu.Lock()
	var added []*track
	for sub, o := range l.f.wanted {
		if t, there := l.tracks[sub]; !there || t.order.number != o.number {
			added = append(added, &track{sub: sub, order: o, clock: l.f.clock})
		}
	}
	var dropped []*track
	for _, t := range l.order {
		if o, there := l.f.wanted[t.sub]; !there || o.number != t.order.number {
			dropped = append(dropped, t)
		}
	}
	l.f.mu.Unlock()
	for _, t := range dropped {
		l.drop(t)
	}
	if len(dropped) > 0 {
		l.order = slices.DeleteFunc(l.order, func(t *track) bool { return t.gone })
		l.held = slices.DeleteFunc(l.held, func(t *track) bool { return t.gone })
		l.queue = slices.DeleteFunc(l.queue, func(t *track) bool { return t.gone })
	}
	slices.SortFunc(added, func(a, b *track) int { return cmp.Compare(a.order.number, b.order.number) })
	now := time.Now()
	for _, t := range added {
		l.tracks[t.sub] = t
		l.order = append(l.order, t)
		if t.order.known {
			l.start(t, now)
		} else {
			t.due = now
		}
	}
	l.manage(now)
	l.collect(now)
	l.dispatch(now)
}

// start lets a track whose calendar is known begin.
func (l *loop) start(t *track, now time.Time) {
	t.begin(now)
	if l.streamer != nil {
		l.assign(t)
	}
	t.schedule(l.f.cfg.Rand())
	if t.line == nil && t.over(now) {
		t.due = now // a streamed one waits until its stream is connected
	}
}

func (l *loop) drop(t *track) {
	t.gone = true
	delete(l.tracks, t.sub)
	if t.line != nil {
		t.line.remove(t.sub)
	}
}

// tick keeps the deadlines.
func (l *loop) tick() {
	now := time.Now()
	l.manage(now)
	l.collect(now)
	l.dispatch(now)
	l.flush()
	l.publish(now)
}

// take handles what came over a stream.
func (l *loop) take(m message) {
	if l.ctx.Err() != nil {
		return // streams end because they were told to
	}
	now := time.Now()
	if events := m.conn.receive(); len(events) > 0 {
		l.alive(m.conn, now)
		for i := range events {
			l.event(&events[i], m.conn, now)
		}
		l.flush()
	}
	if m.ended {
		l.lost(m.conn, now)
	}
}

// event handles one event of a stream.
func (l *loop) event(e *provider.Event, c *conn, now time.Time) {
	if e.Kind == provider.Ending {
		c.ending = true
		l.manage(now)
		return
	}
	t := l.tracks[e.Sub]
	if t == nil || !t.order.known {
		return // an Alive, or a subscription that has ended
	}
	switch e.Kind {
	case provider.Closed:
		l.closed(t, e, now)
	case provider.Forming:
		l.forming(t, e, now)
	case provider.Traded:
		l.offer(t, Event{Event: *e})
	default:
	}
}

// closed handles a bar that a stream says is final.
func (l *loop) closed(t *track, e *provider.Event, now time.Time) {
	switch t.judge(e.Bar) {
	case repeated:
		l.count.Repeated++
	case expected:
		l.emit(t, Event{Event: *e})
		l.catchUp(t)
		t.schedule(l.f.cfg.Rand())
	case ahead:
		l.count.Gaps++
		t.keep(e.Bar)
		t.soon(now.Add(gapWait))
		l.offer(t, Event{Event: provider.Event{Sub: t.sub, Kind: provider.Traded, Price: e.Price, At: e.At}})
	case offGrid:
		l.count.OffGrid++
	}
}

// catchUp hands on the bars behind a gap that has closed. They came live.
func (l *loop) catchUp(t *track) {
	for {
		bar, ok := t.ready()
		if !ok {
			return
		}
		end := time.Unix(t.next.Close, 0).UTC()
		l.emit(t, Event{Event: provider.Event{Sub: t.sub, Kind: provider.Closed, Bar: bar, Price: bar.C, At: end}})
	}
}

// forming handles a bar that is not final. Two streams may tell it for a while,
// so an older state of it is dropped.
func (l *loop) forming(t *track, e *provider.Event, now time.Time) {
	switch {
	case e.Bar.T < t.next.Open || e.Bar.T < t.seenT || e.Bar.T == t.seenT && e.At.Before(t.seenAt):
		l.count.Repeated++
		return
	case e.Bar.T > t.next.Open:
		// A bar has closed that was not told. Its price is news, its bar must wait.
		t.soon(now.Add(gapWait))
		l.offer(t, Event{Event: provider.Event{Sub: t.sub, Kind: provider.Traded, Price: e.Price, At: e.At}})
		return
	}
	t.seenT, t.seenAt = e.Bar.T, e.At
	l.offer(t, Event{Event: *e})
}

// emit hands a closed bar on. It waits for room.
func (l *loop) emit(t *track, e Event) {
	select {
	case l.out <- e:
	case <-l.ctx.Done():
		return
	}
	t.passed(e.Bar)
	if e.Backfilled {
		l.count.Filled++
	} else {
		l.count.Streamed++
	}
}

// offer hands an event on that a newer one replaces. Without room it is held.
func (l *loop) offer(t *track, e Event) {
	if !t.waits {
		select {
		case l.out <- e:
			return
		default:
			l.held = append(l.held, t)
		}
	} else {
		l.count.Replaced++
		if e.Kind == provider.Traded && t.held.Kind == provider.Forming {
			t.held.Price, t.held.Bar.C = e.Price, e.Price
			t.held.Bar.H, t.held.Bar.L = max(t.held.Bar.H, e.Price), min(t.held.Bar.L, e.Price)
			t.held.At = e.At
			return
		}
	}
	t.waits, t.held = true, e
}

// flush hands on what waits, as far as there is room.
func (l *loop) flush() {
	for n, t := range l.held {
		if t.gone || !t.waits {
			continue
		}
		select {
		case l.out <- t.held:
			t.waits = false
		default:
			l.held = slices.Delete(l.held, 0, n)
			return
		}
	}
	l.held = l.held[:0]
}

// result is the outcome of a read.
type result struct {
	track      *track
	page       provider.BarPage
	instrument provider.Instrument
	err        error
}

// collect queues the reads that are due.
func (l *loop) collect(now time.Time) {
	for _, t := range l.order {
		l.enqueue(t, now)
	}
}

func (l *loop) enqueue(t *track, now time.Time) {
	if !t.queued && !t.filling && !t.gone && !now.Before(t.due) {
		t.queued = true
		l.queue = append(l.queue, t)
	}
}

// dispatch starts the reads that are queued, in the order in which they became
// due.
func (l *loop) dispatch(now time.Time) {
	most := workers
	if l.fails > 0 {
		most = 1 // a venue in trouble is tried, not stormed
	}
	for len(l.queue) > 0 && l.busy < most && !now.Before(l.paused) {
		t := l.queue[0]
		l.queue = l.queue[1:]
		t.queued = false
		if now.Before(t.due) {
			continue // a live bar came meanwhile
		}
		t.filling = true
		l.busy++
		l.read(t, now)
	}
}

// read starts one read.
func (l *loop) read(t *track, now time.Time) {
	sub, known := t.sub, t.order.known
	q := provider.BarQuery{Symbol: sub.Symbol, Interval: sub.Interval, From: t.next.Open}
	if known {
		q.Limit = 3 + t.cal.Count(sub.Interval, market.Span{Open: t.next.Open, Close: t.clock.Unix(now)})
	}
	l.running.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, readLimit)
		defer cancel()
		r := result{track: t}
		if known {
			r.page, r.err = l.f.p.Bars(ctx, q)
		} else {
			r.instrument, r.err = l.f.p.Instrument(ctx, sub.Symbol)
		}
		l.results <- r
	})
}

// filled handles the outcome of a read.
func (l *loop) filled(r result) {
	now := time.Now()
	t := r.track
	l.busy--
	t.filling = false
	switch {
	case t.gone || l.ctx.Err() != nil:
	case r.err != nil:
		l.failed(t, r.err, now)
	case !t.order.known:
		l.fails = 0
		t.order.known, t.order.calendar = true, r.instrument.Calendar
		l.start(t, now)
	default:
		l.fails = 0
		l.apply(t, r.page, now)
	}
	l.enqueue(t, now)
	l.dispatch(now)
}

// failed puts a read off: as long as the venue asks for, and longer with every
// failure. All reads of the venue wait, because the next would fail as well.
func (l *loop) failed(t *track, err error, now time.Time) {
	l.count.Failed++
	f := fault.Of(err)
	if f != nil && (f.Kind == fault.NotFound || f.Kind == fault.Invalid) {
		l.f.cfg.Log.WarnContext(l.ctx, "bars refused", "venue", l.f.p.Name(), "symbol", t.sub.Symbol.Name, "interval", t.sub.Interval.String(), "error", err)
		t.due = now.Add(maxIdle)
		return
	}
	l.fails++
	wait := retry.Backoff{First: minBackoff, Max: maxBackoff}.Delay(l.fails, l.f.cfg.Rand)
	if f != nil {
		wait = max(wait, f.RetryAfter)
	}
	l.paused = now.Add(wait)
	t.due = now
	if l.fails == 1 {
		l.f.cfg.Log.WarnContext(l.ctx, "bars not read", "venue", l.f.p.Name(), "symbol", t.sub.Symbol.Name, "error", err)
	}
}

// apply hands on the closed bars of a page.
func (l *loop) apply(t *track, page provider.BarPage, now time.Time) {
	n := page.Bars.Len()
	if page.Running {
		n--
	}
	before := t.next.Open
	for i := range n {
		bar := page.Bars.At(i)
		switch t.judge(bar) {
		case repeated:
			continue
		case offGrid:
			l.count.OffGrid++
			continue
		case ahead:
			if !t.believe(now) {
				t.due = now.Add(holeWait)
				return
			}
			l.count.Holes++
			t.next, _ = t.cal.Bucket(t.sub.Interval, bar.T)
		case expected:
		}
		if !t.over(now) {
			break
		}
		end := time.Unix(t.next.Close, 0).UTC()
		l.emit(t, Event{Event: provider.Event{Sub: t.sub, Kind: provider.Closed, Bar: bar, Price: bar.C, At: end}, Backfilled: true})
	}
	l.catchUp(t)
	if page.Running && t.line == nil {
		bar, at := page.Bars.At(n), now
		if l.f.caps.Files {
			at = time.Unix(bar.T, 0).UTC() // the one time that a file tells
		}
		l.forming(t, &provider.Event{Sub: t.sub, Kind: provider.Forming, Bar: bar, Price: bar.C, At: at}, now)
	}
	l.reschedule(t, page, before, now)
}

// reschedule sets when to read next after a page was handed on.
func (l *loop) reschedule(t *track, page provider.BarPage, before int64, now time.Time) {
	switch {
	case page.More && t.next.Open != before:
		t.due = now
	case t.next.Open == before && (t.over(now) || len(t.behind) > 0):
		t.idle(now, l.f.cfg.Rand) // the venue has no more than we; it may be late
	default:
		t.schedule(l.f.cfg.Rand())
		if len(t.behind) > 0 {
			t.soon(now.Add(gapWait))
		}
	}
}
