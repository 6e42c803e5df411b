package commands

import (
	"context"

	"candela/internal/access/oauth"
	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/lib/fault"
)

// byAlerts names the command in the audit log.
const byAlerts = "candela alerts"

// Alerts lists, cancels and resumes alerts: a program that runs, or a store.
type Alerts interface {
	Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error)
	Cancel(ctx context.Context, caller principal.Caller, id string) error
	ResumeAlert(ctx context.Context, caller principal.Caller, id string) error
}

// OwnerAlerts is what the owner's commands do with alerts.
type OwnerAlerts struct {
	Alerts Alerts

	ManyOwners   bool
	NotEvaluated func(*alert.Alert) string // nil where no venue is known
}

// callerOf returns the owner whose records a command is about.
func callerOf(many bool, owner principal.Owner, command string) (principal.Caller, error) {
	switch {
	case many && owner == "":
		return principal.Caller{}, fault.Missing("--owner", "the id of an owner, as candela owners list shows it")
	case !many && owner != "":
		return principal.Caller{}, fault.New(fault.Unsupported, "one_owner", "this program has one owner. Run the command without --owner")
	case owner == "":
		owner = oauth.SoleOwner
	}
	return principal.Caller{Subject: owner, Key: "command", Client: command, Scope: principal.Trade}, nil
}

func (o OwnerAlerts) caller(owner principal.Owner) (principal.Caller, error) {
	return callerOf(o.ManyOwners, owner, byAlerts)
}

// List returns the alerts of an owner.
func (o OwnerAlerts) List(ctx context.Context, owner principal.Owner) ([]control.Alert, error) {
	caller, err := o.caller(owner)
	if err != nil {
		return nil, err
	}
	all, err := o.Alerts.Alerts(ctx, caller)
	rows := make([]control.Alert, len(all))
	for i := range all {
		rows[i] = alertRow(&all[i], o.NotEvaluated)
	}
	return rows, err
}

// Cancel cancels an alert of an owner.
func (o OwnerAlerts) Cancel(ctx context.Context, owner principal.Owner, id string) error {
	caller, err := o.caller(owner)
	if err != nil {
		return err
	}
	return o.Alerts.Cancel(ctx, caller, id)
}

// Resume resumes an alert of an owner.
func (o OwnerAlerts) Resume(ctx context.Context, owner principal.Owner, id string) error {
	caller, err := o.caller(owner)
	if err != nil {
		return err
	}
	return o.Alerts.ResumeAlert(ctx, caller, id)
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

// ListAlerts lists the alerts of an owner: of the program that runs, or of the store.
func (c *Set) ListAlerts(ctx context.Context, owner principal.Owner) (all []control.Alert, err error) {
	all, reached, err := control.ListAlerts(ctx, c.home, owner)
	if reached || err != nil {
		return all, err
	}
	_, err = c.elsewhere.alerts(ctx, func(stored OwnerAlerts) error {
		all, err = stored.List(ctx, owner)
		return err
	})
	return all, err
}

// CancelAlert cancels an alert of an owner, in the program that runs or in the store.
func (c *Set) CancelAlert(ctx context.Context, owner principal.Owner, id string) (control.AlertChange, error) {
	done, reached, err := control.CancelAlert(ctx, c.home, owner, id)
	if reached || err != nil {
		return done, err
	}
	done.Where, err = c.elsewhere.alerts(ctx, func(stored OwnerAlerts) error { return stored.Cancel(ctx, owner, id) })
	return done, err
}

// ResumeAlert resumes an alert of an owner, in the program that runs or in the store.
func (c *Set) ResumeAlert(ctx context.Context, owner principal.Owner, id string) (control.AlertChange, error) {
	done, reached, err := control.ResumeAlert(ctx, c.home, owner, id)
	if reached || err != nil {
		return done, err
	}
	done.Where, err = c.elsewhere.alerts(ctx, func(stored OwnerAlerts) error { return stored.Resume(ctx, owner, id) })
	return done, err
}

// RevokeAll revokes all logins: through the server of the state directory, in the store
// that replicas share, or where no server runs, in the state directory.
func (c *Set) RevokeAll(ctx context.Context) (control.Ended, error) {
	ended, err := control.RevokeAll(ctx, c.home)
	if kind := fault.KindOf(err); err == nil || kind != fault.Unavailable && kind != fault.NotFound {
		return ended, err
	}
	return c.elsewhere.revokeAll(ctx, err)
}
