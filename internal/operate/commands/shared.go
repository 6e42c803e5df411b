package commands

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/replica/logins"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/orders"
	"candela/internal/store/statedir"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// shared is the store that replicas share.
type shared struct {
	Installation

	nats     conn.Config
	capacity oauth.Capacity
	log      *slog.Logger
}

// NewShared returns the commands of an installation with replicas, which share a store. capacity is that of the
// store of logins.
func NewShared(at Installation, nats conn.Config, capacity oauth.Capacity, log *slog.Logger) *Set {
	return newCommands(at, shared{at, nats, capacity, log})
}

func (s shared) connect(ctx context.Context) (*conn.Conn, error) {
	return conn.ConnectWait(ctx, s.nats, s.log)
}

// commandReplica is the name of a command among the replicas, as their logs show it.
const commandReplica = "a command of the owner"

func (s shared) halt(ctx context.Context, w change) (control.TradingState, error) {
	return s.send(ctx, w)
}

func (s shared) resume(ctx context.Context, w change) (control.TradingState, error) {
	return s.send(ctx, w)
}

// send calls the replica that trades, or changes the stored state if none runs.
func (s shared) send(ctx context.Context, w change) (control.TradingState, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return control.TradingState{}, err
	}
	defer conn.Close()
	names, err := member.Names(ctx, conn)
	if err != nil {
		return control.TradingState{}, err
	}
	if !anyReplica(names) {
		return s.store(ctx, conn, w)
	}
	return s.call(ctx, conn, w)
}

// anyReplica reports whether a member of the group is no command.
func anyReplica(members []string) bool {
	return slices.ContainsFunc(members, func(name string) bool { return name != commandReplica })
}

// store changes the state stored at NATS.
func (s shared) store(ctx context.Context, conn *conn.Conn, w change) (control.TradingState, error) {
	orders, err := orders.Open(ctx, conn, time.Now)
	if err != nil {
		return control.TradingState{}, err
	}
	now, err := w.storeTo(ctx, orders, s.Installation)
	now.Where = "in the state stored at NATS; no replica is running"
	return now, err
}

// call sends the command to the replica that trades.
func (s shared) call(ctx context.Context, conn *conn.Conn, w change) (control.TradingState, error) {
	state, reached, err := askTrading(ctx, conn, s, w.apply)
	if err == nil && !reached {
		err = w.notReceived()
	}
	if err != nil {
		return control.TradingState{}, err
	}
	now := s.stateOf(state)
	now.Where = "in the replica that trades"
	return now, nil
}

// askTrading calls the replica that trades, whichever account that is. It reports false if
// none was ready to trade.
func askTrading[T any](ctx context.Context, conn *conn.Conn, s shared, ask func(context.Context, *deskproxy.Desk) (T, error)) (answer T, reached bool, err error) {
	members, err := member.Join(ctx, conn, member.Info{Name: commandReplica}, s.log)
	if err != nil {
		return answer, false, err
	}
	defer members.Close() //nolint:contextcheck // the group is informed even when ctx has ended
	ctx, done := context.WithCancel(ctx)
	defer done()
	var mu sync.Mutex
	var failed error
	var asking sync.WaitGroup
	for _, account := range s.Accounts {
		d := deskproxy.New(members, deskproxy.Config{Account: account, Log: s.log, Now: time.Now})
		asking.Go(func() {
			got, err := ask(ctx, d)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				answer, reached = got, true
				done() // replicas trade on one account; the other calls get no answer
			case !errors.Is(err, member.ErrNotShardOwner) && !errors.Is(err, context.Canceled):
				failed = errors.Join(failed, err)
				if !errors.Is(err, member.ErrOutcomeUnknown) {
					done() // the trading replica has refused
				}
			}
		})
	}
	asking.Wait()
	if reached {
		failed = nil
	}
	return answer, reached, failed
}

// notReceived explains what to do when no replica accepts the command.
func (w change) notReceived() error {
	text := "replicas are running, but none was ready to trade within 10 s; nothing was done. Try again"
	if w.halt {
		text += ", or create the file " + statedir.HaltName + " in the state directory of one of them"
	}
	return fault.New(fault.Unavailable, "nobody_trades", "%s", text).Retry(0)
}

func (w change) apply(ctx context.Context, d *deskproxy.Desk) (guard.State, error) {
	switch {
	case w.all:
		return d.HaltAll(ctx, w.by, w.reason)
	case w.halt:
		return d.Halt(ctx, w.by, w.reason)
	}
	return d.Resume(ctx, w.by)
}

// ask asks the replica that trades.
func (s shared) ask(ctx context.Context, ask question) ([]order.Order, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	answer, reached, err := askTrading(ctx, conn, s, ask)
	if err == nil && !reached {
		err = change{}.notReceived()
	}
	return answer, err
}

// alerts passes the alerts of the store to do. Replicas learn of changes there.
func (s shared) alerts(ctx context.Context, do func(OwnerAlerts) error) (where string, err error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	stored, err := alerts.Open(ctx, conn, time.Now)
	if err != nil {
		return "", err
	}
	return "in the store that all replicas share", do(OwnerAlerts{Alerts: sharedAlerts{stored}, ManyOwners: s.ManyOwners})
}

// revokeAll revokes all logins in the store.
func (s shared) revokeAll(ctx context.Context, _ error) (control.Ended, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return control.Ended{}, err
	}
	defer conn.Close()
	tokens, err := logins.Open(ctx, conn, nil, s.capacity, s.log)
	if err != nil {
		return control.Ended{}, err
	}
	defer tokens.Close()
	n, err := tokens.RevokeAll(ctx, time.Now())
	return control.Ended{Clients: n, Where: "at all replicas"}, err
}

// sharedAlerts are the alerts that replicas share.
type sharedAlerts struct{ *alerts.Store }

// Alerts lists the alerts of an owner, oldest first.
func (s sharedAlerts) Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error) {
	return s.OwnerAlerts(ctx, caller.Subject)
}

// Cancel cancels an alert.
func (s sharedAlerts) Cancel(ctx context.Context, caller principal.Caller, id string) error {
	return s.CancelAlert(ctx, caller, id)
}
