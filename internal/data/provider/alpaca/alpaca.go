// Package alpaca reads bars of US stocks from Alpaca's market data API and
// streams them. It needs the keys of an account, which may be a free one.
//
// The feed decides what the bars hold: iex is one exchange, some hundredths of
// the volume, in real time and free; sip is all exchanges and needs a
// subscription; delayed_sip is all exchanges 15 minutes late. Bars cover the
// regular hours of New York: the venue's bars of the time before and after
// is left out, and so are its hourly bars, which count from the full hour. Longer
// intraday bars can be built from half hours.
package alpaca

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	name = "alpaca"

	// pageSize is the most rows of one answer.
	pageSize = 10_000

	keepInstrument  = time.Hour // a price that crosses one dollar changes the tick
	mostInstruments = 4096

	// epoch is where the venue's history begins: 2016-01-01.
	epoch = 1451606400
)

// Where the venue is. Keys of a live account need its own trading host.
const (
	DefaultURL       = "https://paper-api.alpaca.markets"
	LiveURL          = "https://api.alpaca.markets"
	DefaultDataURL   = "https://data.alpaca.markets"
	DefaultStreamURL = "wss://stream.data.alpaca.markets"
)

// The feeds.
const (
	IEX        = "iex"
	SIP        = "sip"
	DelayedSIP = "delayed_sip"
)

// Keys are what an account proves itself with. They do not print.
type Keys struct{ id, secret string }

// NewKeys returns the keys of an account.
func NewKeys(id, secret string) Keys { return Keys{id, secret} }

// String says whether keys are set and shows no part of them.
func (k Keys) String() string {
	if k == (Keys{}) {
		return "no keys"
	}
	return "keys"
}

// GoString returns what String returns.
func (k Keys) GoString() string { return k.String() }

// Header returns what proves the account in a request.
func (k Keys) Header() http.Header {
	return http.Header{"Apca-Api-Key-Id": {k.id}, "Apca-Api-Secret-Key": {k.secret}}
}

// Reveal returns the keys in clear, for a message that proves the account.
func (k Keys) Reveal() (id, secret string) { return k.id, k.secret }

// Config says where the venue is and what to ask for.
type Config struct {
	Keys       Keys
	URL        string // of the trading API, which knows the instruments; DefaultURL when empty
	DataURL    string
	StreamURL  string           // on the host of DataURL when empty and that is given
	Feed       string           // iex when empty
	Adjustment string           // raw, split, dividend or all; split when empty
	Now        func() time.Time // required
}

// Provider reads and streams bars. It is safe for concurrent use.
type Provider struct {
	config  Config
	caps    provider.Caps
	hosts   *upstream.Hosts
	data    *upstream.Client
	trading *upstream.Client
	hours   market.Calendar
	known   provider.Cache[provider.Instrument]
	one     chan struct{} // holds the account's one stream
}

var _ provider.Streamer = (*Provider)(nil)

// New returns a provider that shares the connections and limits of hosts. Without
// keys it answers every question by asking for them.
func New(hosts *upstream.Hosts, c Config) *Provider {
	if c.StreamURL == "" && c.DataURL != "" {
		c.StreamURL = "ws" + strings.TrimPrefix(c.DataURL, "http") // wss for https
	}
	c.URL, c.DataURL = cmp.Or(c.URL, DefaultURL), cmp.Or(c.DataURL, DefaultDataURL)
	c.StreamURL = strings.TrimSuffix(cmp.Or(c.StreamURL, DefaultStreamURL), "/")
	c.Feed, c.Adjustment = cmp.Or(c.Feed, IEX), cmp.Or(c.Adjustment, "split")
	hours, err := market.NewCalendar(market.USEquities())
	if err != nil {
		panic("alpaca: " + err.Error())
	}
	client := func(base string) *upstream.Client {
		return hosts.Client(upstream.Config{
			Venue: name, Base: base,
			Limit:      upstream.Limit{Weight: 200, Per: time.Minute},
			Header:     c.Keys.Header(),
			ParseError: ReadRefusal,
		})
	}
	return &Provider{
		caps:   provider.Caps{Intervals: slices.Sorted(maps.Keys(frames())), PageSize: pageSize, Sessions: true, Live: true, Dynamic: true, OneStream: true},
		config: c, hosts: hosts, hours: hours, data: client(c.DataURL), trading: client(c.URL),
		known: provider.Cache[provider.Instrument]{Keep: keepInstrument, Most: mostInstruments},
		one:   make(chan struct{}, 1),
	}
}

// Name returns "alpaca".
func (p *Provider) Name() string { return name }

// Capabilities returns what the venue has.
func (p *Provider) Capabilities() provider.Caps { return p.caps }

// frames names the intervals whose bars at the venue begin where ours do, as it writes them.
func frames() map[market.Interval]string {
	return map[market.Interval]string{
		market.Minute1: "1Min", market.Minute3: "3Min", market.Minute5: "5Min",
		market.Minute15: "15Min", market.Minute30: "30Min", market.Day1: "1Day",
	}
}

// delay is how much later than its time the feed sends a trade.
func (p *Provider) delay() int64 {
	if p.config.Feed == DelayedSIP {
		return 15 * 60
	}
	return 0
}

// now is the time up to which the feed has data.
func (p *Provider) now() int64 { return p.config.Now().Unix() - p.delay() }

// Instrument returns calendar, tick and step of a stock.
func (p *Provider) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	if err := ctx.Err(); err != nil {
		return provider.Instrument{}, err
	}
	if p.config.Keys == (Keys{}) {
		return provider.Instrument{}, noKeys()
	}
	if s.Name == "" || s.Venue != "" && s.Venue != name || strings.ContainsAny(s.Name, "/^=") {
		return provider.Instrument{}, provider.UnknownSymbol(name, s, guesses(s.Name)...)
	}
	return p.known.Get(ctx, p.config.Now(), s.Name, func(ctx context.Context) (provider.Instrument, error) {
		ask := upstream.Request{Path: "/v2/assets/" + s.Name, Subject: s.Name}
		a, _, err := upstream.Get(ctx, p.trading, ask, func(body []byte) (asset, error) { return readAsset(body, s.Name) })
		if err != nil {
			return provider.Instrument{}, p.refused(s, err)
		}
		if a.class != "us_equity" {
			return provider.Instrument{}, provider.UnknownSymbol(name, s)
		}
		price, err := p.lastPrice(ctx, s)
		if err != nil {
			return provider.Instrument{}, err
		}
		return p.describe(s, a, price), nil
	})
}

// describe puts the rules of US stocks together: a tick of a hundredth of a
// dollar, from one dollar down of a hundredth of that (SEC Rule 612), and
// quantities in whole shares unless the broker splits them.
func (p *Provider) describe(s market.Symbol, a asset, price float64) provider.Instrument {
	in := provider.Instrument{
		Symbol: market.Symbol{Venue: name, Name: s.Name}, Base: s.Name, Quote: "USD", Calendar: p.hours,
		Step: decimal.NewFromInt(1), MinQuantity: decimal.NewFromInt(1),
	}
	switch {
	case price >= 1:
		in.Tick = decimal.New(1, -2)
	case price > 0:
		in.Tick = decimal.New(1, -4)
	}
	if a.fractionable {
		in.Step = decimal.New(1, -9)
		in.MinQuantity = in.Step
	}
	return in
}

// lastPrice returns the close of the newest bar, 0 when there is none.
func (p *Provider) lastPrice(ctx context.Context, s market.Symbol) (float64, error) {
	ask := upstream.Request{
		Path: "/v2/stocks/bars/latest", Query: url.Values{"symbols": {s.Name}, "feed": {p.config.Feed}}, Subject: s.Name,
	}
	price, _, err := upstream.Get(ctx, p.data, ask, func(body []byte) (float64, error) { return readLatest(body, s.Name) })
	return price, p.refused(s, err)
}

func noKeys() error {
	return &fault.Error{
		Kind: fault.Unauthorized, Code: "no_keys",
		Message: "alpaca needs the keys of an account, which may be a free one: set CANDELA_ALPACA_KEY_ID and " +
			"CANDELA_ALPACA_SECRET_KEY, or name a file with both in --alpaca-key-file",
	}
}

// refused gives a refusal of the venue its meaning.
func (p *Provider) refused(s market.Symbol, err error) error {
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || e.Reason != upstream.Refused {
		return err
	}
	switch {
	case e.Status == http.StatusNotFound:
		return provider.UnknownSymbol(name, s, guesses(s.Name)...)
	case e.Status == http.StatusForbidden && strings.Contains(e.Message, "subscription"):
		return &fault.Error{
			Kind: fault.Unauthorized, Code: "no_subscription", Cause: e,
			Message: fmt.Sprintf("%s %s: the account has no subscription to the feed %s: %s; use the feed iex or delayed_sip", name, s.Name, p.config.Feed, e.Message),
		}
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return &fault.Error{
			Kind: fault.Unauthorized, Code: "keys_refused", Cause: e,
			Message: fmt.Sprintf("%s %s: the venue refuses the keys (HTTP %d): those of a live account need --alpaca-url https://api.alpaca.markets", name, s.Name, e.Status),
		}
	}
	return err
}

// guesses returns how the venue may spell what others write another way.
func guesses(s string) []string {
	if class, letter, ok := strings.Cut(strings.ReplaceAll(s, "/", "-"), "-"); ok && len(letter) == 1 {
		return []string{class + "." + letter}
	}
	return nil
}
