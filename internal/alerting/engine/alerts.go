package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/fault"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/market/marketdata"
	"candela/internal/market/provider"
)

// Set makes an alert of what a client asked for. It returns when the alert is
// written; one whose price is reached already has fired by then. A symbol that its
// venue does not know is an error: nothing would ever come of the alert.
func (e *Engine) Set(ctx context.Context, caller principal.Caller, want alert.Alert) (alert.Alert, error) {
	if !want.Expires.IsZero() && !want.Expires.After(e.cfg.Now()) {
		return alert.Alert{}, fault.Field("expires_at", want.Expires.UTC().Format(time.RFC3339), "a time in the future")
	}
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
	if err := e.checkInterval(ctx, p, want.Dependency()); err != nil {
		return alert.Alert{}, err
	}
	set, err := e.tryCreate(ctx, caller, want, nil)
	for range maxPriceReads { // again when it has grown old before its turn came
		if !errors.Is(err, errNoPrice) {
			return set, err
		}
		q, failed := e.readPrice(ctx, p)
		if failed != nil {
			return alert.Alert{}, failed
		}
		set, err = e.tryCreate(ctx, caller, want, q)
	}
	if errors.Is(err, errNoPrice) {
		return alert.Alert{}, fault.Unreachable(err, 0, "the price of %s grew old before the alert could be set; try again in a moment", p.symbol.Name)
	}
	return set, err
}

// fileStill is how many bars a file may be behind before nobody seems to write it.
const fileStill = 3

// checkMoving refuses a symbol of a file that has ended: no bar will come, and the alert
// would wait for ever. A file that somebody goes on writing has bars of today.
func (e *Engine) checkMoving(ctx context.Context, p *listing) error {
	if !p.caps.Files {
		return nil
	}
	q, err := e.readPrice(ctx, p)
	if err != nil {
		return err
	}
	ended := p.closeTime(q.sub.Interval, q.bar.T)
	if e.cfg.Now().Sub(ended) <= fileStill*q.sub.Interval.Duration() {
		return nil
	}
	return fault.Field("symbol", p.symbol.String(), fmt.Sprintf("a symbol whose price moves: the file ends at %s, so the alert would never fire; "+
		"--replay-from plays a file, and a live venue has prices", ended.UTC().Format(time.RFC3339)))
}

// maxPriceReads is how often the price of a new alert is read at most. A loop that stands
// still for seconds at a time would have it read without end.
const maxPriceReads = 3

// errNoPrice means that no price is known that is new enough.
var errNoPrice = errors.New("no fresh price")

func (e *Engine) tryCreate(ctx context.Context, caller principal.Caller, want alert.Alert, q *priceRead) (alert.Alert, error) {
	var set alert.Alert
	var refused error
	if err := e.do(ctx, func(l *loop) { set, refused = l.create(caller, want, q) }); err != nil {
		return alert.Alert{}, err
	}
	return set, refused
}

// checkInterval makes sure that there are bars of an interval to wait for. Whether
// there is a price is seen when it is read.
func (e *Engine) checkInterval(ctx context.Context, p *listing, n alert.Dependency) error {
	switch {
	case n.Interval == 0 || e.windows.get(subscriptionFor(n)) != nil:
		return nil
	case !slices.Contains(p.caps.Intervals, n.Interval):
		return provider.UnsupportedInterval(p.symbol.Venue, n.Interval, p.caps.Intervals)
	}
	_, err := e.cfg.Data.Bars(ctx, marketdata.Request{Symbol: p.symbol, Interval: n.Interval, Bars: 1})
	return err
}

// create writes an alert and begins to follow what it depends on.
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
		a.BarOpen = l.priceTrackers[a.Instrument].unreachedSince(&a.Condition, now)
	}
	err := l.index.Check(&a)
	if err == nil {
		err = l.cfg.Store.PutAlert(l.drainCtx, caller, a)
	}
	if err == nil {
		err = l.index.Add(a) // nil, since Check was
	}
	if err != nil {
		l.markUnused(a.Dependency()) // nobody may need what was read for it
		return alert.Alert{}, err
	}
	l.trackAlert(&a, now)
	l.commit() // with it what the price that was read has fired
	return a, nil
}

// applyPrice takes in a price that was read because none was known.
func (l *loop) applyPrice(q *priceRead, now time.Time) {
	n := alert.Dependency{Instrument: q.listing.symbol}
	l.loadingOf(n)
	p := l.priceTrackers[n.Instrument]
	p.start(l, q)
	p.applyRead(l, q, now)
	if p.isZero() && !p.inProgress {
		p.ready = true // there is no older alert that has missed something
	}
}

// trackAlert begins to follow what a new alert depends on, and fires it if its price is
// reached.
func (l *loop) trackAlert(a *alert.Alert, now time.Time) {
	n := a.Dependency()
	delete(l.idle, n)
	if n.Interval == 0 {
		price := l.priceTrackers[n.Instrument].bar.C
		l.newFirings = l.index.FirePrice(l.newFirings, n.Instrument, price, price, now)
		return
	}
	s := l.loadingOf(n)
	if s.ready {
		l.barTrackers[n].extendIfShort(l)
		return
	}
	s.include(a.Created, 0)
	if _, waits := l.retry[n]; !waits {
		l.load(n)
	}
}

// Cancel removes an alert of the caller's.
func (e *Engine) Cancel(ctx context.Context, caller principal.Caller, alertID string) error {
	var refused error
	err := e.do(ctx, func(l *loop) {
		if refused = l.cfg.Store.CancelAlert(l.drainCtx, caller, alertID); refused != nil {
			return
		}
		if a, there := l.index.Remove(caller.Subject, alertID); there {
			l.markUnused(a.Dependency())
		}
	})
	if err != nil {
		return err
	}
	return refused
}

// Alerts lists the active alerts of the caller's, in the order they were made.
func (e *Engine) Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error) {
	var all []alert.Alert
	err := e.do(ctx, func(l *loop) { all = l.index.List(caller.Subject) })
	if err != nil {
		return nil, err
	}
	return e.current(all), nil
}

// AlertsOn lists the active alerts of the caller's on one instrument, which is
// named with or without its venue.
func (e *Engine) AlertsOn(ctx context.Context, caller principal.Caller, s market.Symbol) ([]alert.Alert, error) {
	s, err := e.canonical(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []alert.Alert
	if err := e.do(ctx, func(l *loop) { all = l.index.ListOn(caller.Subject, s) }); err != nil {
		return nil, err
	}
	return e.current(all), nil
}

// current leaves out what has expired and was not removed yet.
func (e *Engine) current(all []alert.Alert) []alert.Alert {
	now := e.cfg.Now()
	return slices.DeleteFunc(all, func(a alert.Alert) bool { return !a.Expires.IsZero() && !a.Expires.After(now) })
}
