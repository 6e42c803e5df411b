// Package yahoo reads bars from Yahoo's chart API: stocks, funds, indices,
// currencies such as EURUSD=X, crypto such as BTC-USD. The API is unofficial,
// meant for personal use, without a key and without a promise; a setting turns
// the venue off. It has no stream: live bars are polled.
//
// Prices are adjusted for splits and not for dividends. Times are the venue's
// rows under our labels: intraday bars count from the session's open, days,
// weeks and months carry the open of their first session.
package yahoo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	name = "yahoo"
	// pageSize is about what one request brings at most: a week of minutes.
	pageSize = 10_000

	// defaultURL is where the API is.
	defaultURL = "https://query1.finance.yahoo.com"

	// userAgent is a browser's: the API answers 429 to programs that say what they are.
	userAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"

	keepInstrument  = 6 * time.Hour
	mostInstruments = 4096
)

// Config says where the venue is.
type Config struct {
	URL string           // DefaultURL when empty
	Now func() time.Time // required
}

// Provider reads bars from Yahoo. It is safe for concurrent use.
type Provider struct {
	now   func() time.Time
	rest  *upstream.Client
	known provider.Cache[*instrument]
}

// instrument is a symbol as the venue describes it.
type instrument struct {
	provider.Instrument
	first int64 // time of the first trade, dawn when unknown
}

// New returns a provider that shares the connections and limits of hosts.
func New(hosts *upstream.Hosts, c Config) *Provider {
	return &Provider{
		now:   c.Now,
		known: provider.Cache[*instrument]{Keep: keepInstrument, Most: mostInstruments},
		rest: hosts.Client(upstream.Config{
			Venue: name, Base: cmp.Or(c.URL, defaultURL),
			// Nothing is published. Users report bans from about 2000 requests an hour on.
			Limit:      upstream.Limit{Weight: 1800, Per: time.Hour},
			Header:     http.Header{"User-Agent": {userAgent}, "Accept": {"application/json"}},
			ParseError: readRefusal,
		}),
	}
}

// Name returns "yahoo".
func (p *Provider) Name() string { return name }

// Capabilities returns what the venue has.
func (p *Provider) Capabilities() provider.Caps {
	return provider.Caps{Intervals: slices.Sorted(maps.Keys(forms())), PageSize: pageSize, Sessions: true}
}

// Instrument returns calendar and currency. The venue says nothing about orders.
func (p *Provider) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	in, err := p.instrument(ctx, s)
	if err != nil {
		return provider.Instrument{}, err
	}
	return in.Instrument, nil
}

// Bars returns one page, which is one request. Where the venue keeps no bars,
// such as minutes of last year, the page is as empty as before a listing.
func (p *Provider) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	q, err := p.Capabilities().Normalize(name, q)
	if err != nil {
		return provider.BarPage{}, err
	}
	in, err := p.instrument(ctx, q.Symbol)
	if err != nil {
		return provider.BarPage{}, err
	}
	now := p.now().Unix()
	w := in.window(q, now)
	if w.from >= w.to {
		return provider.BarPage{}, nil
	}
	c, err := p.ask(ctx, q.Symbol, forms()[q.Interval].name, url.Values{
		"period1": {strconv.FormatInt(w.ask[0], 10)},
		"period2": {strconv.FormatInt(w.ask[1], 10)},
	})
	if err != nil {
		return provider.BarPage{}, err
	}
	bars, running := c.bars(in.Calendar, q.Interval, now)
	if bars.Len() == 0 && len(c.rows) > 1 {
		return provider.BarPage{}, upstream.MalformedResponse(name, q.Symbol.Name, fmt.Errorf("none of %d rows falls in a session", len(c.rows)))
	}
	return w.cut(q, &bars, running), nil
}

// instrument returns what is known of a symbol, asking the venue when nothing is.
func (p *Provider) instrument(ctx context.Context, s market.Symbol) (*instrument, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The slash would lead to another path of the venue; no symbol of its has one.
	if s.Name == "" || s.Venue != "" && s.Venue != name || strings.Contains(s.Name, "/") {
		return nil, provider.UnknownSymbol(name, s, guesses(s.Name)...)
	}
	return p.known.Get(ctx, p.now(), s.Name, func(ctx context.Context) (*instrument, error) {
		// Five days of hours show the sessions of five days.
		c, err := p.ask(ctx, s, "1h", url.Values{"range": {"5d"}})
		if err != nil {
			return nil, err
		}
		cal, err := c.meta.calendar()
		if err != nil {
			return nil, upstream.MalformedResponse(name, s.Name, err)
		}
		in := &instrument{first: dawn, Instrument: provider.Instrument{
			Symbol: market.Symbol{Venue: name, Name: s.Name}, Class: c.meta.class(), Base: c.meta.base(), Quote: c.meta.Currency, Calendar: cal,
		}}
		if first := c.meta.FirstTradeDate; first != nil {
			in.first = *first - day // days are labelled from midnight on
		}
		return in, nil
	})
}

// ask fetches one chart.
func (p *Provider) ask(ctx context.Context, s market.Symbol, interval string, query url.Values) (*chart, error) {
	query.Set("interval", interval)
	query.Set("includePrePost", "false")
	request := upstream.Request{Path: "/v8/finance/chart/" + s.Name, Query: query, Subject: s.Name}
	c, _, err := upstream.Get(ctx, p.rest, request, func(body []byte) (*chart, error) { return parse(body, s.Name, interval) })
	if err != nil {
		return p.refused(s, interval, err)
	}
	return c, nil
}

// refused gives a refusal of the venue its meaning. A range without data is an
// empty chart and no error.
func (p *Provider) refused(s market.Symbol, interval string, err error) (*chart, error) {
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || e.Reason != upstream.Refused {
		return nil, err
	}
	switch {
	case e.Status == http.StatusNotFound && e.Code == "Not Found":
		return nil, provider.UnknownSymbol(name, s, guesses(s.Name)...)
	case e.Status == http.StatusBadRequest && strings.HasPrefix(e.Message, "Data doesn't exist for startDate"):
		return &chart{}, nil
	case e.Status == http.StatusUnprocessableEntity:
		return nil, &fault.Error{
			Kind: fault.Unavailable, Code: "range_refused", Cause: e,
			Message: fmt.Sprintf("%s %s: the venue does not keep this much of %s: %s", name, s.Name, interval, e.Message),
		}
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return nil, &fault.Error{
			Kind: fault.Unavailable, Code: "venue_refused", Cause: e,
			Message: fmt.Sprintf("%s %s: the venue turns us away (HTTP %d); it is unofficial and may do so: alpaca: has US stocks, with a key", name, s.Name, e.Status),
		}
	}
	return nil, err
}

// base returns what is traded, where the symbol shows it.
func (m *meta) base() string {
	switch m.Type {
	case "CURRENCY":
		if pair, ok := strings.CutSuffix(m.Symbol, "=X"); ok && len(pair) == 6 {
			return pair[:3]
		}
		return ""
	case typeCrypto:
		coin, _, _ := strings.Cut(m.Symbol, "-")
		return coin
	case "EQUITY", "ETF":
		return m.Symbol
	}
	return ""
}

// guesses returns how the venue may spell what others write another way.
func guesses(s string) []string {
	if well, ok := map[string]string{"SPX": "^GSPC", "DJI": "^DJI", "NDX": "^NDX", "VIX": "^VIX", "RUT": "^RUT", "DXY": "DX-Y.NYB", "GOLD": "GC=F", "XAUUSD": "GC=F"}[s]; ok {
		return []string{well}
	}
	if class, letter, ok := strings.Cut(strings.ReplaceAll(s, "/", "."), "."); ok && len(letter) == 1 {
		return []string{class + "-" + letter}
	}
	currencies := "USD EUR GBP JPY CHF AUD CAD NZD SEK NOK CNY INR"
	if len(s) == 6 && strings.Contains(currencies, s[:3]) && strings.Contains(currencies, s[3:]) {
		return []string{s + "=X"}
	}
	if coin, ok := strings.CutSuffix(strings.ReplaceAll(s, "/", ""), "USD"); ok && len(coin) >= 3 {
		return []string{coin + "-USD"}
	}
	return nil
}
