package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"candela/internal/access/metering"
	"candela/internal/access/oauth"
	"candela/internal/access/plan"
	"candela/internal/access/upstream"
	"candela/internal/alerting/engine"
	"candela/internal/config"
	"candela/internal/kit/bucket"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/serve/httpd"
	"candela/internal/store"
	"candela/internal/store/statedir"
	"candela/lib/fault"
	"candela/lib/market"
)

// ownersDesk carries out an operator's commands about owners.
type ownersDesk struct {
	records func() store.Owners // nil while the store is not open
	logins  *oauth.Server
	side    *trading
	plans   plan.Table
}

var _ control.Owners = ownersDesk{}

func (d ownersDesk) open() (store.Owners, error) {
	if records := d.records(); records != nil {
		return records, nil
	}
	return nil, errNotOpen
}

// List implements control.Owners.
func (d ownersDesk) List(ctx context.Context, after principal.Owner, state store.OwnerState, plan string, limit int) (control.OwnerPage, error) {
	page := control.OwnerPage{Owners: []store.Owner{}}
	records, err := d.open()
	if err != nil {
		return page, err
	}
	for o, err := range records.Owners(ctx, after) {
		switch {
		case err != nil:
			return page, err
		case state != "" && o.State != state, plan != "" && o.Plan != plan:
			continue
		case len(page.Owners) == limit:
			page.More = true
			return page, nil
		}
		page.Owners = append(page.Owners, o)
	}
	return page, nil
}

// Show implements control.Owners.
func (d ownersDesk) Show(ctx context.Context, id principal.Owner) (control.OwnerDetail, error) {
	var one control.OwnerDetail
	records, err := d.open()
	if err != nil {
		return one, err
	}
	if one.Owner, err = records.Owner(ctx, id); err != nil {
		return one, err
	}
	tokens, err := d.logins.Tokens(ctx, id)
	if err != nil {
		return one, err
	}
	alerts, err := d.side.alerts.Alerts(ctx, principal.Caller{Subject: id})
	one.Clients, one.Alerts = len(tokens), len(alerts)
	return one, err
}

// Suspend implements control.Owners. The record comes first: a sign-in after it is refused, and
// what was approved before it ends.
func (d ownersDesk) Suspend(ctx context.Context, id principal.Owner) (store.Owner, error) {
	records, err := d.open()
	if err != nil {
		return store.Owner{}, err
	}
	o, err := records.SetOwnerState(ctx, id, store.OwnerSuspended)
	if err != nil {
		return o, err
	}
	return o, errors.Join(d.takeEffect(ctx, id, o), d.endLogins(ctx, id))
}

// takeEffect makes a record that was written take effect.
func (d ownersDesk) takeEffect(ctx context.Context, id principal.Owner, o store.Owner) error {
	if d.side.standing == nil {
		return nil
	}
	return d.side.standing(ctx, id, store.Standing{State: o.State, Plan: o.Plan})
}

// endLogins revokes everything that was approved for an owner.
func (d ownersDesk) endLogins(ctx context.Context, id principal.Owner) error {
	tokens, err := d.logins.Tokens(ctx, id)
	if err != nil {
		return err
	}
	errs := make([]error, len(tokens))
	var ending sync.WaitGroup // all at once: each waits a moment among replicas
	for i, t := range tokens {
		ending.Go(func() {
			if err := d.logins.Revoke(ctx, id, t.ID); err != nil && !isGone(err) {
				errs[i] = err
			}
		})
	}
	ending.Wait()
	return errors.Join(errs...)
}

// Resume implements control.Owners.
func (d ownersDesk) Resume(ctx context.Context, id principal.Owner) (store.Owner, error) {
	records, err := d.open()
	if err != nil {
		return store.Owner{}, err
	}
	o, err := records.SetOwnerState(ctx, id, store.OwnerActive)
	if err != nil {
		return o, err
	}
	return o, d.takeEffect(ctx, id, o)
}

// Link implements control.Owners.
func (d ownersDesk) Link(ctx context.Context, id principal.Owner, issuer, subject string) (store.Owner, error) {
	records, err := d.open()
	if err != nil {
		return store.Owner{}, err
	}
	return records.LinkOwner(ctx, id, issuer, subject)
}

// SetPlan implements control.Owners.
func (d ownersDesk) SetPlan(ctx context.Context, id principal.Owner, name string) (store.Owner, error) {
	records, err := d.open()
	if err != nil {
		return store.Owner{}, err
	}
	if !d.plans.Has(name) {
		return store.Owner{}, fault.Field("plan", name, "one of "+strings.Join(d.plans.Names(), ", "), d.plans.Names()...)
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

// Export implements control.Owners.
func (d ownersDesk) Export(ctx context.Context, id principal.Owner, row func(store.ExportedRow) error) error {
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

// forgetter is an inbox that can drop an owner.
type forgetter interface {
	Forget(owner principal.Owner) error
}

// Erase implements control.Owners. Whatever holds the owner's things in memory lets them go
// before the store does.
func (d ownersDesk) Erase(ctx context.Context, id principal.Owner) (store.Erasure, error) {
	records, err := d.open()
	if err != nil {
		return store.Erasure{}, err
	}
	o, err := records.Owner(ctx, id)
	if err != nil {
		return store.Erasure{}, err
	}
	if o.State == store.OwnerSuspended {
		if err := d.letGo(ctx, id); err != nil {
			return store.Erasure{}, err
		}
	}
	proof, err := records.EraseOwner(ctx, id)
	if err != nil {
		return proof, err
	}
	return proof, d.takeEffect(ctx, id, store.Owner{State: store.OwnerErased})
}

func (d ownersDesk) letGo(ctx context.Context, id principal.Owner) error {
	if err := d.endLogins(ctx, id); err != nil {
		return err
	}
	by := principal.Caller{Subject: id}
	alerts, err := d.side.alerts.Alerts(ctx, by)
	if err != nil {
		return err
	}
	for _, a := range alerts {
		if err := d.side.alerts.Cancel(ctx, by, a.ID); err != nil && !isGone(err) {
			return err
		}
	}
	if all, ok := d.side.orders.(interface {
		Drop(ctx context.Context, owner principal.Owner) error
	}); ok {
		if err := all.Drop(ctx, id); err != nil {
			return err
		}
	}
	if inbox, ok := d.side.inbox.(forgetter); ok {
		return inbox.Forget(id)
	}
	return nil
}

// ownerSubscriptions bounds the subscriptions of one owner; 0 where there is one owner.
func (rt Runtime) ownerSubscriptions() int {
	if rt.Config.ManyOwners() {
		return oauth.ManyOwners().OwnerTokens // each token has one
	}
	return 0
}

// ownerLimits finds what an owner may have and do.
type ownerLimits struct {
	plans    plan.Table
	standing func(owner principal.Owner) store.Standing
}

// plansOf reads the plans of the state directory, and returns nil for one owner.
func (rt Runtime) plansOf(standing func(owner principal.Owner) store.Standing) (*ownerLimits, error) {
	if !rt.Config.ManyOwners() {
		return nil, nil //nolint:nilnil // one owner has no plan
	}
	plans, err := ReadPlans(rt.Config.Home)
	return &ownerLimits{plans, standing}, err
}

// ReadPlans returns the plans in a state directory, the default alone if there is no file.
func ReadPlans(home string) (plan.Table, error) {
	path := filepath.Join(home, statedir.PlansName)
	data, err := config.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return plan.Table{}, nil
	}
	if err != nil {
		return plan.Table{}, err
	}
	table, err := plan.Parse(data)
	if err != nil {
		return table, fmt.Errorf("%s: %w", path, err)
	}
	return table, nil
}

func (l *ownerLimits) of(owner principal.Owner) plan.Plan { return l.plans.Of(l.standing(owner).Plan) }

// alerts returns the limit for the engine; nil where there is none.
func (l *ownerLimits) alerts() func(owner principal.Owner) (alerts, symbols int) {
	if l == nil {
		return nil
	}
	return func(owner principal.Owner) (alerts, symbols int) {
		p := l.of(owner)
		return p.Alerts, p.Symbols
	}
}

// suspended reports for the engine whose alerts must not fire; nil where there is one owner.
func (l *ownerLimits) suspended() func(owner principal.Owner) bool {
	if l == nil {
		return nil
	}
	return func(owner principal.Owner) bool { return l.standing(owner).State != store.OwnerActive }
}

// requests returns the limit for the transport; nil where there is none.
func (l *ownerLimits) requests() func(owner principal.Owner) httpd.OwnerLimits {
	if l == nil {
		return nil
	}
	return func(owner principal.Owner) httpd.OwnerLimits {
		p := l.of(owner)
		return httpd.OwnerLimits{Calls: p.Calls, Requests: bucket.Rate{Burst: 10 * p.Rate, Every: time.Second / time.Duration(p.Rate)}}
	}
}

// checkOwnersMode refuses a store that was made for many owners in an installation for one, and the
// other way round: nobody would find what is theirs.
func checkOwnersMode(ctx context.Context, s store.Store, many bool) error {
	kept, ok := s.(store.Owners)
	if !ok {
		return nil
	}
	hasMany, hasOne, err := kept.MadeFor(ctx, accountOwner)
	switch {
	case err != nil:
		return err
	case hasMany && !many:
		return &fault.Error{
			Kind: fault.Unsupported, Code: "owners_mode", Field: "owners", Value: "single",
			Message: "The state directory has the records of many owners. Start with --owners oidc, or choose another --home.",
		}
	case many && hasOne && !hasMany:
		return &fault.Error{
			Kind: fault.Unsupported, Code: "owners_mode", Field: "owners", Value: "oidc",
			Message: "The state directory has alerts or orders of one owner. Give them to a person with candela owners adopt, or choose another --home.",
		}
	}
	return nil
}

// standings are those of the owners of one node who are not active or not on the default plan. It
// is safe for concurrent use.
type standings struct{ known sync.Map } // store.Standing by owner

func (s *standings) of(owner principal.Owner) store.Standing {
	if known, ok := s.known.Load(owner); ok {
		return known.(store.Standing) //nolint:forcetypeassert,errcheck // the map holds nothing else
	}
	return store.Standing{State: store.OwnerActive}
}

// load reads them from the store.
func (s *standings) load(ctx context.Context, from store.Owners) error {
	all, err := from.Standings(ctx)
	for owner, one := range all {
		s.known.Store(owner, one)
	}
	return err
}

// set makes a standing take effect at an engine that evaluates all alerts.
func (s *standings) set(ctx context.Context, e *engine.Engine, owner principal.Owner, now store.Standing) error {
	before := s.of(owner)
	if now.Usual() {
		s.known.Delete(owner)
	} else {
		s.known.Store(owner, now)
	}
	switch {
	case before.State == now.State:
		return nil
	case now.State == store.OwnerActive:
		return e.Resume(ctx, owner, func(market.Symbol) bool { return true })
	}
	return e.Suspend(ctx, owner)
}

// ownerGate records owners who sign in and keeps suspended ones out.
type ownerGate struct{ node *node }

var _ oauth.Owners = ownerGate{}

func (g ownerGate) records() (store.Owners, error) {
	if g.node.owners != nil {
		if records := g.node.owners(); records != nil {
			return records, nil
		}
	}
	return nil, errNotOpen
}

// SignedIn implements oauth.Owners.
func (g ownerGate) SignedIn(ctx context.Context, owner principal.Owner, who upstream.Identity) (principal.Owner, error) {
	records, err := g.records()
	if err != nil {
		return "", err
	}
	linked, err := records.OwnerOf(ctx, who.Issuer, who.Subject)
	if err != nil {
		return "", err
	}
	o, err := records.SeeOwner(ctx, store.Owner{ID: cmp.Or(linked, owner), Issuer: who.Issuer, Subject: who.Subject, Email: who.Email, Name: who.Name})
	if err != nil {
		return "", err
	}
	return o.ID, admitted(o)
}

// Active implements oauth.Owners.
func (g ownerGate) Active(ctx context.Context, owner principal.Owner) error {
	records, err := g.records()
	if err != nil {
		return err
	}
	o, err := records.Owner(ctx, owner)
	if fault.KindOf(err) == fault.NotFound {
		return nil // approved before there were records
	}
	if err != nil {
		return err
	}
	return admitted(o)
}

// admitted refuses owners who are suspended or erased.
func admitted(o store.Owner) error {
	switch o.State {
	case store.OwnerActive:
		return nil
	case store.OwnerErased:
		return oauth.ErrErased
	case store.OwnerSuspended:
	}
	return oauth.ErrSuspended
}

// isGone reports whether what a command would end has ended meanwhile.
func isGone(err error) bool {
	return errors.Is(err, oauth.ErrNotFound) || fault.KindOf(err) == fault.NotFound
}

// newMeter returns what counts the use of owners, nil for one owner.
func (rt Runtime) newMeter() *metering.Meter {
	if !rt.Config.ManyOwners() {
		return nil
	}
	return metering.New(filepath.Join(rt.Config.Home, statedir.UsageName), time.Now, rt.Log)
}

// meterParts returns the part that writes what owners used, none for one owner.
func meterParts(m *metering.Meter) []lifecycle.Part {
	if m == nil {
		return nil
	}
	return []lifecycle.Part{{Name: "usage", Run: func(ctx, _ context.Context, ready func()) error {
		ready()
		m.Run(ctx)
		return nil
	}}}
}
