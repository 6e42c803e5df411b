// Package evaluate computes indicators at closed bars as alerts need them: with the values
// of a chart that ends at the bar, to the last bit.
package evaluate

import (
	"math"
	"slices"

	"candela/internal/alerting/alert"
	"candela/lib/market"
	"candela/lib/ta"
)

// Evaluator computes an indicator bar by bar. Its values equal those of a chart to the
// last bit, because it starts where a chart starts.
type Evaluator struct {
	selection *ta.Selection
	env       ta.Env
	history   ta.History
	inner     *ta.Stream // nil before the first bar, and for indicators that revise past values
	began     ta.Beginning
	shared    *ta.Streams // nil for none
	muted     bool        // nobody reads the signals
	at        int64       // the last bar of inner
	reported  int64       // the first bar of inner, when its failure was returned
	newest    int64       // the last bar of Newest
	row       alert.Row
}

// New returns an evaluator of an indicator on bars that env describes.
func New(s *ta.Selection, env ta.Env) *Evaluator {
	_, stable := s.Warmup(env)
	return &Evaluator{selection: s, env: env, history: ta.History{Interval: env.Interval, Shown: 1, Stable: stable}}
}

// Row returns the row that Last updates.
func (s *Evaluator) Row() *alert.Row { return &s.row }

// Last returns the values of the last bar and the signals that it confirms; they are
// valid until the next call. The bars before it must be those of the previous call.
func (s *Evaluator) Last(bars *market.Bars) *alert.Row {
	last, before := bars.Len()-1, int64(0)
	if last > 0 {
		before = bars.T[last-1]
	}
	if s.inner == nil || s.at != before || !s.history.Continues(s.began, bars) {
		began, from := s.history.Beginning(bars)
		if s.inner == nil || s.at != before || began.Time != s.began.Time {
			past := bars.Slice(from, last)
			if !s.start(&past) {
				s.row = s.recompute(bars, from)
				return &s.row
			}
		}
		s.began = began
	}
	s.at = bars.T[last]
	row := s.inner.Step(bars.At(last))
	if len(row.Signals) > 0 || len(s.row.Signals) > 0 {
		s.row.Signals = row.Signals
	}
	return &s.row
}

// Newest is Last for bars that may end with the bar of the previous call: then it returns the same
// row.
func (s *Evaluator) Newest(bars *market.Bars) *alert.Row {
	if last := bars.T[bars.Len()-1]; s.newest != last {
		s.newest = last
		return s.Last(bars)
	}
	return &s.row
}

// Share lets the evaluator go on from what others have computed over bars in the same memory, for bars that are
// asked about again. It must be called before the first bar; nil is as if it was not.
func (s *Evaluator) Share(streams *ta.Streams) { s.shared = streams }

// Mute says that nobody reads the signals. It must be called before the first bar.
func (s *Evaluator) Mute() { s.muted = true }

// Failed returns the error that ended a script, once for each time it was begun; nil while
// it runs.
func (s *Evaluator) Failed() error {
	if s.inner == nil || s.inner.Err() == nil || s.reported == s.began.Time {
		return nil
	}
	s.reported = s.began.Time
	return s.inner.Err()
}

// Forget gives up the stream and what it holds. The next bar begins it again.
func (s *Evaluator) Forget() {
	s.giveBack()
	s.inner, s.reported, s.newest = nil, 0, 0
}

// giveBack gives back what the stream holds.
func (s *Evaluator) giveBack() {
	if s.env.Budget != nil {
		s.env.Budget.Close()
	}
}

// Name returns the name of the indicator.
func (s *Evaluator) Name() string { return s.selection.Def.Name }

// Anchored returns the open time of the bar at which a running sum begins, 0 for values that do not
// depend on it.
func (s *Evaluator) Anchored() int64 {
	if sums, ok := s.selection.Instance.(ta.Summing); ok && sums.Sums() {
		return s.began.Time
	}
	return 0
}

// Depth returns the number of bars that the newest value depends on.
func (s *Evaluator) Depth() int { return s.history.Len() }

// Streams reports whether the indicator is computed bar by bar, and not over all bars
// again for each.
func (s *Evaluator) Streams() bool {
	env := s.env
	env.Budget = nil // nothing of it is kept
	return s.selection.Stream(env) != nil
}

// start begins the stream again. It reports false if the indicator has none.
func (s *Evaluator) start(past *market.Bars) bool {
	if s.inner == nil || !s.inner.Reset() {
		s.giveBack()
		if s.inner = s.selection.Stream(s.env); s.inner == nil {
			return false
		}
		row := s.inner.Row()
		s.row = alert.Row{Values: row.Values, Prev: row.Prev}
	}
	if s.shared.Warm(s.inner, s.selection, s.env, past); s.muted {
		s.inner.Mute()
	}
	return true
}

// Peek returns the values and signals that a forming bar after the closed ones has, and false if the
// indicator has no stream.
func (s *Evaluator) Peek(closed *market.Bars, forming market.Bar) (alert.Row, bool) {
	last := closed.Len() - 1
	if s.inner == nil || s.at != closed.T[last] {
		began, from := s.history.Beginning(closed)
		past := closed.Slice(from, closed.Len())
		if !s.start(&past) {
			return alert.Row{}, false
		}
		s.began, s.at = began, closed.T[last]
	}
	row := s.inner.Peek(forming)
	return alert.Row{Values: row.Values, Prev: row.Prev, Signals: row.Signals}, true
}

// recompute evaluates an indicator that revises past values: it computes all bars again.
// Its values are its lines in the order of definition.
func (s *Evaluator) recompute(bars *market.Bars, from int) alert.Row {
	seen := bars.Slice(from, bars.Len())
	n, result := seen.Len(), s.selection.Compute(ta.Input{Env: s.env, Bars: &seen})
	lines := s.selection.Def.Lines
	row := alert.Row{Values: make([]float64, len(lines)), Prev: make([]float64, len(lines))}
	for i, label := range lines {
		row.Values[i], row.Prev[i] = math.NaN(), math.NaN()
		k := slices.IndexFunc(result.Lines, func(l ta.Line) bool { return l.Label == label })
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
