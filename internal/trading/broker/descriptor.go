package broker

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/internal/kit/principal"
	"candela/internal/kit/setting"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Descriptor declares one broker. Configuration, the doctor and the list of accounts
// read it, so a new broker is a package with a Descriptor and a line of the table in
// package app.
type Descriptor struct {
	setting.Part
	Assets bool // the account holds assets, not positions
	Open   func(Env) (Broker, error)
	// Rehearsal says how the broker is tried out with a test account; nil where that is not possible.
	Rehearsal *Rehearsal
}

// Rehearsal says how a broker is tried out with orders of the smallest size, on a network without real money.
type Rehearsal struct {
	Symbol string // that is traded unless the owner names another
	// Routes returns the addresses that orders and reports go to on a network.
	Routes func(v setting.Values, network string) []Route
	// Void is how late a request may arrive: the venue does not carry out a later one. Zero where it drops none.
	Void time.Duration
}

// Route is an address of a venue, with the settings that replace it.
type Route struct {
	Address  string
	Settings []string
}

// Account returns the name under which the owner's account on a network is stored. Each
// network has its own: with paper purchases in its books, a live account would sell
// assets that it never bought.
func (d Descriptor) Account(owner principal.Owner, network string) string {
	if network == "" {
		return string(owner)
	}
	return string(owner) + "/" + d.Name + "-" + network
}

// Accounts returns the names of the owner's accounts on all networks.
func (d Descriptor) Accounts(owner principal.Owner) []string {
	all := make([]string, 0, len(d.Networks))
	for _, n := range d.Networks {
		all = append(all, d.Account(owner, n.Name))
	}
	return all
}

// Env is what a broker is opened with.
type Env struct {
	Values  setting.Values
	Network string
	Live    bool // with real money
	Hosts   *upstream.Hosts
	Now     func() time.Time
	Log     *slog.Logger

	// Market, Journal and Clock serve a broker that fills orders itself. Clock returns the
	// clock of a venue of prices; nil if all have the one on the wall.
	Market  Market
	Journal Journal
	Clock   func(venue string) provider.Clock
	// Leverage returns how large a position in a perpetual future may be beside its margin, as the policy says
	// now; zero for none. Rates returns the funding of one after a time and until another.
	Leverage func(market.Symbol) decimal.Decimal
	Rates    func(ctx context.Context, s market.Symbol, from, to time.Time) ([]provider.Funding, error)
}

// Market returns rules and prices of symbols.
type Market interface {
	Quote(ctx context.Context, s market.Symbol) (order.Quote, error)
	Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error)
}

// ErrFenced reports that a store takes no more writes of this process for an account, because another
// process may own it.
var ErrFenced = errors.New("account fenced: another process owns it, or a write has an unknown result")

// Journal stores the events of one account in order.
//
// The account has its own journal and does not read the desk's events: a venue knows
// what it did even when the desk stopped before the report arrived, so the desk recovers
// from a simulated account as it does from a real venue.
type Journal interface {
	// Append adds entries, each a JSON object, all or none, and returns when they survive
	// a power cut. An error means that none was added.
	Append(ctx context.Context, entries ...[]byte) error
	// Entries yields all entries from the first. It ends after an error.
	Entries(ctx context.Context) iter.Seq2[[]byte, error]
	// SaveSnapshot replaces the snapshot by the state after all entries so far.
	SaveSnapshot(ctx context.Context, value []byte) error
	// Snapshot returns the snapshot, nil for none, and the entries after it.
	Snapshot(ctx context.Context) ([]byte, iter.Seq2[[]byte, error], error)
}
