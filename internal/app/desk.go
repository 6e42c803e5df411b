package app

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/access/oauth"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/serve/task"
	"candela/internal/serve/tool"
	"candela/internal/store"
	"candela/internal/store/statedir"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// accountOwner is to whom the account of an installation belongs, however the owner
// comes in.
const accountOwner = oauth.SoleOwner

// place is where orders go.
type place struct {
	broker.Broker
	paper  *paper.Broker // nil when it is another
	assets bool          // it counts assets, not positions
}

// prepareDesk opens the broker and collects the clocks of the venues.
func (t *trading) prepareDesk(rt Runtime, journal store.Journals) (err error) {
	t.clocks = make(map[string]provider.Clock)
	for _, p := range t.bars.providers {
		if c, ok := p.(provider.Clocked); ok {
			t.clocks[p.Name()] = c.Clock()
		}
	}
	t.venue, err = t.newVenue(rt, journal, accountOwner)
	return err
}

// deskConfig returns the configuration of a desk.
func (t *trading) deskConfig(rt Runtime, venue place, store desk.Store) desk.Config {
	var asked, unreasoned func(order.Order)
	if t.asker != nil {
		asked, unreasoned = t.asker.Asked, t.asker.Unreasoned
	}
	cfg := desk.Config{
		Asked: asked, Unreasoned: unreasoned, Bars: t.barsSince, Judge: t.engine.Judge,
		Owner: principal.Owner(rt.account()), OwnerAliases: []principal.Owner{accountOwner}, Broker: venue.Broker, Store: store, Market: t.engine, Policy: t.policies.Now(),
		Resolve: t.resolve(), AssetBalances: venue.assets, Simulated: venue.paper != nil, HaltFile: rt.haltFile(),
		Log: rt.Log, Now: time.Now, Rand: rand.Float64,
	}
	if rt.mode().shared {
		cfg.Replica = rt.replicaName()
	}
	if shared, ok := store.(interface {
		Confirm(ctx context.Context, by principal.Caller) (time.Time, error)
	}); ok {
		cfg.Confirm = shared.Confirm
	}
	return cfg
}

// haltFile is the path of the file that halts trading.
func (rt Runtime) haltFile() string { return filepath.Join(rt.Config.Home, statedir.HaltName) }

// account is the trading account of the tools and of the owner.
type account interface {
	tool.Orders
	tool.Positions
	tool.Accounts
	task.Orders
	control.Trader
	control.Approver

	// Review says how an order that waits for the owner stands.
	Review(ctx context.Context, id string) (guard.Review, error)
}

// trader returns the account for halt and resume, nil without a trading side.
func (t *trading) trader() control.Trader {
	if t == nil {
		return nil
	}
	return t.orders
}

// newVenue opens the broker that is configured. A paper account is that of an owner.
func (t *trading) newVenue(rt Runtime, journal store.Journals, owner principal.Owner) (place, error) {
	return t.openVenue(rt, rt.broker(), journal, owner)
}

func (t *trading) openVenue(rt Runtime, d broker.Descriptor, journal store.Journals, owner principal.Owner) (place, error) {
	cfg := rt.Config
	v, err := d.Open(broker.Env{
		Values: cfg.Values, Network: cfg.Trading.Network, Live: cfg.Trading.Live, Hosts: t.bars.hosts, Now: time.Now, Log: rt.Log,
		Market: t.engine, Journal: paper.StoredJournal{Store: journal, Owner: owner}, Clock: func(venue string) provider.Clock { return t.clocks[venue] },
		Leverage: func(s market.Symbol) decimal.Decimal { return t.policies.Now().For(s).MaxLeverage.Value },
		Rates:    t.bars.Funding,
	})
	simulated, _ := v.(*paper.Broker)
	return place{Broker: v, paper: simulated, assets: d.Assets}, err
}

// tradable reports whether the policy allows orders in an instrument and the broker takes
// them.
func (t *trading) tradable(s market.Symbol) bool {
	policy := t.policies.Now()
	if _, perpetual := s.Pair(); perpetual && (t.venue.paper == nil || policy.For(s).MaxLeverage.Value.IsZero()) {
		return false
	}
	return policy.Allows(s) && (t.venue.paper != nil || t.venue.Name() == s.Venue)
}

// observe passes prices to the paper account, which fills orders by them, and to the desk,
// which sends the stops that it holds.
func (t *trading) observe(e provider.Event) {
	if all := t.accounts.Load(); all != nil {
		all.Observe(e)
		return
	}
	if paper := t.paper.Load(); paper != nil {
		paper.Observe(e, t.clocks[e.Symbol.Venue])
	}
	if beside := t.beside.Load(); beside != nil {
		beside.Observe(e)
	} else if d := t.desk.Load(); d != nil {
		d.Observe(e)
	}
}

// pricesOf returns what passes prices to a paper account.
func (t *trading) pricesOf(p *paper.Broker) func(provider.Event) {
	return func(e provider.Event) { p.Observe(e, t.clocks[e.Symbol.Venue]) }
}

// resolve completes the symbol of an order.
func (t *trading) resolve() func(context.Context, market.Symbol) (market.Symbol, error) {
	if t.venue.paper == nil {
		return broker.OwnSymbols(t.venue.Broker)
	}
	return broker.ChartSymbols(t.bars.Route)
}

// barsSince returns the bars that held stops missed.
func (t *trading) barsSince(ctx context.Context, s market.Symbol, since time.Time) ([]market.Bar, error) {
	if t.clocks[s.Venue].Speed != 0 {
		return nil, fault.New(fault.Unsupported, "unsupported", "%s is a replay, which begins again at every start", s.Venue)
	}
	return marketdata.Since(ctx, t.bars.Bars, s, since)
}

// haltOnSignals halts trading when a signal comes, for as long as run runs.
func (t *trading) haltOnSignals(ctx context.Context, rt Runtime, run func() error) error {
	return desk.HaltOnSignals(ctx, rt.Halts, t.orders, rt.Log, run)
}
