package pine

import (
	"errors"

	"candela/lib/market"
	"candela/lib/pine/eval"
	"candela/lib/ta"
)

// outsideBars returns bars that a script requests besides those of the chart.
type outsideBars func(eval.Frame) (*eval.Outside, error)

// errNoBars is the error for bars that nobody has read.
var errNoBars = errors.New("these bars cannot be had here")

// WantsAt returns the bars that the script requests besides those of the chart.
func (s *instance) WantsAt(chart market.Interval) (wants []ta.Want) {
	defer func() { _ = recover() }() // a defect shows when the script runs
	for _, f := range eval.Frames(s.program.Program, s.env(ta.Env{Interval: chart}, eval.ChartLimits())) {
		if w, err := wantOf(f, chart); err == nil {
			wants = append(wants, w)
		}
	}
	return wants
}

// StreamsAt returns why the script cannot run in an alert on bars of an interval.
func (s *instance) StreamsAt(interval market.Interval) error {
	m, err := s.machine(s.env(ta.Env{Interval: interval}, eval.AlertLimits()))
	if err == nil {
		m.Close()
	}
	if err != nil {
		return errors.New(problemOf(err).Message)
	}
	return nil
}

func wantOf(f eval.Frame, chart market.Interval) (w ta.Want, err error) {
	if f.Symbol != "" {
		w.Symbol, err = market.ParseSymbol(f.Symbol)
	}
	if f.Interval != chart {
		w.Interval = f.Interval
	}
	return w, err
}

// outsideOf finds requested bars among those of the input.
func outsideOf(in *ta.Input) outsideBars {
	return func(f eval.Frame) (*eval.Outside, error) {
		w, err := wantOf(f, in.Interval)
		if err != nil {
			return nil, err
		}
		switch o := in.Others[w]; {
		case o == nil:
			return nil, errNoBars
		case o.Err != nil:
			return nil, o.Err
		default:
			return &eval.Outside{Bars: o.Bars, Calendar: o.Calendar, Forming: o.Forming}, nil
		}
	}
}

var _ ta.ScriptWants = (*instance)(nil)
