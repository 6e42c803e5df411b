package app

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"candela/internal/config"
	"candela/internal/kit/fault"
	"candela/internal/operate/control"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/orders"
	"candela/internal/store/statedir"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
)

// The owner's halt and resume with replicas. They go to the replica of this state
// directory, else over NATS to the replica that trades. If no replica runs, they change
// the stored trading state.

// HaltReplicas stops trading on all replicas.
func HaltReplicas(ctx context.Context, cfg *config.Config, reason string, log io.Writer) (control.TradingState, error) {
	s, reached, err := control.Halt(ctx, cfg.Home, reason)
	if reached || err != nil {
		return s, err
	}
	return command{control.ByHalt, reason, true}.send(ctx, cfg, log)
}

// ResumeReplicas lifts the halt and every other restriction that the owner can lift.
func ResumeReplicas(ctx context.Context, cfg *config.Config, log io.Writer) (control.TradingState, error) {
	if err := removeOwnHalt(cfg.Home); err != nil {
		return control.TradingState{}, err
	}
	s, reached, err := control.Resume(ctx, cfg.Home)
	if reached || err != nil {
		return s, err
	}
	if err := withoutHalt(cfg.Home); err != nil {
		return s, err
	}
	return command{control.ByResume, "", false}.send(ctx, cfg, log)
}

// command is a halt or a resume of the owner's.
type command struct {
	by, reason string
	halt       bool
}

// commandReplica is the name of a command among the replicas, as their logs show it.
const commandReplica = "a command of the owner"

// send calls the replica that trades, or changes the stored state if none runs.
func (w command) send(ctx context.Context, cfg *config.Config, log io.Writer) (control.TradingState, error) {
	rt := Runtime{Config: cfg, Log: cfg.Log.CommandLogger(log)}
	conn, err := rt.connect(ctx)
	if err != nil {
		return control.TradingState{}, err
	}
	defer conn.Close()
	names, err := member.Names(ctx, conn)
	if err != nil {
		return control.TradingState{}, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == commandReplica })
	if len(names) == 0 {
		return w.store(ctx, conn)
	}
	return w.call(ctx, conn, rt)
}

// call sends the command to the replica that trades, whichever account that is.
func (w command) call(ctx context.Context, conn *conn.Conn, rt Runtime) (control.TradingState, error) {
	members, err := member.Join(ctx, conn, member.Info{Name: commandReplica}, rt.Log)
	if err != nil {
		return control.TradingState{}, err
	}
	defer members.Close() //nolint:contextcheck // the group is informed even when ctx has ended
	ctx, done := context.WithCancel(ctx)
	defer done()
	var mu sync.Mutex
	var answered *guard.State
	var failed error
	var asking sync.WaitGroup
	for _, account := range accounts() {
		d := deskproxy.New(members, deskproxy.Config{Account: account, Log: rt.Log, Now: time.Now})
		asking.Go(func() {
			s, err := w.apply(ctx, d)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				answered = &s
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
	switch {
	case answered != nil:
		s := control.StateOf(*answered)
		s.Where = "in the replica that trades"
		return s, nil
	case failed != nil:
		return control.TradingState{}, failed
	}
	return control.TradingState{}, w.notReceived()
}

// notReceived explains what to do when no replica accepts the command.
func (w command) notReceived() error {
	text := "replicas are running, but none was ready to trade within 10 s; nothing was done. Try again"
	if w.halt {
		text += ", or create the file " + statedir.HaltName + " in the state directory of one of them"
	}
	return &fault.Error{Kind: fault.Unavailable, Code: "nobody_trades", Retryable: true, Message: text}
}

func (w command) apply(ctx context.Context, d *deskproxy.Desk) (guard.State, error) {
	if w.halt {
		return d.Halt(ctx, w.by, w.reason)
	}
	return d.Resume(ctx, w.by)
}

// store changes the stored state of every account and returns the strictest of them.
func (w command) store(ctx context.Context, conn *conn.Conn) (control.TradingState, error) {
	orders, err := orders.Open(ctx, conn, time.Now)
	if err != nil {
		return control.TradingState{}, err
	}
	s, err := w.storeTo(ctx, orders)
	s.Where = "in the state stored at NATS; no replica is running"
	return s, err
}

// storeTo changes the state of every account in an open store.
func (w command) storeTo(ctx context.Context, in desk.Store) (control.TradingState, error) {
	var strictest guard.State
	var err error
	for _, account := range accounts() {
		s, failed := desk.SetStoredHalt(ctx, in, account, w.by, w.reason, w.halt, time.Now())
		err = errors.Join(err, failed)
		if s.Level() > strictest.Level() {
			strictest = s
		}
	}
	return control.StateOf(strictest), err
}
