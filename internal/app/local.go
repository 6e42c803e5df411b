package app

import (
	"context"
	"path/filepath"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/store/ledger"
	"candela/internal/store/statedir"
	"candela/internal/trading/desk"
)

// openLocal returns the node of a single machine. Under --trade it opens the ledger when the
// trading side is built, which close closes.
func (rt Runtime) openLocal(ctx context.Context) (*node, error) {
	var l *ledger.Ledger
	n := &node{
		logins: func() (oauth.Store, oauth.OwnerAuth, error) {
			owner, err := newOwner(rt)
			// A client has one stream, so more tokens than connections have no use.
			return oauth.NewMemory(rt.Config.HTTP.MaxConnections), owner, err
		},
		close: func() {
			if l == nil {
				return
			}
			if err := l.Close(); err != nil {
				rt.Log.Error("closing the ledger failed", "error", err)
			}
		},
	}
	if !rt.Config.Trade {
		return n, nil
	}
	n.trading = func(t *trading) (_ side, err error) {
		// Tried without the ledger first: a start that the policy or the broker refuses
		// leaves no file behind.
		if _, err := t.prepareDesk(rt, nil); err != nil {
			return side{}, err
		}
		if l, err = ledger.Open(context.WithoutCancel(ctx), rt.Config.Home, time.Now); err != nil {
			return side{}, err
		}
		return rt.localSide(t, l)
	}
	return n, nil
}

// localSide builds the trading side on the ledger. One engine evaluates all alerts and
// one desk trades.
func (rt Runtime) localSide(t *trading, l *ledger.Ledger) (side, error) {
	inbox, err := local.Open(local.Config{
		Path: filepath.Join(rt.Config.Home, statedir.SubscriptionsName), Formerly: map[string]string{formerOwner: accountOwner}, Now: time.Now, Log: rt.Log,
	})
	if err != nil {
		return side{}, err
	}
	t.newEngine(rt, l, inbox.Append)
	policy, err := t.prepareDesk(rt, l)
	if err != nil {
		return side{}, err
	}
	t.paper.Store(t.venue.paper)
	d := desk.New(t.deskConfig(rt, policy, t.venue, l))
	return side{
		inbox: inbox, alerts: t.engine, orders: d,
		running: func() *desk.Desk { return d },
		status: func(ctx context.Context) (desk.Status, []string, bool) {
			now, known := loaded(ctx, d.Status)
			return now, nil, known
		},
		cursors: l, audit: l.Note,
		exclusive: func(_ string, run work) work { return run },
		stats:     func() (ledger.Stats, bool) { return l.Stats(), true },
		first: []Part{
			inboxPart(inbox, func(ctx context.Context) error { return restoreInbox(ctx, inbox, l) }),
			{Name: "pruning", Run: func(ctx, hard context.Context, ready func()) error {
				ready()
				return pruneForever(ctx, hard, rt, l)
			}},
		},
		rest: []Part{{Name: "alerts", Run: func(ctx, _ context.Context, ready func()) error {
			if err := t.engine.Restore(ctx, l); err != nil {
				return err
			}
			ready()
			<-ctx.Done()
			return nil
		}}, {Name: "desk", Run: func(ctx, hard context.Context, ready func()) error {
			if t.venue.paper != nil {
				if err := t.venue.paper.Load(ctx); err != nil {
					return err
				}
			}
			return t.haltOnSignals(ctx, rt, func() error { return d.Run(ctx, hard, ready) })
		}}},
	}, nil
}

// restoreInbox loads the stored notifications into the inbox.
func restoreInbox(ctx context.Context, inbox *local.Inbox, l *ledger.Ledger) error {
	if err := prune(ctx, l); err != nil {
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
	if err := inbox.Flush(); err != nil { //nolint:contextcheck // a file, written before the ledger forgets the former owner
		return err
	}
	return l.MergeOwner(ctx, formerOwner, accountOwner)
}
