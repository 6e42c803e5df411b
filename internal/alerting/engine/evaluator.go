package engine

import (
	"candela/internal/analysis/indicator"
	"candela/internal/market"
)

// evaluator evaluates an indicator bar by bar. Its values are those of a chart, to
// the last bit, because it begins where a chart begins.
type evaluator struct {
	selection *indicator.Selection
	env       indicator.Env
	history   indicator.History
	inner     *indicator.Stream // nil before the first bar, and where a new bar can change past values
	began     int64             // the bar that inner began at
	at        int64             // the bar that inner has come to
}

func newEvaluator(s *indicator.Selection, i market.Interval, c market.Calendar) *evaluator {
	env := indicator.Env{Interval: i, Calendar: c}
	_, stable := s.Warmup(env)
	return &evaluator{selection: s, env: env, history: indicator.History{Interval: i, Shown: 1, Stable: stable}}
}

// evaluate returns the signals that the last of the bars confirms; they hold until the
// next call. The bars before it must be those of the call before.
func (s *evaluator) evaluate(bars *market.Bars) []indicator.Signal {
	last := bars.Len() - 1
	from := s.history.Begin(bars, false)
	if began := bars.T[from]; s.inner == nil || began != s.began || s.at != s.before(bars) {
		if s.inner = s.selection.Stream(s.env); s.inner == nil {
			return s.recompute(bars, from)
		}
		s.began = began
		past := bars.Slice(from, last)
		s.inner.Warm(&past)
	}
	s.at = bars.T[last]
	return s.inner.Step(bars.At(last)).Signals
}

// before returns the bar before the last one.
func (s *evaluator) before(bars *market.Bars) int64 {
	if n := bars.Len(); n > 1 {
		return bars.T[n-2]
	}
	return 0
}

// recompute is step where past values change: everything is computed anew.
func (s *evaluator) recompute(bars *market.Bars, from int) []indicator.Signal {
	seen := bars.Slice(from, bars.Len())
	var signals []indicator.Signal
	for _, signal := range s.selection.Compute(indicator.Input{Env: s.env, Bars: &seen}).Signals {
		if signal.Confirmed == seen.Len()-1 {
			signals = append(signals, signal)
		}
	}
	return signals
}
