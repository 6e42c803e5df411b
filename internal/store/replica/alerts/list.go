package alerts

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
	"candela/lib/market"
)

// Indexed returns a channel that is closed once the engine lists all alerts. With many owners a
// replica answers before that: it reads the alerts of an owner when they are asked for.
func (a *Coordinator) Indexed() <-chan struct{} { return a.indexed }

func (a *Coordinator) isIndexed() bool {
	select {
	case <-a.indexed:
		return true
	default:
		return false
	}
}

// readsOwners reports whether the alerts of an owner are read when they are asked for: with many
// owners, until the engine lists all.
func (a *Coordinator) readsOwners() bool { return a.readsLater && !a.isIndexed() }

// indexUnread lists the alerts that the change feed has not read, in batches. A later call
// continues where an earlier one failed.
func (a *Coordinator) indexUnread(ctx context.Context, e Engine, u *unread) error {
	if u.after == 0 {
		if err := a.indexSaved(ctx, e, u); err != nil {
			return err
		}
	}
	var batch []alert.Alert
	var ended []engine.Name
	flush := func() error {
		err := e.Index(ctx, batch)
		if err == nil && len(ended) > 0 {
			err = e.Ended(ctx, ended)
		}
		batch, ended = batch[:0], ended[:0]
		return err
	}
	reached := u.after // what was read before it is in the index
	for c, err := range a.cfg.ChangeFeed.read(ctx, u) {
		if err != nil {
			u.after = reached
			return err
		}
		if c.ended {
			ended = append(ended, c.name)
		} else {
			batch = append(batch, c.alert)
		}
		if len(batch)+len(ended) < indexBatch {
			continue
		}
		if err := flush(); err != nil {
			u.after = reached
			return err
		}
		reached = u.after
	}
	if err := flush(); err != nil {
		u.after = reached
		return err
	}
	a.cfg.ChangeFeed.finishUnread(u)
	return nil
}

// indexOwner lists the alerts of the caller's in the engine, if it does not list all yet: how many
// there are decides whether another one may be set.
func (a *Coordinator) indexOwner(ctx context.Context, e Engine, caller principal.Caller) error {
	a.indexing.RLock()
	defer a.indexing.RUnlock()
	if !a.readsOwners() {
		return nil
	}
	all, err := a.cfg.ChangeFeed.store.OwnerAlerts(ctx, caller.Subject)
	if err != nil {
		return err
	}
	return e.Index(ctx, all)
}

// OwnerAlerts returns the active alerts of an owner in the order of their creation: all that were
// acknowledged before the call.
func (s *Store) OwnerAlerts(ctx context.Context, owner principal.Owner) ([]alert.Alert, error) {
	all, err := table.ReadBelow(ctx, s.alerts, "read alerts", s.alerts.OwnerSubject(owner, alertKind), func(m conn.Message) (alert.Alert, bool, error) {
		r, err := decodeRecord(m.Data)
		if err != nil || r.hasEnded() || r.Alert.Owner != owner {
			return alert.Alert{}, false, err
		}
		return r.listed(), true, nil
	})
	slices.SortFunc(all, func(x, y alert.Alert) int { return cmp.Or(x.Created.Compare(y.Created), strings.Compare(x.ID, y.ID)) })
	return all, err
}

// Preview says what is true now of an alert that may be set. See engine.Engine.Preview.
func (a *Coordinator) Preview(ctx context.Context, want alert.Alert) alert.Present {
	select {
	case <-a.running:
		return a.engine.Preview(ctx, want)
	default:
		return alert.Present{}
	}
}

// Alerts lists the active alerts of the caller's in the order they were set: all that any
// replica has acknowledged.
func (a *Coordinator) Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error) {
	if a.readsOwners() {
		return a.ownerAlerts(ctx, caller, func(*alert.Alert) bool { return true })
	}
	if err := a.cfg.ChangeFeed.CatchUp(ctx); err != nil {
		return nil, err
	}
	if err := a.cfg.ChangeFeed.awaitDelivered(ctx); err != nil {
		return nil, err
	}
	e, err := a.awaitIndexed(ctx)
	if err != nil {
		return nil, err
	}
	return e.Alerts(ctx, caller)
}

// ownerAlerts reads those alerts of the caller's that are wanted and have not expired.
func (a *Coordinator) ownerAlerts(ctx context.Context, caller principal.Caller, wanted func(*alert.Alert) bool) ([]alert.Alert, error) {
	store := a.cfg.ChangeFeed.store
	all, err := store.OwnerAlerts(ctx, caller.Subject)
	now := store.now()
	return slices.DeleteFunc(all, func(one alert.Alert) bool {
		return !wanted(&one) || one.Idle == nil && !one.Expires.IsZero() && !one.Expires.After(now)
	}), err
}

// AlertsOn lists the active alerts of the caller's on one instrument, as far as this
// replica knows them. Charts show them and do not wait, neither for other replicas nor for
// the start of this one.
func (a *Coordinator) AlertsOn(ctx context.Context, caller principal.Caller, s market.Symbol) ([]alert.Alert, error) {
	if a.readsOwners() {
		venue, err := a.cfg.Route(ctx, s)
		if err != nil {
			return nil, err
		}
		if s, err = provider.Canonical(ctx, venue, s); err != nil {
			return nil, err
		}
		return a.ownerAlerts(ctx, caller, func(one *alert.Alert) bool { return one.Instrument == s })
	}
	e, err := a.indexedEngine()
	if err != nil {
		return nil, err
	}
	return e.AlertsOn(ctx, caller, s)
}

// errStarting means that Run has not indexed the stored alerts yet.
var errStarting = errors.New("alerts are still being read")

// indexedEngine returns the engine if Run has indexed all alerts.
func (a *Coordinator) indexedEngine() (Engine, error) {
	select {
	case <-a.indexed:
		return a.engine, nil
	default:
		return nil, conn.Unavailable("list alerts", errStarting)
	}
}

// awaitIndexed is indexedEngine, but waits at the start of a replica.
func (a *Coordinator) awaitIndexed(ctx context.Context) (Engine, error) {
	if e, err := a.indexedEngine(); err == nil {
		return e, nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.ChangeFeed.store.alerts.RetryFor)
	defer cancel()
	select {
	case <-a.indexed:
		return a.engine, nil
	case <-ctx.Done():
		return nil, conn.Unavailable("wait until all alerts are read", ctx.Err())
	}
}
