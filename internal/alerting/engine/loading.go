package engine

import (
	"context"
	"maps"
	"math/bits"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/data/marketdata"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

const (
	maxRetry  = 5 * time.Minute // between attempts to load
	maxLoaded = 20_000          // bars in one load; marketdata returns no more
	spareBars = 64              // read in addition to the bars of the calendar: a venue may have more
)

// load starts a load, unless one is in progress or a retry is scheduled.
func (l *loop) load(t *tracker) {
	switch {
	case t.inProgress || !t.retryAt.IsZero() || l.lacksVenue(t):
	case t.dependency.Interval == 0:
		l.loadPrice(l.priceTrackers[t.dependency.Instrument])
	default:
		l.loadBars(l.barTrackers[t.dependency])
	}
}

// startLoad runs work once a slot is free, and applies its result in the loop.
func (l *loop) startLoad(t *tracker, work func(ctx context.Context) (apply func(), err error)) {
	t.inProgress = true
	l.async(func(ctx context.Context) func() {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		apply, err := work(ctx)
		<-l.slots
		return func() {
			t.inProgress = false
			if l.tracker(t.dependency) != t {
				return // untracked meanwhile
			}
			if err != nil {
				l.loadFailed(t, err)
			} else {
				t.consecutiveFailures, t.notFound = 0, false
				apply()
			}
			l.reloadIfQueued(t)
		}
	})
}

// reloadIfQueued loads again for alerts that were added during the load.
func (l *loop) reloadIfQueued(t *tracker) {
	if t.queued.isZero() || t.inProgress {
		return
	}
	t.ready = false
	t.merge(t.queued)
	t.queued = backfill{}
	l.load(t)
}

// loadFailed schedules a retry. The alerts wait.
func (l *loop) loadFailed(t *tracker, err error) {
	if isShutdown(err) {
		return
	}
	t.notFound = fault.KindOf(err) == fault.NotFound
	wait := l.failed(&t.attempts, maxRetry, err)
	if bits.OnesCount(uint(t.consecutiveFailures)) > 1 {
		return // a symbol that is gone is logged less and less often
	}
	l.cfg.Log.WarnContext(l.ctx, "history load failed", "symbol", t.dependency.Instrument.String(), "interval", intervalName(t.dependency), "error", err, "retry_in", wait)
}

// intervalName returns the interval of a dependency for the log.
func intervalName(d alert.Dependency) string {
	if d.Interval == 0 {
		return "price"
	}
	return d.Interval.String()
}

// readPrice reads the newest bar at the shortest interval that has bars.
func (e *Engine) readPrice(ctx context.Context, p *listing) (*priceRead, error) {
	var err error
	for _, i := range p.caps.Intervals {
		var set marketdata.BarSet
		set, err = e.cfg.Data.Bars(ctx, marketdata.Request{Symbol: p.symbol, Interval: i, Bars: 2})
		switch {
		case noBarsAtInterval(err):
			continue
		case err != nil:
			return nil, err
		case set.Stale:
			return nil, fault.Unreachable(nil, 0, "%s does not answer, so the price of %s is not known; try again later", set.Provider, p.symbol.Name)
		}
		q := newPriceRead(p, i, &set)
		q.readAt = e.cfg.Now()
		return &q, nil
	}
	return nil, err
}

// loadPrice reads the price and the bars since the watermark.
func (l *loop) loadPrice(p *priceTracker) {
	fill := p.backfill
	l.startLoad(&p.tracker, func(ctx context.Context) (func(), error) {
		listing, err := l.resolveListing(ctx, p.dependency.Instrument)
		if err != nil {
			return nil, err
		}
		q, err := l.readPrice(ctx, listing)
		if err != nil {
			return nil, err
		}
		missed, err := l.readMissed(ctx, q, fill)
		if err != nil {
			return nil, err
		}
		return func() { p.loaded(l, q, missed) }, nil
	})
}

// loaded evaluates the missed bars and tracks the price from there on.
func (p *priceTracker) loaded(l *loop, q *priceRead, missed []missedBar) {
	now := l.cfg.Now()
	p.start(l, q)
	l.index.BeginMissed(p.dependency.Instrument)
	for i := range missed {
		m := &missed[i]
		l.newFirings = l.index.FireMissed(l.newFirings, p.dependency.Instrument, p.wallBar(m.bar), m.closed, now.Sub(m.closed) > lateAfter)
	}
	if p.hasBar { // alerts added since have not seen what the price did in this bar
		l.newFirings = l.index.FireBar(l.newFirings, p.dependency.Instrument, p.wallBar(q.bar), now, false)
	}
	p.applyRead(l, q, now)
	l.index.EndMissed(p.dependency.Instrument)
	p.ready, p.backfill = true, backfill{}
	l.setWatermark(&p.tracker, p.lastClosed)
	l.logMissed(p.dependency, len(missed))
}

func (l *loop) logMissed(d alert.Dependency, bars int) {
	if bars > 0 {
		l.cfg.Log.InfoContext(l.ctx, "missed bars evaluated", "symbol", d.Instrument.String(), "interval", intervalName(d), "bars", bars)
	}
}

// watched returns the indicators that are computed from the bars of a tracker for its own alerts.
func (l *loop) watched(b *barTracker) (all []alert.Group) {
	for g := range l.index.Groups(b.dependency) {
		if g.Longer == 0 {
			all = append(all, g)
		}
	}
	return all
}

// depthFor returns how many bars the indicators of a tracker need.
func (l *loop) depthFor(b *barTracker) (depth int, all []alert.Group) {
	depth, all = max(l.cfg.Depth, l.readDepth(b)), l.watched(b)
	for _, g := range all {
		depth = max(depth, evaluate.New(g.Selection, ta.Env{Interval: b.dependency.Interval}).Depth())
	}
	return depth, all
}

// loadBars reads the rolling window and the bars since the watermark. A window that is
// loaded already is extended back.
func (l *loop) loadBars(b *barTracker) {
	depth, all := l.depthFor(b)
	fill, interval := b.backfill, b.dependency.Interval
	if !b.ready {
		b.pending, b.mustReach = nil, 0
		if sub := l.subscriptions[subscriptionFor(b.dependency)]; sub != nil {
			b.mustReach = sub.closed
		}
	}
	l.startLoad(&b.tracker, func(ctx context.Context) (func(), error) {
		listing, err := l.resolveListing(ctx, b.dependency.Instrument)
		if err != nil {
			return nil, err
		}
		from := listing.evaluatedThrough(l.cfg.Now(), interval, fill)
		missing := listing.calendar.Count(interval, market.Span{Open: from, Close: listing.clock.Unix(l.cfg.Now())})
		total := min(depth+missing+spareBars, maxLoaded)
		set, err := l.cfg.Data.Bars(ctx, marketdata.Request{Symbol: listing.symbol, Interval: interval, Bars: total})
		if err == nil && set.Stale {
			err = fault.Unreachable(nil, 0, "%s does not answer", set.Provider)
		}
		if err != nil {
			return nil, err
		}
		got := newLoadedBars(listing, interval, &set, total)
		if got.closed.Len() == 0 {
			return nil, fault.Unreachable(nil, 0, "%s has no closed %s bar of %s", set.Provider, interval, listing.symbol.Name)
		}
		got.evaluate(all, from)
		return func() {
			if skipped := depth + missing + 1 - total; skipped > 0 {
				l.cfg.Log.WarnContext(l.ctx, "missed bars skipped: too many", "symbol", listing.symbol.String(), "interval", interval.String(), "bars", skipped)
			}
			b.loaded(l, got, depth, from)
		}, nil
	})
}

// loaded takes the loaded bars as the rolling window and fires their signals.
func (b *barTracker) loaded(l *loop, got *loadedBars, depth int, from int64) {
	if b.ready {
		b.extendBack(l, got, depth, from)
		return
	}
	n := got.closed.Len()
	last := got.closed.T[n-1]
	if last < b.mustReach {
		// The feed has delivered a newer bar, which the venue's REST API does not have yet.
		b.retryAt = l.cfg.Now().Add(tickInterval)
		return
	}
	l.ensureSubscription(subscriptionFor(b.dependency), last)
	b.listing, b.reachesStart, b.builtFrom, b.depth = got.listing, got.reachesStart && n <= depth, got.builtFrom, depth
	b.bars = copyOf(got.closed.Tail(depth), depth/2)
	b.evaluators = got.evaluators
	b.ready, b.backfill = true, backfill{}
	now := l.cfg.Now()
	b.fireFrames(l, got, now)
	l.windows.put(subscriptionFor(b.dependency), &b.window)
	b.publish(got.forming, got.hasForming, now)
	b.markEvaluated(l)
	pending := b.pending
	b.pending = nil
	for _, bar := range pending {
		b.close(l, bar, b.listing.closeTime(b.dependency.Interval, bar.T), false)
	}
	l.logMissed(b.dependency, n-got.firstEvaluated)
	if got.skippedBefore != 0 {
		l.cfg.Log.WarnContext(l.ctx, "missed bars skipped: no history for the indicator", "symbol", b.dependency.Instrument.String(), "interval", intervalName(b.dependency),
			"from", b.listing.clock.Wall(from).UTC(), "to", b.listing.clock.Wall(got.skippedBefore).UTC())
	}
	b.extendIfShort(l)
	l.resumeReaders(b)
}

// fireFrames fires what missed bars made true, and asks the scripts and longer bars about them.
func (b *barTracker) fireFrames(l *loop, got *loadedBars, now time.Time) {
	beside, longer := slices.Collect(l.index.Beside(b.dependency)), b.needsLonger(l)
	for i := range got.frames {
		f := &got.frames[i]
		late := now.Sub(f.closed) > lateAfter
		for _, row := range f.rows {
			l.fireRow(b.dependency, row.key, row.Row, f.closed, late)
		}
		l.newFirings = l.index.FireClose(l.newFirings, b.dependency, f.bar, f.prev, f.closed, late)
		if longer || len(got.scripts) > 0 {
			rows := slices.DeleteFunc(slices.Clone(f.rows), func(row keyedRow) bool { return !slices.Contains(beside, row.key) })
			b.askMissed(l, got, got.firstEvaluated+i, &askedBar{Closing: alert.Closing{Bar: f.bar, Prev: f.prev, Opened: b.listing.opened(f.bar), Closed: f.closed, Late: late}, wantsLonger: longer, rows: rows})
		}
	}
	b.resumeAsked(l)
}

// askMissed asks the scripts about a missed bar.
func (b *barTracker) askMissed(l *loop, got *loadedBars, i int, a *askedBar) {
	var scripts []*script
	for _, m := range got.scripts {
		if i >= m.first {
			scripts = append(scripts, b.script(l, m.Group))
		}
	}
	b.ask(l, a, got.closed.Slice(0, i+1), scripts)
}

// extendIfShort loads older bars if the window is too short for an indicator.
func (b *barTracker) extendIfShort(l *loop) {
	if b.ready && !b.inProgress && b.isShort(l) {
		b.include(l.cfg.Now(), 0)
		l.loadBars(b)
	}
}

// isShort reports whether the window is too short for an indicator and the venue has older bars.
func (b *barTracker) isShort(l *loop) bool {
	if b.reachesStart || b.bars.Len() >= maxLoaded-1 {
		return false
	}
	depth, _ := l.depthFor(b)
	return depth > b.bars.Len()
}

// hasWaited reports whether an indicator had too few bars.
func (b *barTracker) hasWaited(key string) bool {
	if s := b.scripts[key]; s != nil {
		return b.bars.Len() < s.depth && !b.reachesStart
	}
	ev := b.evaluators[key]
	return ev == nil || b.isTooShort(ev)
}

// extendBack puts older bars before the window. If an indicator had too few, it evaluates
// the newest bars again, for all indicators: a condition may need several.
func (b *barTracker) extendBack(l *loop, got *loadedBars, depth int, from int64) {
	older := got.closed.Slice(0, got.closed.Search(b.bars.T[0]))
	all := copyOf(older, b.bars.Len()+depth/2)
	for i := range b.bars.Len() {
		all.Append(b.bars.At(i))
	}
	indicators, waited := l.watched(b), false
	for _, g := range indicators {
		waited = waited || b.hasWaited(g.Key)
	}
	b.bars, b.reachesStart, b.depth = all, got.reachesStart, max(b.depth, depth)
	merged := &loadedBars{listing: b.listing, interval: b.dependency.Interval, closed: b.bars, reachesStart: b.reachesStart, evaluators: make(map[string]*evaluate.Evaluator)}
	if waited {
		merged.evaluate(indicators, from)
		maps.Copy(b.evaluators, merged.evaluators)
		b.fireFrames(l, merged, l.cfg.Now())
	}
	b.backfill = backfill{}
	b.markEvaluated(l)
	if w := b.window.Load(); w != nil {
		b.publish(w.forming, w.hasForming, w.asOf)
	}
	l.resumeReaders(b)
}
