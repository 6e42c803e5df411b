package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"candela/internal/data/marketdata"
	"candela/internal/kit/strictjson"
	"candela/internal/work/charting"
	"candela/lib/backtest"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	mostShorter    = 60_000 // shorter bars of one back-test; earlier bars are not magnified
	shorterAtATime = 15_000
)

// magnifyArgs say on which shorter bars orders fill.
type magnifyArgs struct {
	magnify   market.Interval // 0 is what a script declares
	magnified string          // what became of it, for the answer
}

func (m *magnifyArgs) args() args {
	names := strings.Join(market.IntervalNames(), " ")
	s := &schema{Type: "string", Description: "Orders fill along shorter bars of this interval, where the venue has them. Default: as a script declares."}
	return args{newArg("magnify", &m.magnify, names, s, func(raw json.RawMessage) (market.Interval, error) {
		value, _ := strictjson.Text(raw)
		i, err := market.ParseInterval(value)
		if err != nil {
			return 0, fault.Field("magnify", quoteValue(raw), names)
		}
		return i, nil
	})}
}

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
func (m *magnifyArgs) checkMagnified(of market.Interval, fills string) error {
	switch {
	case m.magnify == 0:
		return nil
	case fills == fillsPaper:
		return fault.Field("magnify", m.magnify.String(), "the fill model pine: the paper account looks at whole bars")
	case m.magnify >= of || !m.magnify.Divides(of):
		if best := shorterThan(of); best != 0 {
			return fault.Field("magnify", m.magnify.String(), "a shorter interval that divides "+of.String()+", such as "+best.String(), best.String())
		}
		return fault.Field("magnify", m.magnify.String(), "a call without it: no venue has bars shorter than "+of.String())
	}
	return nil
}

// read reads the shorter bars that the call asks for, or that a script declares; nil is none. A
// script whose bars cannot be read runs without them, and the answer says why.
func (m *magnifyArgs) read(ctx context.Context, source charting.BarSource, symbol market.Symbol, of market.Interval, p *past, declared bool) (out *backtest.Magnifier, err error) {
	take := m.magnify
	if take == 0 && declared {
		take = shorterThan(of)
		m.magnified = "not: no venue has bars shorter than " + of.String()
	}
	if take == 0 {
		return out, nil
	}
	bars, err := readShorter(ctx, source, symbol, take, p.Bars.T[p.from], p.Calendar.CloseOf(of, p.Bars.T[p.Bars.Len()-1]))
	switch {
	case err == nil:
	case m.magnify != 0 || ctx.Err() != nil:
		return nil, err
	default:
		m.magnified = "not: " + fault.Of(err).Public()
		return out, nil
	}
	magnifier := &backtest.Magnifier{Bars: bars, Interval: of, Calendar: p.Calendar}
	shown := p.Bars.Slice(p.from, p.Bars.Len())
	covered := magnifier.Covers(&shown)
	m.magnified = fmt.Sprintf("%d of %d bars by %s", covered, shown.Len(), take)
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
