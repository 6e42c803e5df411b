package engine

import (
	"cmp"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/lib/market"
)

// An alert may have members on longer bars. A tracker keeps those as it does for alerts of their own. At
// the close of a bar such an alert waits, as one on a script does, until the longer bars that have
// closed by then are there.

// trackLonger tracks the longer bars that an alert needs.
func (l *loop) trackLonger(a *alert.Alert) {
	for _, d := range a.Dependencies()[1:] {
		t := l.track(d)
		if t.unusedSince = (time.Time{}); t.ready {
			l.barTrackers[d].extendIfShort(l)
		} else {
			l.load(t)
		}
	}
}

// needsLonger reports whether an alert of the tracker has members on longer bars.
func (b *barTracker) needsLonger(l *loop) bool { return len(l.index.LongerThan(b.dependency)) > 0 }

// resumeReaders goes on with the bars that wait for those of a tracker.
func (l *loop) resumeReaders(of *barTracker) {
	for d := range l.index.Readers(of.dependency) {
		if b := l.barTrackers[d]; b != nil && b.ready {
			b.resumeAsked(l)
		}
	}
}

// resumeAsked evaluates, in order, the bars that wait for longer ones, up to the first that still waits.
func (b *barTracker) resumeAsked(l *loop) {
	for _, a := range b.asked {
		if a.wantsLonger && !b.evaluateLonger(l, a) {
			break
		}
	}
	b.forgetAnswered()
	b.markEvaluated(l)
}

// longerWindow is the window of a longer interval as a bar sees it.
type longerWindow struct {
	alert.LongerBar
	tracker *barTracker
	seen    market.Bars // closed no later than the bar
}

// evaluateLonger fires what a closed bar makes true together with longer bars. It reports false if
// these are not there yet.
func (b *barTracker) evaluateLonger(l *loop, a *askedBar) bool {
	windows, known := b.longerWindows(l, a)
	if !known {
		return false
	}
	groups := slices.DeleteFunc(slices.Collect(l.index.Groups(b.dependency)), func(g alert.Group) bool { return g.Longer == 0 })
	for _, g := range groups {
		if w := windows[g.Longer]; w.isTooShort(b.depthOf(l, g)) && w.tracker.extends(l) {
			return false
		}
	}
	a.wantsLonger, a.Longer = false, make([]alert.LongerBar, 0, len(windows))
	for _, w := range windows {
		a.Longer = append(a.Longer, w.LongerBar)
	}
	for _, g := range groups {
		b.askLonger(l, a, g, windows[g.Longer])
	}
	a.waiting--
	a.setRows(l, b.dependency)
	c := a.closing(l.cfg.Now())
	l.newFirings = l.index.FireLonger(l.newFirings, b.dependency, &c)
	return true
}

// longerWindows returns the windows of all longer intervals, and false if one lacks a bar.
func (b *barTracker) longerWindows(l *loop, a *askedBar) (map[market.Interval]longerWindow, bool) {
	windows := make(map[market.Interval]longerWindow)
	for _, on := range l.index.LongerThan(b.dependency) {
		t := l.barTrackers[alert.Dependency{Instrument: b.dependency.Instrument, Interval: on}]
		if t == nil || !t.ready {
			return nil, false
		}
		bars := evaluate.Longer{Interval: on, Own: b.dependency.Interval, Calendar: b.listing.calendar, Bars: &t.bars}
		if bars.Lacks(a.Bar, a.Prev) {
			return nil, false
		}
		newest, n := bars.At(a.Bar, a.Prev, b.listing.clock.Wall)
		windows[on] = longerWindow{newest, t, t.bars.Slice(0, n)}
	}
	return windows, true
}

// isTooShort reports whether the window is too short for values that depend on so many bars.
func (w *longerWindow) isTooShort(depth int) bool {
	return w.seen.Len() < depth && !w.tracker.reachesStart
}

// extends begins to load older bars of a window, and reports whether they are still to come.
func (b *barTracker) extends(l *loop) bool {
	if b.retryAt.IsZero() {
		b.extendIfShort(l)
	}
	return b.inProgress || !b.retryAt.IsZero()
}

// askLonger computes an indicator at the newest longer bar, or asks its script.
func (b *barTracker) askLonger(l *loop, a *askedBar, g alert.Group, w longerWindow) {
	switch {
	case w.seen.Len() == 0 || w.isTooShort(b.depthOf(l, g)):
	case alert.UsesScript(g.Selection):
		s := b.script(l, g)
		a.waiting++
		s.queue = append(s.queue, scriptTask{asked: a, bars: w.seen})
		l.work(b, s)
	default:
		l.evaluations++
		a.rows = append(a.rows, keyedRow{g.Key, cloneRow(b.evaluator(g).Newest(&w.seen)), w.Closed})
	}
}

// depthOf returns the number of bars on which the newest value of an indicator depends.
func (b *barTracker) depthOf(l *loop, g alert.Group) int {
	if alert.UsesScript(g.Selection) {
		return b.script(l, g).depth
	}
	return b.evaluator(g).Depth()
}

// readDepth returns how many bars of a tracker are needed as longer ones, by the bars that wait, too.
func (l *loop) readDepth(of *barTracker) (depth int) {
	for d := range l.index.Readers(of.dependency) {
		b, behind := l.barTrackers[d], 0
		if b == nil {
			continue
		}
		if b.ready && len(b.asked) > 0 {
			behind = b.listing.calendar.Count(of.dependency.Interval, market.Span{Open: b.asked[0].Bar.T, Close: b.listing.clock.Unix(l.cfg.Now())})
		}
		depth = max(depth, 2+behind)
		for g := range l.index.Groups(d) {
			if g.Longer == of.dependency.Interval {
				depth = max(depth, evaluate.New(g.Selection, of.env(g)).Depth()+behind)
			}
		}
	}
	return depth
}

// setRows gives the index the rows that are known of a bar.
func (a *askedBar) setRows(l *loop, d alert.Dependency) {
	for i := range a.rows {
		at := a.rows[i].closed
		if at.IsZero() {
			at = a.Closed
		}
		l.index.SetRow(d, a.rows[i].key, a.rows[i].Row, at)
	}
}

// closing returns the bar as conditions see it that are evaluated now.
func (a *askedBar) closing(now time.Time) alert.Closing {
	c := a.Closing
	c.Late = c.Late || now.Sub(a.asked) > lateAfter
	return c
}

// closedOf returns when the bar closed from which an indicator is computed: the bar itself, if that
// time is zero, or the newest longer one.
func (a *askedBar) closedOf(on market.Interval) (at time.Time) {
	for i := range a.Longer {
		if a.Longer[i].Interval == on {
			at = a.Longer[i].Closed
		}
	}
	return at
}

// intervalOf returns the interval of the bars of an indicator.
func (b *barTracker) intervalOf(g alert.Group) market.Interval {
	return cmp.Or(g.Longer, b.dependency.Interval)
}
