package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/orders"
	"candela/internal/store/statedir"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/lib/fault"
)

// The commands candela halt and candela resume. They work with and without a running
// program. With replicas, the command goes to the replica of the state directory, else over
// NATS to the replica that trades, or changes the state stored there if none runs.

// Halt stops trading: in the running program, in the stored state if none runs, or by the
// halt file if the program does not respond. What a connection to NATS logs goes to log.
// Orders that protect a position are kept.
func Halt(ctx context.Context, cfg *config.Config, reason string, log io.Writer) (control.TradingState, error) {
	return haltBy(ctx, cfg, command{by: control.ByHalt, reason: reason, halt: true}, control.Halt, log)
}

// HaltAll is Halt that cancels the orders that protect positions too.
func HaltAll(ctx context.Context, cfg *config.Config, reason string, log io.Writer) (control.TradingState, error) {
	return haltBy(ctx, cfg, command{by: control.ByHalt, reason: reason, halt: true, all: true}, control.HaltAll, log)
}

// HaltOwner stops trading for one owner of many, in the running program.
func HaltOwner(ctx context.Context, cfg *config.Config, owner principal.Owner, reason string, all bool) (control.TradingState, error) {
	s, reached, err := control.HaltOwner(ctx, cfg.Home, owner, reason, all)
	return s, cmp.Or(err, notReached(reached, cfg.Home))
}

// ResumeOwner lifts the restrictions of one owner of many, in the running program.
func ResumeOwner(ctx context.Context, cfg *config.Config, owner principal.Owner) (control.TradingState, error) {
	s, reached, err := control.ResumeOwner(ctx, cfg.Home, owner)
	return s, cmp.Or(err, notReached(reached, cfg.Home))
}

// notReached is the error of a command for one owner where no program runs.
func notReached(reached bool, home string) error {
	if reached {
		return nil
	}
	return fault.New(fault.Unavailable, "not_running", "no program trades in state directory %s; nothing was done. Start it, or halt all owners without --owner.", home)
}

// haltBy halts the running program with ask, or without it.
func haltBy(ctx context.Context, cfg *config.Config, w command,
	ask func(ctx context.Context, home, reason string) (control.TradingState, bool, error), log io.Writer,
) (control.TradingState, error) {
	s, reached, err := ask(ctx, cfg.Home, w.reason)
	if reached || err != nil {
		return s, err
	}
	if cfg.NATS.URL != "" {
		return w.send(ctx, cfg, log)
	}
	s, err = w.storeIn(ctx, cfg.Home)
	if !statedir.IsLocked(err) {
		return s, err
	}
	path := filepath.Join(cfg.Home, statedir.HaltName)
	if err := os.WriteFile(path, []byte(control.ByHalt+"\n"), 0o600); err != nil {
		return s, fmt.Errorf("halt file: %w", err)
	}
	where := "by the file " + path + ", which the program reads within a second"
	if w.all {
		where += "; it keeps the orders that protect positions"
	}
	return control.TradingState{Level: guard.Halted.String(), Where: where}, nil
}

// Resume lifts the halt and every other restriction that the owner can lift.
func Resume(ctx context.Context, cfg *config.Config, log io.Writer) (control.TradingState, error) {
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
	w := command{by: control.ByResume}
	if cfg.NATS.URL != "" {
		return w.send(ctx, cfg, log)
	}
	s, err = w.storeIn(ctx, cfg.Home)
	if statedir.IsLocked(err) {
		err = fault.New(fault.Conflict, statedir.LockedCode, "the program that trades in state directory %s does not respond. Stop it, run candela resume, and start it again.", cfg.Home).
			About("home", cfg.Home, "")
	}
	return s, err
}

// withoutHalt returns an error if the halt file exists: a program that starts there would
// halt again.
func withoutHalt(home string) error {
	path := filepath.Join(home, statedir.HaltName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fault.New(fault.Conflict, "halt_file", "the file %s halts trading: remove it first", path)
}

// removeOwnHalt removes the halt file if Halt wrote it. Any other stays.
func removeOwnHalt(home string) error {
	path := filepath.Join(home, statedir.HaltName)
	data, err := os.ReadFile(path) //nolint:gosec // G304: a fixed name in the state directory
	if errors.Is(err, fs.ErrNotExist) || err == nil && string(data) != control.ByHalt+"\n" {
		return nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("halt file: %w", err)
	}
	return nil
}

// command is a halt or a resume of the owner's.
type command struct {
	by, reason string
	halt       bool
	all        bool // a halt that cancels what protects positions too
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
		return w.storeAt(ctx, conn)
	}
	return w.call(ctx, conn, rt)
}

// call sends the command to the replica that trades.
func (w command) call(ctx context.Context, conn *conn.Conn, rt Runtime) (control.TradingState, error) {
	state, reached, err := askTrading(ctx, conn, rt, w.apply)
	if err == nil && !reached {
		err = w.notReceived()
	}
	if err != nil {
		return control.TradingState{}, err
	}
	s := control.StateOf(state)
	s.Where = "in the replica that trades"
	return s, nil
}

// askTrading calls the replica that trades, whichever account that is. It reports false if
// none was ready to trade.
func askTrading[T any](ctx context.Context, conn *conn.Conn, rt Runtime, ask func(context.Context, *deskproxy.Desk) (T, error)) (answer T, reached bool, err error) {
	members, err := member.Join(ctx, conn, member.Info{Name: commandReplica}, rt.Log)
	if err != nil {
		return answer, false, err
	}
	defer members.Close() //nolint:contextcheck // the group is informed even when ctx has ended
	ctx, done := context.WithCancel(ctx)
	defer done()
	var mu sync.Mutex
	var failed error
	var asking sync.WaitGroup
	for _, account := range accountNames() {
		d := deskproxy.New(members, deskproxy.Config{Account: account, Log: rt.Log, Now: time.Now})
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
func (w command) notReceived() error {
	text := "replicas are running, but none was ready to trade within 10 s; nothing was done. Try again"
	if w.halt {
		text += ", or create the file " + statedir.HaltName + " in the state directory of one of them"
	}
	return fault.New(fault.Unavailable, "nobody_trades", "%s", text).Retry(0)
}

func (w command) apply(ctx context.Context, d *deskproxy.Desk) (guard.State, error) {
	switch {
	case w.all:
		return d.HaltAll(ctx, w.by, w.reason)
	case w.halt:
		return d.Halt(ctx, w.by, w.reason)
	}
	return d.Resume(ctx, w.by)
}

// storeIn changes the state stored in a state directory. It fails if a program is trading.
func (w command) storeIn(ctx context.Context, home string) (control.TradingState, error) {
	if err := statedir.Open(home); err != nil {
		return control.TradingState{}, err
	}
	held, err := statedir.LockEngine(home)
	if err != nil {
		return control.TradingState{}, err
	}
	defer held.Release()
	stored, err := StoreAt(home).Open(ctx, home, time.Now)
	if err != nil {
		return control.TradingState{}, err
	}
	state, err := w.storeTo(ctx, stored)
	if err = errors.Join(err, stored.Close()); err != nil {
		return control.TradingState{}, err
	}
	state.Where = "in the stored state; no program is running"
	return state, nil
}

// storeAt changes the state stored at NATS.
func (w command) storeAt(ctx context.Context, conn *conn.Conn) (control.TradingState, error) {
	orders, err := orders.Open(ctx, conn, time.Now)
	if err != nil {
		return control.TradingState{}, err
	}
	s, err := w.storeTo(ctx, orders)
	s.Where = "in the state stored at NATS; no replica is running"
	return s, err
}

// setIn changes the state of an account in an open store.
func (w command) setIn(ctx context.Context, in desk.Store, account string) (guard.State, error) {
	if w.all {
		return desk.SetStoredHaltAll(ctx, in, principal.Owner(account), w.by, w.reason, time.Now())
	}
	if !w.halt {
		return desk.ResumeStored(ctx, in, principal.Owner(account), w.by)
	}
	return desk.SetStoredHalt(ctx, in, principal.Owner(account), w.by, w.reason, true, time.Now())
}

// storeTo changes the state of every account in an open store and returns the strictest.
func (w command) storeTo(ctx context.Context, in desk.Store) (control.TradingState, error) {
	var strictest guard.State
	var err error
	for _, account := range accountNames() {
		s, failed := w.setIn(ctx, in, account)
		err = errors.Join(err, failed)
		if s.Level() > strictest.Level() {
			strictest = s
		}
	}
	return control.StateOf(strictest), err
}
