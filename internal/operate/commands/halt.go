// Package commands carries out the owner's commands about trading, trades, orders that wait, alerts and logins: in the
// program that runs in the state directory; else with replicas at the one that trades, and without a program in
// what is stored. Package cmd prints the answers.
package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/store"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/statedir"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Set has the commands of an installation. NewLocal and NewShared return them.
type Set struct {
	home      string
	accounts  []string // names of the owner's accounts, one for each network of each broker
	stores    []store.Descriptor
	index     func() *alert.Index
	many      bool // owners
	elsewhere elsewhere
}

// Installation says where the commands take effect.
type Installation struct {
	Home       string
	Stores     []store.Descriptor
	Accounts   []string // names of the owner's accounts
	ManyOwners bool
	Index      func() *alert.Index // empty, with the indicators and scripts of the state directory
}

// stateOf converts the state of an account, with the names that its owners see.
func (at Installation) stateOf(s guard.State) control.TradingState {
	if at.ManyOwners {
		s = s.OfHost()
	}
	return control.StateOf(s)
}

// elsewhere is where a command takes effect if no program runs in the state directory.
type elsewhere interface {
	halt(ctx context.Context, w change) (control.TradingState, error)
	resume(ctx context.Context, w change) (control.TradingState, error)
	ask(ctx context.Context, ask question) ([]order.Order, error)
	alerts(ctx context.Context, do func(OwnerAlerts) error) (where string, err error)
	trades(ctx context.Context, t tradesCall) ([]control.AccountTrades, error)
	revokeAll(ctx context.Context, reason error) (control.Ended, error)
}

// question is asked of the replica that trades, about orders.
type question = func(ctx context.Context, d *deskproxy.Desk) ([]order.Order, error)

// Halt stops trading: in the running program, in the stored state if none runs, or by the
// halt file if the program does not respond.
// Orders that protect a position are kept.
func (c *Set) Halt(ctx context.Context, reason string) (control.TradingState, error) {
	return c.haltBy(ctx, change{by: control.ByHalt, reason: reason, halt: true}, control.Halt)
}

// HaltAll is Halt that cancels the orders that protect positions too.
func (c *Set) HaltAll(ctx context.Context, reason string) (control.TradingState, error) {
	return c.haltBy(ctx, change{by: control.ByHalt, reason: reason, halt: true, all: true}, control.HaltAll)
}

// HaltOwner stops trading for one owner of many, in the running program.
func (c *Set) HaltOwner(ctx context.Context, owner principal.Owner, reason string, all bool) (control.TradingState, error) {
	s, reached, err := control.HaltOwner(ctx, c.home, owner, reason, all)
	return s, cmp.Or(err, notReached(reached, c.home))
}

// ResumeOwner lifts the restrictions of one owner of many, in the running program.
func (c *Set) ResumeOwner(ctx context.Context, owner principal.Owner) (control.TradingState, error) {
	s, reached, err := control.ResumeOwner(ctx, c.home, owner)
	return s, cmp.Or(err, notReached(reached, c.home))
}

// notReached is the error of a command for one owner where no program runs.
func notReached(reached bool, home string) error {
	if reached {
		return nil
	}
	return fault.New(fault.Unavailable, "not_running", "no program trades in state directory %s; nothing was done. Start it, or halt all owners without --owner.", home)
}

// haltBy halts the running program with ask, or without it.
func (c *Set) haltBy(ctx context.Context, w change, ask func(ctx context.Context, home, reason string) (control.TradingState, bool, error)) (control.TradingState, error) {
	s, reached, err := ask(ctx, c.home, w.reason)
	if reached || err != nil {
		return s, err
	}
	return c.elsewhere.halt(ctx, w)
}

// Resume lifts the halt and every other restriction that the owner can lift.
func (c *Set) Resume(ctx context.Context) (control.TradingState, error) {
	if err := removeOwnHalt(c.home); err != nil {
		return control.TradingState{}, err
	}
	s, reached, err := control.Resume(ctx, c.home)
	if reached || err != nil {
		return s, err
	}
	if err := withoutHalt(c.home); err != nil {
		return s, err
	}
	return c.elsewhere.resume(ctx, change{by: control.ByResume})
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

// change is a halt or a resume of the owner's.
type change struct {
	by, reason string
	halt       bool
	all        bool // a halt that cancels what protects positions too
}

// setIn changes the state of an account in an open store.
func (w change) setIn(ctx context.Context, in desk.Store, account string) (guard.State, error) {
	if !w.halt {
		return desk.ResumeStored(ctx, in, principal.Owner(account), w.by)
	}
	return desk.HaltStored(ctx, in, principal.Owner(account), desk.StoredHalt{By: w.by, Reason: w.reason, All: w.all, At: time.Now()})
}

// storeTo changes the state of every account in an open store and returns the strictest.
func (w change) storeTo(ctx context.Context, in desk.Store, at Installation) (control.TradingState, error) {
	var strictest guard.State
	var err error
	for _, account := range at.Accounts {
		s, failed := w.setIn(ctx, in, account)
		err = errors.Join(err, failed)
		if s.Level() > strictest.Level() {
			strictest = s
		}
	}
	return at.stateOf(strictest), err
}
