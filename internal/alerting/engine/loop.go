package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/data/feed"
	"candela/internal/data/provider"
	"candela/lib/market"
)

const (
	tickInterval      = time.Second      // of expiry, retries and watermarks
	watermarkInterval = 5 * time.Second  // between writes of watermarks
	idleTTL           = time.Minute      // how long an unneeded tracker is kept: the next alert often follows soon
	lateAfter         = 30 * time.Second // a bar read later than this after its close makes a late firing
	expiryGrace       = time.Minute      // delayed bars may still fire an alert that expired after they closed
	maxStall          = 10 * time.Second // without a tick: the process was stopped, or the machine slept
	commitBatch       = 1000             // firings in one commit
	maxCommitBackoff  = 30 * time.Second
)

// loop is a running engine. One goroutine owns it.
type loop struct {
	*Engine
	ctx, drainCtx context.Context
	index         *alert.Index
	events        chan feed.Event
	results       chan func() // of async work
	slots         chan struct{}
	running       sync.WaitGroup

	priceTrackers map[market.Symbol]*priceTracker
	barTrackers   map[alert.Dependency]*barTracker
	subscriptions map[provider.Sub]*feedSubscription
	extraSymbols  map[market.Symbol]bool // requested by Follow
	streams       map[*barStream]bool    // of FollowBars
	catchUps      chan struct{}          // slots of their reads

	newFirings []alert.Firing // since the last commit
	broken     outbox         // of alerts whose script failed, not stored yet
	expired    []alert.Alert  // not removed from the store yet
	attempts                  // to commit
	commitErr  error          // of the last commit

	died    map[string]time.Time   // scripts that were evaluated when a process died, and when that was
	idle    map[string]alert.Alert // stored alerts that nothing evaluates, by ID
	reports outbox                 // about idle alerts, not stored yet

	watermarks      map[provider.Sub]int64 // not saved yet
	watermarksSaved time.Time
	health          map[string]*venueHealth
	missingVenues   map[string]bool // that are not set up, and were logged
	lastTick        time.Time
	resumedAt       time.Time // when the loop last resumed after a stall

	evaluations uint64 // indicator values computed, one per bar
	firings     uint64 // committed
	late        uint64 // committed late firings

	scriptsBusy    int    // scripts that are being evaluated
	scriptsLate    uint64 // bars that a script evaluated too late
	scriptsStarved uint64 // evaluations that found no memory
	scriptsSkipped uint64 // bars that were given up because scripts were too slow
}

func newLoop(ctx, drainCtx context.Context, e *Engine) *loop {
	return &loop{
		Engine: e, ctx: ctx, drainCtx: drainCtx, index: alert.NewIndexOf(e.cfg.Library),
		events: make(chan feed.Event, maxEvents), results: make(chan func(), maxLoads), slots: make(chan struct{}, maxLoads),
		priceTrackers: make(map[market.Symbol]*priceTracker), barTrackers: make(map[alert.Dependency]*barTracker),
		subscriptions: make(map[provider.Sub]*feedSubscription), watermarks: make(map[provider.Sub]int64), health: make(map[string]*venueHealth), missingVenues: make(map[string]bool),
		idle: make(map[string]alert.Alert), died: make(map[string]time.Time), streams: make(map[*barStream]bool), catchUps: make(chan struct{}, maxCatchingUp),
	}
}

// run handles commands, results and events one at a time until the context ends.
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
		l.commitBroken()
		l.commitReports()
	}
}

// handleQueued handles the events that are queued already, so that one commit serves all.
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

func (l *loop) handleEvent(e *feed.Event) {
	s := l.subscriptions[e.Sub]
	if s == nil {
		return // sent before the unsubscribe
	}
	if e.Kind == provider.Closed && !e.Ahead {
		s.closed = max(s.closed, e.Bar.T)
	}
	if s.prices != nil {
		s.prices.handleEvent(l, e)
		if !e.Again {
			l.observe(e.Event)
		}
	}
	if s.bars != nil && !e.Ahead { // indicators wait for the bars before it
		s.bars.handleEvent(l, e)
	}
	if !e.Ahead {
		for _, f := range s.followers {
			f.handleEvent(l, e)
		}
	}
}

// observe passes a price on to orders.
func (l *loop) observe(e provider.Event) {
	if l.cfg.Observe != nil {
		l.cfg.Observe(e)
	}
}

// isLate reports whether what a closed bar fires is late: the bar was found after newer
// prices, or long after its end.
func (l *loop) isLate(e *feed.Event, closed time.Time) bool {
	return e.Late || (e.Backfilled || e.Again) && l.cfg.Now().Sub(closed) > lateAfter
}

// commit stores new firings and then publishes them. If storing fails, nothing is
// published and the firings are retried; the index keeps them as uncommitted.
func (l *loop) commit() {
	if len(l.newFirings) == 0 && l.consecutiveFailures == 0 || l.consecutiveFailures > 0 && l.cfg.Now().Before(l.retryAt) {
		return
	}
	firings := l.newFirings
	if l.consecutiveFailures > 0 {
		firings = l.index.Uncommitted(nil)
	}
	for batch := range slices.Chunk(firings, commitBatch) {
		entries, err := l.cfg.Store.FireAlerts(l.drainCtx, batch)
		if err != nil {
			l.commitFailed(err)
			return
		}
		for i := range batch {
			l.index.Committed(&batch[i])
			l.markAllUnused(&batch[i].Alert)
			if batch[i].Late {
				l.late++
			}
		}
		l.firings += uint64(len(entries))
		l.cfg.Publish(entries)
	}
	l.newFirings = l.newFirings[:0]
	if l.consecutiveFailures > 0 {
		l.cfg.Log.InfoContext(l.ctx, "alert commit recovered", "firings", len(firings), "after_failures", l.consecutiveFailures)
		l.consecutiveFailures, l.commitErr = 0, nil
	}
}

func (l *loop) commitFailed(err error) {
	l.newFirings = l.newFirings[:0] // the index has them
	l.commitErr = err
	wait := l.failed(&l.attempts, maxCommitBackoff, err)
	l.cfg.Log.ErrorContext(l.ctx, "alert commit failed", "error", err, "attempt", l.consecutiveFailures, "retry_in", wait)
}

func (l *loop) onTick() {
	now := l.cfg.Now()
	for t := range l.trackers() {
		if t.due(now) {
			l.load(t)
		}
		if !t.unusedSince.IsZero() && now.Sub(t.unusedSince) >= idleTTL {
			t.unusedSince = time.Time{}
			l.untrack(t)
		}
	}
	l.resubscribe(now)
	l.tendStreams(now)
	l.retryScripts(now)
	l.publishStatus(now)
	if now.Sub(l.lastTick) > maxStall {
		l.resumedAt = now // the events of the stall are still to come
	}
	if l.lastTick = now; now.Sub(l.resumedAt) >= expiryGrace {
		l.expired = l.index.Expire(l.expired, now.Add(-expiryGrace), l.mayStillFire)
	}
	l.removeExpired()
	if now.Sub(l.watermarksSaved) >= watermarkInterval {
		l.watermarksSaved = now
		l.saveWatermarks()
	}
}

// removeExpired removes expired alerts from the store.
func (l *loop) removeExpired() {
	if len(l.expired) == 0 {
		return
	}
	if err := l.cfg.Store.ExpireAlerts(l.drainCtx, l.expired); err != nil {
		l.cfg.Log.ErrorContext(l.ctx, "alert expiry failed", "error", err, "alerts", len(l.expired))
		return
	}
	for i := range l.expired {
		l.markAllUnused(&l.expired[i])
	}
	l.expired = nil
}

// saveWatermarks stores the watermarks. A watermark must not pass an uncommitted firing:
// after a crash, evaluation resumes from it.
func (l *loop) saveWatermarks() {
	if len(l.watermarks) == 0 || l.consecutiveFailures > 0 || len(l.newFirings) > 0 {
		return
	}
	if err := l.cfg.Store.SaveMarks(l.drainCtx, l.watermarks); err != nil {
		l.cfg.Log.WarnContext(l.ctx, "watermark save failed", "error", err) // the next attempt follows soon
		return
	}
	clear(l.watermarks)
}

// close commits the last firings.
func (l *loop) close() error {
	for s := range l.streams {
		l.endStream(s)
	}
	l.retryAt, l.broken.retry, l.reports.retry = time.Time{}, time.Time{}, time.Time{}
	l.commit()
	l.commitBroken()
	l.commitReports()
	l.saveWatermarks()
	l.publishStatus(l.cfg.Now())
	return l.commitErr
}

// async runs work in a goroutine and the function it returns in the loop.
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
