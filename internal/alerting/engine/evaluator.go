package engine

import (
	"candela/internal/analysis/indicator"
	"candela/internal/market"
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

// evaluate returns the signals that the last bar confirms; they are valid until the next
// call. The bars before it must be those of the previous call.
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

// recompute evaluates an indicator that revises past values: it computes all bars again.
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
