package engine

import (
	"math"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/analysis/indicator"
	"candela/internal/market"
	"candela/internal/market/feed"
)

// evaluator computes an indicator bar by bar. Its values equal those of a chart to the
// last bit, because it starts where a chart starts.
type evaluator struct {
	selection *indicator.Selection
	env       indicator.Env
	history   indicator.History
	inner     *indicator.Stream // nil before the first bar, and for indicators that revise past values
	began     int64             // the first bar of inner
	at        int64             // the last bar of inner
}

func newEvaluator(s *indicator.Selection, i market.Interval, c market.Calendar) *evaluator {
	env := indicator.Env{Interval: i, Calendar: c}
	_, stable := s.Warmup(env)
	return &evaluator{selection: s, env: env, history: indicator.History{Interval: i, Shown: 1, Stable: stable}}
}

// evaluate returns the values of the last bar and the signals that it confirms; they are
// valid until the next call. The bars before it must be those of the previous call.
func (s *evaluator) evaluate(bars *market.Bars) alert.Row {
	last, before := bars.Len()-1, int64(0)
	if last > 0 {
		before = bars.T[last-1]
	}
	from := s.history.Begin(bars, false)
	if began := bars.T[from]; s.inner == nil || began != s.began || s.at != before {
		past := bars.Slice(from, last)
		if !s.start(&past, began) {
			return s.recompute(bars, from)
		}
	}
	s.at = bars.T[last]
	row := s.inner.Step(bars.At(last))
	return alert.Row{Values: row.Values, Prev: row.Prev, Signals: row.Signals}
}

// start begins a new stream. It reports false if the indicator has none.
func (s *evaluator) start(past *market.Bars, began int64) bool {
	if s.inner = s.selection.Stream(s.env); s.inner == nil {
		return false
	}
	s.began = began
	s.inner.Warm(past)
	return true
}

// peek returns the values that a forming bar after the closed ones has, and false if the
// indicator has no stream.
func (s *evaluator) peek(closed *market.Bars, forming market.Bar) (alert.Row, bool) {
	last := closed.Len() - 1
	if s.inner == nil || s.at != closed.T[last] {
		from := s.history.Begin(closed, false)
		past := closed.Slice(from, closed.Len())
		if !s.start(&past, closed.T[from]) {
			return alert.Row{}, false
		}
		s.at = closed.T[last]
	}
	row := s.inner.Peek(forming)
	return alert.Row{Values: row.Values, Prev: row.Prev}, true
}

// recompute evaluates an indicator that revises past values: it computes all bars again.
// Its values are its lines in the order of definition.
func (s *evaluator) recompute(bars *market.Bars, from int) alert.Row {
	seen := bars.Slice(from, bars.Len())
	n, result := seen.Len(), s.selection.Compute(indicator.Input{Env: s.env, Bars: &seen})
	lines := s.selection.Def.Lines
	row := alert.Row{Values: make([]float64, len(lines)), Prev: make([]float64, len(lines))}
	for i, label := range lines {
		row.Values[i], row.Prev[i] = math.NaN(), math.NaN()
		k := slices.IndexFunc(result.Lines, func(l indicator.Line) bool { return l.Label == label })
		if k < 0 {
			continue
		}
		row.Values[i] = result.Lines[k].Values[n-1]
		if n > 1 {
			row.Prev[i] = result.Lines[k].Values[n-2]
		}
	}
	for _, signal := range result.Signals {
		if signal.Confirmed == n-1 {
			row.Signals = append(row.Signals, signal)
		}
	}
	return row
}

// fireRow fires the signals of an indicator and keeps its values for FireClose.
func (l *loop) fireRow(d alert.Dependency, key string, row alert.Row, closed time.Time, late bool) {
	for _, signal := range row.Signals {
		l.newFirings = l.index.FireSignal(l.newFirings, d, key, signal.Label, signal.Y, closed, late)
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
		if ev := b.evaluator(key, selection); !b.isTooShort(ev) {
			if row, ok := ev.peek(&b.bars, e.Bar); ok {
				l.index.SetRow(b.dependency, key, row, at)
			}
		}
	}
	l.newFirings = l.index.FireTick(l.newFirings, b.dependency, e.Bar, at)
}
