package ta

import (
	"errors"
	"math"

	"candela/lib/market"
)

// Runner computes rows bar by bar, for instances that are not made of this package's own
// steps. NewStream makes a stream of it.
type Runner interface {
	// Step fills the row of a closed bar and raises its signals. An error ends the runner:
	// later rows have no values.
	Step(row *Row) error

	// Peek fills the row that Step would, and leaves the runner unchanged.
	Peek(row *Row) error

	// Snapshot appends the whole state to dst, and Restore loads it. A state of another
	// program is an error and changes nothing.
	Snapshot(dst []float64) []float64
	Restore(snapshot []float64) error
}

// NewStream returns a stream over a runner whose rows have that many columns.
func NewStream(env Env, columns int, r Runner) *Stream {
	return &Stream{interval: env.Interval, row: newRow(columns), runner: r, last: newRow(columns).Values}
}

// errSnapshot is the error of a snapshot that is not this stream's.
var errSnapshot = errors.New("snapshot of another stream")

// Err returns the error that ended the stream, nil while it runs. Only scripts end.
func (s *Stream) Err() error { return s.failed }

// stepRunner is Step for a stream over a runner.
func (s *Stream) stepRunner(bar market.Bar) *Row {
	r := s.beginRow(bar)
	if s.failed == nil {
		s.failed = s.runner.Step(r)
	}
	if s.failed != nil {
		r.clear()
	}
	copy(s.last, r.Values)
	s.count++
	return r
}

// peekRunner is Peek for a stream over a runner.
func (s *Stream) peekRunner(bar market.Bar) *Row {
	r := s.beginRow(bar)
	if s.failed != nil || s.runner.Peek(r) != nil {
		r.clear()
	}
	return r
}

func (s *Stream) beginRow(bar market.Bar) *Row {
	r := &s.row
	r.begin(s.count, bar)
	r.Slot = slotOf(s.interval, bar.T)
	copy(r.Prev, s.last)
	return r
}

// clear leaves nothing of a bar at which a runner failed.
func (r *Row) clear() {
	r.Signals, r.DivLines = r.Signals[:0], r.DivLines[:0]
	setAll(r.Values, math.NaN())
}

// snapshotRunner appends the number of bars, the last row and the runner's state.
func (s *Stream) snapshotRunner(dst []float64) []float64 {
	dst = append(dst[:0], float64(s.count))
	return s.runner.Snapshot(append(dst, s.last...))
}

func (s *Stream) restoreRunner(snapshot []float64) error {
	head := 1 + len(s.last)
	if len(snapshot) < head {
		return errSnapshot
	}
	if err := s.runner.Restore(snapshot[head:]); err != nil {
		return err
	}
	s.count, s.failed = int(snapshot[0]), nil
	copy(s.last, snapshot[1:head])
	return nil
}
