// Package aggregate gives a provider the intervals its venue lacks, built from
// the longest one that divides them: Coinbase has no 4h bars, but four of 1h make
// one. What the venue has is passed through untouched. Holes stay holes and are
// listed in the page; a bar is never filled up.
package aggregate

import (
	"context"
	"io"
	"slices"
	"time"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// Provider is a provider with every interval that can be built. It is safe for
// concurrent use.
type Provider struct {
	provider.Provider
	caps provider.Caps // as Capabilities returns them
	have []market.Interval
	now  func() time.Time
}

// Over returns p with all intervals that can be built from its own, or p itself
// when it builds them already. The clock says whether the newest bar has
// ended.
func Over(p provider.Provider, now func() time.Time) provider.Provider {
	caps := p.Capabilities()
	if len(caps.Builds) > 0 {
		return p
	}
	a := &Provider{Provider: p, have: caps.Intervals, now: now, caps: caps}
	a.caps.Intervals, a.caps.Builds = nil, caps.Intervals
	for _, i := range market.Intervals() {
		if _, ok := a.source(i); ok {
			a.caps.Intervals = append(a.caps.Intervals, i)
		}
	}
	return a
}

// Capabilities are the venue's, with the intervals that can be built.
func (p *Provider) Capabilities() provider.Caps { return p.caps }

// Canonical returns the venue's name of a symbol.
func (p *Provider) Canonical(ctx context.Context, s market.Symbol) (market.Symbol, error) {
	return provider.Canonical(ctx, p.Provider, s)
}

// Loaded returns the list that the venue's provider has read.
func (p *Provider) Loaded() []provider.Listing { return provider.Loaded(p.Provider) }

// Close closes the venue's provider when it can be closed.
func (p *Provider) Close() error {
	if c, ok := p.Provider.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// source returns the interval that bars of i are made of.
func (p *Provider) source(i market.Interval) (market.Interval, bool) {
	if slices.Contains(p.have, i) {
		return i, true
	}
	for _, from := range slices.Backward(p.have) {
		if from.Divides(i) {
			return from, true
		}
	}
	return 0, false
}

// Bars returns a page of bars, the venue's own or built.
func (p *Provider) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	q, err := p.caps.Normalize(p.Name(), q)
	if err != nil {
		return provider.BarPage{}, err
	}
	from, _ := p.source(q.Interval)
	if from == q.Interval {
		return p.Provider.Bars(ctx, q)
	}
	b := build{p: p, q: q, from: from}
	if b.cal, err = p.calendar(ctx, q.Symbol); err != nil {
		return provider.BarPage{}, err
	}
	return b.page(ctx)
}

// calendar returns when a symbol trades. It asks only a venue that has sessions.
func (p *Provider) calendar(ctx context.Context, s market.Symbol) (market.Calendar, error) {
	if !p.caps.Sessions {
		return market.Calendar{}, nil
	}
	instrument, err := p.Instrument(ctx, s)
	return instrument.Calendar, err
}

// build makes one page.
type build struct {
	p    *Provider
	q    provider.BarQuery
	from market.Interval
	cal  market.Calendar
}

// page reads as many of the venue's bars as the page needs and adds them up.
func (b *build) page(ctx context.Context) (provider.BarPage, error) {
	per := int(max(2, (b.q.Interval.Seconds()+b.from.Seconds()-1)/b.from.Seconds()+1))
	query := provider.BarQuery{Symbol: b.q.Symbol, Interval: b.from}
	if b.q.From != 0 {
		query.From = b.cal.Next(b.q.Interval, b.q.From-1).Open
	}
	if b.q.To != 0 {
		query.To = b.cal.Prev(b.q.Interval, b.q.To).Close
		if query.From != 0 && query.To <= query.From {
			return provider.BarPage{Built: b.from, Synthetic: b.p.caps.Synthetic}, nil
		}
	}
	pages, err := provider.Read(ctx, b.p.Provider, query, (b.q.Limit+1)*per)
	if err != nil {
		return provider.BarPage{}, err
	}
	built, err := market.Aggregate(&pages.Bars, b.from, b.q.Interval, b.cal)
	if err != nil {
		return provider.BarPage{}, err
	}
	headless, err := b.headless(ctx, pages, built)
	if err != nil {
		return provider.BarPage{}, err
	}
	return b.cut(pages, built, headless), nil
}

// headless reports whether the first bar lacks its beginning for another reason
// than a hole: because reading stopped inside it, or the venue's history begins
// there. Such a bar is left out, as it would show less than was traded.
func (b *build) headless(ctx context.Context, pages provider.BarPage, built market.Aggregated) (bool, error) {
	if !slices.Contains(built.Partial, 0) || pages.Bars.T[0] == built.Bars.T[0] {
		return false, nil
	}
	if b.q.From == 0 {
		return true, nil
	}
	before, err := b.p.Provider.Bars(ctx, provider.BarQuery{Symbol: b.q.Symbol, Interval: b.from, To: built.Bars.T[0], Limit: 1})
	return err == nil && before.Bars.Len() == 0, err
}

// cut answers the query out of what was built.
func (b *build) cut(pages provider.BarPage, built market.Aggregated, headless bool) provider.BarPage {
	bars := built.Bars
	page := provider.BarPage{Built: b.from, Synthetic: pages.Synthetic}
	first, last := 0, bars.Len()
	if headless {
		first = 1
	}
	if b.q.From != 0 {
		if last > first && pages.More && pages.Next < b.close(bars.T[last-1]) {
			last-- // its end was not read
		}
		page.More = pages.More || last-first > b.q.Limit
		last = min(last, first+b.q.Limit)
	} else {
		page.More = pages.More || last-first > b.q.Limit
		first = max(first, last-b.q.Limit)
	}
	page.Bars = bars.Slice(first, max(first, last))
	n := page.Bars.Len()
	if n == 0 {
		page.More = false
		return page
	}
	if page.More {
		page.Next = page.Bars.T[0]
		if b.q.From != 0 {
			page.Next = b.close(page.Bars.T[n-1])
		}
	}
	end := b.close(page.Bars.T[n-1])
	page.Running = last == bars.Len() && (pages.Running || b.p.now().Unix() < end)
	page.Holes = market.GapsWithin(built.Gaps, page.Bars.T[0], end)
	return page
}

func (b *build) close(open int64) int64 {
	span, _ := b.cal.Bucket(b.q.Interval, open)
	return span.Close
}
