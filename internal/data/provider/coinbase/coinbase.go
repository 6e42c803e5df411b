// Package coinbase reads bars of Coinbase Exchange and builds live bars from its
// trades. It needs no key. Buckets in which nothing was traded have no bar, here
// as at the venue.
package coinbase

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/internal/kit/strictjson"
	"candela/lib/market"
)

const (
	name     = "coinbase"
	pageSize = 300

	// defaultURL is the public address.
	defaultURL = "https://api.exchange.coinbase.com"
	streamURL  = "wss://ws-feed.exchange.coinbase.com"
)

// Config says where the venue is. Empty addresses are the public ones; with URL
// alone the stream is on the same host.
type Config struct {
	URL, StreamURL string
	PerSecond      int              // requests; 8 when 0, as the venue allows ten for one address
	Now            func() time.Time // time.Now when nil
}

// Provider reads from Coinbase Exchange. It is safe for concurrent use.
type Provider struct {
	config Config
	hosts  *upstream.Hosts
	rest   *upstream.Client
	known  *provider.Instruments
}

var _ provider.Streamer = (*Provider)(nil)

// New returns a provider that shares what hosts share.
func New(hosts *upstream.Hosts, c Config) *Provider {
	c.StreamURL = upstream.ResolveURL(c.StreamURL, c.URL, streamURL)
	c.URL = upstream.ResolveURL("", c.URL, defaultURL)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.PerSecond = cmp.Or(c.PerSecond, 8)
	p := &Provider{
		config: c, hosts: hosts,
		rest: hosts.Client(upstream.Config{Venue: name, Base: c.URL, ParseError: refusal, Limit: upstream.Limit{Weight: c.PerSecond, Per: time.Second}}),
	}
	p.known = provider.NewInstruments(spell, c.Now, p.loadInstrument)
	return p
}

// Name returns "coinbase".
func (p *Provider) Name() string { return name }

// Capabilities returns what the venue offers.
func (p *Provider) Capabilities() provider.Caps {
	return provider.Caps{
		Intervals: []market.Interval{market.Minute1, market.Minute5, market.Minute15, market.Hour1, market.Hour6, market.Day1},
		PageSize:  pageSize, Live: true, Dynamic: true,
	}
}

// spell returns a symbol as the venue writes it: BTC-USD. BTC/USD and BTC_USD are taken
// for it, and so is BTCUSD when the quote currency is a usual one.
func spell(s market.Symbol) (string, error) {
	if s.Venue != "" && s.Venue != name {
		return "", provider.UnknownSymbol(name, s)
	}
	spelled := strings.NewReplacer("/", "-", "_", "-").Replace(s.Name)
	if !strings.Contains(spelled, "-") {
		for _, quote := range []string{"USDT", "USDC", "USD", "EUR", "GBP", "BTC", "ETH"} {
			if base, ok := strings.CutSuffix(spelled, quote); ok && base != "" {
				spelled = base + "-" + quote
				break
			}
		}
	}
	base, quote, ok := strings.Cut(spelled, "-")
	if !ok || base == "" || quote == "" || strings.ContainsAny(spelled, "^=.") || strings.Contains(quote, "-") {
		return "", provider.UnknownSymbol(name, s)
	}
	return spelled, nil
}

// Canonical returns the symbol as the venue writes it.
func (p *Provider) Canonical(_ context.Context, s market.Symbol) (market.Symbol, error) {
	return provider.SymbolMapper(spell).Canonical(name, s)
}

// Instrument returns the rules of a product, at most an hour old.
func (p *Provider) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	return p.known.Get(ctx, s)
}

func (p *Provider) loadInstrument(ctx context.Context, s market.Symbol, spelled string) (provider.Instrument, error) {
	ask := upstream.Request{Path: "/products/" + spelled, Subject: spelled}
	inst, _, err := upstream.Get(ctx, p.rest, ask, func(body []byte) (provider.Instrument, error) { return parseProduct(body, spelled) })
	return inst, explain(err, s)
}

// Bars returns a page of candles. Going back, a stretch of 300 buckets without any
// trade is taken for the beginning.
func (p *Provider) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	q, spelled, ask, err := p.Capabilities().Prepare(ctx, name, q, spell)
	if !ask {
		return provider.BarPage{}, err
	}
	got := p.stretch(q)
	step := q.Interval.Seconds()
	request := upstream.Request{
		Path: "/products/" + spelled + "/candles", Subject: spelled,
		Query: url.Values{
			"granularity": {strconv.FormatInt(step, 10)},
			"start":       {strconv.FormatInt(got.From, 10)}, "end": {strconv.FormatInt(got.To-step, 10)},
		},
	}
	all, at, err := upstream.Get(ctx, p.rest, request, func(body []byte) (market.Bars, error) { return parseCandles(body, q.Interval) })
	if err != nil {
		return provider.BarPage{}, explain(err, q.Symbol)
	}
	// Rows outside the range were not requested.
	got.Bars = all.Slice(all.Search(got.From), max(all.Search(got.From), all.Search(got.To)))
	return q.PageFromRange(got, at), nil
}

// stretch returns the bounds of a request for q: at most 300 buckets.
func (p *Provider) stretch(q provider.BarQuery) provider.BarRange {
	var clock market.Calendar
	step := q.Interval.Seconds()
	if q.From != 0 {
		from := clock.Next(q.Interval, max(q.From, 1)-1).Open
		to := from + pageSize*step
		if q.To != 0 {
			to = max(from+step, min(to, clock.Next(q.Interval, q.To-1).Open))
		}
		return provider.BarRange{From: from, To: to}
	}
	to := clock.Next(q.Interval, p.config.Now().Unix()).Close // a bucket more, should the venue's clock be ahead
	if q.To != 0 {
		to = clock.Next(q.Interval, q.To-1).Open
	}
	return provider.BarRange{From: to - pageSize*step, To: to}
}

// refusal reads the venue's error object.
func refusal(body []byte) (code, message string) {
	j := strictjson.NewReader(body)
	j.Object(func(key []byte) {
		if string(key) == "message" {
			message = j.Text()
		}
	})
	return "", message
}

// explain turns a refusal into the fault that says what to do about it.
func explain(err error, s market.Symbol) error {
	if e, ok := errors.AsType[*upstream.Error](err); ok && e.Status == http.StatusNotFound {
		return provider.UnknownSymbol(name, s)
	}
	return err
}

// Close lets go of idle connections.
func (p *Provider) Close() error { return p.hosts.Close() }
