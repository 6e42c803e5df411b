// Package rehearse tries a broker out with a test account: a person with keys runs it before real money is at
// stake. It opens the broker as the server would, sends at most 30 orders of the smallest size, and says of each
// step whether the venue did what candela expects of it. Between broker and venue stands a relay, which loses
// orders and answers on command.
//
// It refuses every network with real money, and has no switch for one: the broker is always opened without
// real money, so it refuses every address that may be the exchange itself, before anything is sent. The relay
// connects to that address alone and follows no redirect.
//
// Package app connects it with the brokers and the command.
package rehearse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/internal/kit/setting"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// The bounds of a rehearsal.
const (
	maxOrders    = 30
	maxSales     = 5
	maxTime      = 10 * time.Minute
	stepTime     = 2 * time.Minute
	cleanTime    = 2 * time.Minute
	settleTime   = 20 * time.Second       // for what the venue has accepted
	triggerTime  = time.Minute            // for a price to reach a stop
	pollInterval = 500 * time.Millisecond // as venues limit reads
	maxSkew      = time.Second            // the default of the order policy
)

// Verdict says how a step ended.
type Verdict string

// The verdicts.
const (
	OK        Verdict = "ok"         // the venue does what candela expects
	Differs   Verdict = "differs"    // it does something else
	NotProven Verdict = "not proven" // that could not be seen here
)

// Step is one row of the table.
type Step struct {
	Name    string        `json:"step"`
	Verdict Verdict       `json:"verdict"`
	Says    string        `json:"says"` // what the step proved, or why it did not
	Took    time.Duration `json:"-"`
	Millis  int64         `json:"ms"`
}

// Options says what is rehearsed.
type Options struct {
	Broker  broker.Descriptor
	Prices  provider.Descriptor // of the same venue
	Values  setting.Values
	Network string
	Symbol  string // without its venue; the broker's own when empty

	Began func(step string) // may be nil
	Done  func(Step)

	Dial  upstream.DialFunc                                                 // the operating system's when nil
	Serve func(http.Handler) (address string, stop func() error, err error) // on the loopback when nil
}

// Result is what a rehearsal found.
type Result struct {
	Venue   string    `json:"venue"`
	Network string    `json:"network"`
	Symbol  string    `json:"symbol"`
	Began   time.Time `json:"began"`
	Orders  int       `json:"orders"` // how many were sent
	Steps   []Step    `json:"steps"`
	Left    []string  `json:"left"`    // what could not be cleaned up, and what to do about it
	Answers []Answer  `json:"answers"` // fields and types of the venue's answers, without any value
}

// Count returns how many steps have a verdict.
func (r Result) Count(v Verdict) int {
	n := 0
	for _, s := range r.Steps {
		if s.Verdict == v {
			n++
		}
	}
	return n
}

// Run rehearses. The error says why it did not begin; nothing was sent then.
func Run(ctx context.Context, o Options) (Result, error) {
	res := Result{Venue: o.Broker.Name, Network: o.Network, Began: time.Now().UTC(), Left: []string{}}
	if err := o.refuse(); err != nil {
		return res, err
	}
	hosts := upstream.NewHosts(o.Dial)
	defer func() { _ = hosts.Close() }() // every request is answered by then
	if err := o.harmless(hosts); err != nil {
		return res, err
	}
	way, err := o.stand()
	if err != nil {
		return res, err
	}
	defer way.close()
	r, err := o.begin(ctx, hosts, way)
	res.Symbol = r.symbol.String()
	if err == nil {
		r.perform(ctx, &res)
	}
	res.Orders, res.Answers = r.sent, way.answers()
	return res, err
}

// refuse returns why there is no rehearsal of the broker on the network, or with these settings.
func (o Options) refuse() error {
	name, tests := o.Broker.Name, o.Broker.NetworkNames(false)
	switch {
	case o.Broker.Rehearsal == nil || len(tests) == 0 || o.Prices.Open == nil:
		return fault.New(fault.Invalid, "no_rehearsal", "%s cannot be rehearsed: candela knows no network of it without real money", name)
	case !slices.Contains(tests, o.Network):
		return fault.New(fault.Invalid, "rehearsal_live", "a rehearsal never trades with real money, and %q is not a network without it: use %s", o.Network, strings.Join(tests, ", ")).
			About("network", o.Network, strings.Join(tests, ", "))
	case !o.Broker.HasKeys(o.Values):
		return fault.New(fault.Unauthorized, "no_keys", "no keys of %s on its network %s: set --%s, or the variables of the keys", name, o.Network, o.Broker.Keys.File)
	}
	return nil
}

// open returns the broker, never with real money.
func (o Options) open(hosts *upstream.Hosts, v setting.Values) (broker.Broker, error) {
	b, err := o.Broker.Open(broker.Env{Values: v, Network: o.Network, Live: false, Hosts: hosts, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if b.Mode() != order.Paper {
		return nil, fault.New(fault.Invalid, "rehearsal_live", "the account at %s is one of real money: nothing was sent", b.Name())
	}
	return b, nil
}

// harmless opens the broker with the addresses as they are set, which refuses those that may be the exchange itself.
func (o Options) harmless(hosts *upstream.Hosts) error {
	_, err := o.open(hosts, o.Values)
	return err
}

// begin opens the broker through the relays and looks at the account.
func (o Options) begin(ctx context.Context, hosts *upstream.Hosts, way *way) (*rehearsal, error) {
	r := &rehearsal{options: o, way: way, final: make(map[string]bool)}
	values := way.values(o.Values)
	var err error
	if r.broker, err = o.open(hosts, values); err != nil {
		return r, err
	}
	if r.prices, err = o.Prices.Open(provider.Env{Values: values, Hosts: hosts, Now: time.Now}); err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	if err := r.look(ctx); err != nil {
		return r, fmt.Errorf("the account at %s: %w", o.Broker.Title, err)
	}
	return r, nil
}

// look reads the symbol's rules and refuses an account in which something of the symbol is open.
func (r *rehearsal) look(ctx context.Context) error {
	s := market.Symbol{Venue: r.options.Broker.Name, Name: r.options.Symbol}
	if s.Name == "" {
		s.Name = r.options.Broker.Rehearsal.Symbol
	}
	r.symbol = s
	var err error
	if r.symbol, err = broker.OwnSymbols(r.broker)(ctx, s); err != nil {
		return err
	}
	if r.instrument, err = r.broker.Instrument(ctx, r.symbol); err != nil {
		return err
	}
	if r.can, err = r.broker.Capabilities(ctx, r.symbol); err != nil {
		return err
	}
	open, err := r.broker.Open(ctx)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(open, func(o order.Report) bool { return o.Symbol == r.symbol }); i >= 0 {
		return fault.New(fault.Conflict, "account_in_use", "it has open orders in %s: cancel them, or name another symbol with --symbol", r.symbol)
	}
	held, err := r.held(ctx)
	if err != nil {
		return err
	}
	if !r.options.Broker.Assets && !held.Quantity.IsZero() {
		return fault.New(fault.Conflict, "account_in_use", "it has a position in %s: close it, or name another symbol with --symbol", r.symbol)
	}
	r.before = held
	if err := r.size(ctx); err != nil {
		return err
	}
	_, r.cursor, err = r.broker.Fills(ctx, r.symbol, "")
	return err
}

// words returns what an error says to a person, with the outcome of a request.
func words(err error) string {
	if err == nil {
		return "no error"
	}
	text := err.Error()
	if f := fault.Of(err); f != nil {
		text = f.Public()
	}
	for _, outcome := range []error{broker.ErrNotSent, broker.ErrRejected, broker.ErrUnknown, broker.ErrNotFound} {
		if errors.Is(err, outcome) {
			return outcome.Error() + ": " + fault.Clean(text, fault.MaxForeign)
		}
	}
	return fault.Clean(text, fault.MaxForeign)
}
