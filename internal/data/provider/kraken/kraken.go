// Package kraken reads bars of Kraken's spot market and its live bars. It needs
// no key. The venue gives its newest 720 bars of an interval and none before
// them; a bar of its stream does not say that it has closed.
package kraken

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/internal/kit/strictjson"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	name     = "kraken"
	pageSize = 720

	// defaultURL is the public address.
	defaultURL = "https://api.kraken.com"
	streamURL  = "wss://ws.kraken.com"
)

// Config says where the venue is. Empty addresses are the public ones; with URL
// alone the stream is on the same host.
type Config struct {
	URL, StreamURL string
	Spacing        time.Duration    // between requests; a second when 0, as the venue asks
	Now            func() time.Time // time.Now when nil
}

// Provider reads from Kraken. It is safe for concurrent use.
type Provider struct {
	config Config
	hosts  *upstream.Hosts
	rest   *upstream.Client
	pairs  provider.Cache[directory]
}

var _ provider.Streamer = (*Provider)(nil)

// New returns a provider that shares what hosts share.
func New(hosts *upstream.Hosts, c Config) *Provider {
	c.Spacing = cmp.Or(c.Spacing, time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.StreamURL = upstream.ResolveURL(c.StreamURL, c.URL, streamURL)
	c.URL = upstream.ResolveURL("", c.URL, defaultURL)
	return &Provider{
		config: c, hosts: hosts,
		rest: hosts.Client(upstream.Config{
			Venue: name, Base: c.URL, Limit: upstream.Limit{Spacing: c.Spacing, MaxWait: 30 * time.Second},
		}),
		pairs: provider.Cache[directory]{Keep: time.Hour, Most: 1},
	}
}

// Name returns "kraken".
func (p *Provider) Name() string { return name }

// minutes maps the intervals to what the venue calls them. Its weeks begin on
// Thursday and are left out, so that weeks are built from days.
func minutes() map[market.Interval]int {
	return map[market.Interval]int{
		market.Minute1: 1, market.Minute5: 5, market.Minute15: 15, market.Minute30: 30,
		market.Hour1: 60, market.Hour4: 240, market.Day1: 1440,
	}
}

// Capabilities returns what the venue offers.
func (p *Provider) Capabilities() provider.Caps {
	native := slices.DeleteFunc(market.Intervals(), func(i market.Interval) bool { return minutes()[i] == 0 })
	return provider.Caps{Intervals: native, PageSize: pageSize, Live: true, Dynamic: true}
}

// find returns the pair that a symbol names, in any of the venue's spellings:
// BTC/USD, BTCUSD, XBTUSD, XXBTZUSD; a dash or an underscore may stand for the slash.
func (p *Provider) find(ctx context.Context, s market.Symbol) (*pair, error) {
	if s.Venue != "" && s.Venue != name || s.Name == "" {
		return nil, provider.UnknownSymbol(name, s)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all, err := p.pairs.Get(ctx, p.config.Now(), "", func(ctx context.Context) (directory, error) {
		resp, err := p.rest.Do(ctx, upstream.Request{Path: "/0/public/AssetPairs", Subject: s.Name})
		if err != nil {
			return nil, err
		}
		return answerOf(p, resp.Body, s, parsePairs)
	})
	if err != nil {
		return nil, err
	}
	found, ok := all[plain(s.Name)]
	if !ok {
		return nil, provider.UnknownSymbol(name, s)
	}
	return found, nil
}

// plain drops what the spellings differ in.
func plain(spelled string) string {
	return strings.NewReplacer("/", "", "-", "", "_", "").Replace(spelled)
}

// Canonical returns the symbol as the venue's list has it, such as BTC/USD.
func (p *Provider) Canonical(ctx context.Context, s market.Symbol) (market.Symbol, error) {
	found, err := p.find(ctx, s)
	if err != nil {
		return s, err
	}
	return found.instrument.Symbol, nil
}

// Instrument returns the rules of a pair, at most an hour old.
func (p *Provider) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	found, err := p.find(ctx, s)
	if err != nil {
		return provider.Instrument{}, err
	}
	return found.instrument, nil
}

// Bars returns a page of bars. Those before the newest 720 cannot be had: a page
// says that there are none.
func (p *Provider) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	q, err := p.Capabilities().Normalize(name, q)
	if err != nil {
		return provider.BarPage{}, err
	}
	found, err := p.find(ctx, q.Symbol)
	if err != nil || q.Empty() {
		return provider.BarPage{}, err
	}
	query := url.Values{"pair": {found.id}, "interval": {strconv.Itoa(minutes()[q.Interval])}}
	if q.From > 1 {
		query.Set("since", strconv.FormatInt(q.From-1, 10))
	}
	resp, err := p.rest.Do(ctx, upstream.Request{Path: "/0/public/OHLC", Query: query, Subject: found.symbol})
	if err != nil {
		return provider.BarPage{}, err
	}
	bars, err := answerOf(p, resp.Body, q.Symbol, func(j *strictjson.Reader) (market.Bars, error) { return parseOHLC(j, found.id, q.Interval) })
	if err != nil {
		return provider.BarPage{}, err
	}
	return q.PageFromRange(provider.BarRange{Bars: bars}, resp.At), nil
}

// answerOf opens the venue's envelope: errors come with status 200. The result is
// read where it stands, so that nothing is read twice.
func answerOf[T any](p *Provider, body []byte, s market.Symbol, read func(*strictjson.Reader) (T, error)) (T, error) {
	var value, none T
	var errs []string
	failed := errors.New("neither error nor result")
	j := strictjson.NewReader(body)
	j.Object(func(key []byte) {
		switch string(key) {
		case "error":
			j.Array(func(int) { errs = append(errs, j.Text()) })
		case "result":
			value, failed = read(j)
		}
	})
	switch err := j.End(); {
	case err != nil:
		return none, upstream.MalformedResponse(name, s.Name, err)
	case len(errs) > 0:
		return none, p.refused(errs, s)
	case failed != nil:
		return none, upstream.MalformedResponse(name, s.Name, failed)
	}
	return value, nil
}

// pause is how long the venue is left alone when it counts too many requests: its
// counter falls by one a second.
const pause = 15 * time.Second

// refused turns the venue's errors into a fault.
func (p *Provider) refused(errs []string, s market.Symbol) error {
	text := fault.Clean(strings.Join(errs, ", "), fault.MaxForeign)
	switch {
	case strings.Contains(text, "Unknown asset pair"):
		return provider.UnknownSymbol(name, s)
	case strings.Contains(text, "Too many requests"), strings.Contains(text, "Rate limit exceeded"):
		f := fault.Unreachable(nil, p.rest.Pause(pause), "kraken %s: the venue asks for a pause (%s)", s.Name, text)
		f.Code = "rate_limited"
		return f
	case strings.HasPrefix(text, "EService:"):
		return fault.Unreachable(nil, 0, "kraken %s: the venue is not available (%s)", s.Name, text)
	default:
		return &fault.Error{Kind: fault.Unavailable, Code: "venue_refused", Message: fmt.Sprintf("kraken %s: the venue refused: %s", s.Name, text)}
	}
}

// Close lets go of idle connections.
func (p *Provider) Close() error { return p.hosts.Close() }
