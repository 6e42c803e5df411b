package app

import (
	"context"
	"path/filepath"
	"time"

	"candela/internal/access/metering"
	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/alerting/engine"
	"candela/internal/kit/bucket"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/principal"
	"candela/internal/operate/backup"
	"candela/internal/serve/httpd"
	"candela/internal/store/statedir"
	"candela/internal/work/hosting"
	"candela/lib/market"
)

// hosting returns what carries out what a host asks for about owners, nil for one owner.
func (t *trading) hosting(rt Runtime, logins *oauth.Server) *hosting.Desk {
	if t == nil || t.owners == nil {
		return nil
	}
	d := hosting.New(t.ownersDesk(rt.Config.Home, logins), logins)
	d.Failed = func(ctx context.Context, err error) {
		rt.Log.ErrorContext(ctx, "change of an owner failed", "error", err)
	}
	d.Trader, _ = t.trader().(hosting.Trader)
	if t.audit != nil {
		d.Note = func(ctx context.Context, kind, about string, body []byte) error {
			return t.audit(ctx, principal.Caller{}, kind, about, body)
		}
	}
	return d
}

// ownersDesk returns what carries out an operator's commands about owners.
func (t *trading) ownersDesk(home string, logins *oauth.Server) owners.Desk {
	d := owners.Desk{Records: t.owners, Logins: logins, Alerts: ownerAlerts{t.alerts}, TakeEffect: t.standing}
	if t.limits != nil {
		d.Plans, d.Note = t.limits.Plans, func(e owners.Erasure) error { return backup.NoteErased(home, e) }
	}
	if all, ok := t.orders.(interface {
		Drop(ctx context.Context, owner principal.Owner) error
	}); ok {
		d.Forget = append(d.Forget, all.Drop)
	}
	if inbox, ok := t.inbox.(interface {
		Forget(owner principal.Owner) error
	}); ok {
		d.Forget = append(d.Forget, func(_ context.Context, owner principal.Owner) error { return inbox.Forget(owner) })
	}
	return d
}

// ownerAlerts are the alerts of owners by id.
type ownerAlerts struct{ ownAlerts }

// IDs implements owners.Alerts.
func (a ownerAlerts) IDs(ctx context.Context, by principal.Caller) ([]string, error) {
	all, err := a.Alerts(ctx, by)
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	return ids, err
}

// wholeEngine is the engine of one machine, which evaluates all alerts.
type wholeEngine struct{ *engine.Engine }

// Resume implements owners.Engine.
func (e wholeEngine) Resume(ctx context.Context, owner principal.Owner) error {
	return e.Engine.Resume(ctx, owner, func(market.Symbol) bool { return true })
}

// ReadPlans returns the plans in a state directory, the default alone if there is no file.
func ReadPlans(home string) (plan.Table, error) {
	return plan.Read(filepath.Join(home, statedir.PlansName))
}

// requestLimits returns the limit for the transport; nil where there is none.
func requestLimits(l *owners.Limits) func(owner principal.Owner) httpd.OwnerLimits {
	if l == nil {
		return nil
	}
	return func(owner principal.Owner) httpd.OwnerLimits {
		p := l.Of(owner)
		return httpd.OwnerLimits{Plan: p.Name, Calls: p.Calls, Streams: p.Streams, Requests: bucket.Rate{Burst: 10 * p.Rate, Every: time.Second / time.Duration(p.Rate)}}
	}
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
