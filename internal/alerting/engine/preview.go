package engine

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/kit/budget"
	"candela/internal/kit/fair"
	"candela/internal/kit/principal"
	"candela/lib/market"
)

const (
	previewTimeout = 2 * time.Second // for the bars and the price
	previewBars    = 500             // evaluated
	previewWhole   = 50              // evaluated for an indicator that computes all bars for each
)

// Preview says what is true now of an alert that may be created, and when it would last
// have fired. It does not wait long: what it cannot find out soon is unknown.
func (e *Engine) Preview(ctx context.Context, want alert.Alert) alert.Present {
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	want.Condition.Members = slices.Clone(want.Condition.Members)
	if want.Normalize(e.cfg.Library) != nil {
		return alert.Present{}
	}
	instrument, err := e.canonical(ctx, want.Symbol)
	if err != nil {
		return alert.Present{}
	}
	p, err := e.resolveListing(ctx, instrument)
	if err != nil {
		return alert.Present{}
	}
	if want.Instrument = p.symbol; want.Interval == 0 {
		return e.previewPrice(ctx, p, &want.Condition)
	}
	return e.previewCloses(ctx, p, &want)
}

// previewCloses evaluates a condition on the newest closed bars.
func (e *Engine) previewCloses(ctx context.Context, p *listing, want *alert.Alert) (said alert.Present) {
	probe := alert.NewProbe(e.cfg.Library, want)
	all, depth, count := slices.Collect(probe.Groups()), make(map[market.Interval]int), previewBars
	for _, g := range all {
		ev := evaluate.New(g.Selection, p.env(cmp.Or(g.Longer, want.Interval)))
		depth[g.Longer] = max(depth[g.Longer], ev.Depth())
		if !ev.Streams() {
			count = previewWhole
		}
	}
	got := e.recentBars(ctx, p, want.Interval, max(1, depth[0])+count)
	if got == nil || !e.previewLonger(ctx, p, got, want.Condition.Longer(), depth, count) {
		return said
	}
	n := got.closed.Len()
	e.previewAll(ctx, want.Owner, got, all, got.closeUnix(max(0, n-1-count)))
	for i := range got.frames {
		f := got.show(probe, i)
		v, known := probe.Evaluate(f.bar, f.prev, f.closed)
		if !known {
			continue
		}
		if !said.Known {
			said.Known, said.From = true, f.closed
		}
		if v.Rises {
			said.LastFired = f.closed
		}
		said.True, said.Value, said.Against, said.At = v.Holds, v.Value, v.Against, f.closed
	}
	if said.Known {
		said.Anchored = got.anchored()
	}
	return said
}

// previewLonger reads the longer bars that the newest bars need, and reports false if they are not known
// in time.
func (e *Engine) previewLonger(ctx context.Context, p *listing, got *loadedBars, longer []market.Interval, depth map[market.Interval]int, count int) bool {
	n := got.closed.Len()
	shown := market.Span{Open: got.closed.T[max(0, n-1-count)], Close: got.closeUnix(n - 1)}
	for _, on := range longer {
		bars := e.recentBars(ctx, p, on, max(2, depth[on])+p.calendar.Count(on, shown)+1)
		if bars == nil {
			return false
		}
		got.longer = append(got.longer, bars)
	}
	return true
}

// show gives a probe the rows of an evaluated bar, and returns the bar.
func (h *loadedBars) show(probe *alert.Probe, i int) *evaluatedBar {
	f := &h.frames[i]
	for _, row := range f.rows {
		at := row.closed
		if at.IsZero() {
			at = f.closed
		}
		probe.SetRow(row.key, row.Row, at)
	}
	probe.SetLonger(f.longer)
	return f
}

// anchored returns the open of the earliest bar at which a running sum begins, zero for none.
func (h *loadedBars) anchored() (earliest time.Time) {
	for _, ev := range h.evaluators {
		if at := ev.Anchored(); at != 0 && (earliest.IsZero() || at < earliest.Unix()) {
			earliest = time.Unix(at, 0).UTC()
		}
	}
	return earliest
}

// previewAll evaluates indicators over the bars that closed after from. Scripts take turns with those
// of alerts.
func (e *Engine) previewAll(ctx context.Context, owner principal.Owner, got *loadedBars, all []alert.Group, from int64) {
	got.findFirst(from)
	got.streams = e.cfg.Streams
	pause := func() error { return nil }
	if slices.ContainsFunc(all, func(g alert.Group) bool { return alert.UsesScript(g.Selection) }) {
		held, done, err := e.scriptTurns.Hold(ctx, string(owner), "preview")
		if err != nil {
			return
		}
		defer done()
		pause = func() error { return fair.Pause(held) }
		got.run = func() *budget.Run { return e.cfg.Scripts.Run(held, owner) }
	}
	got.evaluateAll(all, from, pause)
}

// recentBars returns at most the newest total closed bars, from the rolling window if that
// is live and has them, nil if they are not known in time.
func (e *Engine) recentBars(ctx context.Context, p *listing, i market.Interval, total int) *loadedBars {
	// A window without a forming bar does not follow the venue now: bars from a file may have been replaced since.
	if w := e.windows.get(provider.Sub{Symbol: p.symbol, Interval: i}); w != nil && w.hasForming && (w.closed.Len() >= total || w.reachesStart) {
		closed := w.closed.Tail(min(total, w.closed.Len()))
		return &loadedBars{listing: p, interval: i, closed: closed, reachesStart: w.reachesStart && w.closed.Len() <= total, evaluators: make(map[string]*evaluate.Evaluator)}
	}
	total = min(total+1, maxLoaded)
	set, err := e.cfg.Data.Bars(ctx, marketdata.Request{Symbol: p.symbol, Interval: i, Bars: total})
	if err != nil || set.Stale {
		return nil
	}
	got := newLoadedBars(p, i, &set, total)
	if got.closed.Len() == 0 {
		return nil
	}
	return got
}

// previewPrice compares the price with the threshold, and finds in hourly bars when it last
// came to it from the other side.
func (e *Engine) previewPrice(ctx context.Context, p *listing, c *alert.Condition) (said alert.Present) {
	price, at := math.NaN(), time.Time{}
	if last := e.prices.get(p.symbol); last != nil {
		price, at = last.price, last.at
	} else if q, err := e.readPrice(ctx, p); err == nil {
		price, at = q.bar.C, q.asOf
	}
	if math.IsNaN(price) {
		return said
	}
	threshold := c.Threshold.InexactFloat64()
	said = alert.Present{Known: true, Value: price, Against: threshold, At: at}
	said.True = c.Type == alert.PriceAbove && price >= threshold || c.Type == alert.PriceBelow && price <= threshold
	if !p.caps.Has(market.Hour1) {
		return said
	}
	got := e.recentBars(ctx, p, market.Hour1, previewBars)
	if got == nil {
		return said
	}
	for i := 1; i < got.closed.Len(); i++ {
		bar, before := got.closed.At(i), got.closed.C[i-1]
		up := c.Type != alert.PriceBelow && before < threshold && bar.H >= threshold
		down := c.Type != alert.PriceAbove && before > threshold && bar.L <= threshold
		if closed := p.clock.Wall(got.closeUnix(i)); up || down {
			said.LastFired = closed
		}
		if i == 1 {
			said.From = p.clock.Wall(got.closeUnix(i))
		}
	}
	return said
}
