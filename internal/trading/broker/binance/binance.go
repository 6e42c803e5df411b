// Package binance trades on Binance's spot market: the exchange itself, its
// testnet or its demo mode. Orders go over REST and are never sent twice; what
// becomes of them is reported by the WebSocket API and read when that was lost. The
// wire formats are those of the venue's public documentation.
package binance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	rules "candela/internal/data/provider/binance"
	"candela/internal/data/upstream"
	"candela/internal/kit/secret"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/market"
)

const name = "binance"

// Environment is which of the venue's exchanges is traded on.
type Environment string

// The environments. On all but Live nothing can be lost.
const (
	Live    Environment = "live"
	Testnet Environment = "testnet"
	Demo    Environment = "demo"
)

// addresses returns where an environment is: for requests, and for reports.
func (e Environment) addresses() (rest, stream string, ok bool) {
	switch e {
	case Live:
		return "https://api.binance.com", "wss://ws-api.binance.com/ws-api/v3", true
	case Testnet:
		return "https://testnet.binance.vision", "wss://ws-api.testnet.binance.vision/ws-api/v3", true
	case Demo:
		return "https://demo-api.binance.com", "wss://demo-ws-api.binance.com/ws-api/v3", true
	}
	return "", "", false
}

// Config says whose account it is and where. Empty addresses are the public ones
// of the environment; with URL alone the stream is on the same host.
type Config struct {
	Environment    Environment
	URL, StreamURL string
	Key            secret.Text
	// Secret belongs to the key: the venue's text, or an Ed25519 private key in PEM.
	Secret secret.Text
	// MaxAge ends a stream; 23 h 50 min when 0, as the venue cuts it at 24 hours.
	MaxAge time.Duration
}

// The weights of requests. The venue counts 6,000 a minute for one address. Reads
// leave a fifth of it to orders and to whatever else runs there.
const (
	weightPerMinute = 6000
	readsPerMinute  = 4800

	weightOrder    = 1
	weightQuery    = 4
	weightOpen     = 80
	weightTrades   = 20
	weightAccount  = 20
	tradesPage     = 1000
	patienceOrder  = time.Second      // an order that waits is an order at another price
	patienceTrades = 65 * time.Second // pages may use up a minute
)

// Broker trades on one account. It is safe for concurrent use.
type Broker struct {
	config  Config
	mode    order.Mode
	hosts   *upstream.Hosts
	reads   *upstream.Client
	trades  *upstream.Client
	rules   *rules.Provider
	sign    venue.Signer
	clock   *venue.Clock
	account *venue.Account
	known   provider.Cache[features]        // by symbol
	fees    provider.Cache[decimal.Decimal] // by symbol
	// full is until when the venue takes no new orders, in unix nanoseconds. Cancels
	// and reads go on.
	full atomic.Int64
}

var (
	_ broker.Broker = (*Broker)(nil)
	_ broker.Clock  = (*Broker)(nil)
)

// settle returns the addresses in force.
func settle(c Config) (rest, stream string, ok bool) {
	rest, stream, ok = c.Environment.addresses()
	if c.StreamURL == "" && c.URL != "" {
		c.StreamURL = upstream.ResolveURL("", strings.TrimSuffix(c.URL, "/"), stream) + "/ws-api/v3"
	}
	return upstream.ResolveURL(c.URL, "", rest), upstream.ResolveURL(c.StreamURL, "", stream), ok
}

// New returns a broker that shares what hosts share. It sends nothing. The error
// names what is wrong with c and holds no secret.
func New(hosts *upstream.Hosts, c Config) (*Broker, error) {
	rest, stream, ok := settle(c)
	if !ok {
		return nil, fmt.Errorf("binance: environment %q is not one of %s, %s, %s", c.Environment, Testnet, Demo, Live)
	}
	c.URL, c.StreamURL = rest, stream
	for _, address := range []string{c.URL, c.StreamURL} {
		if err := c.Environment.checkHost(address); err != nil {
			return nil, err
		}
	}
	if c.Key.IsZero() {
		return nil, errors.New("binance: no key")
	}
	sign, err := venue.NewSigner(c.Secret)
	if err != nil {
		return nil, fmt.Errorf("binance: %w", err)
	}
	c.MaxAge = cmp.Or(c.MaxAge, 24*time.Hour-10*time.Minute)
	b := &Broker{config: c, mode: order.Paper, hosts: hosts, sign: sign, rules: rules.New(hosts, rules.Config{URL: c.URL})}
	if c.Environment == Live {
		b.mode = order.Live
	}
	client := func(limit upstream.Limit) *upstream.Client {
		limit.Per = time.Minute
		return hosts.Client(upstream.Config{
			Venue: name, Base: c.URL, ParseError: rules.Refusal, UsedHeader: "X-Mbx-Used-Weight-1m", Limit: limit,
			Header:          http.Header{"X-Mbx-Apikey": {c.Key.Reveal()}},
			IsEndpointLimit: func(code string) bool { return code == codeTooManyOrders },
		})
	}
	b.reads = client(upstream.Limit{Weight: readsPerMinute})
	b.trades = client(upstream.Limit{Weight: readsPerMinute, MaxWait: patienceTrades})
	b.known = provider.Cache[features]{Keep: featuresAge, Most: maxFeatures}
	b.fees = provider.Cache[decimal.Decimal]{Keep: feesAge, Most: maxFeatures}
	b.clock = venue.NewClock(b.askTime)
	b.account = &venue.Account{
		Orders: client(upstream.Limit{Weight: weightPerMinute, MaxWait: patienceOrder}), Clock: b.clock, Late: codeTimestamp, Explain: explain, Fail: failed,
	}
	return b, nil
}

// checkHost lets through only the venue's test networks and this machine where money
// must not be at stake: behind any other name the exchange itself may stand, and what
// is called paper everywhere would be real.
func (e Environment) checkHost(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fmt.Errorf("binance: %q is not an absolute URL", address)
	}
	host := u.Hostname()
	demo := strings.HasPrefix(host, "demo-") && venue.Harmless(host, "*.binance.com")
	if e != Live && !demo && !venue.Harmless(host, "testnet.binance.vision", "*.testnet.binance.vision") {
		return fmt.Errorf("binance: %s may be the live exchange, and the environment is %s: allowed are testnet.binance.vision, demo-*.binance.com and this machine", host, e)
	}
	return nil
}

// Name returns "binance".
func (b *Broker) Name() string { return name }

// Mode returns live on the exchange itself, and paper elsewhere.
func (b *Broker) Mode() order.Mode { return b.mode }

// Canonical returns the symbol as the venue writes it.
func (b *Broker) Canonical(ctx context.Context, s market.Symbol) (market.Symbol, error) {
	return b.rules.Canonical(ctx, s)
}

// Instrument returns the rules of a symbol, at most an hour old.
func (b *Broker) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	return b.rules.Instrument(ctx, s)
}

// ask asks a signed question about a symbol, or about the account.
func ask[T any](ctx context.Context, b *Broker, c *upstream.Client, s market.Symbol, path string, weight int, params url.Values, parse func([]byte) (T, error)) (T, error) {
	about := order.Spec{Symbol: s}
	r := upstream.Request{Path: path, Weight: weight, Subject: cmp.Or(params.Get("symbol"), "account"), QueryFunc: b.signed(params, widest)}
	return venue.Read(ctx, b.account, c, about, r, parse)
}

// Open lists the open orders of every symbol.
func (b *Broker) Open(ctx context.Context) ([]order.Report, error) {
	return ask(ctx, b, b.reads, market.Symbol{}, "/api/v3/openOrders", weightOpen, nil, parseOrders)
}

// Holdings returns the balance of each asset.
func (b *Broker) Holdings(ctx context.Context) ([]order.Holding, error) {
	return ask(ctx, b, b.reads, market.Symbol{}, "/api/v3/account", weightAccount, url.Values{"omitZeroBalances": {"true"}}, parseAccount)
}

// Fills lists the account's trades in a symbol, with the venue's own ids of the orders. A
// cursor is the id of the newest trade read.
func (b *Broker) Fills(ctx context.Context, s market.Symbol, after broker.Cursor) ([]order.Fill, broker.Cursor, error) {
	spelled, err := rules.Spell(s)
	if err != nil {
		return nil, after, err
	}
	from := int64(0)
	if after != "" {
		if from, err = parseID(string(after)); err != nil {
			return nil, after, err
		}
	}
	all, err := venue.Pages(tradesPage, func(f order.Fill) string { return f.TradeID }, func(last *order.Fill) ([]order.Fill, error) {
		if last != nil {
			id, err := parseID(last.TradeID)
			if err != nil {
				return nil, err
			}
			from = id + 1
		}
		params := url.Values{"symbol": {spelled}, "fromId": {formatID(from)}, "limit": {formatID(tradesPage)}}
		return ask(ctx, b, b.trades, s, "/api/v3/myTrades", weightTrades, params, func(body []byte) ([]order.Fill, error) { return parseTrades(body, spelled) })
	})
	if err != nil || after == "" && len(all) == 0 {
		return nil, after, err
	}
	// The cursor's own trade must be there: if not, ids mean something else now.
	if after != "" && (len(all) == 0 || all[0].TradeID != string(after)) {
		return nil, after, fmt.Errorf("binance %s: trade %s: %w", spelled, after, broker.ErrCursorLost)
	}
	newest := broker.Cursor(all[len(all)-1].TradeID)
	if after != "" {
		all = all[1:]
	}
	return all, newest, nil
}

// Skew measures how far the venue's clock is ahead of ours.
func (b *Broker) Skew(ctx context.Context) (time.Duration, error) { return b.clock.Measure(ctx) }

// askTime reads the venue's clock, and ours when the question went out.
func (b *Broker) askTime(ctx context.Context) (at, sent time.Time, err error) {
	r := upstream.Request{Path: "/api/v3/time", Subject: "time", QueryFunc: func() string {
		sent = time.Now()
		return ""
	}}
	at, _, err = upstream.Get(ctx, b.reads, r, parseTime)
	return at, sent, err
}
