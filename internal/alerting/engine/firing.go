package engine

import (
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/data/feed"
	"candela/lib/market"
)

// fireRow fires the signals of an indicator and keeps its values for FireClose.
func (l *loop) fireRow(d alert.Dependency, key string, row alert.Row, closed time.Time, late bool) {
	for _, signal := range row.Signals {
		l.newFirings = l.index.FireSignal(l.newFirings, d, key, signal, closed, late)
	}
	l.index.SetRow(d, key, row, closed)
}

// barBefore returns the bar before the one at index i, zero if there is none.
func barBefore(bars *market.Bars, i int) market.Bar {
	if i == 0 {
		return market.Bar{}
	}
	return bars.At(i - 1)
}

// tick fires the alerts that compare values while a bar forms.
func (b *barTracker) tick(l *loop, e *feed.Event) {
	if b.bars.Len() == 0 || !l.index.Ticks(b.dependency) {
		return
	}
	at := b.listing.wallTime(e.At)
	if now := l.cfg.Now(); at.After(now) {
		at = now // the venue's clock is ahead of ours
	}
	for key, selection := range l.index.Ticking(b.dependency) {
		if alert.UsesScript(selection) {
			if s := b.script(l, alert.Group{Key: key, Selection: selection}); b.bars.Len() >= s.depth || b.reachesStart {
				b.askTick(l, s, e.Bar, at)
			}
			continue
		}
		if ev := b.evaluator(alert.Group{Key: key, Selection: selection}); !b.isTooShort(ev) {
			if row, ok := ev.Peek(&b.bars, e.Bar); ok {
				l.index.SetRow(b.dependency, key, row, at)
			}
		}
	}
	l.newFirings = l.index.FireTick(l.newFirings, b.dependency, e.Bar, at)
}
