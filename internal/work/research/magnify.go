package research

import (
	"context"
	"fmt"

	"candela/internal/work/research/past"
	"candela/lib/backtest"
	"candela/lib/fault"
)

// checkMagnified refuses an interval that does not divide that of the bars.
func (r *study) checkMagnified() error {
	of := r.Interval
	switch {
	case r.Magnify == 0:
		return nil
	case r.Fills == FillsPaper:
		return fault.Field("magnify", r.Magnify.String(), "the fill model pine: the paper account looks at whole bars")
	case r.Magnify >= of || !r.Magnify.Divides(of):
		if best := past.ShorterThan(of); best != 0 {
			return fault.Field("magnify", r.Magnify.String(), "a shorter interval that divides "+of.String()+", such as "+best.String(), best.String())
		}
		return fault.Field("magnify", r.Magnify.String(), "a call without it: no venue has bars shorter than "+of.String())
	}
	return nil
}

// magnifier reads the shorter bars that the call asks for, or that a script declares; nil is none. A
// script whose bars cannot be read runs without them, and the answer says why.
func (r *study) magnifier(ctx context.Context, p *past.Bars, declared bool) (out *backtest.Magnifier, err error) {
	of, take := r.Interval, r.Magnify
	if take == 0 && declared {
		take = past.ShorterThan(of)
		r.magnified = "not: no venue has bars shorter than " + of.String()
	}
	if take == 0 {
		return out, nil
	}
	bars, err := past.ReadShorter(ctx, r.Charting.Bars, r.Symbol, take, p.Bars.T[p.From], p.Calendar.CloseOf(of, p.Bars.T[p.Bars.Len()-1]))
	switch {
	case err == nil:
	case r.Magnify != 0 || ctx.Err() != nil:
		return nil, err
	default:
		r.magnified = "not: " + fault.Of(err).Public()
		return out, nil
	}
	magnifier := &backtest.Magnifier{Bars: bars, Interval: of, Calendar: p.Calendar}
	shown := p.Bars.Slice(p.From, p.Bars.Len())
	covered := magnifier.Covers(&shown)
	r.magnified = fmt.Sprintf("%d of %d bars by %s", covered, shown.Len(), take)
	if covered > 0 {
		out = magnifier
	}
	return out, nil
}
