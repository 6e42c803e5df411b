package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/kit/budget"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// maxMissed bounds the bars of one interval that are read to backfill a price. Older
// times are read in longer bars, which have the same highs and lows.
const maxMissed = 1500

// missedBar is a bar that closed while the price was not tracked.
type missedBar struct {
	bar    market.Bar
	closed time.Time // wall time
}

// evaluatedThrough returns the venue's time up to which no alert of the backfill needs
// bars: the watermark, or the creation of the oldest alert.
func (p *listing) evaluatedThrough(now time.Time, i market.Interval, b backfill) int64 {
	present := p.clock.Unix(now)
	from := present
	if !b.resumeSince.IsZero() {
		from = min(from, p.clock.Unix(b.resumeSince))
		if b.watermark < present { // a later one belongs to another replay
			from = max(from, p.closeUnix(i, b.watermark))
		}
	}
	if !b.newSince.IsZero() {
		from = min(from, p.clock.Unix(b.newSince))
	}
	return from
}

// readMissed reads the bars of a price to backfill, oldest first. They may overlap: a
// price that is evaluated twice fires nothing twice.
func (e *Engine) readMissed(ctx context.Context, q *priceRead, b backfill) ([]missedBar, error) {
	from := q.listing.evaluatedThrough(e.cfg.Now(), q.sub.Interval, b)
	to := q.bar.T // the forming bar is in q
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
		first, err := e.readFirstBucket(ctx, q, coarse, from)
		if err != nil {
			return nil, err
		}
		parts = append(parts, first)
	}
	slices.Reverse(parts)
	return slices.Concat(parts...), nil
}

// backfillIntervals returns the intervals to read, shortest first.
func backfillIntervals(q *priceRead) []market.Interval {
	all := []market.Interval{q.sub.Interval}
	for _, i := range []market.Interval{market.Hour1, market.Day1} {
		if i > q.sub.Interval && q.listing.caps.Has(i) {
			all = append(all, i)
		}
	}
	return all
}

// readBefore reads the newest bars that opened before to and closed after from, and
// returns the open of the first.
func (e *Engine) readBefore(ctx context.Context, q *priceRead, i market.Interval, from, to int64) ([]missedBar, int64, error) {
	limit := min(1+q.listing.calendar.Count(i, market.Span{Open: from, Close: to}), maxMissed)
	page, err := provider.Read(ctx, q.listing.venue, provider.BarQuery{Symbol: q.listing.symbol, Interval: i, To: to}, limit)
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

// readFirstBucket reads short bars for the first long one. An alert created inside a long
// bar would otherwise see only its close.
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

// closedAfter returns the bars of a page that closed after from.
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

// loadedBars holds the bars of one load and the signals they confirmed. One goroutine
// uses it at a time.
type loadedBars struct {
	listing        *listing
	interval       market.Interval
	closed         market.Bars
	forming        market.Bar
	hasForming     bool
	reachesStart   bool
	builtFrom      market.Interval
	firstEvaluated int   // index of the first evaluated bar
	skippedBefore  int64 // missed bars before this time were not evaluated; 0 if all were
	evaluators     map[string]*evaluate.Evaluator
	frames         []evaluatedBar // of the bars from firstEvaluated on
	scripts        []missedScript // that are still to evaluate them
	longer         []*loadedBars  // of longer intervals

	run     func() *budget.Run // what scripts may hold; nil for no bound
	streams *ta.Streams        // see Config
}

// missedScript is a script that is to evaluate the bars of a load from one of them on.
type missedScript struct {
	alert.Group
	first int
}

// evaluatedBar is a missed bar with what the indicators say of it.
type evaluatedBar struct {
	bar, prev market.Bar
	closed    time.Time
	rows      []keyedRow
	longer    []alert.LongerBar
}

type keyedRow struct {
	key string
	alert.Row
	closed time.Time // of a longer bar; zero for the bar itself
}

// newLoadedBars splits a set for which requested bars were requested.
func newLoadedBars(p *listing, i market.Interval, set *marketdata.BarSet, requested int) *loadedBars {
	h := &loadedBars{listing: p, interval: i, reachesStart: set.Bars.Len() < requested, builtFrom: set.BuiltFrom, evaluators: make(map[string]*evaluate.Evaluator)}
	n := set.Bars.Len()
	if set.Forming {
		n--
		h.forming, h.hasForming = set.Bars.At(n), true
	}
	h.closed = set.Closed()
	h.firstEvaluated = n
	return h
}

// evaluate evaluates the indicators over the bars that closed after from, without the scripts,
// which it notes. It skips bars without the history that an indicator needs.
func (h *loadedBars) evaluate(all []alert.Group, from int64) {
	h.findFirst(from)
	var plain []alert.Group
	for _, w := range all {
		if !alert.UsesScript(w.Selection) {
			plain = append(plain, w)
			continue
		}
		first := h.firstToEvaluate(evaluate.New(w.Selection, h.listing.env(h.interval)), from)
		h.scripts = append(h.scripts, missedScript{w, first})
	}
	h.evaluateAll(plain, from, func() error { return nil })
}

// findFirst finds the first bar that closed after from.
func (h *loadedBars) findFirst(from int64) {
	for h.firstEvaluated = h.closed.Len(); h.firstEvaluated > 0 && h.closeUnix(h.firstEvaluated-1) > from; {
		h.firstEvaluated--
	}
}

// evaluateAll evaluates indicators over the bars from the first one on, until pause returns an error.
func (h *loadedBars) evaluateAll(all []alert.Group, from int64, pause func() error) {
	first := make([]int, len(all))
	for k, w := range all {
		env := h.listing.env(cmp.Or(w.Longer, h.interval))
		if h.run != nil {
			run := h.run()
			defer run.Close()
			env.Budget = run
		}
		ev := evaluate.New(w.Selection, env)
		ev.Share(h.streams)
		h.evaluators[w.Key] = ev
		if w.Longer == 0 {
			first[k] = h.firstToEvaluate(ev, from)
		}
	}
	for i := h.firstEvaluated; i < h.closed.Len(); i++ {
		seen := h.closed.Slice(0, i+1)
		f := evaluatedBar{bar: h.closed.At(i), prev: barBefore(&h.closed, i), closed: h.listing.clock.Wall(h.closeUnix(i))}
		for k, w := range all {
			if i < first[k] || w.Longer != 0 {
				continue
			}
			f.rows = append(f.rows, keyedRow{key: w.Key, Row: cloneRow(h.evaluators[w.Key].Last(&seen))})
			if pause() != nil {
				return
			}
		}
		if !h.evaluateLonger(&f, all) || pause() != nil {
			return
		}
		h.frames = append(h.frames, f)
	}
}

// evaluateLonger adds the newest longer bars to a bar, with what the indicators say of them. It reports
// false if the venue does not have them yet.
func (h *loadedBars) evaluateLonger(f *evaluatedBar, all []alert.Group) bool {
	for _, on := range h.longer {
		bars := evaluate.Longer{Interval: on.interval, Own: h.interval, Calendar: h.listing.calendar, Bars: &on.closed}
		if bars.Lacks(f.bar, f.prev) {
			return false
		}
		newest, n := bars.At(f.bar, f.prev, h.listing.clock.Wall)
		f.longer = append(f.longer, newest)
		seen := on.closed.Slice(0, n)
		for _, g := range all {
			if ev := h.evaluators[g.Key]; g.Longer == on.interval && n > 0 && (n >= ev.Depth() || on.reachesStart) {
				f.rows = append(f.rows, keyedRow{g.Key, cloneRow(ev.Newest(&seen)), newest.Closed})
			}
		}
	}
	return true
}

// firstToEvaluate returns the first bar that ev can evaluate.
func (h *loadedBars) firstToEvaluate(ev *evaluate.Evaluator, from int64) int {
	if h.reachesStart {
		return h.firstEvaluated
	}
	first := max(h.firstEvaluated, ev.Depth()-1)
	if first < h.closed.Len() && (first > h.firstEvaluated || h.firstEvaluated == 0 && h.closed.T[0] > from) {
		h.skippedBefore = max(h.skippedBefore, h.closed.T[first])
	}
	return first
}

// closeUnix returns the venue's time at which a bar closed.
func (h *loadedBars) closeUnix(i int) int64 {
	return h.listing.closeUnix(h.interval, h.closed.T[i])
}
