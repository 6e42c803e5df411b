package engine

import (
	"context"
	"slices"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/market"
	"candela/internal/market/marketdata"
	"candela/internal/market/provider"
)

// mostMissed is how many bars are read of one interval to find out what a price did
// while nobody looked. What lies further back is read in longer bars: they go as
// high and as low.
const mostMissed = 1500

// past is a bar that closed while nobody looked.
type past struct {
	bar    market.Bar
	closed time.Time // by the clock on the wall
}

// evaluated returns the venue's time up to which nothing needs to be evaluated:
// neither what was before, by the mark, nor what was before the oldest alert.
func (p *place) evaluated(now time.Time, i market.Interval, w want) int64 {
	present := p.clock.Unix(now)
	from := present
	if !w.oldest.IsZero() {
		from = min(from, p.clock.Unix(w.oldest))
		if w.mark < present { // one from the future is of another replay
			from = max(from, p.ends(i, w.mark))
		}
	}
	if !w.fresh.IsZero() {
		from = min(from, p.clock.Unix(w.fresh))
	}
	return from
}

// missed reads the bars of a price that are to be evaluated, oldest first. They may
// overlap: a price that is told twice fires nothing twice.
func (e *Engine) missed(ctx context.Context, q *quote, w want) ([]past, error) {
	from := q.place.evaluated(e.cfg.Now(), q.sub.Interval, w)
	to := q.bar.T // a running bar is told by the quote
	if q.closed == q.bar.T {
		to = q.bar.T + 1
	}
	var parts [][]past
	coarse := market.Interval(0)
	for _, i := range ladder(q) {
		if to <= from {
			break
		}
		bars, begin, err := e.before(ctx, q, i, from, to)
		if lacks(err) || fault.KindOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, bars)
		if i != q.sub.Interval {
			coarse = i
		}
		to = min(to, begin)
	}
	if coarse != 0 {
		head, err := e.head(ctx, q, coarse, from)
		if err != nil {
			return nil, err
		}
		parts = append(parts, head)
	}
	slices.Reverse(parts)
	return slices.Concat(parts...), nil
}

// ladder lists the intervals to look back by, shortest first.
func ladder(q *quote) []market.Interval {
	all := []market.Interval{q.sub.Interval}
	for _, i := range []market.Interval{market.Hour1, market.Day1} {
		if i > q.sub.Interval && slices.Contains(q.place.caps.Intervals, i) {
			all = append(all, i)
		}
	}
	return all
}

// before reads the newest bars that opened before to and closed after from, and
// returns also where they begin.
func (e *Engine) before(ctx context.Context, q *quote, i market.Interval, from, to int64) ([]past, int64, error) {
	want := min(1+q.place.calendar.Count(i, market.Span{Open: from, Close: to}), mostMissed)
	page, err := provider.Read(ctx, q.place.venue, provider.BarQuery{Symbol: q.place.symbol, Interval: i, To: to}, want)
	if err != nil {
		return nil, 0, err
	}
	bars := e.pastOf(q.place, i, &page, from)
	if len(bars) == 0 {
		return nil, to, nil
	}
	if page.Bars.T[0] <= from {
		return bars, from, nil
	}
	return bars, page.Bars.T[0], nil
}

// head reads the short bars at the beginning, within the long one that holds it:
// an alert that was made in that one counts it by its close alone.
func (e *Engine) head(ctx context.Context, q *quote, coarse market.Interval, from int64) ([]past, error) {
	span, ok := q.place.calendar.Bucket(coarse, from)
	if !ok {
		return nil, nil
	}
	begin, ok := q.place.calendar.Bucket(q.sub.Interval, from)
	if !ok {
		return nil, nil
	}
	page, err := provider.Read(ctx, q.place.venue, provider.BarQuery{Symbol: q.place.symbol, Interval: q.sub.Interval, From: begin.Open, To: span.Close}, mostMissed)
	if lacks(err) || fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return e.pastOf(q.place, q.sub.Interval, &page, from), nil
}

// pastOf returns the closed bars of a page that closed after from.
func (e *Engine) pastOf(p *place, i market.Interval, page *provider.BarPage, from int64) []past {
	n := page.Bars.Len()
	if page.Running {
		n--
	}
	var bars []past
	for k := range n {
		bar := page.Bars.At(k)
		if end := p.ends(i, bar.T); end > from {
			bars = append(bars, past{bar, p.clock.Wall(end)})
		}
	}
	return bars
}

// history is the bars of a series as they were read, and what they told. One
// goroutine at a time.
type history struct {
	place    *place
	interval market.Interval
	closed   market.Bars
	running  market.Bar
	runs     bool
	whole    bool
	built    market.Interval
	first    int   // of the bars that were evaluated
	skipped  int64 // the bars from then on were evaluated, though older ones were missed too; 0 for all
	streams  map[string]*stream
	signals  []told
}

// told is a signal that a bar has confirmed.
type told struct {
	key, label string
	value      float64
	closed     time.Time
}

// newHistory takes a set of which want bars were asked for.
func newHistory(p *place, i market.Interval, set *marketdata.BarSet, want int) *history {
	h := &history{place: p, interval: i, whole: set.Bars.Len() < want, built: set.BuiltFrom, streams: make(map[string]*stream)}
	n := set.Bars.Len()
	if set.Forming {
		n--
		h.running, h.runs = set.Bars.At(n), true
	}
	h.closed = set.Bars.Slice(0, n)
	h.first = n
	return h
}

// evaluate steps the selections through the bars that closed after from. A bar
// without all those before it that a selection's values need is passed over.
func (h *history) evaluate(all []watched, from int64) {
	for h.first = h.closed.Len(); h.first > 0 && h.ends(h.first-1) > from; {
		h.first--
	}
	for _, w := range all {
		st := newStream(w.selection, h.interval, h.place.calendar)
		h.streams[w.key] = st
		for i := h.begin(st, from); i < h.closed.Len(); i++ {
			seen := h.closed.Slice(0, i+1)
			for _, signal := range st.step(&seen) {
				h.signals = append(h.signals, told{w.key, signal.Label, signal.Y, h.place.clock.Wall(h.ends(i))})
			}
		}
	}
	slices.SortStableFunc(h.signals, func(a, b told) int { return a.closed.Compare(b.closed) })
}

// begin returns the first bar to evaluate by a stream.
func (h *history) begin(st *stream, from int64) int {
	if h.whole {
		return h.first
	}
	first := max(h.first, st.history.Len()-1)
	if first < h.closed.Len() && (first > h.first || h.first == 0 && h.closed.T[0] > from) {
		h.skipped = max(h.skipped, h.closed.T[first])
	}
	return first
}

// ends returns the venue's time at which a bar closed.
func (h *history) ends(i int) int64 {
	return h.place.ends(h.interval, h.closed.T[i])
}
