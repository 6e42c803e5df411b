package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/store"
	"candela/internal/store/loginfile"
	"candela/internal/store/statedir"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// local is a state directory in which no program runs.
type local struct{ Installation }

// NewLocal returns the commands of an installation on one machine.
func NewLocal(at Installation) *Set { return newCommands(at, local{at}) }

func newCommands(at Installation, other elsewhere) *Set {
	return &Set{home: at.Home, accounts: at.Accounts, stores: at.Stores, index: at.Index, many: at.ManyOwners, elsewhere: other}
}

// halt stores the halt, or writes the halt file if a program trades and does not respond.
func (l local) halt(ctx context.Context, w change) (control.TradingState, error) {
	s, err := l.store(ctx, w)
	if !statedir.IsLocked(err) {
		return s, err
	}
	path := filepath.Join(l.Home, statedir.HaltName)
	if err := os.WriteFile(path, []byte(control.ByHalt+"\n"), 0o600); err != nil {
		return s, fmt.Errorf("halt file: %w", err)
	}
	where := "by the file " + path + ", which the program reads within a second"
	if w.all {
		where += "; it keeps the orders that protect positions"
	}
	return control.TradingState{Level: guard.Halted.String(), Where: where}, nil
}

func (l local) resume(ctx context.Context, w change) (control.TradingState, error) {
	s, err := l.store(ctx, w)
	if statedir.IsLocked(err) {
		err = fault.New(fault.Conflict, statedir.LockedCode, "the program that trades in state directory %s does not respond. Stop it, run candela resume, and start it again.", l.Home).
			About("home", l.Home, "")
	}
	return s, err
}

// store changes the state stored in the state directory. It fails if a program is trading.
func (l local) store(ctx context.Context, w change) (control.TradingState, error) {
	if err := statedir.Open(l.Home); err != nil {
		return control.TradingState{}, err
	}
	held, err := statedir.LockEngine(l.Home)
	if err != nil {
		return control.TradingState{}, err
	}
	defer held.Release()
	stored, err := store.At(l.Stores, l.Home).Open(ctx, l.Home, time.Now)
	if err != nil {
		return control.TradingState{}, err
	}
	state, err := w.storeTo(ctx, stored, l.Installation)
	if err = errors.Join(err, stored.Close()); err != nil {
		return control.TradingState{}, err
	}
	state.Where = "in the stored state; no program is running"
	return state, nil
}

// ask is an error: no program runs in the state directory.
func (l local) ask(context.Context, question) ([]order.Order, error) {
	return nil, fault.New(fault.Unavailable, "no_server",
		"no program trades in state directory %s, so no order can be decided; nothing was done. Start candela with --trade, with this --home. An order that nobody decides is not sent.", l.Home).About("home", l.Home, "")
}

// alerts passes the stored alerts to do.
func (l local) alerts(ctx context.Context, do func(OwnerAlerts) error) (where string, err error) {
	if _, err := os.Stat(filepath.Join(l.Home, store.At(l.Stores, l.Home).File)); errors.Is(err, os.ErrNotExist) {
		return "", fault.New(fault.NotFound, "no_store", "No alert was ever set in state directory %s.", l.Home).About("home", l.Home, "the state directory of candela")
	}
	held, err := statedir.LockEngine(l.Home)
	if statedir.IsLocked(err) {
		err = fault.New(fault.Conflict, statedir.LockedCode, "the program that trades in state directory %s does not respond. Stop it, run the command again, and start it.", l.Home).
			About("home", l.Home, "")
	}
	if err != nil {
		return "", err
	}
	defer held.Release()
	stored, err := store.At(l.Stores, l.Home).Open(ctx, l.Home, time.Now)
	if err != nil {
		return "", err
	}
	err = do(OwnerAlerts{Alerts: unusedAlerts{stored, l.Index()}, ManyOwners: l.ManyOwners})
	return "in the stored state; no program is running", errors.Join(err, stored.Close())
}

func (l local) revokeAll(_ context.Context, reason error) (control.Ended, error) {
	return RevokeStored(l.Home, reason)
}

// RevokeStored ends the stored logins of a state directory in which no server runs. It returns
// reason, why no server answered, if there are none or if a server runs after all.
func RevokeStored(home string, reason error) (control.Ended, error) {
	if !loginfile.Stored(home) {
		return control.Ended{}, reason
	}
	held, err := statedir.LockServer(home)
	if statedir.IsLocked(err) {
		return control.Ended{}, reason
	}
	if err != nil {
		return control.Ended{}, err
	}
	defer held.Release()
	clients, _ := loginfile.Count(home, time.Now()) // whatever is wrong with the file, it goes
	return control.Ended{Clients: clients, Where: "in the state directory; no server runs there"}, loginfile.Remove(home)
}

// unusedAlerts are the alerts of a store that no program uses.
type unusedAlerts struct {
	store.Store

	index *alert.Index // finds those that cannot be evaluated
}

// Alerts lists the alerts of an owner, oldest first.
func (s unusedAlerts) Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error) {
	var all []alert.Alert
	for a, err := range s.Store.Alerts(ctx) {
		if err != nil && a.ID == "" {
			return nil, err
		}
		if a.Owner != caller.Subject {
			continue
		}
		if err == nil && a.Idle == nil {
			err = s.index.AddInactive(a)
		}
		if err != nil {
			a.MarkBroken(err)
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(x, y alert.Alert) int { return x.Created.Compare(y.Created) })
	return all, nil
}

// Cancel cancels an alert.
func (s unusedAlerts) Cancel(ctx context.Context, caller principal.Caller, id string) error {
	return s.CancelAlert(ctx, caller, id)
}
