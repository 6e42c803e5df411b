package owners

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"candela/internal/access/oauth"
	"candela/internal/access/plan"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// ErrNotOpen is the error of a command before the store opens and after it closes.
var ErrNotOpen = errors.New("the store is not open")

// Logins has what was approved for owners.
type Logins interface {
	Tokens(ctx context.Context, owner principal.Owner) ([]oauth.Token, error)
	Revoke(ctx context.Context, owner principal.Owner, id string) error
}

// Alerts has the alerts of owners.
type Alerts interface {
	// IDs returns those of the caller.
	IDs(ctx context.Context, by principal.Caller) ([]string, error)
	Cancel(ctx context.Context, by principal.Caller, id string) error
}

// Desk carries out an operator's commands about owners.
type Desk struct {
	Records func() Records // nil while the store is not open
	Logins  Logins
	Alerts  Alerts
	// Forget lets go of what else is held in memory for an owner, in this order.
	Forget []func(ctx context.Context, owner principal.Owner) error
	// TakeEffect makes the standing of an owner take effect after it was written; nil for replicas, which all learn of
	// it from the store.
	TakeEffect func(ctx context.Context, owner principal.Owner, now Standing) error
	Plans      *plan.InForce // nil for one owner
	// Note keeps an erasure for a restore of an older backup; nil for nothing.
	Note func(Erasure) error
}

func (d Desk) open() (Records, error) {
	if records := d.Records(); records != nil {
		return records, nil
	}
	return nil, ErrNotOpen
}

// List returns at most limit records in the order of their ids, from the first after an id, and whether
// there are more.
func (d Desk) List(ctx context.Context, after principal.Owner, f Filter, limit int) (Page, error) {
	page := Page{Owners: []Owner{}}
	records, err := d.open()
	if err != nil {
		return page, err
	}
	for o, err := range records.Owners(ctx, after) {
		switch {
		case err != nil:
			return page, err
		case !f.Fits(o):
			continue
		case len(page.Owners) == limit:
			page.More = true
			return page, nil
		}
		page.Owners = append(page.Owners, o)
	}
	return page, nil
}

// Show returns a record and what the owner has.
func (d Desk) Show(ctx context.Context, id principal.Owner) (Detail, error) {
	var one Detail
	records, err := d.open()
	if err != nil {
		return one, err
	}
	if one.Owner, err = records.Owner(ctx, id); err != nil {
		return one, err
	}
	tokens, err := d.Logins.Tokens(ctx, id)
	if err != nil {
		return one, err
	}
	alerts, err := d.Alerts.IDs(ctx, principal.Caller{Subject: id})
	one.Clients, one.Alerts = len(tokens), len(alerts)
	return one, err
}

// Suspend ends the owner's logins and refuses new ones. The record comes first: a sign-in after it is refused, and
// what was approved before it ends.
func (d Desk) Suspend(ctx context.Context, id principal.Owner) (Owner, error) {
	records, err := d.open()
	if err != nil {
		return Owner{}, err
	}
	o, err := records.SetOwnerState(ctx, id, Suspended)
	if err != nil {
		return o, err
	}
	_, ending := EndLogins(ctx, d.Logins, id)
	return o, errors.Join(d.takeEffect(ctx, id, o), ending)
}

// takeEffect makes a record that was written take effect.
func (d Desk) takeEffect(ctx context.Context, id principal.Owner, o Owner) error {
	if d.TakeEffect == nil {
		return nil
	}
	return d.TakeEffect(ctx, id, Standing{State: o.State, Plan: o.Plan})
}

// EndLogins revokes everything that was approved for an owner, clients and browser logins, and returns it.
func EndLogins(ctx context.Context, logins Logins, id principal.Owner) ([]oauth.Token, error) {
	tokens, err := logins.Tokens(ctx, id)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(tokens))
	var ending sync.WaitGroup // all at once: each waits a moment among replicas
	for i, t := range tokens {
		ending.Go(func() {
			if err := logins.Revoke(ctx, id, t.ID); err != nil && !IsGone(err) {
				errs[i] = err
			}
		})
	}
	ending.Wait()
	return tokens, errors.Join(errs...)
}

// Resume allows a suspended owner to log in again.
func (d Desk) Resume(ctx context.Context, id principal.Owner) (Owner, error) {
	records, err := d.open()
	if err != nil {
		return Owner{}, err
	}
	o, err := records.SetOwnerState(ctx, id, Active)
	if err != nil {
		return o, err
	}
	return o, d.takeEffect(ctx, id, o)
}

// Link makes a further person the owner.
func (d Desk) Link(ctx context.Context, id principal.Owner, issuer, subject string) (Owner, error) {
	records, err := d.open()
	if err != nil {
		return Owner{}, err
	}
	return records.LinkOwner(ctx, id, issuer, subject)
}

// SetPlan puts an owner on a plan.
func (d Desk) SetPlan(ctx context.Context, id principal.Owner, name string) (Owner, error) {
	records, err := d.open()
	if err != nil {
		return Owner{}, err
	}
	if !d.Plans.Has(name) {
		return Owner{}, fault.Field("plan", name, "one of "+strings.Join(d.Plans.Names(), ", "), d.Plans.Names()...)
	}
	if name == plan.Default {
		name = ""
	}
	o, err := records.SetOwnerPlan(ctx, id, name)
	if err != nil {
		return o, err
	}
	return o, d.takeEffect(ctx, id, o)
}

// Export passes every row of an owner to row.
func (d Desk) Export(ctx context.Context, id principal.Owner, row func(ExportedRow) error) error {
	records, err := d.open()
	if err != nil {
		return err
	}
	for one, err := range records.ExportOwner(ctx, id) {
		if err == nil {
			err = row(one)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Erase removes what there is of a suspended owner. Whatever holds the owner's things in memory lets them go
// before the store does.
func (d Desk) Erase(ctx context.Context, id principal.Owner) (Erasure, error) {
	records, err := d.open()
	if err != nil {
		return Erasure{}, err
	}
	o, err := records.Owner(ctx, id)
	if err != nil {
		return Erasure{}, err
	}
	if o.State == Suspended {
		if err := d.letGo(ctx, id); err != nil {
			return Erasure{}, err
		}
	}
	proof, err := records.EraseOwner(ctx, id)
	if err != nil {
		return proof, err
	}
	if d.Note != nil {
		if err := d.Note(proof); err != nil {
			return proof, errors.Join(fmt.Errorf("the owner is erased, but a restore of an older backup will not know it: %w", err), d.takeEffect(ctx, id, Owner{State: Erased}))
		}
	}
	return proof, d.takeEffect(ctx, id, Owner{State: Erased})
}

func (d Desk) letGo(ctx context.Context, id principal.Owner) error {
	if _, err := EndLogins(ctx, d.Logins, id); err != nil {
		return err
	}
	by := principal.Caller{Subject: id}
	alerts, err := d.Alerts.IDs(ctx, by)
	if err != nil {
		return err
	}
	for _, a := range alerts {
		if err := d.Alerts.Cancel(ctx, by, a); err != nil && !IsGone(err) {
			return err
		}
	}
	for _, forget := range d.Forget {
		if err := forget(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// IsGone reports whether what a command would end has ended meanwhile.
func IsGone(err error) bool {
	return errors.Is(err, oauth.ErrNotFound) || fault.KindOf(err) == fault.NotFound
}
