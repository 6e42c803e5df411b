// Package alpaca trades US stocks and crypto pairs at Alpaca, on a paper or a live
// account: orders, cancels, fills, positions, and the stream of what happens to
// the account's orders. It sends each order and each cancel once, whatever becomes
// of them, and keeps nothing of an order; the desk is its caller.
//
// Unless the request says otherwise, orders for stocks are good for the day, because the
// venue takes fractions of a share only so: what is sent after the close waits for the next
// session, and what is left at the close expires. Stops, trails and orders with legs are for
// whole shares and good until cancelled, because what ends at the close protects nothing
// overnight. Orders for crypto pairs are good until cancelled. Which quantities, prices and
// sides an account may use is the venue's to say, and its words come back in the refusal.
//
// The venue makes up the client order IDs of legs. Answers about them have our IDs; reports
// of the stream and of Open have the venue's.
package alpaca

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"candela/internal/data/provider"
	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/data/upstream"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/fault"
	"candela/lib/market"
)

const name = "alpaca"

// Where the venue is. An account of one host is not known to the other.
const (
	PaperURL = stocks.DefaultURL
	LiveURL  = stocks.LiveURL
)

const (
	keepPair  = time.Hour // the venue says that the sizes of pairs may change
	mostPairs = 1024

	// orderPatience is how long an order may wait for its turn: prices are soon old.
	orderPatience = time.Second
	// readPatience lets a long history wait for the venue's next minute.
	readPatience = 90 * time.Second
)

// Config says which account to trade on.
type Config struct {
	Keys stocks.Keys // required
	Live bool        // real money
	URL  string      // of the trading API; by Live when empty
	// DataURL and Feed have the last price of a stock, for its tick; as for bars when empty.
	DataURL string
	Feed    string
	Now     func() time.Time // required
}

// Broker trades on one account. It is safe for concurrent use.
type Broker struct {
	config  Config
	hosts   *upstream.Hosts
	reads   *upstream.Client
	account *venue.Account
	stocks  *stocks.Provider
	pairs   provider.Cache[provider.Instrument]
	known   provider.Cache[features]
}

var (
	_ broker.Broker = (*Broker)(nil)
	_ broker.Clock  = (*Broker)(nil)
)

// New returns a broker that shares the connections and limits of hosts. It refuses to
// trade without keys, and on a host of the venue's that is not of the mode asked for.
func New(hosts *upstream.Hosts, c Config) (*Broker, error) {
	if c.Keys == (stocks.Keys{}) {
		return nil, &fault.Error{Kind: fault.Unauthorized, Code: "no_keys", Message: "alpaca needs the keys of an account to trade"}
	}
	right, wrong := PaperURL, LiveURL
	if c.Live {
		right, wrong = LiveURL, PaperURL
	}
	c.URL = strings.TrimSuffix(cmp.Or(c.URL, right), "/")
	if u, err := url.Parse(c.URL); err != nil || !c.fits(u.Hostname(), right, wrong) {
		return nil, fault.Field("alpaca URL", c.URL, fmt.Sprintf("%s, or the address of a gateway to it on this machine, for a %s account", right, c.mode()))
	}
	client := func(patience time.Duration) *upstream.Client {
		return hosts.Client(upstream.Config{
			Venue: name, Base: c.URL, Header: c.Keys.Header(), ParseError: stocks.ReadRefusal,
			Limit: upstream.Limit{Weight: 200, Per: time.Minute, MaxWait: patience},
		})
	}
	return &Broker{
		config: c, hosts: hosts, reads: client(readPatience), account: &venue.Account{Orders: client(orderPatience), Explain: explain, Fail: fate},
		stocks: stocks.New(hosts, stocks.Config{Keys: c.Keys, URL: c.URL, DataURL: c.DataURL, Feed: c.Feed, Now: c.Now}),
		pairs:  provider.Cache[provider.Instrument]{Keep: keepPair, Most: mostPairs},
		known:  provider.Cache[features]{Keep: featuresAge, Most: maxFeatures},
	}, nil
}

// fits reports whether a host is of the mode: money may be at any but the other's, and
// without it only the paper host and this machine will do.
func (c Config) fits(host, right, wrong string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if c.Live {
		return "https://"+host != wrong
	}
	return "https://"+host == right || venue.Harmless(host)
}

func (c Config) mode() order.Mode {
	if c.Live {
		return order.Live
	}
	return order.Paper
}

// Name returns "alpaca".
func (b *Broker) Name() string { return name }

// Mode says whether the account is of real money.
func (b *Broker) Mode() order.Mode { return b.config.mode() }

// Instrument returns the venue's rules for a stock, such as AAPL, or a pair, such as
// BTC/USD, which may be written BTCUSD. The tick of a stock follows its last price; the
// venue judges each limit by itself: two decimals from one dollar on, four below.
func (b *Broker) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	if err := ctx.Err(); err != nil {
		return provider.Instrument{}, err
	}
	if s.Venue != "" && s.Venue != name {
		return provider.Instrument{}, provider.UnknownSymbol(name, s)
	}
	if strings.Contains(s.Name, "/") {
		return b.pair(ctx, s)
	}
	in, err := b.stocks.Instrument(ctx, s)
	if _, _, ok := splitPair(s.Name); ok && fault.KindOf(err) == fault.NotFound {
		return b.pair(ctx, s)
	}
	return in, err
}

// pair returns the rules of a crypto pair, which trades around the clock.
func (b *Broker) pair(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	joined := joinPair(s.Name)
	return b.pairs.Get(ctx, b.config.Now(), joined, func(ctx context.Context) (provider.Instrument, error) {
		// Without the slash, which no path can hold; the venue knows both spellings.
		ask := upstream.Request{Path: "/v2/assets/" + joined, Subject: s.Name}
		in, err := fetch(ctx, b, ask, func(body []byte) (provider.Instrument, error) { return readPair(body, joined) })
		if isMissing(err) || err == nil && in.Symbol.IsZero() {
			return in, provider.UnknownSymbol(name, s)
		}
		return in, err
	})
}

// Skew measures how far the venue's clock is ahead of ours.
func (b *Broker) Skew(ctx context.Context) (time.Duration, error) {
	sent := b.config.Now()
	var received time.Time
	at, err := fetch(ctx, b, upstream.Request{Path: "/v2/clock", Subject: "clock"}, func(body []byte) (time.Time, error) {
		received = b.config.Now()
		return readClock(body)
	})
	if err != nil {
		return 0, err
	}
	return at.Sub(sent.Add(received.Sub(sent) / 2)), nil
}

// fetch asks the venue and reads its answer.
func fetch[T any](ctx context.Context, b *Broker, r upstream.Request, read func([]byte) (T, error)) (T, error) {
	return venue.Read(ctx, b.account, b.reads, order.Spec{Symbol: market.Symbol{Venue: name, Name: r.Subject}}, r, read)
}
