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

// maxMissed is how many bars are read of one interval to find out what a price did
// while nobody looked. What lies further back is read in longer bars: they go as
// high and as low.
const maxMissed = 1500

// missedBar is a bar that closed while nobody looked.
type missedBar struct {
	bar    market.Bar
	closed time.Time // by the clock on the wall
}

// evaluatedThrough returns the venue's time up to which nothing needs to be evaluated:
// neither what was before, by the mark, nor what was before the oldest alert.
func (p *listing) evaluatedThrough(now time.Time, i market.Interval, w backfill) int64 {
	present := p.clock.Unix(now)
	from := present
	if !w.resumeSince.IsZero() {
		from = min(from, p.clock.Unix(w.resumeSince))
		if w.watermark < present { // one from the future is of another replay
			from = max(from, p.closeUnix(i, w.watermark))
		}
	}
	if !w.newSince.IsZero() {
		from = min(from, p.clock.Unix(w.newSince))
	}
	return from
}

// readMissed reads the bars of a price that are to be evaluated, oldest first. They may
// overlap: a price that is told twice fires nothing twice.
func (e *Engine) readMissed(ctx context.Context, q *priceRead, w backfill) ([]missedBar, error) {
	from := q.listing.evaluatedThrough(e.cfg.Now(), q.sub.Interval, w)
	to := q.bar.T // a running bar is told by the quote
	if q.closed == q.bar.T {
		to = q.bar.T + 1
	}
	var parts [][]missedBar
	coarse := market.Interval(0)
	for _, i := range backfillIntervals(q) {
		if to <= from {
			break
		}
		bars, begin, err := e.readBefore(ctx, q, i, from, to)
		if noBarsAtInterval(err) || fault.KindOf(err) == fault.NotFound {
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
		head, err := e.readFirstBucket(ctx, q, coarse, from)
		if err != nil {
			return nil, err
		}
		parts = append(parts, head)
	}
	slices.Reverse(parts)
	return slices.Concat(parts...), nil
}

// backfillIntervals lists the intervals to look back by, shortest first.
func backfillIntervals(q *priceRead) []market.Interval {
	all := []market.Interval{q.sub.Interval}
	for _, i := range []market.Interval{market.Hour1, market.Day1} {
		if i > q.sub.Interval && slices.Contains(q.listing.caps.Intervals, i) {
			all = append(all, i)
		}
	}
	return all
}

// readBefore reads the newest bars that opened before to and closed after from, and
// returns also where they begin.
func (e *Engine) readBefore(ctx context.Context, q *priceRead, i market.Interval, from, to int64) ([]missedBar, int64, error) {
	want := min(1+q.listing.calendar.Count(i, market.Span{Open: from, Close: to}), maxMissed)
	page, err := provider.Read(ctx, q.listing.venue, provider.BarQuery{Symbol: q.listing.symbol, Interval: i, To: to}, want)
	if err != nil {
		return nil, 0, err
	}
	bars := e.closedAfter(q.listing, i, &page, from)
	if len(bars) == 0 {
		return nil, to, nil
	}
	if page.Bars.T[0] <= from {
		return bars, from, nil
	}
	return bars, page.Bars.T[0], nil
}

// readFirstBucket reads the short bars at the beginning, within the long one that holds it:
// an alert that was made in that one counts it by its close alone.
func (e *Engine) readFirstBucket(ctx context.Context, q *priceRead, coarse market.Interval, from int64) ([]missedBar, error) {
	span, ok := q.listing.calendar.Bucket(coarse, from)
	if !ok {
		return nil, nil
	}
	begin, ok := q.listing.calendar.Bucket(q.sub.Interval, from)
	if !ok {
		return nil, nil
	}
	page, err := provider.Read(ctx, q.listing.venue, provider.BarQuery{Symbol: q.listing.symbol, Interval: q.sub.Interval, From: begin.Open, To: span.Close}, maxMissed)
	if noBarsAtInterval(err) || fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return e.closedAfter(q.listing, q.sub.Interval, &page, from), nil
}

// closedAfter returns the closed bars of a page that closed after from.
func (e *Engine) closedAfter(p *listing, i market.Interval, page *provider.BarPage, from int64) []missedBar {
	n := page.Bars.Len()
	if page.Running {
		n--
	}
	var bars []missedBar
	for k := range n {
		bar := page.Bars.At(k)
		if end := p.closeUnix(i, bar.T); end > from {
			bars = append(bars, missedBar{bar, p.clock.Wall(end)})
		}
	}
	return bars
}

// loadedBars is the bars of a series as they were read, and what they told. One
// goroutine at a time.
type loadedBars struct {
	listing        *listing
	interval       market.Interval
	closed         market.Bars
	forming        market.Bar
	hasForming     bool
	reachesStart   bool
	builtFrom      market.Interval
	firstEvaluated int   // of the bars that were evaluated
	skippedBefore  int64 // the bars from then on were evaluated, though older ones were missed too; 0 for all
	evaluators     map[string]*evaluator
	signals        []confirmedSignal
}

// confirmedSignal is a signal that a bar has confirmed.
type confirmedSignal struct {
	key, label string
	value      float64
	closed     time.Time
}

// newLoadedBars takes a set of which want bars were asked for.
func newLoadedBars(p *listing, i market.Interval, set *marketdata.BarSet, want int) *loadedBars {
	h := &loadedBars{listing: p, interval: i, reachesStart: set.Bars.Len() < want, builtFrom: set.BuiltFrom, evaluators: make(map[string]*evaluator)}
	n := set.Bars.Len()
	if set.Forming {
		n--
		h.forming, h.hasForming = set.Bars.At(n), true
	}
	h.closed = set.Bars.Slice(0, n)
	h.firstEvaluated = n
	return h
}

// evaluate steps the selections through the bars that closed after from. A bar
// without all those before it that a selection's values need is passed over.
func (h *loadedBars) evaluate(all []watchedIndicator, from int64) {
	for h.firstEvaluated = h.closed.Len(); h.firstEvaluated > 0 && h.ends(h.firstEvaluated-1) > from; {
		h.firstEvaluated--
	}
	for _, w := range all {
		st := newEvaluator(w.selection, h.interval, h.listing.calendar)
		h.evaluators[w.key] = st
		for i := h.firstToEvaluate(st, from); i < h.closed.Len(); i++ {
			seen := h.closed.Slice(0, i+1)
			for _, signal := range st.evaluate(&seen) {
				h.signals = append(h.signals, confirmedSignal{w.key, signal.Label, signal.Y, h.listing.clock.Wall(h.ends(i))})
			}
		}
	}
	slices.SortStableFunc(h.signals, func(a, b confirmedSignal) int { return a.closed.Compare(b.closed) })
}

// firstToEvaluate returns the first bar to evaluate by a stream.
func (h *loadedBars) firstToEvaluate(st *evaluator, from int64) int {
	if h.reachesStart {
		return h.firstEvaluated
	}
	first := max(h.firstEvaluated, st.history.Len()-1)
	if first < h.closed.Len() && (first > h.firstEvaluated || h.firstEvaluated == 0 && h.closed.T[0] > from) {
		h.skippedBefore = max(h.skippedBefore, h.closed.T[first])
	}
	return first
}

// ends returns the venue's time at which a bar closed.
func (h *loadedBars) ends(i int) int64 {
	return h.listing.closeUnix(h.interval, h.closed.T[i])
}
