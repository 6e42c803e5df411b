package app

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/replicated"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/serve/admin"
	"candela/internal/store"
	"candela/internal/store/chain"
	"candela/internal/store/receipt"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/audit"
	"candela/internal/store/replica/auditlog"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/replica/inbox"
	"candela/internal/store/replica/logins"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/orders"
	ownerstore "candela/internal/store/replica/owners"
	"candela/internal/store/statedir"
	"candela/internal/trading/deploy"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
)

const (
	// maxTokens bounds the clients of all replicas together, whatever number of
	// connections each replica accepts.
	maxTokens = 100_000

	// reconnectAfter is sent to clients whose streams a stopping replica closes.
	reconnectAfter = time.Second
)

// replicaNode holds a replica's connection to the servers that all replicas share. It is
// open before any part runs and closed after all have stopped.
type replicaNode struct {
	conn     *conn.Conn
	tokens   *logins.Store
	draining atomic.Bool
	release  func() // lets tokens and subscriptions be read; nil where they are not held back

	// Under --trade only.
	members *member.Group
	store   *alerts.Store
	log     *auditlog.Log
	records *inbox.RecordStore
	inbox   *replicated.Inbox
	owners  *ownerstore.Store // nil for one owner
	tail    *alerts.ChangeFeed
	alerts  *alerts.Coordinator
	desk    *deskproxy.Desk
	// strategies run with the desk of a term.
	strategies termStrategies
	writing    atomic.Pointer[orders.Store] // of the term of this replica; nil while another trades
	engine     *engine.Engine
	terms      atomic.Int32 // desks of this process that run or are stopping

	leaving sync.WaitGroup // until the servers acknowledge the drain or the connection closes
}

// openReplica connects to the servers, reads the stored logins and joins the group,
// without owning anything yet. Logins made with an earlier passphrase are revoked.
func (rt Runtime) openReplica(ctx context.Context) (_ *node, err error) {
	mode := rt.mode()
	owner, err := mode.passphrase(rt)
	if err != nil {
		return nil, err
	}
	r := &replicaNode{}
	if r.conn, err = rt.connect(ctx); err != nil {
		return nil, err
	}
	if rt.Config.Trade && mode.many {
		r.release = r.conn.HoldBack()
	}
	defer func() { //nolint:contextcheck // the group is informed even when ctx has ended
		if err != nil {
			r.close()
		}
	}()
	if rt.Config.OAuth.AutoApprove {
		owner = nil // no passphrase is asked for
	}
	// This hashes the passphrase, which takes a second. Once this replica has joined, others wait for it.
	if r.tokens, err = logins.Open(ctx, r.conn, owner, mode.capacity(maxTokens), rt.Log); err != nil {
		return nil, err
	}
	if rt.Config.Trade {
		if err = r.join(ctx, rt); err != nil {
			return nil, err
		}
	}
	return &node{
		logins:     func() (oauth.Store, oauth.OwnerAuth, error) { return r.tokens, r.tokens, nil },
		keepLogins: rt.removeLogins,
		survives:   func(oauth.Token) bool { return true },
		trading:    func(t *trading) (side, error) { return r.side(rt, t) },
		confirm: func(ctx context.Context, by principal.Caller) error {
			_, err := r.conn.AwaitConfirmed(ctx, by)
			return err
		},
		reconnect: reconnectAfter,
		peers:     r.members,
		cluster:   &admin.Cluster{Conn: r.conn.Stats, Now: r.now},
		last:      []lifecycle.Part{{Name: "drain", Run: func(ctx, hard context.Context, ready func()) error { return r.drain(ctx, hard, rt, ready) }}},
		close:     r.close,
	}, nil
}

// join joins the group and reads the shared alerts and notifications.
func (r *replicaNode) join(ctx context.Context, rt Runtime) error {
	rules, err := policySource(rt.Config).Read()
	if err != nil {
		return err
	}
	who := member.Info{Name: rt.replicaName(), Account: rt.account()}
	who.Rules, who.BaseURL, who.Toolsets = rules.Sum, rt.Config.HTTP.BaseURL, cmp.Or(strings.Join(slices.Sorted(slices.Values(rt.Config.Toolsets)), ","), "none")
	mode := rt.mode()
	if r.members, err = member.Join(ctx, r.conn, who, rt.Log); err != nil {
		return err
	}
	r.members.Hold(oauth.NewLeases(r.tokens).Hold)
	if r.store, err = alerts.Open(ctx, r.conn, time.Now); err != nil {
		return err
	}
	if r.log, err = auditlog.Open(ctx, r.conn, time.Now); err != nil {
		return err
	}
	if r.records, err = inbox.Open(ctx, r.conn, rt.Log); err != nil {
		return err
	}
	box := replicated.Config{
		Now: time.Now, Log: rt.Log, Store: r.records, Replicas: r.members, TokenEnded: r.tokens.Ended, CatchUp: func(ctx context.Context) error { return r.tail.CatchUp(ctx) },
		OwnerSubscriptions: mode.ownerSubscriptions, MaxSubscriptions: mode.allSubscriptions,
	}
	if mode.many {
		return r.readLate(ctx, rt, box)
	}
	if r.inbox, err = replicated.Open(ctx, box); err != nil {
		return err
	}
	r.tail, err = r.store.OpenChangeFeed(ctx, alerts.ChangeFeedConfig{Restore: r.inbox.Restore, Publish: r.inbox.Append, Log: rt.Log})
	return err
}

// readLate opens the inbox and the records of many owners. Their alerts and notifications are read when they are
// asked for.
func (r *replicaNode) readLate(ctx context.Context, rt Runtime, box replicated.Config) (err error) {
	box.Read, box.Loaded = r.ownerEntries, r.records.AwaitLoaded
	if r.inbox, err = replicated.Open(ctx, box); err != nil {
		return err
	}
	if r.owners, err = ownerstore.Open(ctx, r.conn, time.Now, r.store); err != nil {
		return err
	}
	r.owners.Audit = audit.Owned{Log: r.log}
	r.tail, err = r.store.OpenChangeFeed(ctx, alerts.ChangeFeedConfig{Publish: r.inbox.Append, Log: rt.Log})
	return err
}

// replicaName identifies this replica in the logs of others.
func (rt Runtime) replicaName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return net.JoinHostPort(host, strconv.Itoa(rt.Config.HTTP.Port))
}

// connect connects to the servers and waits a while for servers that are starting.
func (rt Runtime) connect(ctx context.Context) (*conn.Conn, error) {
	return conn.ConnectWait(ctx, conn.ConfigOf(rt.Config), rt.Log)
}

func (r *replicaNode) close() {
	if r.tail != nil {
		r.tail.Close()
	}
	if r.owners != nil {
		r.owners.Close()
	}
	if r.records != nil {
		r.records.Close()
	}
	if r.members != nil {
		r.members.Close()
	}
	if r.tokens != nil {
		r.tokens.Close()
	}
	r.conn.Close()
	r.leaving.Wait()
}

// side builds the trading side of a replica: its engine evaluates the alerts of the
// instruments that it owns, and its desk trades while it owns the account.
func (r *replicaNode) side(rt Runtime, t *trading) (side, error) {
	mode := rt.mode()
	r.alerts = alerts.NewCoordinator(alerts.CoordinatorConfig{Group: r.members, ChangeFeed: r.tail, Route: t.bars.Route, ListFile: mode.alertList, Log: rt.Log})
	// The tail publishes firings, at every replica in the same order.
	limits, err := mode.readPlans(func(owner principal.Owner) owners.Standing { return r.owners.Standing(owner) })
	if err != nil {
		return side{}, err
	}
	t.newEngine(rt, r.alerts.Store(), func([]notify.Entry) {}, limits, r.alerts)
	r.engine = t.engine
	plans := mode.newPlans(rt.Log, limits)
	if rt.Config.Sinks.Checkpoints {
		r.log.OnCheckpoint = t.postCheckpoint
	}
	t.policies.Record = r.recordPolicy
	if err := t.prepareDesk(rt, nil); err != nil {
		return side{}, err
	}
	atDesk := deskproxy.Config{
		Account: rt.account(), HaltFile: filepath.Join(rt.Config.Home, statedir.HaltName), Log: rt.Log, Now: time.Now,
		Open: func(ctx context.Context, orders *orders.Store) (deskproxy.Trader, func(), error) {
			return r.openTerm(ctx, rt, t, orders)
		},
	}
	var ask askStrategies
	if rt.Config.RunsStrategies() {
		atDesk.Strategies, ask = &r.strategies, func(ctx context.Context, owner principal.Owner, a deploy.Ask) (deploy.Answer, error) {
			return r.desk.AskStrategies(ctx, owner, a)
		}
	}
	r.desk = deskproxy.New(r.members, atDesk)
	return side{
		owners: r.ownerRecords(), limits: limits, plans: plans, replicas: deskproxy.NewPolicies(r.members, &t.policies),
		receipts: rt.receipts(r.proofs, func() (chain.Key, error) { return audit.Key(r.conn), nil }),
		audit:    r.log.Record, events: audit.Log{Conn: r.conn},
		inbox: r.inbox, alerts: r.alerts, orders: r.desk, running: r.running, askStrategies: ask, cursors: r.store, kept: r.store, exclusive: r.exclusive,
		status: func(ctx context.Context) (desk.Status, []string, bool) {
			now, err := r.desk.Status(ctx)
			if err != nil {
				return now, nil, false
			}
			return now, r.desk.HaltFiles(ctx), true
		},
		first: append(r.ownerParts(rt, plans), []lifecycle.Part{
			inboxPart(r.inbox, func(context.Context) error { return nil }),
			{Name: "pruning", Run: r.exclusive("prune", func(ctx, hard context.Context, _ func()) error {
				if r.owners != nil { // not at the start: it reads what all owners have
					return store.KeepPruned(ctx, hard, rt.Log, func(ctx context.Context) error { return r.store.PruneOwners(ctx, notify.MaxRetained) })
				}
				if err := store.Prune(ctx, r.store); err != nil {
					return err
				}
				return store.KeepPruned(ctx, hard, rt.Log, func(ctx context.Context) error { return store.Prune(ctx, r.store) })
			})},
		}...),
		rest: append(append(r.listParts(t.engine), r.auditParts(rt)...), []lifecycle.Part{
			{Name: "shards", Run: func(ctx, _ context.Context, ready func()) error {
				ready()
				r.alerts.Run(ctx, t.engine)
				return ctx.Err()
			}},
			{Name: "desk", Run: func(ctx, hard context.Context, ready func()) error {
				return t.haltOnSignals(ctx, rt, func() error { return r.desk.Run(ctx, hard, ready) })
			}},
		}...),
	}, nil
}

// auditParts returns the parts that keep the audit log, each on one replica at a time.
func (r *replicaNode) auditParts(rt Runtime) []lifecycle.Part {
	movers := []auditlog.Mover{{To: r.log, From: r.store, Logger: rt.Log}}
	if r.owners != nil {
		movers[0].Gone = r.owners.Gone
		movers = append(movers, auditlog.Mover{To: r.log, From: r.owners, Logger: rt.Log})
	}
	parts := make([]lifecycle.Part, 0, 1+len(movers))
	parts = append(parts, lifecycle.Part{Name: "audit log", Run: r.exclusive("audit", func(ctx, _ context.Context, _ func()) error { return r.log.KeepHeads(ctx, rt.Log) })})
	for i, m := range movers {
		name := []string{"audit of alerts", "audit of owners"}[i]
		parts = append(parts, lifecycle.Part{Name: name, Run: r.exclusive(name, func(ctx, _ context.Context, _ func()) error { return m.Run(ctx) })})
	}
	return parts
}

// running returns what trades in this process, nil while another replica does.
func (r *replicaNode) running() runningDesk {
	if d := r.desk.Running(); d != nil {
		return d
	}
	return nil
}

// openTerm returns what trades for one term as owner of the account, or of all accounts.
func (r *replicaNode) openTerm(ctx context.Context, rt Runtime, t *trading, orders *orders.Store) (deskproxy.Trader, func(), error) {
	if err := r.members.CheckPolicies(); err != nil {
		return nil, nil, err
	}
	if rt.Config.Sinks.Checkpoints {
		orders.OnCheckpoint = t.postCheckpoint
	}
	r.writing.Store(orders)
	if err := r.recordPolicy(ctx, t.policies.Now()); err != nil {
		return nil, nil, err
	}
	stop, err := r.publishNotices(ctx, orders)
	if err != nil {
		return nil, nil, err
	}
	trader, end, err := r.openAccounts(ctx, rt, t, orders)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return trader, func() {
		end()
		stop()
		r.writing.CompareAndSwap(orders, nil)
	}, nil
}

// recordPolicy stores which policy is in force, unless the order stream says so already. It does nothing while another replica
// trades: that one stores it.
func (r *replicaNode) recordPolicy(ctx context.Context, p guard.Policy) error {
	to := r.writing.Load()
	if to == nil {
		return nil
	}
	text, hash, err := guard.Canonical(p)
	if err != nil {
		return err
	}
	if err = to.RecordPolicy(ctx, text, hash); errors.Is(err, desk.ErrFenced) {
		return nil // the next writer stores it
	}
	return err
}

// proofs returns the log of which a receipt is made.
func (r *replicaNode) proofs() (receipt.Source, error) {
	log := audit.NewSource(r.conn)
	log.Most = audit.MaxRead
	return log, nil
}

// publishNotices publishes what happens to orders until stop is called.
func (r *replicaNode) publishNotices(ctx context.Context, from *orders.Store) (stop func(), err error) {
	var log orders.NoticeLog = r.store
	if r.owners != nil {
		log = r.owners.Notices(r.store)
	}
	run, err := from.OpenNotices(ctx, log)
	if err != nil {
		return nil, err
	}
	publishing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { run(publishing) })
	return func() {
		cancel()
		running.Wait()
	}, nil
}

// openAccounts returns what trades for one term.
func (r *replicaNode) openAccounts(ctx context.Context, rt Runtime, t *trading, orders *orders.Store) (deskproxy.Trader, func(), error) {
	if r.owners == nil {
		return r.openDesk(ctx, rt, t, orders)
	}
	r.terms.Add(1)
	all := t.ownAccounts(rt, orders, func(owner principal.Owner) owners.Standing { return r.owners.Standing(owner) })
	t.accounts.Store(all)
	return all, func() {
		t.accounts.CompareAndSwap(all, nil)
		r.terms.Add(-1)
	}, nil
}

// openDesk returns a desk for one term as owner of the account. The paper account is
// read at the start of each term and closed with it.
func (r *replicaNode) openDesk(ctx context.Context, rt Runtime, t *trading, orders *orders.Store) (deskproxy.Trader, func(), error) {
	venue, err := t.newVenue(rt, orders, accountOwner)
	if err != nil {
		return nil, nil, err
	}
	d, err := t.deskAt(rt, venue, orders)
	if err != nil {
		return nil, nil, err
	}
	paper, own, beside := t.paper.Load(), t.desk.Load(), t.beside.Load()
	if paper != nil {
		if err := paper.Load(ctx); err != nil {
			return nil, nil, err
		}
	}
	if t.deployments != nil {
		r.strategies.own.Store(t.deployments(orders))
	}
	r.terms.Add(1)
	return d, func() {
		t.paper.CompareAndSwap(paper, nil)
		t.desk.CompareAndSwap(own, nil)
		t.beside.CompareAndSwap(beside, nil)
		r.terms.Add(-1)
	}, nil
}

// exclusive runs work on one replica at a time, after this one has received all that
// was acknowledged before.
func (r *replicaNode) exclusive(name string, run lifecycle.Work) lifecycle.Work {
	return func(ctx, hard context.Context, ready func()) error {
		ready()
		return r.members.RunWhileOwner(ctx, name, func(term context.Context) error {
			if err := r.tail.CatchUp(term); err != nil {
				return err
			}
			return run(term, hard, func() {})
		})
	}
}

// drain is the part that starts last and stops first. Once it runs, the replica owns its
// share. When it stops, the replica is no longer ready, and others take over its share
// while it still answers.
func (r *replicaNode) drain(ctx, hard context.Context, rt Runtime, ready func()) error {
	if r.owners == nil {
		r.activate(ctx)
	}
	ready()
	if r.owners != nil {
		r.activateIndexed(ctx)
		r.releaseAdopted(ctx)
	}
	<-ctx.Done()
	r.draining.Store(true)
	if r.members == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(hard, rt.Config.ShutdownTimeout/2)
	defer cancel()
	if err := r.handOver(limited); err != nil {
		rt.Log.WarnContext(ctx, "drain incomplete; other replicas take over after a timeout", "error", err)
	}
	return nil
}

func (r *replicaNode) activate(ctx context.Context) {
	if r.members != nil {
		r.members.Activate(ctx)
	}
}

// handOver waits until other replicas have taken over everything that this one owns.
func (r *replicaNode) handOver(ctx context.Context) error {
	// A server that does not answer would block for longer than a stop may take.
	left := make(chan error, 1)
	r.leaving.Go(func() { left <- r.members.Drain(ctx) })
	select {
	case err := <-left:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return errors.New("NATS servers do not respond")
	}
	for !r.alerts.Balanced() || r.terms.Load() > 0 {
		if retry.Sleep(ctx, 5*time.Millisecond) != nil {
			return errors.New("alerts or the account not yet taken over")
		}
	}
	return nil
}

// now is the replica's state for the admin listener.
func (r *replicaNode) now() admin.Replica {
	s := admin.Replica{Members: 1, Draining: r.draining.Load()}
	if r.members != nil {
		s.Members, s.Beat, s.Owned = r.members.Count(), r.members.LastHeartbeat(), r.engine.Status().Instruments
		s.Late, s.Lag = r.members.Late(), r.tail.Stats().Behind
	}
	return s
}
