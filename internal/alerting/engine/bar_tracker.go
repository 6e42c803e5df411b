package engine

import (
	"sync/atomic"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/data/feed"
	"candela/internal/data/provider"
	"candela/lib/market"
	"candela/lib/ta"
)

// maxPending bounds the bars that close while a load is in progress.
const maxPending = 256

// barTracker keeps the rolling window of an instrument at an interval and evaluates the
// indicators that alerts depend on.
type barTracker struct {
	tracker
	bars         market.Bars // closed
	reachesStart bool        // the venue has no older bars
	builtFrom    market.Interval
	depth        int // number of bars to keep
	window       atomic.Pointer[window]
	evaluators   map[string]*evaluate.Evaluator // by the selection's key
	pending      []market.Bar                   // closed during the load
	mustReach    int64                          // the bar before pending, which the load must include

	scripts map[string]*script // by the selection's key
	asked   []*askedBar        // closed bars that wait for scripts, in the order in which they were asked
}

func (b *barTracker) handleEvent(l *loop, e *feed.Event) {
	switch e.Kind {
	case provider.Forming:
		if n := b.bars.Len(); b.ready && (n == 0 || e.Bar.T > b.bars.T[n-1]) {
			b.publish(e.Bar, true, l.cfg.Now())
			b.tick(l, e)
		}
	case provider.Closed:
		if !b.ready {
			b.bufferClosed(e.Bar)
			return
		}
		closed := b.listing.closeTime(b.dependency.Interval, e.Bar.T)
		b.close(l, e.Bar, closed, l.isLate(e, closed))
	default:
	}
}

// bufferClosed keeps a bar that closed during the load. When the buffer is full, the
// load must include the oldest.
func (b *barTracker) bufferClosed(bar market.Bar) {
	if len(b.pending) == maxPending {
		b.mustReach = b.pending[0].T
		b.pending = b.pending[1:]
	}
	b.pending = append(b.pending, bar)
}

// close appends a closed bar and fires what it makes true.
func (b *barTracker) close(l *loop, bar market.Bar, closed time.Time, late bool) {
	if n := b.bars.Len(); n > 0 && bar.T <= b.bars.T[n-1] {
		return
	}
	b.append(bar)
	b.publish(market.Bar{}, false, l.cfg.Now())
	prev := barBefore(&b.bars, b.bars.Len()-1)
	for g := range l.index.Groups(b.dependency) {
		if alert.UsesScript(g.Selection) || g.Longer != 0 {
			continue
		}
		ev := b.evaluator(g)
		if b.isTooShort(ev) {
			continue // extendBack evaluates the bars from here on
		}
		l.evaluations++
		l.fireRow(b.dependency, g.Key, *ev.Last(&b.bars), closed, late)
	}
	l.newFirings = l.index.FireClose(l.newFirings, b.dependency, bar, prev, closed, late)
	if scripts, longer := b.scriptsOn(l), b.needsLonger(l); longer || len(scripts) > 0 {
		a := &askedBar{Closing: alert.Closing{Bar: bar, Prev: prev, Opened: b.listing.opened(bar), Closed: closed, Late: late}, live: !late, wantsLonger: longer, rows: b.beside(l)}
		b.ask(l, a, b.bars.Slice(0, b.bars.Len()), scripts)
		b.resumeAsked(l)
	}
	b.dropUnused(l)
	b.markEvaluated(l)
	l.resumeReaders(b)
}

// beside returns the rows at the newest bar of indicators that conditions need together with a script
// or with longer bars.
func (b *barTracker) beside(l *loop) (rows []keyedRow) {
	for key := range l.index.Beside(b.dependency) {
		if ev := b.evaluators[key]; ev != nil && !b.isTooShort(ev) {
			rows = append(rows, keyedRow{key: key, Row: cloneRow(ev.Row())})
		}
	}
	return rows
}

// evaluator returns the evaluator of an indicator and creates it if it is missing.
func (b *barTracker) evaluator(g alert.Group) *evaluate.Evaluator {
	ev := b.evaluators[g.Key]
	if ev == nil {
		ev = evaluate.New(g.Selection, b.env(g))
		b.evaluators[g.Key] = ev
	}
	return ev
}

// env describes the bars of an indicator.
func (b *barTracker) env(g alert.Group) ta.Env {
	if b.listing == nil {
		return ta.Env{Interval: b.intervalOf(g)}
	}
	return b.listing.env(b.intervalOf(g))
}

// isTooShort reports whether the window is too short for the values to be right.
func (b *barTracker) isTooShort(ev *evaluate.Evaluator) bool {
	return b.bars.Len() < ev.Depth() && !b.reachesStart
}

// dropUnused removes the evaluators and scripts that no alert depends on.
func (b *barTracker) dropUnused(l *loop) {
	used := 0
	for range l.index.Groups(b.dependency) {
		used++
	}
	if used == len(b.evaluators)+len(b.scripts) {
		return
	}
	keep := make(map[string]*evaluate.Evaluator, used)
	scripts := make(map[string]*script)
	for g := range l.index.Groups(b.dependency) {
		if ev := b.evaluators[g.Key]; ev != nil {
			keep[g.Key] = ev
		}
		if s := b.scripts[g.Key]; s != nil {
			scripts[g.Key] = s
		}
	}
	for key, s := range b.scripts {
		if scripts[key] == nil {
			b.endScript(l, s)
		}
	}
	b.evaluators, b.scripts = keep, scripts
}

// append adds a closed bar. A window that has grown by a quarter is copied, because
// readers may hold the old memory.
func (b *barTracker) append(bar market.Bar) {
	b.bars.Append(bar)
	if b.bars.Len() > b.depth+b.depth/4 {
		b.bars = copyOf(b.bars.Tail(b.depth), b.depth/2)
		b.reachesStart = false
	}
}

// copyOf returns a copy of the bars with room for more.
func copyOf(bars market.Bars, room int) market.Bars {
	own := market.MakeBars(bars.Len()+room, bars.TakerBuy != nil)
	for i := range bars.Len() {
		own.Append(bars.At(i))
	}
	return own
}

// publish replaces the window that readers see.
func (b *barTracker) publish(forming market.Bar, hasForming bool, now time.Time) {
	b.window.Store(&window{
		closed: b.bars.Slice(0, b.bars.Len()), forming: forming, hasForming: hasForming,
		asOf: now, reachesStart: b.reachesStart, builtFrom: b.builtFrom, listing: b.listing,
	})
}
