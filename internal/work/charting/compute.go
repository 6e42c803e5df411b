package charting

import (
	"cmp"
	"context"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/data/marketdata"
	"candela/internal/kit/budget"
	"candela/internal/kit/fair"
	"candela/internal/work/charting/payload"
	"candela/lib/chart"
	"candela/lib/market"
	"candela/lib/ta"
)

// Request describes the content of a chart, for generate_chart, get_indicators and
// the command line.
type Request struct {
	Symbol     market.Symbol
	Interval   market.Interval
	Indicators []NamedIndicator
	Bars       int // the newest to show; 0 with a start for all of the range
	Range      TimeRange
	Compare    []market.Symbol // drawn as percent lines
}

// Compute reads the bars and runs the indicators. Each receives the visible bars and
// its own warm-up, so that the result of one does not depend on the others, and is then
// cut to the visible bars.
func Compute(ctx context.Context, source BarSource, q Request) (*payload.Chart, error) {
	bars, err := read(ctx, source, q)
	if err != nil {
		return nil, err
	}
	return show(ctx, bars, q, new(ta.Memory), nil, nil)
}

// chartBars holds the bars that a request needs: those to show among those for the
// warm-up, and those of the symbols to compare with.
type chartBars struct {
	marketdata.BarSet
	shown    market.Bars
	compared []marketdata.BarSet
	wanted   wantedBars
	scripts  int // among the indicators
}

// read reads the bars that a request needs.
func read(ctx context.Context, source BarSource, q Request) (bars chartBars, err error) {
	if err := cmp.Or(q.Range.check(q.Symbol), checkCompared(q.Symbol, q.Compare), checkWants(&q)); err != nil {
		return bars, err
	}
	if bars.BarSet, err = source.Bars(ctx, wanted(&q)); err != nil {
		return bars, err
	}
	if bars.shown, err = q.Range.shown(&bars.BarSet, q.Bars, q.Interval); err != nil {
		return bars, err
	}
	if bars.compared, err = readCompared(ctx, source, &q, &bars.BarSet, &bars.shown); err != nil {
		return bars, err
	}
	bars.wanted, err = readWants(ctx, source, &q, &bars)
	return bars, err
}

// wanted is the request for the bars of the chart's own symbol.
func wanted(q *Request) marketdata.Request {
	env := ta.Env{Interval: q.Interval}
	most := q.Range.most(q.Bars)
	want := marketdata.Request{Symbol: q.Symbol, Interval: q.Interval, Bars: most, Start: q.Range.Start, End: q.Range.End}
	for _, r := range q.Indicators {
		_, stable := r.Selection.Warmup(env)
		history := ta.History{Interval: q.Interval, Shown: most, Stable: stable}
		want.Warmup = max(want.Warmup, history.Len()-most)
		if needs, ok := r.Selection.Instance.(ta.Needs); ok {
			want.Series = append(want.Series, needs.Needs()...)
		}
		if reader, ok := r.Selection.Instance.(ta.FactsReader); ok {
			want.Facts = want.Facts || reader.ReadsFacts()
		}
	}
	return want
}

// provenance describes the origin of the bars.
func provenance(set *marketdata.BarSet) payload.Provenance {
	p := payload.Provenance{
		Source: payload.Fetch, Provider: set.Provider, AsOf: set.AsOf,
		LastBarClosed: !set.Forming, Cut: set.Cut, Stale: set.Stale, WarmupOK: true, BuiltFrom: set.BuiltFrom, Calendar: set.Calendar,
	}
	switch {
	case set.Synthetic:
		p.Source, p.AsOf = payload.Sample, time.Time{}
	case set.Live:
		p.Source = payload.Cache
	}
	return p
}

// show runs the indicators over the bars, in memory that the chart does not keep, and
// compares the symbols. run is what scripts may hold; states may be nil.
func show(ctx context.Context, bars chartBars, q Request, memory *ta.Memory, run *budget.Run, states *ta.States) (*payload.Chart, error) {
	set, shown := bars.BarSet, bars.shown
	bars.scripts = countScripts(q.Indicators)
	env := ta.Env{Interval: q.Interval, Calendar: set.Calendar, Facts: set.Facts, Budget: run}
	chart := &payload.Chart{
		Symbol: set.Symbol.String(), Instrument: set.Instrument, Interval: q.Interval, Bars: &shown,
		Provenance: provenance(&set),
	}
	chart.Stale = chart.Stale || bars.wanted.stale()
	chart.Holes = Holes(&set, &shown, q.Interval)
	var err error
	if chart.Compared, err = compared(bars.compared, &shown, q.Interval, set.Calendar); err != nil {
		return nil, err
	}
	var kept *ta.Kept
	if states != nil && q.Range.End == 0 && !set.Synthetic { // the past is seldom asked for twice
		kept = states.Of(set.Provider+":"+chart.Symbol, env, &set.Bars, set.Forming)
	}
	keys := payload.Keys(keyNames(q.Indicators))
	for i, r := range q.Indicators {
		if err := fair.Pause(ctx); err != nil {
			return nil, err
		}
		memory.Reset()
		result, warm := compute(r.Selection, env, &bars, shown.Len(), memory, kept)
		chart.WarmupOK = chart.WarmupOK && warm
		chart.Indicators = append(chart.Indicators, payload.Indicator{Key: keys[i], Result: result})
	}
	return chart, nil
}

// countScripts returns how many of the indicators are scripts.
func countScripts(all []NamedIndicator) (n int) {
	for _, r := range all {
		if alert.UsesScript(r.Selection) {
			n++
		}
	}
	return n
}

// Holes counts the missing bars among those shown: of the interval they were built
// from, or of their own. It returns 0 if the bars do not match the calendar.
func Holes(set *marketdata.BarSet, shown *market.Bars, i market.Interval) int {
	if set.BuiltFrom.Valid() {
		within := slices.DeleteFunc(slices.Clone(set.Holes), func(g market.Gap) bool { return g.To <= shown.T[0] })
		return set.Calendar.Missed(within)
	}
	if set.Synthetic {
		return 0
	}
	found, err := market.Gaps(shown, i, set.Calendar)
	if err != nil || len(found.OffGrid) > 0 {
		return 0
	}
	return set.Calendar.Missed(found.Gaps)
}

// compute computes one indicator over the bars shown and its own warm-up, and reports
// whether the warm-up was complete. It goes on from a state of kept, which may be nil.
func compute(s *ta.Selection, env ta.Env, all *chartBars, shown int, memory *ta.Memory, kept *ta.Kept) (*ta.Result, bool) {
	set := &all.BarSet
	_, stable := s.Warmup(env)
	sums, ok := s.Instance.(ta.Summing)
	sum := ok && sums.Sums()
	if sum {
		stable = 0 // a sum starts at the first bar shown, which the result names
	}
	history := ta.History{Interval: env.Interval, Shown: shown, Stable: stable}
	from := history.Begin(&set.Bars, set.Forming)
	total := set.Bars.Len() - from
	bars := set.Bars.Tail(total)
	in := ta.Input{Env: env, Bars: &bars, Shown: shown, Forming: set.Forming, Memory: memory, Scripts: all.scripts, Series: make(map[market.SeriesName][]float64, len(set.Series))}
	for name, values := range set.Series {
		in.Series[name] = values[from:]
	}
	others, otherWarm := all.wanted.of(s, env.Interval)
	in.Others = others
	computed, covered := kept.Compute(s, in)
	result := payload.Cut(computed, covered, shown)
	result.Shown = stable == 0 && others == nil
	if sum {
		result.Anchored = bars.T[0]
	}
	result.Until = all.wanted.until(s, env, &bars)
	return result, total >= shown+stable && otherWarm
}

// Picture returns the specification of a picture of the chart. style holds the size,
// the theme and the overlays.
func Picture(style chart.Spec, shown *payload.Chart) *chart.Spec {
	style.Bars, style.Symbol, style.Interval = *shown.Bars, shown.Symbol, shown.Interval
	style.Sample, style.Forming = shown.Source == payload.Sample, !shown.LastBarClosed
	if shown.Stale {
		style.Note = "stale: " + shown.Provider + " does not answer"
	}
	for _, other := range shown.Compared {
		style.Compare = append(style.Compare, chart.Comparison{Symbol: other.Symbol, Percent: other.Values, Stale: other.Stale})
	}
	for _, ind := range shown.Indicators {
		style.Results = append(style.Results, chart.Named{Name: ind.Key, Result: ind.Result})
	}
	return &style
}
