package engine

import (
	"context"
	"slices"
	"time"

	"candela/internal/alert"
	"candela/internal/provider"
)

// loading is how far something that is followed has come.
type loading struct {
	ready  bool      // it was loaded
	busy   bool      // it is being loaded
	fails  int       // attempts in a row that failed
	gone   bool      // the venue says that there is no such thing
	oldest time.Time // of the alerts that it was not evaluated for yet; zero for none
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

// need makes sure that what an alert depends on is followed. An alert that was
// made earlier wants the bars since then.
func (l *loop) need(n alert.Need, created time.Time) {
	delete(l.idle, n)
	l.loadingOf(n).since(created)
}

// needed reports whether anything depends on n.
func (l *loop) needed(n alert.Need) bool {
	return l.book.Needed(n) || n.Interval == 0 && l.held[n.Instrument]
}

// since widens what must be evaluated.
func (s *loading) since(created time.Time) {
	if s.oldest.IsZero() || created.Before(s.oldest) {
		s.oldest = created
	}
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
	l.mark(n, 0)
	delete(l.began, subOf(n))
	if n.Interval == 0 {
		if p := l.prices[n.Instrument]; p != nil {
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
