package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/market/provider"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/table"
)

// adoptBatch is how many alerts an engine takes over in one step, about: those on one
// instrument stay together, and prices are taken in between.
const adoptBatch = 5000

// watermarkTimeout is how long an engine waits for its marks to be written: it evaluates nothing
// meanwhile, and tries again in a moment.
const watermarkTimeout = 2 * time.Second

// setMethod is the call that sets an alert.
const setMethod = "alert.set"

// Engine is an engine, as far as alerts are handed over to it.
type Engine interface {
	Set(ctx context.Context, caller principal.Caller, want alert.Alert) (alert.Alert, error)
	Adopt(ctx context.Context, handed []engine.Handed) error
	Abandon(ctx context.Context, keep func(market.Symbol) bool) error
	Ended(ctx context.Context, names []engine.Name) error
}

// CoordinatorConfig is what Alerts works with. Everything is required.
type CoordinatorConfig struct {
	Group      *member.Group
	ChangeFeed *ChangeFeed
	// Route finds the venue of a symbol.
	Route func(ctx context.Context, s market.Symbol) (provider.Provider, error)
	Now   func() time.Time
	Log   *slog.Logger
}

// Coordinator sets and lists alerts on any replica. An alert is watched by the owner of its
// instrument; Run tells this replica's engine which are its own. It is safe for
// concurrent use.
type Coordinator struct {
	cfg CoordinatorConfig
	// appliedCandidates is who the members were when the engine was last told what is its own; empty
	// until it was, and while it is.
	appliedCandidates atomic.Pointer[member.Candidates]
}

// NewCoordinator returns alerts that wait for an engine, which Run is given.
func NewCoordinator(cfg CoordinatorConfig) *Coordinator {
	a := &Coordinator{cfg: cfg}
	a.appliedCandidates.Store(&member.Candidates{})
	return a
}

// alertShard is the name under which an instrument has an owner.
func alertShard(s market.Symbol) string { return "alert/" + s.String() }

// ownedBy returns a function that reports whether a member owns a symbol, when the
// members are those. One goroutine only.
func ownedBy(id string, all member.Candidates) func(market.Symbol) bool {
	known := make(map[market.Symbol]bool)
	return func(s market.Symbol) bool {
		mine, asked := known[s]
		if !asked {
			mine = all.Owner(alertShard(s)) == id
			known[s] = mine
		}
		return mine
	}
}

// Run tells an engine which alerts are its own until ctx ends: at the start, when
// members come and go, and when alerts begin or end elsewhere.
func (a *Coordinator) Run(ctx context.Context, e Engine) {
	a.cfg.Group.Handle(setMethod, func(ctx context.Context, body []byte) ([]byte, error) { return a.handleSet(ctx, e, body) })
	for {
		changed := a.cfg.Group.Changed()
		err := a.reconcile(ctx, e)
		if ctx.Err() != nil {
			return
		}
		var again <-chan time.Time
		news := a.cfg.ChangeFeed.pendingReady()
		if err != nil {
			a.cfg.Log.WarnContext(ctx, "alert takeover failed; retrying", "error", err)
			again, news = time.After(table.RestartDelay), nil
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-news:
		case <-again:
		}
	}
}

// Balanced reports whether the engine was told who the members are: it then watches
// what is its own and nothing else.
func (a *Coordinator) Balanced() bool {
	return a.cfg.Group.Candidates().Equal(*a.appliedCandidates.Load())
}

// OwnedInstruments returns how many instruments with alerts are this replica's own.
func (a *Coordinator) OwnedInstruments() int {
	a.cfg.ChangeFeed.mu.Lock()
	all := a.cfg.ChangeFeed.index.Instruments()
	a.cfg.ChangeFeed.mu.Unlock()
	mine, n := ownedBy(a.cfg.Group.Self(), *a.appliedCandidates.Load()), 0
	for s := range all {
		if mine(s) {
			n++
		}
	}
	return n
}

// reconcile tells the engine what has changed since the pass before. One that failed is
// made up for by the next.
func (a *Coordinator) reconcile(ctx context.Context, e Engine) error {
	if now := a.cfg.Group.Candidates(); !now.Equal(*a.appliedCandidates.Load()) {
		if err := a.rebalance(ctx, e, now); err != nil {
			return err
		}
		a.appliedCandidates.Store(&now)
	}
	return a.deliverChanges(ctx, e)
}

// rebalance has the engine abandon what went to others and adopt what came from them.
func (a *Coordinator) rebalance(ctx context.Context, e Engine, all member.Candidates) error {
	self := a.cfg.Group.Self()
	had, has := ownedBy(self, *a.appliedCandidates.Load()), ownedBy(self, all)
	err := e.Abandon(ctx, has)
	// What the engine still has is known again when all of this is done. If it fails
	// half-way, the next pass hands over everything, wherever the members are by then.
	a.appliedCandidates.Store(&member.Candidates{})
	if err != nil {
		return fmt.Errorf("abandon: %w", err)
	}
	has = ownedBy(self, all) // the other one may still be in use when ctx has ended
	if err := a.cfg.ChangeFeed.CatchUp(ctx); err != nil {
		return err
	}
	handed, err := a.cfg.ChangeFeed.alertsToAdopt(
		func(s market.Symbol) bool { return has(s) && !had(s) },
		func() (map[seriesKey]watermark, error) { return a.cfg.ChangeFeed.store.marks(ctx) })
	if err != nil {
		return err
	}
	for len(handed) > 0 {
		n := min(adoptBatch, len(handed))
		for n < len(handed) && handed[n].Instrument == handed[n-1].Instrument {
			n++
		}
		if err := e.Adopt(ctx, handed[:n]); err != nil {
			return fmt.Errorf("adopt: %w", err)
		}
		handed = handed[n:]
	}
	return nil
}

// deliverChanges tells the engine of its own alerts that began or ended elsewhere. It knows of
// those that it set or ended itself, and passes over them.
func (a *Coordinator) deliverChanges(ctx context.Context, e Engine) error {
	all, upTo := a.cfg.ChangeFeed.takePending()
	mine := ownedBy(a.cfg.Group.Self(), *a.appliedCandidates.Load())
	var ended []engine.Name
	var begun []engine.Handed
	for n := range maps.Values(all) {
		switch {
		case n.ended:
			ended = append(ended, n.name)
		case mine(n.alert.Instrument):
			begun = append(begun, engine.Handed{Alert: n.alert})
		}
	}
	var err error
	if len(ended) > 0 {
		err = e.Ended(ctx, ended)
	}
	if err == nil && len(begun) > 0 {
		err = e.Adopt(ctx, begun)
	}
	if err != nil {
		a.cfg.ChangeFeed.requeue(all)
		return fmt.Errorf("tell of alerts: %w", err)
	}
	a.cfg.ChangeFeed.confirmDelivered(upTo)
	return nil
}

// setRequest is a call that sets an alert.
type setRequest struct {
	Caller principal.Caller `json:"caller"`
	Alert  alertData        `json:"alert"`
}

func (a *Coordinator) handleSet(ctx context.Context, e Engine, body []byte) ([]byte, error) {
	var form setRequest
	if err := json.Unmarshal(body, &form); err != nil {
		return nil, fmt.Errorf("a call that sets an alert: %w", err)
	}
	want, err := form.Alert.alert()
	if err != nil {
		return nil, err
	}
	set, err := e.Set(ctx, form.Caller, want)
	if err != nil {
		return nil, err
	}
	return json.Marshal(newAlertData(set))
}

// Set makes an alert at the owner of its instrument. See engine.Engine.Set.
func (a *Coordinator) Set(ctx context.Context, caller principal.Caller, want alert.Alert) (alert.Alert, error) {
	venue, err := a.cfg.Route(ctx, want.Symbol)
	if err != nil {
		return alert.Alert{}, err
	}
	want.Owner = caller.Subject
	if want.Instrument, err = provider.Canonical(ctx, venue, want.Symbol); err != nil {
		return alert.Alert{}, err
	}
	// The owner of the instrument knows the alerts on its own ones alone.
	if err := a.cfg.ChangeFeed.checkCount(caller.Subject); err != nil {
		return alert.Alert{}, err
	}
	body, err := json.Marshal(setRequest{caller, newAlertData(want)})
	if err != nil {
		return alert.Alert{}, fmt.Errorf("a call that sets an alert: %w", err)
	}
	answer, err := a.cfg.Group.Call(ctx, alertShard(want.Instrument), setMethod, body)
	if errors.Is(err, member.ErrOutcomeUnknown) {
		return alert.Alert{}, &fault.Error{
			Kind: fault.Unavailable, Code: "outcome_unknown", Cause: err,
			Message: "it is not known whether the alert was set; list_alerts shows it if it was",
		}
	}
	if err != nil {
		return alert.Alert{}, err
	}
	var set alertData
	if err := json.Unmarshal(answer, &set); err != nil {
		return alert.Alert{}, fmt.Errorf("answer to a call that sets an alert: %w", err)
	}
	return set.alert()
}

// Cancel removes an alert of the caller's, whoever watches it.
func (a *Coordinator) Cancel(ctx context.Context, caller principal.Caller, alertID string) error {
	return a.cfg.ChangeFeed.store.CancelAlert(ctx, caller, alertID)
}

// Alerts lists the active alerts of the caller's, in the order they were made: all
// that any replica has acknowledged.
func (a *Coordinator) Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error) {
	if err := a.cfg.ChangeFeed.CatchUp(ctx); err != nil {
		return nil, err
	}
	return a.unexpired(a.cfg.ChangeFeed.List(caller.Subject, market.Symbol{})), nil
}

// AlertsOn lists the active alerts of the caller's on one instrument, as far as they
// are known here. Charts show them, and a chart does not wait for other replicas.
func (a *Coordinator) AlertsOn(ctx context.Context, caller principal.Caller, s market.Symbol) ([]alert.Alert, error) {
	venue, err := a.cfg.Route(ctx, s)
	if err != nil {
		return nil, err
	}
	if s, err = provider.Canonical(ctx, venue, s); err != nil {
		return nil, err
	}
	return a.unexpired(a.cfg.ChangeFeed.List(caller.Subject, s)), nil
}

// unexpired leaves out what has expired and was not removed yet.
func (a *Coordinator) unexpired(all []alert.Alert) []alert.Alert {
	now := a.cfg.Now()
	return slices.DeleteFunc(all, func(a alert.Alert) bool { return !a.Expires.IsZero() && !a.Expires.After(now) })
}

// Store returns the store for this replica's engine. It begins with no alerts: Run
// hands them to it.
func (a *Coordinator) Store() engine.Store { return &engineStore{a.cfg.ChangeFeed.store, a} }

// engineStore is the store of one engine among others.
type engineStore struct {
	*Store
	alerts *Coordinator
}

func (s *engineStore) Alerts(context.Context) iter.Seq2[alert.Alert, error] {
	return func(func(alert.Alert, error) bool) {}
}

func (s *engineStore) Marks(context.Context) (map[provider.Sub]int64, error) {
	return map[provider.Sub]int64{}, nil
}

// SaveMarks writes marks, and for which alerts they hold: those that the engine was
// told of. It leaves out those of symbols whose alerts it was not given yet.
func (s *engineStore) SaveMarks(ctx context.Context, marks map[provider.Sub]int64) error {
	knownThrough := s.alerts.cfg.ChangeFeed.knownThrough()
	mine := ownedBy(s.alerts.cfg.Group.Self(), *s.alerts.appliedCandidates.Load())
	kept := maps.Clone(marks)
	maps.DeleteFunc(kept, func(of provider.Sub, _ int64) bool { return !mine(of.Symbol) })
	return s.saveMarks(ctx, watermarkTimeout, kept, knownThrough)
}
