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
	for symbol := range l.prices {
		l.load(alert.Need{Instrument: symbol})
	}
	for need := range l.series {
		l.load(need)
	}
}

// load reads what is needed and was missed, in the background.
func (l *loop) load(n alert.Need) {
	if n.Interval == 0 {
		if p := l.prices[n.Instrument]; p != nil && !p.busy {
			l.loadPrices(p)
		}
		return
	}
	if s := l.series[n]; s != nil && !s.busy {
		l.loadSeries(s)
	}
}

// begin runs a read of history when there is a slot for it.
func (l *loop) begin(s *loading, n alert.Need, work func(ctx context.Context) (apply func(), err error)) {
	s.busy = true
	l.background(func(ctx context.Context) func() {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		apply, err := work(ctx)
		<-l.slots
		return func() {
			s.busy = false
			switch {
			case l.prices[n.Instrument].is(s) || l.series[n].is(s):
			default:
				return // dropped meanwhile
			}
			if err != nil {
				l.notLoaded(s, n, err)
			} else {
				s.fails, s.gone = 0, false
				apply()
			}
			l.again(s, n)
		}
	})
}

// again loads once more for the alerts that came while it was being loaded: it was
// not evaluated for them.
func (l *loop) again(s *loading, n alert.Need) {
	if s.next.isZero() || s.busy {
		return
	}
	s.ready = false
	s.widen(s.next)
	s.next = want{}
	if _, waits := l.retry[n]; !waits {
		l.load(n)
	}
}

func (p *prices) is(s *loading) bool { return p != nil && &p.loading == s }
func (s *series) is(o *loading) bool { return s != nil && &s.loading == o }

// notLoaded tries again later. The alerts wait.
func (l *loop) notLoaded(s *loading, n alert.Need, err error) {
	if isStop(err) {
		return
	}
	s.fails++
	s.gone = fault.KindOf(err) == fault.NotFound
	wait := l.wait(s.fails, maxRetry, err)
	l.retry[n] = l.cfg.Now().Add(wait)
	if bits.OnesCount(uint(s.fails)) > 1 {
		return // a symbol that is gone is reported less and less often
	}
	l.cfg.Log.WarnContext(l.ctx, "history not read; its alerts wait", "symbol", n.Instrument.String(), "interval", intervalOf(n), "error", err, "retry_in", wait)
}

// intervalOf names the interval of a need in the log.
func intervalOf(n alert.Need) string {
	if n.Interval == 0 {
		return "price"
	}
	return n.Interval.String()
}

// quote reads the newest bar at the shortest interval of which there are any.
func (e *Engine) quote(ctx context.Context, p *place) (*quote, error) {
	var err error
	for _, i := range p.caps.Intervals {
		var set marketdata.BarSet
		set, err = e.cfg.Data.Bars(ctx, marketdata.Request{Symbol: p.symbol, Interval: i, Bars: 2})
		switch {
		case lacks(err):
			continue
		case err != nil:
			return nil, err
		case set.Stale:
			return nil, fault.Unreachable(nil, 0, "%s does not answer, so the price of %s is not known; try again later", set.Provider, p.symbol.Name)
		}
		q := newQuote(p, i, &set)
		q.read = e.cfg.Now()
		return &q, nil
	}
	return nil, err
}

// loadPrices reads the bars since the last one that was evaluated.
func (l *loop) loadPrices(p *prices) {
	w := p.want
	l.begin(&p.loading, p.need, func(ctx context.Context) (func(), error) {
		place, err := l.locate(ctx, p.need.Instrument)
		if err != nil {
			return nil, err
		}
		q, err := l.quote(ctx, place)
		if err != nil {
			return nil, err
		}
		missed, err := l.missed(ctx, q, w)
		if err != nil {
			return nil, err
		}
		return func() { p.loaded(l, q, missed) }, nil
	})
}

// loaded evaluates what was missed and goes on from there.
func (p *prices) loaded(l *loop, q *quote, missed []past) {
	now := l.cfg.Now()
	p.adopt(l, q)
	for i := range missed {
		m := &missed[i]
		l.found = l.book.TouchBar(l.found, p.need.Instrument, p.onWall(m.bar), m.closed, now.Sub(m.closed) > lateAfter)
	}
	if p.known { // what the price did in this bar was seen, but not for alerts that have come since
		l.found = l.book.TouchBar(l.found, p.need.Instrument, p.onWall(q.bar), now, false)
	}
	p.hear(l, q, now)
	p.ready, p.want = true, want{}
	l.mark(&p.loading, p.need, p.last)
	l.reportMissed(p.need, len(missed))
}

func (l *loop) reportMissed(n alert.Need, bars int) {
	if bars > 0 {
		l.cfg.Log.InfoContext(l.ctx, "missed bars evaluated", "symbol", n.Instrument.String(), "interval", intervalOf(n), "bars", bars)
	}
}

// watched is a selection that alerts wait for.
type watched struct {
	key       string
	selection *indicator.Selection
}

// depthFor returns how many bars a series needs for its selections.
func (l *loop) depthFor(s *series) (depth int, all []watched) {
	depth = l.cfg.Depth
	for key, selection := range l.book.Groups(s.need) {
		st := newStream(selection, s.need.Interval, market.Calendar{})
		depth = max(depth, st.history.Len())
		all = append(all, watched{key, selection})
	}
	return depth, all
}

// loadSeries reads the window, and the bars since the last one that was evaluated.
// A window that is there already is deepened.
func (l *loop) loadSeries(s *series) {
	depth, all := l.depthFor(s)
	w := s.want
	if !s.ready {
		s.pending, s.floor = nil, 0
		if line := l.lines[subOf(s.need)]; line != nil {
			s.floor = line.closed
		}
	}
	l.begin(&s.loading, s.need, func(ctx context.Context) (func(), error) {
		place, err := l.locate(ctx, s.need.Instrument)
		if err != nil {
			return nil, err
		}
		from := place.evaluated(l.cfg.Now(), s.need.Interval, w)
		missing := place.calendar.Count(s.need.Interval, market.Span{Open: from, Close: place.clock.Unix(l.cfg.Now())})
		want := min(depth+missing+spareBars, maxLoaded)
		set, err := l.cfg.Data.Bars(ctx, marketdata.Request{Symbol: place.symbol, Interval: s.need.Interval, Bars: want})
		if err == nil && set.Stale {
			err = fault.Unreachable(nil, 0, "%s does not answer", set.Provider)
		}
		if err != nil {
			return nil, err
		}
		got := newHistory(place, s.need.Interval, &set, want)
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
func (s *series) loaded(l *loop, got *history, depth int, from int64) {
	if s.ready {
		s.deepen(l, got, depth, from)
		return
	}
	n := got.closed.Len()
	last := got.closed.T[n-1]
	if last < s.floor {
		// The feed has told a bar that is missing here: the venue was slower to write it.
		l.retry[s.need] = l.cfg.Now().Add(tick)
		return
	}
	l.join(subOf(s.need), last)
	s.place, s.whole, s.built, s.depth = got.place, got.whole && n <= depth, got.built, depth
	s.bars = copyOf(got.closed.Tail(depth), depth/2)
	s.streams = got.streams
	s.ready, s.want = true, want{}
	now := l.cfg.Now()
	for _, f := range got.signals {
		l.found = l.book.Signal(l.found, s.need, f.key, f.label, f.value, f.closed, now.Sub(f.closed) > lateAfter)
	}
	l.windows.put(subOf(s.need), &s.window)
	s.publish(got.running, got.runs, now)
	l.mark(&s.loading, s.need, s.bars.T[s.bars.Len()-1])
	pending := s.pending
	s.pending = nil
	for _, bar := range pending {
		s.close(l, bar, s.place.closes(s.need.Interval, bar.T), false)
	}
	l.reportMissed(s.need, n-got.first)
	if got.skipped != 0 {
		l.cfg.Log.WarnContext(l.ctx, "bars were missed that lie too far back; alerts did not see them", "symbol", s.need.Instrument.String(), "interval", intervalOf(s.need),
			"from", s.place.clock.Wall(from).UTC(), "to", s.place.clock.Wall(got.skipped).UTC())
	}
	s.check(l)
}

// check deepens a window that a selection finds too short.
func (s *series) check(l *loop) {
	if !s.ready || s.busy || s.whole {
		return
	}
	if depth, _ := l.depthFor(s); depth > s.bars.Len() && s.bars.Len() < maxLoaded-1 {
		s.since(l.cfg.Now(), 0)
		l.loadSeries(s)
	}
}

// deepen puts older bars before those that are there, and evaluates the newest for
// the selections that had to wait.
func (s *series) deepen(l *loop, got *history, depth int, from int64) {
	older := got.closed.Slice(0, got.closed.Search(s.bars.T[0]))
	all := copyOf(older, s.bars.Len()+depth/2)
	for i := range s.bars.Len() {
		all.Append(s.bars.At(i))
	}
	waited := make(map[string]bool)
	for key, st := range s.streams {
		waited[key] = s.short(st)
	}
	s.bars, s.whole, s.depth = all, got.whole, max(s.depth, depth)
	merged := &history{place: s.place, interval: s.need.Interval, closed: s.bars, whole: s.whole, streams: make(map[string]*stream)}
	var groups []watched
	for key, selection := range l.book.Groups(s.need) {
		if st := s.streams[key]; st == nil || waited[key] {
			groups = append(groups, watched{key, selection})
		}
	}
	merged.evaluate(groups, from)
	maps.Copy(s.streams, merged.streams)
	now := l.cfg.Now()
	for _, f := range merged.signals {
		l.found = l.book.Signal(l.found, s.need, f.key, f.label, f.value, f.closed, now.Sub(f.closed) > lateAfter)
	}
	s.want = want{}
	l.mark(&s.loading, s.need, s.bars.T[s.bars.Len()-1])
	if v := s.window.Load(); v != nil {
		s.publish(v.running, v.runs, v.asOf)
	}
}
