package app

import (
	"context"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"time"

	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/market/feed"
	"candela/internal/market/provider"
	"candela/internal/serve/tool"
	"candela/internal/store/ledger"
	"candela/internal/store/statedir"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/desk"
)

const (
	pruneEvery = time.Hour
	pruneStep  = 1000 // notifications removed in one write
)

// trading is what --trade adds to the tools.
type trading struct {
	store  store
	bars   *bars
	log    *notify.Log
	engine *engine.Engine
	alerts tool.Alerts // the engine, or all replicas' together
	orders account
	desk   *desk.Desk // the same where it runs here alone; nil among replicas
	// running returns the desk that runs here, nil while another replica has it.
	running func() *desk.Desk
	venue   place
	paper   atomic.Pointer[paper.Broker] // the one that fills by prices; nil when there is none
	clocks  map[string]provider.Clock    // of the venues whose time is not ours

	receivers []*sink.Receiver
	senders   []*sink.Sink
	opened    atomic.Pointer[ledger.Ledger] // the store, for who looks at it from outside; nil while it is not open
}

// store is where everything is kept. It is open from when its part is ready until
// that stops: one node has the ledger in both places.
type store struct {
	alertStore
	orderStore
}

// alertStore keeps alerts, what they told, and how far its readers have come.
type alertStore interface {
	engine.Store
	sink.Store
	Entries(ctx context.Context, after uint64) iter.Seq2[notify.Entry, error]
	LastEntry(ctx context.Context) (uint64, error)
	PruneEntries(ctx context.Context, before time.Time, keep, limit int) (int, error)
}

// orderStore keeps orders, how the desk stands, and what the paper account did.
type orderStore interface {
	desk.Store
	journals
}

// newTrading puts the trading side together over the bars. Nothing is opened
// before its parts run, but the file of subscriptions is read.
func (rt Runtime) newTrading(b *bars) (*trading, error) {
	t := &trading{}
	var err error
	if t.receivers, err = receivers(rt.Config); err != nil {
		return nil, err
	}
	if rt.shared != nil {
		return t, rt.shared.newTrading(rt, b, t)
	}
	t.log, err = notify.Open(notify.Config{
		Path: filepath.Join(rt.Config.Home, statedir.SubscriptionsName), Formerly: map[string]string{formerOwner: accountOwner}, Now: time.Now, Log: rt.Log,
	})
	if err != nil {
		return nil, err
	}
	t.newEngine(rt, b, &t.store, t.log.Append)
	t.alerts = t.engine
	return t, t.newDesk(rt, b)
}

// newEngine makes the engine over a store, which tells what it has committed.
func (t *trading) newEngine(rt Runtime, b *bars, store engine.Store, publish func([]notify.Entry)) {
	t.engine = engine.New(engine.Config{
		Store: store, Data: b.Service,
		Feed:    feed.NewHub(b.Route, feed.Config{Log: rt.Log, Rand: rand.Float64, Now: time.Now}),
		Publish: publish, Observe: t.observe, Log: rt.Log, Now: time.Now, Rand: rand.Float64,
	})
	t.bars, b.engine = b, t.engine
}

// tools is t as the parts behind the trading tools.
func (t *trading) tools() *tool.Trading {
	return &tool.Trading{Mode: t.venue.Mode(), Orders: t.orders, Positions: t.orders, Alerts: t.alerts, Notifications: t.log, Subscriptions: subscriptions{t.log, t.bars.canonical}}
}

// parts returns what must run before a transport answers, in order. Stopping goes
// the other way: the desk hears of the orders on their way, the engine commits its
// last firings, then how far the sinks and
// the clients have come is written down, and then the store closes.
func (t *trading) parts(rt Runtime) []Part {
	if rt.shared != nil {
		return rt.shared.parts(rt, t)
	}
	parts := []Part{
		{Name: "store", Run: func(ctx, hard context.Context, ready func()) error { return t.runStore(ctx, hard, rt, ready) }},
		{Name: "notifications", Run: func(ctx, _ context.Context, ready func()) error {
			ready()
			return t.log.Run(ctx)
		}},
	}
	parts = append(parts, t.sinks(rt)...)
	return append(parts, Part{Name: "engine", Run: t.engine.Run}, Part{Name: "desk", Run: func(ctx, hard context.Context, ready func()) error {
		return t.runDesk(ctx, hard, rt, ready)
	}})
}

// runStore opens the ledger, hands what it remembers to the log of notifications,
// and removes from time to time what is too old.
func (t *trading) runStore(ctx, hard context.Context, rt Runtime, ready func()) (err error) {
	l, err := ledger.Open(ctx, rt.Config.Home, time.Now)
	if err != nil {
		return err
	}
	t.store = store{l, l}
	t.opened.Store(l)
	defer func() {
		t.opened.Store(nil)
		if closing := l.Close(); err == nil {
			err = closing
		}
	}()
	if err := t.prune(ctx); err != nil {
		return err
	}
	if err := t.restore(ctx); err != nil {
		return err
	}
	if err := t.log.Flush(); err != nil { //nolint:contextcheck // a file, before the store forgets the former owner
		return err
	}
	if err := l.MergeOwner(ctx, formerOwner, accountOwner); err != nil {
		return err
	}
	ready()
	return t.pruneOften(ctx, hard, rt)
}

// pruneOften removes from time to time what is too old, until ctx ends.
func (t *trading) pruneOften(ctx, hard context.Context, rt Runtime) error {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := t.prune(hard); err != nil {
				rt.Log.ErrorContext(ctx, "old notifications are not removed", "error", err)
			}
		}
	}
}

// restore gives the log of notifications what the store has kept.
func (t *trading) restore(ctx context.Context) error {
	last, err := t.store.LastEntry(ctx)
	if err != nil {
		return err
	}
	var entries []notify.Entry
	for entry, err := range t.store.Entries(ctx, 0) {
		if err != nil {
			return err
		}
		entries = append(entries, entry)
	}
	t.log.Restore(last, entries)
	return nil
}

// prune removes the notifications that nobody may fetch any more.
func (t *trading) prune(ctx context.Context) error {
	for {
		n, err := t.store.PruneEntries(ctx, time.Now().Add(-notify.PollTTL), notify.MaxRecent, pruneStep)
		if err != nil || n < pruneStep {
			return err
		}
	}
}

// endTokens has orders given up that wait to be sent and whose tokens have ended.
func (t *trading) endTokens(keys ...string) {
	if d := t.running(); d != nil {
		d.RevokeTokens(keys...)
	}
}
