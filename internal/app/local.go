package app

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/config"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/principal"
	"candela/internal/serve/console/source"
	"candela/internal/store"
	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/store/receipt"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/statedir"
	"candela/internal/trading/accounts"
	"candela/internal/trading/broker"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
)

// openLocal returns the node of a single machine.
func (rt Runtime) openLocal(ctx context.Context) (*node, error) {
	if rt.Config.Mode() == config.ModeServe && rt.Config.OAuth.PersistLogins {
		return rt.openPersistent(ctx)
	}
	return &node{
		logins: func() (oauth.Store, oauth.OwnerAuth, error) {
			owner, err := rt.mode().passphrase(rt)
			return oauth.NewMemoryWithin(rt.mode().capacity(rt.maxLocalTokens())), owner, err
		},
		keepLogins: rt.removeLogins,
		trading:    func(t *trading) (side, error) { return rt.localSide(t, nil) },
		close:      func() {},
	}, nil
}

// localStore is the store of the node, from when its part is ready until that part stops. Nothing is
// written to disk before all parts are built.
type localStore struct {
	store.Store
	publish func([]notify.Entry)        // gets the notifications that are stored
	policy  func() guard.Policy         // in force
	sealed  func(chain.Signed)          // gets the checkpoints that are stored; nil for nobody
	open    atomic.Pointer[store.Store] // for the parts that start earlier and stop later; nil while closed
}

// run opens the store, prunes it while ctx lasts, and closes it.
func (s *localStore) run(ctx, hard context.Context, rt Runtime, ready func()) (err error) {
	if s.Store, err = store.At(rt.Stores, rt.Config.Home).Open(ctx, rt.Config.Home, time.Now); err != nil {
		return err
	}
	defer func() {
		s.open.Store(nil)
		err = errors.Join(err, s.Close())
	}()
	if kept, ok := s.Store.(owners.Records); ok {
		if err := owners.CheckMode(ctx, kept, rt.mode().many); err != nil {
			return err
		}
	}
	s.Publish(s.publish)
	s.open.Store(&s.Store)
	if kept, ok := s.Store.(proving); ok {
		if err := kept.Seal(ctx, s.sealed); err != nil {
			return err
		}
	}
	if err := s.recordPolicy(ctx, s.policy()); err != nil {
		return err
	}
	if err := store.Prune(ctx, s); err != nil {
		return err
	}
	ready()
	return store.KeepPruned(ctx, hard, rt.Log, func(ctx context.Context) error { return store.Prune(ctx, s) })
}

// proving is a store whose events can be proved to others.
type proving interface {
	RecordPolicy(ctx context.Context, text []byte, hash string) error
	Seal(ctx context.Context, to func(chain.Signed)) error
}

// recordPolicy stores which policy is in force, unless the store says so already.
func (s *localStore) recordPolicy(ctx context.Context, p guard.Policy) error {
	open := s.open.Load()
	if open == nil {
		return nil // it is stored at the start
	}
	text, hash, err := guard.Canonical(p)
	if kept, ok := (*open).(proving); ok && err == nil {
		err = kept.RecordPolicy(ctx, text, hash)
	}
	return err
}

// stats returns the store's counters, and false while it is not open.
func (s *localStore) stats() (store.Stats, bool) {
	open := s.open.Load()
	if open == nil {
		return store.Stats{}, false
	}
	return (*open).Stats(), true
}

// audit adds an event to the audit log. The control socket, through which the owner
// revokes logins, starts before the store and stops after it.
func (s *localStore) audit(ctx context.Context, by principal.Caller, kind, about string, body []byte) error {
	open := s.open.Load()
	if open == nil {
		return owners.ErrNotOpen
	}
	return (*open).Note(ctx, by, kind, about, body)
}

// owners returns the records of owners, nil while the store is not open.
func (s *localStore) owners() owners.Records {
	open := s.open.Load()
	if open == nil {
		return nil
	}
	kept, _ := (*open).(owners.Records)
	return kept
}

// history returns the reader of the audit log, nil while the store is not open.
func (s *localStore) history() *ledger.Audit {
	open := s.open.Load()
	if open == nil {
		return nil
	}
	if kept, ok := (*open).(interface{ Audit() *ledger.Audit }); ok {
		return kept.Audit()
	}
	return nil
}

// proofs returns the log of which receipts are made.
func (s *localStore) proofs() (receipt.Source, error) { return ledger.Opened(s.history) }

// receipts makes receipts of the orders in the log.
func (rt Runtime) receipts(log func() (receipt.Source, error), key func() (chain.Key, error)) *receipt.Receipts {
	return &receipt.Receipts{Open: log, Key: key, Owner: func(caller principal.Caller) principal.Owner {
		if rt.mode().many {
			return caller.Subject
		}
		return principal.Owner(rt.account())
	}}
}

// localSide builds the trading side on the store. One engine evaluates all alerts and
// one desk trades. tokenLive is that of local.Config.
func (rt Runtime) localSide(t *trading, tokenLive func(key string) bool) (side, error) {
	l, mode := &localStore{}, rt.mode()
	inbox := local.New(local.Config{
		Path: filepath.Join(rt.Config.Home, statedir.SubscriptionsName), Now: time.Now, Log: rt.Log, TokenLive: tokenLive,
		OwnerSubscriptions: mode.ownerSubscriptions,
	})
	known := &owners.Standings{}
	limits, err := mode.readPlans(known.Of)
	if err != nil {
		return side{}, err
	}
	evaluating := statedir.NewEvaluating(rt.Config.Home)
	l.publish, l.policy, t.policies.Record = inbox.Append, t.policies.Now, l.recordPolicy
	t.newEngine(rt, l, func([]notify.Entry) {}, limits, evaluating) // the store publishes what it has committed
	if rt.Config.Sinks.Checkpoints {
		l.sealed = t.postCheckpoint
	}
	if err := t.prepareDesk(rt, l); err != nil {
		return side{}, err
	}
	own, err := t.localDesk(rt, l, known)
	if err != nil {
		return side{}, err
	}
	return side{
		inbox: inbox, alerts: t.engine, orders: own,
		running: func() runningDesk { return own },
		status: func(ctx context.Context) (desk.Status, []string, bool) {
			now, known := loaded(ctx, own.Status)
			return now, nil, known
		},
		cursors: l, kept: l, journals: l, stats: l.stats, audit: l.audit, history: l.history, events: source.Audit{Open: l.history}, receipts: rt.receipts(l.proofs, receipt.KeyIn(rt.Config.Home)), owners: l.owners,
		limits: limits, plans: mode.newPlans(rt.Log, limits), standing: func(ctx context.Context, owner principal.Owner, now owners.Standing) error {
			return errors.Join(known.Set(ctx, wholeEngine{t.engine}, owner, now), t.enforce(ctx, owner))
		},
		exclusive: func(_ string, run lifecycle.Work) lifecycle.Work { return run },
		first: []lifecycle.Part{
			{Name: "store", Run: func(ctx, hard context.Context, ready func()) error {
				return errors.Join(l.run(ctx, hard, rt, ready), evaluating.Close()) // the engine has stopped
			}},
			inboxPart(inbox, func(ctx context.Context) error { return restoreInbox(ctx, inbox, l) }),
		},
		rest: []lifecycle.Part{{Name: "alerts", Run: func(ctx, _ context.Context, ready func()) error {
			if kept := l.owners(); kept != nil {
				if err := known.Load(ctx, kept); err != nil {
					return err
				}
			}
			if err := t.restoreAlerts(ctx, l, evaluating); err != nil {
				return err
			}
			rt.pruneScripts(ctx, t.engine)
			ready()
			<-ctx.Done()
			return nil
		}}, {Name: "desk", Run: func(ctx, hard context.Context, ready func()) error {
			if p := t.paper.Load(); p != nil {
				if err := p.Load(ctx); err != nil {
					return err
				}
			}
			return t.haltOnSignals(ctx, rt, func() error { return own.Run(ctx, hard, ready) })
		}}},
	}, nil
}

// restoreAlerts has the engine evaluate the stored alerts, but for those whose script an earlier
// process was evaluating when it ended.
func (t *trading) restoreAlerts(ctx context.Context, from engine.Stored, evaluating *statedir.Evaluating) error {
	if err := evaluating.Open(); err != nil {
		return err
	}
	if err := t.engine.SetAside(ctx, evaluating.Died()); err != nil {
		return err
	}
	if err := t.engine.Restore(ctx, from); err != nil {
		return err
	}
	if err := t.engine.StoreReports(ctx); err != nil {
		return err
	}
	evaluating.Forget()
	return nil
}

// ownDesk is what trades on one machine.
type ownDesk interface {
	account
	deskproxy.Trader
}

// localDesk returns the desk of the one owner, or those of many.
func (t *trading) localDesk(rt Runtime, l *localStore, known *owners.Standings) (ownDesk, error) {
	if rt.mode().many {
		all := t.ownAccounts(rt, l, known.Of)
		t.accounts.Store(all)
		return all, nil
	}
	return t.deskAt(rt, t.venue, l)
}

// deskAt returns the desk of the one owner at a place, which may be one that is paired.
func (t *trading) deskAt(rt Runtime, at place, kept accountStore) (ownDesk, error) {
	if rt.Config.PaperBeside(partsOf(rt.Venues, rt.Brokers, rt.Sinks)) {
		return t.pairedDesk(rt, at, kept)
	}
	t.paper.Store(at.paper)
	return t.newDesk(t.deskConfig(rt, at, kept)), nil
}

// pairedDesk returns the desk of the one owner with a paper account beside it, on which strategies trade.
func (t *trading) pairedDesk(rt Runtime, at place, l accountStore) (ownDesk, error) {
	simulated := rt.Brokers[slices.IndexFunc(rt.Brokers, func(b broker.Descriptor) bool { return !b.CanTradeLive() })]
	venue, err := t.openVenue(rt, simulated, l, accountOwner)
	if err != nil {
		return nil, err
	}
	markets := accounts.NewMarkets(t.engine)
	main, beside := t.deskConfig(rt, at, l), t.deskConfig(rt, venue, l)
	beside.Owner, beside.OwnerAliases, beside.Asked, beside.Unreasoned, beside.Resolve = accountOwner, nil, nil, nil, broker.ChartSymbols(t.bars.Route)
	main.Market, beside.Market = markets.Of(main.Owner), markets.Of(beside.Owner)
	t.paper.Store(venue.paper)
	pair := &accounts.Pair{Paper: t.newDesk(beside)}
	pair.Desk = t.newDesk(main) // which from now on is t.desk
	t.beside.Store(pair)
	return pair, nil
}

// enforce makes the standing of an owner take effect at the account.
func (t *trading) enforce(ctx context.Context, owner principal.Owner) error {
	if all := t.accounts.Load(); all != nil {
		return all.Enforce(ctx, owner)
	}
	return nil
}

// restoreInbox loads the subscriptions and the stored notifications into the inbox.
func restoreInbox(ctx context.Context, inbox *local.Inbox, l *localStore) error {
	if err := inbox.Load(); err != nil {
		return err
	}
	last, err := l.LastEntry(ctx)
	if err != nil {
		return err
	}
	var entries []notify.Entry
	for entry, err := range l.Entries(ctx, 0) {
		if err != nil {
			return err
		}
		entries = append(entries, entry)
	}
	inbox.Restore(last, entries)
	return inbox.Flush()
}
