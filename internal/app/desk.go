package app

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/operate/control"
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
	var asked func(order.Order)
	if t.asker != nil {
		asked = t.asker.Asked
	}
	cfg := desk.Config{
		Asked: asked, Bars: t.barsSince,
		Owner: principal.Owner(rt.account()), OwnerAliases: []principal.Owner{accountOwner}, Broker: venue.Broker, Store: store, Market: t.engine, Policy: t.policies.Now(),
		Resolve: t.resolve(), AssetBalances: venue.assets, Simulated: venue.paper != nil, HaltFile: rt.haltFile(),
		Log: rt.Log, Now: time.Now, Rand: rand.Float64,
	}
	if shared, ok := store.(interface {
		Confirm(ctx context.Context, by principal.Caller) error
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
	d, cfg := rt.broker(), rt.Config
	v, err := d.Open(broker.Env{
		Values: cfg.Values, Network: cfg.Trading.Network, Live: cfg.Trading.Live, Hosts: t.bars.hosts, Now: time.Now, Log: rt.Log,
		Market: t.engine, Journal: paperJournal{journal, owner}, Clock: func(venue string) provider.Clock { return t.clocks[venue] },
	})
	simulated, _ := v.(*paper.Broker)
	return place{Broker: v, paper: simulated, assets: d.Assets}, err
}

// paperJournal is where the paper account writes down what it did.
type paperJournal struct {
	store store.Journals
	owner principal.Owner
}

func (j paperJournal) Append(ctx context.Context, entries ...[]byte) error {
	return j.store.AppendJournal(ctx, j.owner, paper.Name, entries)
}

func (j paperJournal) Entries(ctx context.Context) iter.Seq2[[]byte, error] {
	return j.store.Journal(ctx, j.owner, paper.Name)
}

func (j paperJournal) SaveSnapshot(ctx context.Context, value []byte) error {
	return j.store.SaveJournalSnapshot(ctx, j.owner, paper.Name, value)
}

func (j paperJournal) Snapshot(ctx context.Context) ([]byte, iter.Seq2[[]byte, error], error) {
	return j.store.JournalSnapshot(ctx, j.owner, paper.Name)
}

// resolve completes the symbol of an order. A real venue trades its own symbols;
// paper those of the venue that charts read.
func (t *trading) resolve() func(context.Context, market.Symbol) (market.Symbol, error) {
	return func(ctx context.Context, s market.Symbol) (market.Symbol, error) {
		if t.venue.paper == nil {
			name := t.venue.Name()
			if s.Venue != "" && s.Venue != name {
				return s, fault.Field("symbol", s.String(), fmt.Sprintf("symbols of %s, where orders go, such as %s", name, market.Symbol{Venue: name, Name: s.Name}))
			}
			s.Venue = name
			if n, ok := t.venue.Broker.(provider.Namer); ok {
				return n.Canonical(ctx, s)
			}
			return s, nil
		}
		source, err := t.bars.Route(ctx, s)
		if err != nil {
			return s, err
		}
		if caps := source.Capabilities(); caps.Synthetic && !caps.Live {
			return s, fault.Field("symbol", s.String(), "a symbol of a real market: sample bars stand still")
		}
		return provider.Canonical(ctx, source, s)
	}
}

// tradable reports whether the policy allows orders in an instrument and the broker takes
// them.
func (t *trading) tradable(s market.Symbol) bool {
	return t.policies.Now().Allows(s) && (t.venue.paper != nil || t.venue.Name() == s.Venue)
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
	if d := t.desk.Load(); d != nil {
		d.Observe(e)
	}
}

// pricesOf returns what passes prices to a paper account.
func (t *trading) pricesOf(p *paper.Broker) func(provider.Event) {
	return func(e provider.Event) { p.Observe(e, t.clocks[e.Symbol.Venue]) }
}

// barsSince returns the bars of a symbol since a time, as fine as a few hundred of them allow.
func (t *trading) barsSince(ctx context.Context, s market.Symbol, since time.Time) ([]market.Bar, error) {
	if t.clocks[s.Venue].Speed != 0 {
		return nil, fault.New(fault.Unsupported, "unsupported", "%s is a replay, which begins again at every start", s.Venue)
	}
	interval, now := market.Minute1, time.Now()
	for interval < market.Day1 && int64(now.Sub(since).Seconds())/interval.Seconds() > maxMissedBars {
		interval++
	}
	set, err := t.bars.Bars(ctx, marketdata.Request{Symbol: s, Interval: interval, Bars: maxMissedBars + 2, Start: since.Unix() / interval.Seconds() * interval.Seconds()})
	switch {
	case err != nil:
		return nil, err
	case set.Stale:
		return nil, fault.New(fault.Unavailable, "stale", "%s does not respond", s.Venue)
	}
	var all []market.Bar
	for i := range set.Bars.Len() {
		if b := set.Bars.At(i); b.T+interval.Seconds() > since.Unix() {
			all = append(all, b)
		}
	}
	return all, nil
}

// maxMissedBars is how many bars are read to see what held stops missed.
const maxMissedBars = 500

// haltOnSignals halts trading when a signal comes, for as long as run runs.
func (t *trading) haltOnSignals(ctx context.Context, rt Runtime, run func() error) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	watched, stop := context.WithCancel(ctx)
	defer stop()
	watching.Go(func() {
		for {
			select {
			case s := <-rt.Halts:
				t.haltForSignal(watched, s, rt.Log)
			case <-watched.Done():
				return
			}
		}
	})
	return run()
}

// haltRetryInterval is how long after a halt that failed it is tried again.
const haltRetryInterval = time.Second

// haltForSignal halts trading because of a signal. Nobody hears whether that went well, so
// it is tried until it does: among replicas nobody may trade for half a minute.
func (t *trading) haltForSignal(ctx context.Context, s os.Signal, log *slog.Logger) {
	for logged := false; ; logged = true {
		_, err := t.orders.Halt(ctx, "the signal "+s.String(), "")
		if err == nil {
			return
		}
		if !logged && ctx.Err() == nil {
			log.ErrorContext(ctx, "a signal came and trading could not be halted; it is tried again", "signal", s.String(), "error", err)
		}
		if retry.Sleep(ctx, haltRetryInterval) != nil {
			return
		}
	}
}
