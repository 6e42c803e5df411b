package app

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/serve/tool"
	"candela/internal/store"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/scripts"
	"candela/internal/store/statedir"
	"candela/lib/fault"
	"candela/lib/pine"
	"candela/lib/ta"
)

// byAlerts names the command in the audit log.
const byAlerts = "candela alerts"

// alertCommands lists, cancels and resumes alerts: a program that runs, or a store.
type alertCommands interface {
	Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error)
	Cancel(ctx context.Context, caller principal.Caller, id string) error
	ResumeAlert(ctx context.Context, caller principal.Caller, id string) error
}

// ownAlerts is what a node does with alerts.
type ownAlerts interface {
	tool.Alerts
	ResumeAlert(ctx context.Context, caller principal.Caller, id string) error
}

// storedLibrary returns the indicators and scripts of a state directory.
func storedLibrary(home string) ta.Library {
	return ta.Library{Scripts: scripts.Open(home, scripts.Unshared, pine.Compile)}
}

// ownedAlerts is what the owner's commands do with alerts.
type ownedAlerts struct {
	alertCommands

	many         bool
	notEvaluated func(*alert.Alert) string // nil where no venue is known
}

// caller returns the owner whose alerts a command is about.
func (o ownedAlerts) caller(owner principal.Owner) (principal.Caller, error) {
	switch {
	case o.many && owner == "":
		return principal.Caller{}, fault.Missing("--owner", "the id of an owner, as candela owners list shows it")
	case !o.many && owner != "":
		return principal.Caller{}, fault.New(fault.Unsupported, "one_owner", "this program has one owner. Run the command without --owner")
	case owner == "":
		owner = accountOwner
	}
	return principal.Caller{Subject: owner, Key: "command", Client: byAlerts, Scope: principal.Trade}, nil
}

// List returns the alerts of an owner.
func (o ownedAlerts) List(ctx context.Context, owner principal.Owner) ([]control.Alert, error) {
	caller, err := o.caller(owner)
	if err != nil {
		return nil, err
	}
	all, err := o.Alerts(ctx, caller)
	rows := make([]control.Alert, len(all))
	for i := range all {
		rows[i] = alertRow(&all[i], o.notEvaluated)
	}
	return rows, err
}

// Cancel cancels an alert of an owner.
func (o ownedAlerts) Cancel(ctx context.Context, owner principal.Owner, id string) error {
	caller, err := o.caller(owner)
	if err != nil {
		return err
	}
	return o.alertCommands.Cancel(ctx, caller, id)
}

// Resume resumes an alert of an owner.
func (o ownedAlerts) Resume(ctx context.Context, owner principal.Owner, id string) error {
	caller, err := o.caller(owner)
	if err != nil {
		return err
	}
	return o.ResumeAlert(ctx, caller, id)
}

func alertRow(a *alert.Alert, notEvaluated func(*alert.Alert) string) control.Alert {
	row := control.Alert{
		ID: a.ID, Symbol: a.Symbol.String(), Describe: a.Describe(), State: control.AlertWaiting, Created: a.Created, Expires: a.Expires,
		Note: a.Note, Fires: a.State.Fires, Scripts: a.Condition.Scripts(),
	}
	if a.Interval.Valid() {
		row.Interval = a.Interval.String()
	}
	switch {
	case a.Idle != nil:
		row.State, row.Reason, row.Since, row.Stored = a.Idle.State, a.Idle.Reason, a.Idle.At, a.Idle.Rule
	case notEvaluated != nil && notEvaluated(a) != "":
		row.State, row.Reason = control.AlertNotEvaluated, notEvaluated(a)
	}
	return row
}

// alertCommands returns what the control socket does with alerts, nil without a trading side.
func (t *trading) alertCommands(rt Runtime) control.Alerts {
	if t == nil {
		return nil
	}
	return ownedAlerts{alertCommands: t.alerts, many: rt.Config.ManyOwners(), notEvaluated: t.engine.NotEvaluated}
}

// ListAlerts lists the alerts of an owner: of the program that runs, or of the store.
func ListAlerts(ctx context.Context, cfg *config.Config, owner principal.Owner, log io.Writer) (all []control.Alert, err error) {
	all, reached, err := control.ListAlerts(ctx, cfg.Home, owner)
	if reached || err != nil {
		return all, err
	}
	_, err = withStoredAlerts(ctx, cfg, log, func(stored ownedAlerts) error {
		all, err = stored.List(ctx, owner)
		return err
	})
	return all, err
}

// CancelAlert cancels an alert of an owner, in the program that runs or in the store.
func CancelAlert(ctx context.Context, cfg *config.Config, owner principal.Owner, id string, log io.Writer) (control.AlertChange, error) {
	c, reached, err := control.CancelAlert(ctx, cfg.Home, owner, id)
	if reached || err != nil {
		return c, err
	}
	c.Where, err = withStoredAlerts(ctx, cfg, log, func(stored ownedAlerts) error { return stored.Cancel(ctx, owner, id) })
	return c, err
}

// ResumeAlert resumes an alert of an owner, in the program that runs or in the store.
func ResumeAlert(ctx context.Context, cfg *config.Config, owner principal.Owner, id string, log io.Writer) (control.AlertChange, error) {
	c, reached, err := control.ResumeAlert(ctx, cfg.Home, owner, id)
	if reached || err != nil {
		return c, err
	}
	c.Where, err = withStoredAlerts(ctx, cfg, log, func(stored ownedAlerts) error { return stored.Resume(ctx, owner, id) })
	return c, err
}

// withStoredAlerts does something with the alerts of the store where no program runs in the state
// directory, and says where that is. Replicas learn of changes in the store that they share.
func withStoredAlerts(ctx context.Context, cfg *config.Config, log io.Writer, do func(ownedAlerts) error) (where string, err error) {
	index := alert.NewIndexOf(storedLibrary(cfg.Home))
	if cfg.NATS.URL != "" {
		rt := Runtime{Config: cfg, Log: cfg.Log.CommandLogger(log)}
		conn, err := rt.connect(ctx)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		shared, err := alerts.Open(ctx, conn, time.Now)
		if err != nil {
			return "", err
		}
		return "in the store that all replicas share", do(ownedAlerts{alertCommands: sharedAlerts{shared}, many: cfg.ManyOwners()})
	}
	if _, err := os.Stat(filepath.Join(cfg.Home, StoreAt(cfg.Home).File)); errors.Is(err, os.ErrNotExist) {
		return "", fault.New(fault.NotFound, "no_store", "No alert was ever set in state directory %s.", cfg.Home).About("home", cfg.Home, "the state directory of candela")
	}
	held, err := statedir.LockEngine(cfg.Home)
	if statedir.IsLocked(err) {
		err = fault.New(fault.Conflict, statedir.LockedCode, "the program that trades in state directory %s does not respond. Stop it, run the command again, and start it.", cfg.Home).
			About("home", cfg.Home, "")
	}
	if err != nil {
		return "", err
	}
	defer held.Release()
	stored, err := StoreAt(cfg.Home).Open(ctx, cfg.Home, time.Now)
	if err != nil {
		return "", err
	}
	err = do(ownedAlerts{alertCommands: unusedAlerts{stored, index}, many: cfg.ManyOwners()})
	return "in the stored state; no program is running", errors.Join(err, stored.Close())
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
