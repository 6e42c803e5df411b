package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/alerting/notify"
	"candela/internal/market"
	"candela/internal/serve/admin"
	"candela/internal/store/cluster"
	"candela/internal/store/statedir"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// sharedTrading is what replicas have in common under --trade.
type sharedTrading struct {
	members *cluster.Members
	store   *cluster.Store
	keeper  *cluster.Keeper
	log     *notify.Log
	tail    *cluster.Tail

	// Of this replica, from when the trading side is put together.
	alerts *cluster.Alerts
	desk   *cluster.Desk
	terms  atomic.Int32 // desks of ours that run or end

	leaving sync.WaitGroup // over when the servers were told, or the connection is closed
}

// openTrading takes part, without owning anything yet, and reads what all share.
func (s *shared) openTrading(ctx context.Context, rt Runtime) (err error) {
	t := &s.sharedTrading
	policy, err := rt.policy()
	if err != nil {
		return err
	}
	who := cluster.Who{Name: rt.replicaName(), Account: accountOf(rt.Config.Trading)}
	if who.Policy, err = policySum(policy); err != nil {
		return err
	}
	if t.members, err = s.conn.Join(ctx, who, rt.Log); err != nil {
		return err
	}
	t.members.Hold(oauth.NewLeases(s.tokens).Hold)
	if t.store, err = s.conn.OpenStore(ctx, time.Now); err != nil {
		return err
	}
	if t.keeper, err = s.conn.OpenKeeper(ctx, rt.Log); err != nil {
		return err
	}
	t.log, err = notify.OpenShared(ctx, notify.Config{Now: time.Now, Log: rt.Log}, notify.Shared{
		Keeper: t.keeper, Members: t.members, Gone: s.tokens.Gone, Sync: func(ctx context.Context) error { return t.tail.Sync(ctx) },
	})
	if err != nil {
		return err
	}
	t.tail, err = t.store.OpenTail(ctx, cluster.TailConfig{Restore: t.log.Restore, Publish: t.log.Append, Log: rt.Log})
	return err
}

// policySum tells policies apart. It is the same in every process for what was
// written in another order or with other zeros.
func policySum(p guard.Policy) (string, error) {
	p.AllowedSymbols = slices.SortedFunc(slices.Values(p.AllowedSymbols), func(a, b market.Symbol) int { return strings.Compare(a.String(), b.String()) })
	p.Currencies = slices.Sorted(slices.Values(p.Currencies))
	if len(p.Symbols) == 0 {
		p.Symbols = nil // as where there is no file
	}
	data, err := json.Marshal(p) // with the symbols sorted
	if err != nil {
		return "", fmt.Errorf("policy: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// close ends what openTrading began.
func (s *sharedTrading) close() {
	if s.tail != nil {
		s.tail.Close()
	}
	if s.keeper != nil {
		s.keeper.Close()
	}
	if s.members != nil {
		s.members.Close()
	}
}

// newTrading puts the trading side of a replica together: the engine watches the
// alerts on the instruments that are its own, and the desk trades while the account
// is.
func (s *shared) newTrading(rt Runtime, b *bars, t *trading) error {
	t.log, t.store.alertStore = s.log, s.store
	s.alerts = cluster.NewAlerts(cluster.AlertsConfig{Members: s.members, Tail: s.tail, Route: b.Route, Now: time.Now, Log: rt.Log})
	// What fires is told by the tail, at every replica in the same order.
	t.newEngine(rt, b, s.alerts.Store(), func([]notify.Entry) {})
	t.alerts = s.alerts
	policy, err := t.prepareDesk(rt, b)
	if err != nil {
		return err
	}
	s.desk = cluster.NewDesk(s.members, cluster.DeskConfig{
		Account: accountOf(rt.Config.Trading), HaltFile: filepath.Join(rt.Config.Home, statedir.HaltName), Log: rt.Log, Now: time.Now,
		Open: func(ctx context.Context, orders *cluster.Orders) (*desk.Desk, func(), error) {
			return s.openDesk(ctx, rt, b, t, policy, orders)
		},
	})
	t.orders, t.running = s.desk, s.desk.Running
	return nil
}

// openDesk makes the desk of one term. It ends with the term, and so does the paper
// account, which the next owner reads anew.
func (s *shared) openDesk(ctx context.Context, rt Runtime, b *bars, t *trading, policy guard.Policy, orders *cluster.Orders) (*desk.Desk, func(), error) {
	venue, err := t.newVenue(rt, b, orders)
	if err != nil {
		return nil, nil, err
	}
	if venue.paper != nil {
		if err := venue.paper.Load(ctx); err != nil {
			return nil, nil, err
		}
		t.paper.Store(venue.paper)
	}
	cfg := t.deskConfig(rt, b, policy, venue, orders)
	cfg.Replica = rt.replicaName()
	s.terms.Add(1)
	return desk.New(cfg), func() {
		t.paper.CompareAndSwap(venue.paper, nil)
		s.terms.Add(-1)
	}, nil
}

// parts returns what a replica runs before a transport answers, in order.
func (s *shared) parts(rt Runtime, t *trading) []Part {
	parts := []Part{
		{Name: "notifications", Run: func(ctx, _ context.Context, ready func()) error {
			ready()
			return t.log.Run(ctx)
		}},
		{Name: "pruning", Run: s.alone("prune", func(ctx, hard context.Context, _ func()) error {
			if err := t.prune(ctx); err != nil {
				return err
			}
			return t.pruneOften(ctx, hard, rt)
		})},
	}
	parts = append(parts, t.sinks(rt)...)
	return append(parts,
		Part{Name: "engine", Run: t.engine.Run},
		Part{Name: "shards", Run: func(ctx, _ context.Context, ready func()) error {
			ready()
			s.alerts.Run(ctx, t.engine)
			return ctx.Err()
		}},
		Part{Name: "desk", Run: func(ctx, hard context.Context, ready func()) error {
			return t.heedSignals(ctx, rt, func() error { return s.desk.Run(ctx, hard, ready) })
		}})
}

// work is what a part does.
type work = func(ctx, hard context.Context, ready func()) error

// alone makes work that one replica at a time does of work that any could do. It
// begins when this replica has heard of everything that was acknowledged before. One
// node does the work as it is.
func (s *shared) alone(name string, run work) work {
	if s == nil {
		return run
	}
	return func(ctx, hard context.Context, ready func()) error {
		ready()
		return s.members.While(ctx, name, func(term context.Context) error {
			if err := s.tail.Sync(term); err != nil {
				return err
			}
			return run(term, hard, func() {})
		})
	}
}

// handOver has the others take over what this replica owns, and waits until nothing
// is left here.
func (s *shared) handOver(ctx context.Context) error {
	// Servers that do not answer hold this up for longer than a stop may take.
	left := make(chan error, 1)
	s.leaving.Go(func() { left <- s.members.Leave(ctx) })
	select {
	case err := <-left:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return errors.New("the NATS servers do not answer")
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !s.alerts.Settled() || s.terms.Load() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("alerts or the account are still here")
		}
	}
	return nil
}

// watchTrading is the trading side of a replica for the admin listener.
func (s *shared) watchTrading(a *admin.Trading) {
	a.Store = nil // the servers are the store
	a.Desk = func() (desk.Status, bool) {
		if d := s.desk.Running(); d != nil {
			return d.Status(), true
		}
		return desk.Status{}, false
	}
	a.Orders = func() map[order.Status]int {
		if d := s.desk.Running(); d != nil {
			return d.OpenByStatus()
		}
		return nil
	}
}
