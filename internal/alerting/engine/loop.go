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
	tickInterval      = time.Second      // of the loop: expiry, retries and marks keep to it
	watermarkInterval = 5 * time.Second  // between writes of how far bars were evaluated
	idleTTL           = time.Minute      // what nothing needs is followed for so long: the next alert often comes soon
	lateAfter         = 30 * time.Second // a bar that was read later than this after its close was missed
	expiryGrace       = time.Minute      // bars that come late may still fire an alert that expired after they closed
	maxStall          = 10 * time.Second // without a tick: the process was stopped, or the machine slept
	commitBatch       = 1000             // firings in one commit
	maxCommitBackoff  = 30 * time.Second // between attempts to commit
)

// loop is a running engine. One goroutine owns it.
type loop struct {
	*Engine
	ctx, drainCtx context.Context
	index         *alert.Index
	events        chan feed.Event
	results       chan func() // of what runs in the background
	slots         chan struct{}
	running       sync.WaitGroup

	priceTrackers map[market.Symbol]*priceTracker
	barTrackers   map[alert.Dependency]*barTracker
	subscriptions map[provider.Sub]*feedSubscription
	idle          map[alert.Dependency]time.Time // what nothing needs, and since when
	retry         map[alert.Dependency]time.Time // what could not be loaded, and when to try again
	extraSymbols  map[market.Symbol]bool         // whose price is followed for others than alerts

	newFirings          []alert.Firing // since the last commit
	expired             []alert.Alert  // not removed from the store yet
	consecutiveFailures int            // commits in a row that failed
	commitErr           error          // of the last commit
	retryAt             time.Time      // when to try to commit again

	watermarks      map[provider.Sub]int64 // not written yet
	watermarksSaved time.Time
	health          map[string]*venueHealth
	lastTick        time.Time // when the deadlines were kept last
	resumedAt       time.Time // when the loop last went on after it had stood still

	evaluations uint64 // of indicators, each of one bar
	firings     uint64 // committed
	late        uint64 // of them, found afterwards
}

func newLoop(ctx, hard context.Context, e *Engine) *loop {
	return &loop{
		Engine: e, ctx: ctx, drainCtx: hard, index: alert.NewIndex(),
		events: make(chan feed.Event, maxEvents), results: make(chan func(), maxLoads), slots: make(chan struct{}, maxLoads),
		priceTrackers: make(map[market.Symbol]*priceTracker), barTrackers: make(map[alert.Dependency]*barTracker), subscriptions: make(map[provider.Sub]*feedSubscription),
		idle: make(map[alert.Dependency]time.Time), retry: make(map[alert.Dependency]time.Time),
		watermarks: make(map[provider.Sub]int64), health: make(map[string]*venueHealth),
	}
}

// run handles one thing at a time until the context ends.
func (l *loop) run() {
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	l.lastTick = l.cfg.Now()
	l.publishStatus(l.lastTick)
	for {
		select {
		case <-l.ctx.Done():
			return
		case command := <-l.commands:
			command(l)
		case apply := <-l.results:
			apply()
		case e := <-l.events:
			l.handleEvent(&e)
			l.handleQueued()
		case <-l.changed:
			l.applyFollowed()
		case <-ticker.C:
			l.onTick()
		}
		l.commit()
	}
}

// handleQueued handles the events that are there already, so that one commit serves all.
func (l *loop) handleQueued() {
	for range maxEvents {
		select {
		case e := <-l.events:
			l.handleEvent(&e)
		default:
			return
		}
	}
}

// handleEvent hands an event to those who follow its bars.
func (l *loop) handleEvent(e *feed.Event) {
	line := l.subscriptions[e.Sub]
	if line == nil {
		return // on its way when it was dropped
	}
	if e.Kind == provider.Closed {
		line.closed = max(line.closed, e.Bar.T)
	}
	if line.prices != nil {
		line.prices.handleEvent(l, e)
		if l.cfg.Observe != nil {
			l.cfg.Observe(e.Event)
		}
	}
	if line.bars != nil {
		line.bars.handleEvent(l, e)
	}
}

// commit makes what was found last, and then tells it. When that fails nothing is
// told; the firings stay pending in the book and are tried again.
func (l *loop) commit() {
	if len(l.newFirings) == 0 && l.consecutiveFailures == 0 || l.consecutiveFailures > 0 && l.cfg.Now().Before(l.retryAt) {
		return
	}
	firings := l.newFirings
	if l.consecutiveFailures > 0 {
		firings = l.index.Uncommitted(nil)
	}
	for part := range slices.Chunk(firings, commitBatch) {
		entries, err := l.cfg.Store.FireAlerts(l.drainCtx, part)
		if err != nil {
			l.commitFailed(err)
			return
		}
		for i := range part {
			l.index.RemoveFired(part[i].ID)
			l.markUnused(part[i].Dependency())
			if part[i].Late {
				l.late++
			}
		}
		l.firings += uint64(len(entries))
		l.cfg.Publish(entries)
	}
	l.newFirings = l.newFirings[:0]
	if l.consecutiveFailures > 0 {
		l.cfg.Log.InfoContext(l.ctx, "fired alerts are committed again", "firings", len(firings), "after_failures", l.consecutiveFailures)
		l.consecutiveFailures, l.commitErr = 0, nil
	}
}

func (l *loop) commitFailed(err error) {
	l.newFirings = l.newFirings[:0] // the book has them
	l.consecutiveFailures++
	l.commitErr = err
	wait := l.backoff(l.consecutiveFailures, maxCommitBackoff, err)
	l.retryAt = l.cfg.Now().Add(wait)
	l.cfg.Log.ErrorContext(l.ctx, "fired alerts are not committed and wait", "error", err, "attempt", l.consecutiveFailures, "retry_in", wait)
}

// onTick keeps the deadlines.
func (l *loop) onTick() {
	now := l.cfg.Now()
	for need, at := range l.retry {
		if !now.Before(at) {
			delete(l.retry, need)
			l.load(need)
		}
	}
	for need, since := range l.idle {
		if now.Sub(since) >= idleTTL {
			delete(l.idle, need)
			l.untrack(need)
		}
	}
	l.resubscribe(now)
	l.publishStatus(now)
	if now.Sub(l.lastTick) > maxStall {
		l.resumedAt = now // what happened meanwhile is still to come
	}
	if l.lastTick = now; now.Sub(l.resumedAt) >= expiryGrace {
		l.expired = l.index.Expire(l.expired, now.Add(-expiryGrace), l.mayStillFire)
	}
	l.expire()
	if now.Sub(l.watermarksSaved) >= watermarkInterval {
		l.watermarksSaved = now
		l.saveWatermarks()
	}
}

// expire removes the alerts that waited in vain from the store. They left the book
// a while after their time, and not while bars of theirs were missing in which they
// may have come true.
func (l *loop) expire() {
	if len(l.expired) == 0 {
		return
	}
	if err := l.cfg.Store.ExpireAlerts(l.drainCtx, l.expired); err != nil {
		l.cfg.Log.ErrorContext(l.ctx, "expired alerts are not removed and wait", "error", err, "alerts", len(l.expired))
		return
	}
	for i := range l.expired {
		l.markUnused(l.expired[i].Dependency())
	}
	l.expired = nil
}

// setWatermark notes that bars up to t have been evaluated. What no alert needs is not
// marked: if there are any, another engine watches them and knows how far it is.
func (l *loop) setWatermark(s *tracker, n alert.Dependency, t int64) {
	if l.index.DependsOn(n) {
		l.watermarks[subscriptionFor(n)] = t
		s.watermarked = true
	}
}

// clearWatermark has a mark forgotten that was made here.
func (l *loop) clearWatermark(s *tracker, n alert.Dependency) {
	delete(l.watermarks, subscriptionFor(n))
	if s.watermarked {
		l.watermarks[subscriptionFor(n)] = 0
	}
}

// saveWatermarks writes how far bars were evaluated. It must not run ahead of what they
// fired: after a crash everything from the mark on is evaluated again.
func (l *loop) saveWatermarks() {
	if len(l.watermarks) == 0 || l.consecutiveFailures > 0 || len(l.newFirings) > 0 {
		return
	}
	if err := l.cfg.Store.SaveMarks(l.drainCtx, l.watermarks); err != nil {
		l.cfg.Log.WarnContext(l.ctx, "marks are not written", "error", err) // the next attempt is soon
		return
	}
	clear(l.watermarks)
}

// close commits what was found last.
func (l *loop) close() error {
	l.retryAt = time.Time{}
	l.commit()
	l.saveWatermarks()
	l.publishStatus(l.cfg.Now())
	return l.commitErr
}

// async runs work beside the loop, and what it returns in the loop.
func (l *loop) async(work func(ctx context.Context) (apply func())) {
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
