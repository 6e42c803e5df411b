package engine

import (
	"context"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/market/provider"
)

// loading is how far something that is followed has come.
type loading struct {
	want
	ready  bool // it was loaded, and evaluated for all its alerts
	busy   bool // it is being loaded
	fails  int  // attempts in a row that failed
	gone   bool // the venue says that there is no such thing
	marked bool // the store has a mark of it that is ours to clear
	next   want // of alerts that came while it was being loaded
}

// want is what must be evaluated of the past, for alerts that it was not yet
// evaluated for.
type want struct {
	oldest time.Time // of those that were watched before, up to the mark; zero for none
	mark   int64
	fresh  time.Time // the oldest of those that nobody has watched; zero for none
}

// since widens what must be evaluated to an alert that was watched up to mark, or
// by nobody where that is 0.
func (w *want) since(created time.Time, mark int64) {
	if mark == 0 {
		w.fresh = earlier(w.fresh, created)
		return
	}
	if w.oldest.IsZero() || mark < w.mark {
		w.mark = mark
	}
	w.oldest = earlier(w.oldest, created)
}

// widen adds what another one has.
func (w *want) widen(o want) {
	if !o.oldest.IsZero() {
		w.since(o.oldest, o.mark)
	}
	if !o.fresh.IsZero() {
		w.since(o.fresh, 0)
	}
}

func (w *want) isZero() bool { return w.oldest.IsZero() && w.fresh.IsZero() }

// earlier returns the earlier of two times, of which a may be zero for none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// line is a subscription to the feed, and who takes its events.
type line struct {
	sub        provider.Sub
	prices     *prices
	series     *series
	closed     int64 // the newest bar that closed
	subscribed bool
	fails      int       // attempts in a row to subscribe that failed
	retryAt    time.Time // when to try again; zero for not
}

// subOf returns a need as bars are subscribed to. Of a price it has no interval;
// so is what has been evaluated of it marked.
func subOf(n alert.Need) provider.Sub {
	return provider.Sub{Symbol: n.Instrument, Interval: n.Interval}
}

// needed reports whether anything depends on n.
func (l *loop) needed(n alert.Need) bool {
	return l.book.Needed(n) || n.Interval == 0 && l.held[n.Instrument]
}

// loadingOf returns how far a need has come, and makes it if it is new.
func (l *loop) loadingOf(n alert.Need) *loading {
	if n.Interval == 0 {
		p := l.prices[n.Instrument]
		if p == nil {
			p = &prices{need: n}
			l.prices[n.Instrument] = p
		}
		return &p.loading
	}
	s := l.series[n]
	if s == nil {
		s = &series{need: n, streams: make(map[string]*stream)}
		l.series[n] = s
		if line := l.lines[subOf(n)]; line != nil {
			line.series = s
		}
	}
	return &s.loading
}

// wanting reports whether bars may still come in which an alert came true.
func (l *loop) wanting(n alert.Need) bool {
	s := l.loadingOf(n)
	return !s.ready && !s.gone || slices.Contains(l.status.Load().Behind, n.Instrument.Venue)
}

// release notes that an alert is gone.
func (l *loop) release(n alert.Need) {
	if !l.needed(n) {
		l.idle[n] = l.cfg.Now()
	}
}

// drop stops following what nothing needs.
func (l *loop) drop(n alert.Need) {
	if l.needed(n) {
		return
	}
	delete(l.retry, n)
	if n.Interval == 0 {
		if p := l.prices[n.Instrument]; p != nil {
			l.unmark(&p.loading, n)
			delete(l.prices, n.Instrument)
			l.lasts.remove(n.Instrument)
			if line := l.lines[p.sub]; line != nil && line.prices == p {
				line.prices = nil
				l.leave(line)
			}
		}
		return
	}
	if s := l.series[n]; s != nil {
		l.unmark(&s.loading, n)
		delete(l.series, n)
		l.windows.remove(subOf(n))
		if line := l.lines[subOf(n)]; line != nil && line.series == s {
			line.series = nil
			l.leave(line)
		}
	}
}

// leave ends a subscription whose events nobody takes.
func (l *loop) leave(line *line) {
	if line.prices != nil || line.series != nil {
		return
	}
	delete(l.lines, line.sub)
	if line.subscribed {
		l.cfg.Feed.Unsubscribe(line.sub)
	}
}

// join returns the line of a subscription, which begins after the bar that opened
// at since if it is new.
func (l *loop) join(sub provider.Sub, since int64) *line {
	if line := l.lines[sub]; line != nil {
		return line
	}
	line := &line{sub: sub, closed: since, series: l.series[alert.Need{Instrument: sub.Symbol, Interval: sub.Interval}]}
	l.lines[sub] = line
	l.subscribe(line)
	return line
}

// subscribe asks the feed for a line, again later if it must.
func (l *loop) subscribe(line *line) {
	since := line.closed
	l.background(func(ctx context.Context) func() {
		_, err := l.cfg.Feed.Subscribe(ctx, line.sub, since)
		return func() {
			switch now := l.lines[line.sub]; {
			case err == nil && now == nil:
				l.cfg.Feed.Unsubscribe(line.sub) // nobody wants it any more
			case err == nil && now == line:
				line.subscribed = true
			case now == line && !isStop(err):
				line.fails++
				wait := l.wait(line.fails, maxRetry, err)
				line.retryAt = l.cfg.Now().Add(wait)
				l.cfg.Log.WarnContext(l.ctx, "feed not subscribed; alerts wait", "symbol", line.sub.Symbol.String(), "interval", line.sub.Interval.String(), "error", err, "retry_in", wait)
			}
		}
	})
}

// resubscribe asks again for the lines that the feed has refused.
func (l *loop) resubscribe(now time.Time) {
	for _, line := range l.lines {
		if !line.retryAt.IsZero() && !now.Before(line.retryAt) {
			line.retryAt = time.Time{}
			l.subscribe(line)
		}
	}
}
