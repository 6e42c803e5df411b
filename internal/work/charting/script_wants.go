package charting

import (
	"context"
	"errors"
	"fmt"

	"candela/internal/data/marketdata"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine/eval"
	"candela/lib/ta"
)

// maxRequested bounds the bars of another symbol or a shorter interval that a script reads: the
// newest of them. Bars of the chart before them know none.
const maxRequested = 15_000

// readScriptWants reads the bars that a script requests. What cannot be read is an error of
// the script.
func readScriptWants(ctx context.Context, source BarSource, q *Request, bars *chartBars, all wantedBars, s *ta.Selection) {
	for _, w := range s.Wants(q.Interval) {
		if all[w] != nil {
			continue
		}
		set := &wantedSet{interval: w.Interval}
		if w.Interval == 0 {
			set.interval = q.Interval
		}
		switch {
		case q.Symbol.IsZero():
			set.err = errors.New("sample data has no other interval and no other symbol")
		case len(all) >= maxWants:
			set.err = fmt.Errorf("at most %d other symbols and intervals are read for one chart", maxWants)
		default:
			own := Requester{&bars.BarSet, q.Symbol, q.Interval, q.Range.End}
			set.BarSet, set.err = own.read(ctx, source, w.Symbol, set.interval)
		}
		if e := fault.Of(set.err); e != nil {
			set.err = errors.New(e.Public())
		}
		all[w] = set
	}
}

// Requester is the chart or the back-test whose script requests other bars.
type Requester struct {
	*marketdata.BarSet
	Asked    market.Symbol // as the client wrote it
	Interval market.Interval
	End      int64 // 0 for none
}

// read reads the bars of a symbol, the chart's own if it is zero, in the time of its bars.
func (own *Requester) read(ctx context.Context, source BarSource, symbol market.Symbol, interval market.Interval) (marketdata.BarSet, error) {
	r := marketdata.Request{Symbol: symbol, Interval: interval, Bars: own.Bars.Len() + 1, End: own.End}
	if symbol.IsZero() {
		r.Symbol = own.Asked
	}
	from, last := own.Bars.T[0], own.Bars.T[own.Bars.Len()-1]
	if interval == own.Interval {
		set, err := source.Bars(ctx, r)
		if r.Bars = min(reaching(&set, r, from), maxRequested); err != nil || r.Bars == 0 {
			return set, err
		}
		return source.Bars(ctx, r)
	}
	r.Bars = min(own.Calendar.Count(interval, market.Span{Open: from, Close: last + own.Interval.Seconds()})+2, maxRequested)
	return source.Bars(ctx, r)
}

// Outside reads the bars that a script requests before it runs, once for all runs. What
// cannot be read is an error of the script.
func (own *Requester) Outside(ctx context.Context, source BarSource, frames []eval.Frame) func(eval.Frame) (*eval.Outside, error) {
	type answer struct {
		bars *eval.Outside
		err  error
	}
	all := make(map[eval.Frame]answer, len(frames))
	for i, f := range frames {
		var a answer
		var symbol market.Symbol
		if f.Symbol != "" {
			symbol, a.err = market.ParseSymbol(f.Symbol)
		}
		if i >= maxWants {
			a.err = fmt.Errorf("at most %d other symbols and intervals are read for one back-test", maxWants)
		}
		if a.err == nil {
			var set marketdata.BarSet
			set, a.err = own.read(ctx, source, symbol, f.Interval)
			a.bars = &eval.Outside{Bars: &set.Bars, Calendar: set.Calendar, Forming: set.Forming}
		}
		if e := fault.Of(a.err); e != nil {
			a.err = errors.New(e.Public())
		}
		all[f] = a
	}
	return func(f eval.Frame) (*eval.Outside, error) {
		a, ok := all[f]
		if !ok {
			return nil, errors.New("these bars were not read")
		}
		return a.bars, a.err
	}
}
