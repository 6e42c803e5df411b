package alpaca

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/lib/market"
)

const (
	// settle is how long after its end the newest bar counts as running, for the
	// trades that are under way when it ends.
	settle = 5
	// mostRequests bounds how often one page follows the venue's own pages, which
	// may be short: a page of ours is then short too, and says that there is more.
	mostRequests = 10
)

var errEndless = errors.New("its pages do not end")

// Bars returns one page, following the venue's pages until it is full.
func (p *Provider) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	q, err := p.Capabilities().Normalize(name, q)
	if err != nil {
		return provider.BarPage{}, err
	}
	if _, err := p.Instrument(ctx, q.Symbol); err != nil {
		return provider.BarPage{}, err
	}
	from, to := p.bounds(q)
	if from >= to {
		return provider.BarPage{}, nil
	}
	bars, whole, err := p.read(ctx, q, from, to)
	if err != nil {
		return provider.BarPage{}, err
	}
	page := q.PageFromAll(&bars, p.runs(&bars, q.Interval))
	n := bars.Len()
	switch {
	case whole || page.More:
	case n == 0:
		return provider.BarPage{}, upstream.MalformedResponse(name, q.Symbol.Name, errEndless)
	case q.From != 0:
		page.More, page.Next = true, bars.T[n-1]+1
	default:
		page.More, page.Next = true, bars.T[0]
	}
	return page, nil
}

// bounds returns the times to ask for. Days are labelled by midnight at the venue.
func (p *Provider) bounds(q provider.BarQuery) (from, to int64) {
	from, to = epoch, p.now()+1
	if q.From != 0 {
		from = max(from, q.From)
	}
	if q.To != 0 {
		to = min(to, q.To)
	}
	if q.Interval >= market.Day1 && from < to {
		from = p.hours.Midnight(q.Interval, from)
	}
	return from, to
}

// read collects bars until there is one more than the page takes, which shows
// that there are more, and reports whether the venue has no more.
func (p *Provider) read(ctx context.Context, q provider.BarQuery, from, to int64) (market.Bars, bool, error) {
	ask := url.Values{
		"symbols": {q.Symbol.Name}, "timeframe": {frames()[q.Interval]}, "adjustment": {p.config.Adjustment}, "feed": {p.historyFeed()},
		"start": {time.Unix(from, 0).UTC().Format(time.RFC3339)},
		// The venue's end is inclusive. It is always sent: without it, an account
		// without a subscription would get bars that end 15 minutes ago as if they were whole.
		"end":  {time.Unix(to-1, 0).UTC().Format(time.RFC3339)},
		"sort": {"asc"},
	}
	if q.From == 0 {
		ask.Set("sort", "desc")
	}
	var kept []market.Bar
	for range mostRequests {
		ask.Set("limit", strconv.Itoa(p.rows(q, len(kept))))
		resp, err := p.data.Do(ctx, upstream.Request{Path: "/v2/stocks/bars", Query: ask, Subject: q.Symbol.Name})
		if err != nil {
			return market.Bars{}, false, p.refused(q.Symbol, err)
		}
		rows, next, err := readBars(resp.Body, q.Symbol.Name)
		if err == nil {
			kept, err = p.keep(kept, rows, q)
		}
		if err != nil {
			return market.Bars{}, false, upstream.MalformedResponse(name, q.Symbol.Name, err)
		}
		if next == "" || len(kept) > q.Limit {
			return columns(kept, q.From == 0), next == "", nil
		}
		ask.Set("page_token", next)
	}
	return columns(kept, q.From == 0), false, nil
}

// rows returns how many rows to ask for. Of the time that the venue covers, less
// than half is within regular hours.
func (p *Provider) rows(q provider.BarQuery, have int) int {
	want := q.Limit + 1 - have
	if q.Interval < market.Day1 {
		want = 3*want + 100
	}
	return min(max(want, 1), pageSize)
}

func (p *Provider) historyFeed() string {
	if p.config.Feed == DelayedSIP {
		return SIP
	}
	return p.config.Feed
}

// keep appends the rows that are bars of regular hours, under our labels and
// within the query. It demands the order that was asked for, over all pages.
func (p *Provider) keep(kept, rows []market.Bar, q provider.BarQuery) ([]market.Bar, error) {
	for _, row := range rows {
		span, ok := p.hours.Bucket(q.Interval, row.T)
		if q.Interval >= market.Day1 {
			span, ok = p.hours.Dated(q.Interval, row.T)
		} else if ok && span.Open != row.T {
			return nil, errors.New("a bar at " + time.Unix(row.T, 0).UTC().Format(time.RFC3339) + " is off the grid")
		}
		if !ok || q.From != 0 && span.Open < q.From || q.To != 0 && span.Open >= q.To {
			continue
		}
		row.T = span.Open
		if n := len(kept); n > 0 && (q.From != 0) != (row.T > kept[n-1].T) || n > 0 && row.T == kept[n-1].T {
			return nil, errors.New("the bars are out of order")
		}
		kept = append(kept, row)
	}
	return kept, nil
}

func columns(rows []market.Bar, backward bool) market.Bars {
	if backward {
		slices.Reverse(rows)
	}
	out := market.MakeBars(len(rows), false)
	for _, row := range rows {
		out.Append(row)
	}
	return out
}

// runs reports whether the last bar has not ended, or only just.
func (p *Provider) runs(bars *market.Bars, i market.Interval) bool {
	if bars.Len() == 0 {
		return false
	}
	span, ok := p.hours.Bucket(i, bars.T[bars.Len()-1])
	return ok && span.Close+settle > p.now()
}
