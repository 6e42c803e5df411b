package charting

import (
	"context"
	"fmt"

	"candela/internal/data/marketdata"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// maxWants bounds the other intervals and symbols that the indicators of one request
// read.
const maxWants = 8

// wantedBars holds the bars that indicators read besides those of the chart.
type wantedBars map[ta.Want]*wantedSet

// wantedSet holds the bars of one want and how many of them the chart's time has.
type wantedSet struct {
	marketdata.BarSet
	interval market.Interval
	shown    int
	err      error // why a script does not get them
}

// stale reports whether a venue did not answer for some of the bars.
func (w wantedBars) stale() bool {
	for _, set := range w {
		if set.Stale {
			return true
		}
	}
	return false
}

// checkWants rejects intervals that are not longer than the chart's, and other bars for
// sample data.
func checkWants(q *Request) error {
	wants := 0
	for _, r := range q.Indicators {
		if err := r.Selection.CheckInterval(q.Interval); err != nil {
			return err
		}
		if r.Selection.IsScript() {
			continue
		}
		for _, w := range r.Selection.Wants(q.Interval) {
			if q.Symbol.IsZero() {
				return fault.Missing("symbol", r.Name+" needs one: sample data has no other interval and no other symbol")
			}
			if w.Symbol == q.Symbol {
				return ownSymbol(r.Selection, w.Symbol)
			}
			wants++
		}
	}
	if wants > maxWants {
		return fault.Field("indicators", fmt.Sprintf("%d other intervals and symbols", wants), fmt.Sprintf("at most %d in one request", maxWants))
	}
	return nil
}

// ownSymbol refuses the chart's own symbol as the other one.
func ownSymbol(s *ta.Selection, symbol market.Symbol) error {
	other := "ETHUSDT"
	if symbol.Name == other {
		other = "BTCUSDT"
	}
	return fault.Field(s.Def.Name+".symbol", symbol.String(), `another symbol than that of the chart, such as {"name":"`+s.Def.Name+`","symbol":"`+other+`"}`)
}

// readWants reads the bars that the indicators want: those of longer intervals first,
// because those of other symbols reach as far back.
func readWants(ctx context.Context, source BarSource, q *Request, bars *chartBars) (wantedBars, error) {
	all := wantedBars{}
	for _, r := range q.Indicators {
		if r.Selection.IsScript() {
			readScriptWants(ctx, source, q, bars, all, r.Selection)
			continue
		}
		for _, w := range r.Selection.Wants(q.Interval) {
			set, err := readWant(ctx, source, q, bars, all, r.Selection, w)
			if err != nil {
				return nil, wantError(err, r.Selection, w)
			}
			if !w.Symbol.IsZero() && set.Instrument == bars.Instrument {
				return nil, ownSymbol(r.Selection, w.Symbol)
			}
			all[w] = set
		}
	}
	return all, nil
}

// readWant reads the bars of one want, or takes those that were read if they reach back
// far enough.
func readWant(ctx context.Context, source BarSource, q *Request, bars *chartBars, all wantedBars, s *ta.Selection, w ta.Want) (*wantedSet, error) {
	set := &wantedSet{interval: w.Interval, shown: bars.shown.Len()}
	from, symbol := bars.Bars.T[0], w.Symbol
	if w.Interval == 0 {
		set.interval = q.Interval
	} else {
		last := bars.shown.T[bars.shown.Len()-1]
		set.shown = bars.Calendar.Count(w.Interval, market.Span{Open: bars.shown.T[0], Close: last + 1}) + 2
	}
	if symbol.IsZero() {
		symbol = q.Symbol
	} else if own := all[ta.Want{Interval: w.Interval}]; w.Interval != 0 && own != nil {
		from = own.Bars.T[0]
	}
	_, stable := s.WarmupOf(ta.Env{Interval: q.Interval})
	history := ta.History{Interval: set.interval, Shown: set.shown, Stable: stable}
	r := marketdata.Request{Symbol: symbol, Interval: set.interval, Bars: set.shown, Warmup: history.Len() - set.shown, End: q.Range.End}
	if had := all[w]; had != nil && (had.Bars.Len() >= r.Bars+r.Warmup || !w.Symbol.IsZero()) {
		return had, nil
	}
	var err error
	if w.Symbol.IsZero() {
		set.BarSet, err = source.Bars(ctx, r)
	} else {
		r.Bars, r.Warmup = bars.Bars.Len()+1, 0
		set.BarSet, err = readBack(ctx, source, r, from)
	}
	return set, err
}

// wantError says which indicator an error is about.
func wantError(err error, s *ta.Selection, w ta.Want) error {
	e := fault.Of(err)
	if e == nil {
		return fmt.Errorf("%s: %w", s.Def.Name, err)
	}
	named := *e
	named.Field = s.Def.Name + ".symbol"
	if w.Symbol.IsZero() {
		named.Field = s.Def.Name + ".interval"
	}
	named.Message = named.Field + ": " + e.Public()
	return &named
}

// of returns the bars for one indicator, and whether its warm-up was complete. Bars of a
// longer interval begin where its own warm-up needs them, so that the result does not
// depend on the other indicators.
func (w wantedBars) of(s *ta.Selection, chart market.Interval) (map[ta.Want]*ta.Other, bool) {
	wants := s.Wants(chart)
	if len(wants) == 0 {
		return nil, true
	}
	others, warm := make(map[ta.Want]*ta.Other, len(wants)), true
	for _, want := range wants {
		set := w[want]
		bars := set.Bars
		if want.Symbol.IsZero() && !s.IsScript() {
			_, stable := s.WarmupOf(ta.Env{Interval: set.interval})
			history := ta.History{Interval: set.interval, Shown: set.shown, Stable: stable}
			bars = bars.Slice(history.Begin(&bars, set.Forming), bars.Len())
			warm = warm && bars.Len() >= set.shown-2+stable
		}
		others[want] = &ta.Other{Bars: &bars, Calendar: set.Calendar, Forming: set.Forming, Err: set.err}
	}
	return others, warm
}

// until returns when the last bar closed that an indicator reads of another interval or symbol,
// if bars of the chart lie in a later one that has closed and is missing; otherwise 0.
func (w wantedBars) until(s *ta.Selection, env ta.Env, chart *market.Bars) (earliest int64) {
	newest := env.Calendar.CloseOf(env.Interval, chart.T[chart.Len()-1])
	for _, want := range s.Wants(env.Interval) {
		set := w[want]
		if set.Bars.Len() == 0 {
			continue
		}
		last := set.Bars.T[set.Bars.Len()-1]
		next := set.Calendar.Next(set.interval, last)
		if next.Close > newest || chart.Search(next.Open) == chart.Search(next.Close) {
			continue
		}
		if at := set.Calendar.CloseOf(set.interval, last); earliest == 0 || at < earliest {
			earliest = at
		}
	}
	return earliest
}
