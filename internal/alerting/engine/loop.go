package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/market"
	"candela/internal/market/feed"
	"candela/internal/market/provider"
)

const (
	tick       = time.Second      // of the loop: expiry, retries and marks keep to it
	markEvery  = 5 * time.Second  // between writes of how far bars were evaluated
	linger     = time.Minute      // what nothing needs is followed for so long: the next alert often comes soon
	lateAfter  = 30 * time.Second // a bar that was read later than this after its close was missed
	expireWait = time.Minute      // bars that come late may still fire an alert that expired after they closed
	standstill = 10 * time.Second // without a tick: the process was stopped, or the machine slept
	chunk      = 1000             // firings in one commit
	maxCommit  = 30 * time.Second // between attempts to commit
)

// loop is a running engine. One goroutine owns it.
type loop struct {
	*Engine
	ctx, hard context.Context
	book      *alert.Book
	events    chan feed.Event
	results   chan func() // of what runs in the background
	slots     chan struct{}
	running   sync.WaitGroup

	prices map[market.Symbol]*prices
	series map[alert.Need]*series
	lines  map[provider.Sub]*line
	idle   map[alert.Need]time.Time // what nothing needs, and since when
	retry  map[alert.Need]time.Time // what could not be loaded, and when to try again
	held   map[market.Symbol]bool   // whose price is followed for others than alerts

	found   []alert.Firing // since the last commit
	expired []alert.Alert  // not removed from the store yet
	fails   int            // commits in a row that failed
	failure error          // of the last commit
	retryAt time.Time      // when to try to commit again

	marks  map[provider.Sub]int64 // not written yet
	marked time.Time
	venues map[string]*watch
	ticked time.Time // when the deadlines were kept last
	stood  time.Time // when the loop last went on after it had stood still

	evaluations uint64 // of indicators, each of one bar
	firings     uint64 // committed
	late        uint64 // of them, found afterwards
}

func newLoop(ctx, hard context.Context, e *Engine) *loop {
	return &loop{
		Engine: e, ctx: ctx, hard: hard, book: alert.NewBook(),
		events: make(chan feed.Event, maxEvents), results: make(chan func(), maxLoads), slots: make(chan struct{}, maxLoads),
		prices: make(map[market.Symbol]*prices), series: make(map[alert.Need]*series), lines: make(map[provider.Sub]*line),
		idle: make(map[alert.Need]time.Time), retry: make(map[alert.Need]time.Time),
		marks: make(map[provider.Sub]int64), venues: make(map[string]*watch),
	}
}

// run handles one thing at a time until the context ends.
func (l *loop) run() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	l.ticked = l.cfg.Now()
	l.look(l.ticked)
	for {
		select {
		case <-l.ctx.Done():
			return
		case command := <-l.commands:
			command(l)
		case apply := <-l.results:
			apply()
		case e := <-l.events:
			l.take(&e)
			l.drain()
		case <-l.changed:
			l.refollow()
		case <-ticker.C:
			l.tick()
		}
		l.commit()
	}
}

// drain handles the events that are there already, so that one commit serves all.
func (l *loop) drain() {
	for range maxEvents {
		select {
		case e := <-l.events:
			l.take(&e)
		default:
			return
		}
	}
}

// take hands an event to those who follow its bars.
func (l *loop) take(e *feed.Event) {
	line := l.lines[e.Sub]
	if line == nil {
		return // on its way when it was dropped
	}
	if e.Kind == provider.Closed {
		line.closed = max(line.closed, e.Bar.T)
	}
	if line.prices != nil {
		line.prices.take(l, e)
		if l.cfg.Observe != nil {
			l.cfg.Observe(e.Event)
		}
	}
	if line.series != nil {
		line.series.take(l, e)
	}
}

// commit makes what was found last, and then tells it. When that fails nothing is
// told; the firings stay pending in the book and are tried again.
func (l *loop) commit() {
	if len(l.found) == 0 && l.fails == 0 || l.fails > 0 && l.cfg.Now().Before(l.retryAt) {
		return
	}
	firings := l.found
	if l.fails > 0 {
		firings = l.book.Pending(nil)
	}
	for part := range slices.Chunk(firings, chunk) {
		entries, err := l.cfg.Store.FireAlerts(l.hard, part)
		if err != nil {
			l.failed(err)
			return
		}
		for i := range part {
			l.book.Settle(part[i].ID)
			l.release(part[i].Need())
			if part[i].Late {
				l.late++
			}
		}
		l.firings += uint64(len(entries))
		l.cfg.Publish(entries)
	}
	l.found = l.found[:0]
	if l.fails > 0 {
		l.cfg.Log.InfoContext(l.ctx, "fired alerts are committed again", "firings", len(firings), "after_failures", l.fails)
		l.fails, l.failure = 0, nil
	}
}

func (l *loop) failed(err error) {
	l.found = l.found[:0] // the book has them
	l.fails++
	l.failure = err
	wait := l.wait(l.fails, maxCommit, err)
	l.retryAt = l.cfg.Now().Add(wait)
	l.cfg.Log.ErrorContext(l.ctx, "fired alerts are not committed and wait", "error", err, "attempt", l.fails, "retry_in", wait)
}

// tick keeps the deadlines.
func (l *loop) tick() {
	now := l.cfg.Now()
	for need, at := range l.retry {
		if !now.Before(at) {
			delete(l.retry, need)
			l.load(need)
		}
	}
	for need, since := range l.idle {
		if now.Sub(since) >= linger {
			delete(l.idle, need)
			l.drop(need)
		}
	}
	l.resubscribe(now)
	l.look(now)
	if now.Sub(l.ticked) > standstill {
		l.stood = now // what happened meanwhile is still to come
	}
	if l.ticked = now; now.Sub(l.stood) >= expireWait {
		l.expired = l.book.Expire(l.expired, now.Add(-expireWait), l.wanting)
	}
	l.expire()
	if now.Sub(l.marked) >= markEvery {
		l.marked = now
		l.saveMarks()
	}
}

// expire removes the alerts that waited in vain from the store. They left the book
// a while after their time, and not while bars of theirs were missing in which they
// may have come true.
func (l *loop) expire() {
	if len(l.expired) == 0 {
		return
	}
	if err := l.cfg.Store.ExpireAlerts(l.hard, l.expired); err != nil {
		l.cfg.Log.ErrorContext(l.ctx, "expired alerts are not removed and wait", "error", err, "alerts", len(l.expired))
		return
	}
	for i := range l.expired {
		l.release(l.expired[i].Need())
	}
	l.expired = nil
}

// mark notes that bars up to t have been evaluated. What no alert needs is not
// marked: if there are any, another engine watches them and knows how far it is.
func (l *loop) mark(s *loading, n alert.Need, t int64) {
	if l.book.Needed(n) {
		l.marks[subOf(n)] = t
		s.marked = true
	}
}

// unmark has a mark forgotten that was made here.
func (l *loop) unmark(s *loading, n alert.Need) {
	delete(l.marks, subOf(n))
	if s.marked {
		l.marks[subOf(n)] = 0
	}
}

// saveMarks writes how far bars were evaluated. It must not run ahead of what they
// fired: after a crash everything from the mark on is evaluated again.
func (l *loop) saveMarks() {
	if len(l.marks) == 0 || l.fails > 0 || len(l.found) > 0 {
		return
	}
	if err := l.cfg.Store.SaveMarks(l.hard, l.marks); err != nil {
		l.cfg.Log.WarnContext(l.ctx, "marks are not written", "error", err) // the next attempt is soon
		return
	}
	clear(l.marks)
}

// close commits what was found last.
func (l *loop) close() error {
	l.retryAt = time.Time{}
	l.commit()
	l.saveMarks()
	l.look(l.cfg.Now())
	return l.failure
}

// background runs work beside the loop, and what it returns in the loop.
func (l *loop) background(work func(ctx context.Context) (apply func())) {
	l.running.Go(func() {
		apply := work(l.ctx)
		if apply == nil {
			return
		}
		select {
		case l.results <- apply:
		case <-l.ctx.Done():
		}
	})
}
