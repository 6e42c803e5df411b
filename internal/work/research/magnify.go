package research

import (
	"context"
	"fmt"
	"slices"

	"candela/internal/data/marketdata"
	"candela/internal/work/charting"
	"candela/lib/backtest"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	mostShorter    = 60_000 // shorter bars of one back-test; earlier bars are not magnified
	shorterAtATime = 15_000
)

// shorterThan returns the interval whose bars magnify those of another, 0 if none is shorter.
// They are those that TradingView takes, or the next shorter that venues have.
func shorterThan(i market.Interval) market.Interval {
	for _, row := range []struct {
		up, take market.Interval
	}{
		{market.Minute1, 0},
		{market.Minute15, market.Minute1},
		{market.Hour1, market.Minute5},
		{market.Hour2, market.Minute15},
		{market.Hour12, market.Minute30},
		{market.Day1, market.Hour1},
		{market.Day3, market.Hour4},
		{market.Month1, market.Day1},
	} {
		if i <= row.up {
			return row.take
		}
	}
	return 0
}

// checkMagnified refuses an interval that does not divide that of the bars.
func (r *study) checkMagnified() error {
	of := r.Interval
	switch {
	case r.Magnify == 0:
		return nil
	case r.Fills == FillsPaper:
		return fault.Field("magnify", r.Magnify.String(), "the fill model pine: the paper account looks at whole bars")
	case r.Magnify >= of || !r.Magnify.Divides(of):
		if best := shorterThan(of); best != 0 {
			return fault.Field("magnify", r.Magnify.String(), "a shorter interval that divides "+of.String()+", such as "+best.String(), best.String())
		}
		return fault.Field("magnify", r.Magnify.String(), "a call without it: no venue has bars shorter than "+of.String())
	}
	return nil
}

// magnifier reads the shorter bars that the call asks for, or that a script declares; nil is none. A
// script whose bars cannot be read runs without them, and the answer says why.
func (r *study) magnifier(ctx context.Context, p *past, declared bool) (out *backtest.Magnifier, err error) {
	of, take := r.Interval, r.Magnify
	if take == 0 && declared {
		take = shorterThan(of)
		r.magnified = "not: no venue has bars shorter than " + of.String()
	}
	if take == 0 {
		return out, nil
	}
	bars, err := readShorter(ctx, r.Charting.Bars, r.Symbol, take, p.Bars.T[p.from], p.Calendar.CloseOf(of, p.Bars.T[p.Bars.Len()-1]))
	switch {
	case err == nil:
	case r.Magnify != 0 || ctx.Err() != nil:
		return nil, err
	default:
		r.magnified = "not: " + fault.Of(err).Public()
		return out, nil
	}
	magnifier := &backtest.Magnifier{Bars: bars, Interval: of, Calendar: p.Calendar}
	shown := p.Bars.Slice(p.from, p.Bars.Len())
	covered := magnifier.Covers(&shown)
	r.magnified = fmt.Sprintf("%d of %d bars by %s", covered, shown.Len(), take)
	if covered > 0 {
		out = magnifier
	}
	return out, nil
}

// readShorter reads bars from one time to another, the newest first and at most so many.
func readShorter(ctx context.Context, source charting.BarSource, symbol market.Symbol, i market.Interval, from, to int64) (*market.Bars, error) {
	var parts []market.Bars
	n := 0
	for end := to; n < mostShorter && end > from; {
		set, err := source.Bars(ctx, marketdata.Request{Symbol: symbol, Interval: i, Bars: shorterAtATime, Start: from, End: end, Background: true, Closed: true})
		if err != nil {
			if len(parts) > 0 && ctx.Err() == nil {
				break // the venue has no more
			}
			return nil, err
		}
		part := set.Bars.Slice(set.Bars.Search(from), set.Bars.Search(end))
		if part.Len() == 0 {
			break
		}
		parts, n, end = append(parts, part), n+part.Len(), part.T[0]
	}
	out := market.MakeBars(n, false)
	for _, part := range slices.Backward(parts) {
		for k := range part.Len() {
			out.Append(part.At(k))
		}
	}
	return &out, nil
}
