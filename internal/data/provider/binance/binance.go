// Package binance reads bars and live klines of Binance's spot market and of its perpetual
// futures, and the series of the futures that indicators ask for. It needs no key. The
// wire formats are those of the venue's public documentation.
package binance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
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
	name     = "binance"
	pageSize = 1000
)

// The public addresses: hosts that serve market data alone, which answer in more
// regions than api.binance.com. The futures have hosts of their own.
const (
	defaultURL       = "https://data-api.binance.vision"
	streamURL        = "wss://data-stream.binance.vision"
	futuresURL       = "https://fapi.binance.com"
	futuresStreamURL = "wss://fstream.binance.com"
)

// Config says where the venue is. Empty addresses are the public ones; with URL
// alone the others are on the same host.
type Config struct {
	URL, StreamURL, FuturesURL, FuturesStreamURL string
	// MaxAge is when a stream announces its end; 23 h 50 min when 0, as the
	// venue cuts it at 24 hours.
	MaxAge time.Duration
	Now    func() time.Time // time.Now when nil
}

// Provider reads from Binance. It is safe for concurrent use.
type Provider struct {
	config          Config
	hosts           *upstream.Hosts
	spot, perpetual board
	statistics      *upstream.Client // of the futures
	known           *provider.Instruments
	rules           provider.Cache[map[string]provider.Instrument] // of all perpetuals, by their names on the wire
}

var (
	_ provider.Streamer     = (*Provider)(nil)
	_ provider.SeriesSource = (*Provider)(nil)
)

// New returns a provider that shares what hosts share.
func New(hosts *upstream.Hosts, c Config) *Provider {
	c.StreamURL = upstream.ResolveURL(c.StreamURL, c.URL, streamURL)
	c.FuturesStreamURL = upstream.ResolveURL(c.FuturesStreamURL, cmp.Or(c.FuturesURL, c.URL), futuresStreamURL)
	c.FuturesURL = upstream.ResolveURL(c.FuturesURL, c.URL, futuresURL)
	c.URL = upstream.ResolveURL("", c.URL, defaultURL)
	c.MaxAge = cmp.Or(c.MaxAge, 24*time.Hour-10*time.Minute)
	if c.Now == nil {
		c.Now = time.Now
	}
	p := &Provider{config: c, hosts: hosts, rules: provider.Cache[map[string]provider.Instrument]{Keep: time.Hour, Most: 1}}
	p.spot, p.perpetual = spotBoard(hosts, c), perpetualBoard(hosts, c)
	// The series have limits of their own, the tightest of 500 in five minutes.
	p.statistics = hosts.Client(upstream.Config{
		Venue: name, Base: c.FuturesURL, ParseError: Refusal,
		Limit: upstream.Limit{Weight: 400, Per: 5 * time.Minute},
	})
	p.known = provider.NewInstruments(canonical, c.Now, p.loadInstrument)
	return p
}

// Name returns "binance".
func (p *Provider) Name() string { return name }

// Capabilities returns what the venue offers. Its bars of three days do not begin
// where ours do, so they are built from days.
func (p *Provider) Capabilities() provider.Caps {
	native := slices.DeleteFunc(market.Intervals(), func(i market.Interval) bool { return i == market.Day3 })
	return provider.Caps{Intervals: native, PageSize: pageSize, Live: true, Dynamic: true, MaxSubs: maxSubs, TakerBuy: true, Part: part}
}

// Spell returns a symbol as the venue writes it. BTC/USDT, BTC-USDT and BTC_USDT are
// taken for BTCUSDT.
func Spell(s market.Symbol) (string, error) {
	if s.Venue != "" && s.Venue != name {
		return "", provider.UnknownSymbol(name, s)
	}
	spelled := strings.NewReplacer("/", "", "-", "", "_", "").Replace(s.Name)
	if spelled == "" || strings.ContainsFunc(spelled, func(c rune) bool { return (c < 'A' || c > 'Z') && (c < '0' || c > '9') }) {
		return "", provider.UnknownSymbol(name, s)
	}
	return spelled, nil
}

// canonical returns a symbol as candela writes it: as Spell does, or a perpetual future as its pair and .P.
func canonical(s market.Symbol) (string, error) {
	pair, perpetual := s.Pair()
	spelled, err := Spell(market.Symbol{Venue: s.Venue, Name: pair})
	switch {
	case err != nil:
		return "", provider.UnknownSymbol(name, s)
	case perpetual:
		return market.PerpetualOf(spelled), nil
	}
	return spelled, nil
}

// Canonical returns the symbol as candela writes it.
func (p *Provider) Canonical(_ context.Context, s market.Symbol) (market.Symbol, error) {
	return provider.SymbolMapper(canonical).Canonical(name, s)
}

// Instrument returns the rules of a symbol, at most an hour old.
func (p *Provider) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	return p.known.Get(ctx, s)
}

func (p *Provider) loadInstrument(ctx context.Context, s market.Symbol, spelled string) (provider.Instrument, error) {
	if _, perpetual := s.Pair(); perpetual {
		return p.loadPerpetual(ctx, s)
	}
	ask := upstream.Request{Path: p.spot.rules, Query: url.Values{"symbol": {spelled}}, Weight: p.spot.rulesWeight, Subject: spelled}
	inst, _, err := upstream.Get(ctx, p.spot.client, ask, func(body []byte) (provider.Instrument, error) { return parseInfo(body, spelled) })
	return inst, Explain(err, s, spelled)
}

// loadPerpetual finds a perpetual future in the list of all, which the venue gives as one.
func (p *Provider) loadPerpetual(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	ask := upstream.Request{Path: p.perpetual.rules, Weight: p.perpetual.rulesWeight, Subject: s.Name}
	all, err := p.rules.Get(ctx, p.config.Now(), "", func(ctx context.Context) (map[string]provider.Instrument, error) {
		all, _, err := upstream.Get(ctx, p.perpetual.client, ask, parsePerpetuals)
		return all, err
	})
	if err != nil {
		return provider.Instrument{}, Explain(err, s, s.Name)
	}
	pair, _ := s.Pair()
	inst, ok := all[pair]
	if !ok {
		return inst, provider.UnknownSymbol(name, s)
	}
	return inst, nil
}

// Bars returns a page of klines.
func (p *Provider) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	q, spelled, ask, err := p.Capabilities().Prepare(ctx, name, q, canonical)
	if !ask {
		return provider.BarPage{}, err
	}
	from, symbol := p.board(spelled)
	query := url.Values{"symbol": {symbol}, "interval": {q.Interval.String()}, "limit": {strconv.Itoa(q.Limit)}}
	if q.From != 0 {
		query.Set("startTime", strconv.FormatInt(max(q.From, 0)*1000, 10))
	}
	if q.To != 0 {
		query.Set("endTime", strconv.FormatInt(q.To*1000-1, 10))
	}
	request := upstream.Request{Path: from.klines, Query: query, Weight: from.klinesWeight(q.Limit), Subject: spelled}
	bars, at, err := upstream.Get(ctx, from.client, request, func(body []byte) (market.Bars, error) { return parseKlines(body, q.Interval) })
	if err != nil {
		return provider.BarPage{}, Explain(err, q.Symbol, spelled)
	}
	got := provider.BarRange{Bars: bars}
	if n := bars.Len(); n >= q.Limit {
		got.From, got.To = bars.T[0], market.Calendar{}.Next(q.Interval, bars.T[n-1]).Open
	}
	return q.PageFromRange(got, at), nil
}

// Refusal reads the venue's error object. Half of one says nothing.
func Refusal(body []byte) (code, message string) {
	j := strictjson.NewReader(body)
	j.Object(func(key []byte) {
		switch string(key) {
		case "code":
			code = j.Exact()
		case "msg":
			message = j.Text()
		}
	})
	if j.End() != nil {
		return "", ""
	}
	return code, message
}

// The venue's codes for a symbol that does not exist: the second comes for one
// that is too long or has other letters.
const (
	codeInvalidSymbol = "-1121"
	codeIllegal       = "-1100"
)

// Explain turns a refusal into the fault that says what to do about it.
func Explain(err error, s market.Symbol, spelled string) error {
	e, ok := errors.AsType[*upstream.Error](err)
	switch {
	case !ok:
		return err
	case e.Code == codeInvalidSymbol, e.Code == codeIllegal && strings.Contains(e.Message, "symbol"):
		return provider.UnknownSymbol(name, s)
	case e.Status == http.StatusUnavailableForLegalReasons:
		return &fault.Error{
			Kind: fault.Unavailable, Code: "region_refused", Field: "symbol", Value: s.String(),
			Message: fmt.Sprintf("binance refuses requests for %s from this region (HTTP 451); set another address with --binance-url", spelled),
			Cause:   e,
		}
	default:
		return err
	}
}

// Close lets go of idle connections.
func (p *Provider) Close() error { return p.hosts.Close() }
