package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/lib/fault"
	"candela/lib/market"
)

// maxPriceReads bounds the reads of the price for a new alert: the price may grow old
// again while the loop is stalled.
const maxPriceReads = 3

// Set creates an alert. It returns when the alert is stored; an alert whose threshold is
// reached already has fired by then. A symbol that its venue does not know is an error.
func (e *Engine) Set(ctx context.Context, caller principal.Caller, want alert.Alert) (alert.Alert, error) {
	if !want.Expires.IsZero() && !want.Expires.After(e.cfg.Now()) {
		return alert.Alert{}, e.pastExpiry(ctx, &want)
	}
	if want.Extended() {
		want.Condition.Members = slices.Clone(want.Condition.Members)
		if err := want.Normalize(e.cfg.Library); err != nil {
			return alert.Alert{}, err
		}
	}
	if err := want.Condition.Pin(e.cfg.Library); err != nil {
		return alert.Alert{}, err
	}
	want.State = alert.State{}
	instrument, err := e.canonical(ctx, want.Symbol)
	if err != nil {
		return alert.Alert{}, err
	}
	p, err := e.resolveListing(ctx, instrument)
	if err != nil {
		return alert.Alert{}, err
	}
	if p.caps.Synthetic && !p.caps.Live {
		return alert.Alert{}, fault.Field("symbol", want.Symbol.String(), "a symbol of a real market: sample bars stand still")
	}
	if err := e.checkMoving(ctx, p); err != nil {
		return alert.Alert{}, err
	}
	want.Owner, want.Instrument = caller.Subject, p.symbol
	for _, d := range want.Dependencies() {
		if err := e.checkInterval(ctx, p, d); err != nil {
			return alert.Alert{}, err
		}
	}
	if err := e.tryScripts(ctx, caller.Subject, p, &want); err != nil {
		return alert.Alert{}, err
	}
	var q *priceRead
	for reads := 0; ; reads++ {
		set, err := e.create(ctx, caller, &want, p, q)
		switch {
		case !errors.Is(err, errNoPrice):
			return set, err
		case reads == maxPriceReads:
			return alert.Alert{}, fault.Unreachable(err, 0, "the price of %s was outdated before the alert could be set; try again in a moment", p.symbol.Name)
		}
		if q, err = e.readPrice(ctx, p); err != nil {
			return alert.Alert{}, err
		}
	}
}

// create makes an alert in the loop when the turn of its caller comes. A price that has grown old before
// is read again then: what is left to wait for are the few commands whose turn it is, too.
func (e *Engine) create(ctx context.Context, caller principal.Caller, want *alert.Alert, p *listing, q *priceRead) (alert.Alert, error) {
	release, err := e.turns.Take(ctx, string(caller.Subject), caller.Key)
	if err != nil {
		return alert.Alert{}, err
	}
	defer release()
	if q != nil && !q.isFresh(e.cfg.Now()) {
		if q, err = e.readPrice(ctx, p); err != nil {
			return alert.Alert{}, err
		}
	}
	return ask(ctx, e, func(l *loop) (alert.Alert, error) { return l.create(caller, *want, q) })
}

// pastExpiry is the error of an alert that would have expired. At a venue with a time of its own the
// moment may be yet to come there.
func (e *Engine) pastExpiry(ctx context.Context, want *alert.Alert) error {
	allowed := "a time in the future"
	if instrument, err := e.canonical(ctx, want.Symbol); err == nil {
		if p, err := e.resolveListing(ctx, instrument); err == nil && p.clock != (provider.Clock{}) {
			now := e.cfg.Now()
			allowed += fmt.Sprintf(" by the wall clock, by which alerts of a replay expire: it is %s now, and %s in the replay",
				now.UTC().Format(time.RFC3339), time.Unix(p.clock.Unix(now), 0).UTC().Format(time.RFC3339))
		}
	}
	return fault.Field("expires_at", want.Expires.UTC().Format(time.RFC3339), allowed)
}

// finite is a venue whose bars come to an end.
type finite interface {
	// Ended reports whether no bar of a symbol follows those that it has shown.
	Ended(ctx context.Context, s market.Symbol, i market.Interval) (bool, error)
}

// maxFileLag is how many bars a file may lag before it counts as ended.
const maxFileLag = 3

// checkMoving rejects a symbol of a file that has ended, or whose replay has: its alert would never
// fire. A file that is still written has current bars.
func (e *Engine) checkMoving(ctx context.Context, p *listing) error {
	played, isFinite := p.venue.(finite)
	if !p.caps.Files && !isFinite {
		return nil
	}
	q, err := e.readPrice(ctx, p)
	if err != nil {
		return err
	}
	refused := func(what, next string) error {
		closed := time.Unix(p.calendar.CloseOf(q.sub.Interval, q.bar.T), 0).UTC()
		return fault.Field("symbol", p.symbol.String(), fmt.Sprintf("a symbol whose price moves: the %s ends at %s, so the alert would never fire; %s",
			what, closed.Format(time.RFC3339), next))
	}
	if isFinite {
		over, err := played.Ended(ctx, p.symbol, q.sub.Interval)
		if err != nil || !over {
			return err
		}
		return refused("replay", "it begins again when candela starts again")
	}
	if e.cfg.Now().Sub(p.closeTime(q.sub.Interval, q.bar.T)) <= maxFileLag*q.sub.Interval.Duration() {
		return nil
	}
	return refused("file", "--replay-from plays a file, and a live venue has prices")
}

// errNoPrice means that no price is known, or that it is too old.
var errNoPrice = errors.New("no fresh price")

// checkInterval checks that the venue has bars at the interval. A price is checked when
// it is read.
func (e *Engine) checkInterval(ctx context.Context, p *listing, d alert.Dependency) error {
	switch {
	case d.Interval == 0 || e.windows.get(subscriptionFor(d)) != nil:
		return nil
	case !p.caps.Has(d.Interval):
		return provider.UnsupportedInterval(p.symbol.Venue, d.Interval, p.caps)
	}
	_, err := e.cfg.Data.Bars(ctx, marketdata.Request{Symbol: p.symbol, Interval: d.Interval, Bars: 1})
	return err
}

// create stores an alert and tracks its dependency.
func (l *loop) create(caller principal.Caller, a alert.Alert, q *priceRead) (alert.Alert, error) {
	now := l.cfg.Now()
	if a.Interval == 0 && (q == nil && !l.priceTrackers[a.Instrument].isFresh(now) || q != nil && !q.isFresh(now)) {
		return alert.Alert{}, errNoPrice
	}
	a.ID, a.Created = id.New(now), now.Truncate(time.Millisecond).UTC()
	if !a.Expires.IsZero() {
		a.Expires = a.Expires.Truncate(time.Millisecond).UTC()
	}
	if q != nil {
		l.applyPrice(q, now)
	}
	if a.Interval == 0 {
		tracked := l.priceTrackers[a.Instrument]
		a.State.Side = tracked.side(&a.Condition)
		a.BarOpen = tracked.unreachedSince(&a, now)
	}
	err := l.checkLimit(&a)
	if err == nil {
		err = l.index.Check(&a)
	}
	if err == nil {
		err = l.checkMemory(&a)
	}
	if err == nil {
		err = l.cfg.Store.PutAlert(l.drainCtx, caller, a)
	}
	if err == nil {
		err = l.index.Add(a) // nil, because Check returned nil
	}
	if err != nil {
		l.markAllUnused(&a) // a tracker may have been created for it
		return alert.Alert{}, err
	}
	l.trackAlert(&a, now)
	l.commit() // includes what the price read above has fired
	return a, nil
}

// checkLimit returns an error if the plan of an owner does not allow one more alert, or one on a
// further symbol.
func (l *loop) checkLimit(a *alert.Alert) error {
	if l.cfg.Limit == nil {
		return nil
	}
	alerts, symbols := l.cfg.Limit(a.Owner)
	if n := l.index.Count(a.Owner) + len(l.idleOf(a.Owner)); n >= alerts {
		return &fault.Error{
			Kind: fault.Conflict, Code: "too_many_alerts", Value: strconv.Itoa(n), Allowed: fmt.Sprintf("at most %d active alerts", alerts),
			Message: fmt.Sprintf("%d alerts are active and your plan %s has %d; cancel_alert removes one, list_alerts shows them", n, l.cfg.OverPlan(a.Owner, "alerts"), alerts),
		}
	}
	watched := map[market.Symbol]bool{}
	for _, one := range l.index.List(a.Owner) {
		watched[one.Instrument] = true
	}
	if !watched[a.Instrument] && len(watched) >= symbols {
		return &fault.Error{
			Kind: fault.Conflict, Code: "too_many_symbols", Field: "symbol", Value: a.Symbol.String(), Allowed: fmt.Sprintf("alerts on at most %d symbols", symbols),
			Message: fmt.Sprintf("Your alerts are on %d symbols, and your plan %s has %d. Cancel those on another symbol first.", len(watched), l.cfg.OverPlan(a.Owner, "symbols"), symbols),
		}
	}
	return nil
}

// applyPrice applies a price that was read for a new alert.
func (l *loop) applyPrice(q *priceRead, now time.Time) {
	d := alert.Dependency{Instrument: q.listing.symbol}
	l.track(d)
	p := l.priceTrackers[d.Instrument]
	p.start(l, q)
	p.applyRead(l, q, now)
	if p.isZero() && !p.inProgress {
		p.ready = true // no older alert has missed anything
	}
}

// trackAlert tracks the dependency of a new alert, and fires it if its threshold is
// reached.
func (l *loop) trackAlert(a *alert.Alert, now time.Time) {
	t := l.track(a.Dependency())
	t.unusedSince = time.Time{}
	switch {
	case a.Interval == 0:
		price := l.priceTrackers[a.Instrument].bar.C
		l.newFirings = l.index.FirePrice(l.newFirings, a.Instrument, price, price, price, now)
	case t.ready && t.inProgress && l.barTrackers[t.dependency].isShort(l):
		t.queued.include(a.Created, 0) // the load in progress began without it
	case t.ready:
		l.barTrackers[t.dependency].extendIfShort(l)
	default:
		t.include(a.Created, 0)
		l.load(t)
	}
	l.trackLonger(a)
}

// Cancel removes an alert of the caller.
func (e *Engine) Cancel(ctx context.Context, caller principal.Caller, alertID string) error {
	_, err := askFor(ctx, e, caller, func(l *loop) (struct{}, error) {
		err := l.cfg.Store.CancelAlert(l.drainCtx, caller, alertID)
		if err == nil {
			l.remove(Name{caller.Subject, alertID})
		}
		return struct{}{}, err
	})
	return err
}

// remove removes an alert that the store no longer has.
func (l *loop) remove(name Name) {
	if a, idle := l.idle[name.ID]; idle && a.Owner == name.Owner {
		delete(l.idle, name.ID)
	}
	if a, ok := l.index.Remove(name.Owner, name.ID); ok {
		l.markAllUnused(&a)
	}
}

// Alerts lists the active alerts of the caller in the order of their creation.
func (e *Engine) Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error) {
	return e.unexpired(ctx, caller, func(l *loop) []alert.Alert { return l.listed(caller.Subject) })
}

// AlertsOn lists the active alerts of the caller on one instrument, named with or
// without its venue.
func (e *Engine) AlertsOn(ctx context.Context, caller principal.Caller, s market.Symbol) ([]alert.Alert, error) {
	s, err := e.canonical(ctx, s)
	if err != nil {
		return nil, err
	}
	return e.unexpired(ctx, caller, func(l *loop) []alert.Alert { return l.index.ListOn(caller.Subject, s) })
}

// unexpired lists alerts without those that have expired and are not removed yet. An idle one stays
// until it is cancelled or evaluated again: it may have come true before it expired.
func (e *Engine) unexpired(ctx context.Context, caller principal.Caller, list func(*loop) []alert.Alert) ([]alert.Alert, error) {
	all, err := askFor(ctx, e, caller, func(l *loop) ([]alert.Alert, error) { return list(l), nil })
	now := e.cfg.Now()
	return slices.DeleteFunc(all, func(a alert.Alert) bool { return a.Idle == nil && !a.Expires.IsZero() && !a.Expires.After(now) }), err
}

// errUnreadable means that the scripts of an alert are not known.
var errUnreadable = errors.New("an alert cannot be read, so the scripts that it uses are not known")

// Scripts returns the scripts that alerts use, by name and version. It is an error if the condition
// of an alert cannot be read.
func (e *Engine) Scripts(ctx context.Context) (map[string]bool, error) {
	return ask(ctx, e, func(l *loop) (map[string]bool, error) {
		used := l.index.Scripts()
		for _, a := range l.idle {
			if a.Condition.Type == 0 {
				return nil, errUnreadable
			}
			for _, name := range a.Condition.Scripts() {
				used[name] = true
			}
		}
		return used, nil
	})
}
