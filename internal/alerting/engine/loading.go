package engine

import (
	"context"
	"maps"
	"math/bits"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/analysis/indicator"
	"candela/internal/kit/fault"
	"candela/internal/market"
	"candela/internal/market/marketdata"
)

const (
	maxRetry  = 5 * time.Minute // between attempts to load
	maxLoaded = 20_000          // bars in one load, which is what market data gives at most
	spareBars = 64              // read besides those that the calendar counts: a venue may have some that it does not know of
)

// loadAll begins to load everything that is needed, prices first: they need least.
func (l *loop) loadAll() {
	for symbol := range l.priceTrackers {
		l.load(alert.Dependency{Instrument: symbol})
	}
	for need := range l.barTrackers {
		l.load(need)
	}
}

// load reads what is needed and was missed, in the background.
func (l *loop) load(n alert.Dependency) {
	if n.Interval == 0 {
		if p := l.priceTrackers[n.Instrument]; p != nil && !p.inProgress {
			l.loadPrices(p)
		}
		return
	}
	if s := l.barTrackers[n]; s != nil && !s.inProgress {
		l.loadSeries(s)
	}
}

// startLoad runs a read of history when there is a slot for it.
func (l *loop) startLoad(s *tracker, n alert.Dependency, work func(ctx context.Context) (apply func(), err error)) {
	s.inProgress = true
	l.async(func(ctx context.Context) func() {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		apply, err := work(ctx)
		<-l.slots
		return func() {
			s.inProgress = false
			switch {
			case l.priceTrackers[n.Instrument].is(s) || l.barTrackers[n].is(s):
			default:
				return // dropped meanwhile
			}
			if err != nil {
				l.loadFailed(s, n, err)
			} else {
				s.consecutiveFailures, s.notFound = 0, false
				apply()
			}
			l.reloadIfQueued(s, n)
		}
	})
}

// reloadIfQueued loads once more for the alerts that came while it was being loaded: it was
// not evaluated for them.
func (l *loop) reloadIfQueued(s *tracker, n alert.Dependency) {
	if s.queued.isZero() || s.inProgress {
		return
	}
	s.ready = false
	s.merge(s.queued)
	s.queued = backfill{}
	if _, waits := l.retry[n]; !waits {
		l.load(n)
	}
}

func (p *priceTracker) is(s *tracker) bool { return p != nil && &p.tracker == s }
func (s *barTracker) is(o *tracker) bool   { return s != nil && &s.tracker == o }

// loadFailed tries again later. The alerts wait.
func (l *loop) loadFailed(s *tracker, n alert.Dependency, err error) {
	if isShutdown(err) {
		return
	}
	s.consecutiveFailures++
	s.notFound = fault.KindOf(err) == fault.NotFound
	wait := l.backoff(s.consecutiveFailures, maxRetry, err)
	l.retry[n] = l.cfg.Now().Add(wait)
	if bits.OnesCount(uint(s.consecutiveFailures)) > 1 {
		return // a symbol that is gone is reported less and less often
	}
	l.cfg.Log.WarnContext(l.ctx, "history not read; its alerts wait", "symbol", n.Instrument.String(), "interval", intervalOf(n), "error", err, "retry_in", wait)
}

// intervalOf names the interval of a need in the log.
func intervalOf(n alert.Dependency) string {
	if n.Interval == 0 {
		return "price"
	}
	return n.Interval.String()
}

// readPrice reads the newest bar at the shortest interval of which there are any.
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

// loadPrices reads the bars since the last one that was evaluated.
func (l *loop) loadPrices(p *priceTracker) {
	w := p.backfill
	l.startLoad(&p.tracker, p.need, func(ctx context.Context) (func(), error) {
		place, err := l.resolveListing(ctx, p.need.Instrument)
		if err != nil {
			return nil, err
		}
		q, err := l.readPrice(ctx, place)
		if err != nil {
			return nil, err
		}
		missed, err := l.readMissed(ctx, q, w)
		if err != nil {
			return nil, err
		}
		return func() { p.loaded(l, q, missed) }, nil
	})
}

// loaded evaluates what was missed and goes on from there.
func (p *priceTracker) loaded(l *loop, q *priceRead, missed []missedBar) {
	now := l.cfg.Now()
	p.start(l, q)
	for i := range missed {
		m := &missed[i]
		l.newFirings = l.index.FireBar(l.newFirings, p.need.Instrument, p.wallBar(m.bar), m.closed, now.Sub(m.closed) > lateAfter)
	}
	if p.hasBar { // what the price did in this bar was seen, but not for alerts that have come since
		l.newFirings = l.index.FireBar(l.newFirings, p.need.Instrument, p.wallBar(q.bar), now, false)
	}
	p.applyRead(l, q, now)
	p.ready, p.backfill = true, backfill{}
	l.setWatermark(&p.tracker, p.need, p.lastClosed)
	l.reportMissed(p.need, len(missed))
}

func (l *loop) reportMissed(n alert.Dependency, bars int) {
	if bars > 0 {
		l.cfg.Log.InfoContext(l.ctx, "missed bars evaluated", "symbol", n.Instrument.String(), "interval", intervalOf(n), "bars", bars)
	}
}

// watchedIndicator is a selection that alerts wait for.
type watchedIndicator struct {
	key       string
	selection *indicator.Selection
}

// depthFor returns how many bars a series needs for its selections.
func (l *loop) depthFor(s *barTracker) (depth int, all []watchedIndicator) {
	depth = l.cfg.Depth
	for key, selection := range l.index.Groups(s.need) {
		st := newEvaluator(selection, s.need.Interval, market.Calendar{})
		depth = max(depth, st.history.Len())
		all = append(all, watchedIndicator{key, selection})
	}
	return depth, all
}

// loadSeries reads the window, and the bars since the last one that was evaluated.
// A window that is there already is deepened.
func (l *loop) loadSeries(s *barTracker) {
	depth, all := l.depthFor(s)
	w := s.backfill
	if !s.ready {
		s.pending, s.mustReach = nil, 0
		if line := l.subscriptions[subscriptionFor(s.need)]; line != nil {
			s.mustReach = line.closed
		}
	}
	l.startLoad(&s.tracker, s.need, func(ctx context.Context) (func(), error) {
		place, err := l.resolveListing(ctx, s.need.Instrument)
		if err != nil {
			return nil, err
		}
		from := place.evaluatedThrough(l.cfg.Now(), s.need.Interval, w)
		missing := place.calendar.Count(s.need.Interval, market.Span{Open: from, Close: place.clock.Unix(l.cfg.Now())})
		want := min(depth+missing+spareBars, maxLoaded)
		set, err := l.cfg.Data.Bars(ctx, marketdata.Request{Symbol: place.symbol, Interval: s.need.Interval, Bars: want})
		if err == nil && set.Stale {
			err = fault.Unreachable(nil, 0, "%s does not answer", set.Provider)
		}
		if err != nil {
			return nil, err
		}
		got := newLoadedBars(place, s.need.Interval, &set, want)
		if got.closed.Len() == 0 {
			return nil, fault.Unreachable(nil, 0, "%s has no %s bar of %s that has closed", set.Provider, s.need.Interval, place.symbol.Name)
		}
		got.evaluate(all, from)
		return func() {
			if left := depth + missing + 1 - want; left > 0 {
				l.cfg.Log.WarnContext(l.ctx, "more bars were missed than are evaluated", "symbol", place.symbol.String(), "interval", s.need.Interval.String(), "left_out", left)
			}
			s.loaded(l, got, depth, from)
		}, nil
	})
}

// loaded takes the window over.
func (s *barTracker) loaded(l *loop, got *loadedBars, depth int, from int64) {
	if s.ready {
		s.extendBack(l, got, depth, from)
		return
	}
	n := got.closed.Len()
	last := got.closed.T[n-1]
	if last < s.mustReach {
		// The feed has told a bar that is missing here: the venue was slower to write it.
		l.retry[s.need] = l.cfg.Now().Add(tickInterval)
		return
	}
	l.ensureSubscription(subscriptionFor(s.need), last)
	s.place, s.reachesStart, s.builtFrom, s.depth = got.listing, got.reachesStart && n <= depth, got.builtFrom, depth
	s.bars = copyOf(got.closed.Tail(depth), depth/2)
	s.evaluators = got.evaluators
	s.ready, s.backfill = true, backfill{}
	now := l.cfg.Now()
	for _, f := range got.signals {
		l.newFirings = l.index.FireSignal(l.newFirings, s.need, f.key, f.label, f.value, f.closed, now.Sub(f.closed) > lateAfter)
	}
	l.windows.put(subscriptionFor(s.need), &s.window)
	s.publish(got.forming, got.hasForming, now)
	l.setWatermark(&s.tracker, s.need, s.bars.T[s.bars.Len()-1])
	pending := s.pending
	s.pending = nil
	for _, bar := range pending {
		s.close(l, bar, s.place.closeTime(s.need.Interval, bar.T), false)
	}
	l.reportMissed(s.need, n-got.firstEvaluated)
	if got.skippedBefore != 0 {
		l.cfg.Log.WarnContext(l.ctx, "bars were missed that lie too far back; alerts did not see them", "symbol", s.need.Instrument.String(), "interval", intervalOf(s.need),
			"from", s.place.clock.Wall(from).UTC(), "to", s.place.clock.Wall(got.skippedBefore).UTC())
	}
	s.extendIfShort(l)
}

// extendIfShort deepens a window that a selection finds too short.
func (s *barTracker) extendIfShort(l *loop) {
	if !s.ready || s.inProgress || s.reachesStart {
		return
	}
	if depth, _ := l.depthFor(s); depth > s.bars.Len() && s.bars.Len() < maxLoaded-1 {
		s.include(l.cfg.Now(), 0)
		l.loadSeries(s)
	}
}

// extendBack puts older bars before those that are there, and evaluates the newest for
// the selections that had to wait.
func (s *barTracker) extendBack(l *loop, got *loadedBars, depth int, from int64) {
	older := got.closed.Slice(0, got.closed.Search(s.bars.T[0]))
	all := copyOf(older, s.bars.Len()+depth/2)
	for i := range s.bars.Len() {
		all.Append(s.bars.At(i))
	}
	waited := make(map[string]bool)
	for key, st := range s.evaluators {
		waited[key] = s.isTooShort(st)
	}
	s.bars, s.reachesStart, s.depth = all, got.reachesStart, max(s.depth, depth)
	merged := &loadedBars{listing: s.place, interval: s.need.Interval, closed: s.bars, reachesStart: s.reachesStart, evaluators: make(map[string]*evaluator)}
	var groups []watchedIndicator
	for key, selection := range l.index.Groups(s.need) {
		if st := s.evaluators[key]; st == nil || waited[key] {
			groups = append(groups, watchedIndicator{key, selection})
		}
	}
	merged.evaluate(groups, from)
	maps.Copy(s.evaluators, merged.evaluators)
	now := l.cfg.Now()
	for _, f := range merged.signals {
		l.newFirings = l.index.FireSignal(l.newFirings, s.need, f.key, f.label, f.value, f.closed, now.Sub(f.closed) > lateAfter)
	}
	s.backfill = backfill{}
	l.setWatermark(&s.tracker, s.need, s.bars.T[s.bars.Len()-1])
	if v := s.window.Load(); v != nil {
		s.publish(v.forming, v.hasForming, v.asOf)
	}
}
