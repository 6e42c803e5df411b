package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/table"
	"candela/lib/fault"
	"candela/lib/market"
)

// indexBatch is how many alerts an engine lists in one step. Prices are evaluated between steps.
const indexBatch = 5000

// watermarkTimeout limits how long an engine waits for its watermarks to be saved. It
// evaluates nothing meanwhile and retries soon.
const watermarkTimeout = 2 * time.Second

// setMethod is the call that sets an alert.
const setMethod = "alert.set"

// Engine is this replica's engine. Its index lists the alerts of all replicas.
type Engine interface {
	Set(ctx context.Context, caller principal.Caller, want alert.Alert) (alert.Alert, error)
	Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error)
	AlertsOn(ctx context.Context, caller principal.Caller, s market.Symbol) ([]alert.Alert, error)
	Preview(ctx context.Context, want alert.Alert) alert.Present

	Index(ctx context.Context, alerts []alert.Alert) error
	Adopt(ctx context.Context, handed []engine.Handed) error
	AdoptListed(ctx context.Context, match func(market.Symbol) bool, mark func(id string, of provider.Sub) int64) error
	Abandon(ctx context.Context, keep func(market.Symbol) bool) error
	Ended(ctx context.Context, names []engine.Name) error
	Clear(ctx context.Context) error
	SetAside(ctx context.Context, died map[string]time.Time) error
}

// CoordinatorConfig configures a Coordinator. All fields but ListFile are required.
type CoordinatorConfig struct {
	Group      *member.Group
	ChangeFeed *ChangeFeed
	// Route finds the venue of a symbol.
	Route func(ctx context.Context, s market.Symbol) (provider.Provider, error)
	// ListFile is where the list of alerts is saved for the next start; "" for nowhere. A feed that
	// restores notifications does not read it.
	ListFile string
	Log      *slog.Logger
}

// Coordinator sets and lists alerts on any replica. The shard owner of an instrument
// evaluates its alerts; Run keeps this replica's engine informed of all alerts and of
// those it owns. It is safe for concurrent use.
type Coordinator struct {
	cfg     CoordinatorConfig
	engine  Engine        // valid once running is closed
	running chan struct{} // closed when Run has begun
	indexed chan struct{} // closed when Run has indexed all alerts
	adopted chan struct{} // closed when Run has brought the engine up to date for the first time
	// readsLater means that the feed has left the alerts to Run.
	readsLater bool
	// indexing is read-locked while the alerts of one owner are added before all are, and locked
	// when all are: changes since then are delivered after it.
	indexing sync.RWMutex
	// appliedCandidates is the group by which the engine last adopted alerts; empty before
	// that and while it adopts.
	appliedCandidates atomic.Pointer[member.Candidates]
}

// NewCoordinator returns a coordinator without an engine, which Run adds.
func NewCoordinator(cfg CoordinatorConfig) *Coordinator {
	a := &Coordinator{cfg: cfg, running: make(chan struct{}), indexed: make(chan struct{}), adopted: make(chan struct{})}
	a.readsLater = cfg.ChangeFeed != nil && cfg.ChangeFeed.cfg.Restore == nil
	a.appliedCandidates.Store(&member.Candidates{})
	return a
}

// alertShard returns the shard of an instrument.
func alertShard(s market.Symbol) string { return "alert/" + s.String() }

// ownedBy returns a function that reports whether a replica owns an instrument among the
// candidates. One goroutine uses it.
func ownedBy(id string, all member.Candidates) func(market.Symbol) bool {
	known := make(map[market.Symbol]bool)
	return func(s market.Symbol) bool {
		mine, cached := known[s]
		if !cached {
			mine = all.Owner(alertShard(s)) == id
			known[s] = mine
		}
		return mine
	}
}

// Run keeps an engine informed until ctx ends: at the start, when replicas come and go,
// and when alerts begin or end elsewhere.
func (a *Coordinator) Run(ctx context.Context, e Engine) {
	a.engine = e
	close(a.running)
	a.cfg.Group.Handle(setMethod, func(ctx context.Context, body []byte) ([]byte, error) { return a.handleSet(ctx, e, body) })
	adopted := sync.OnceFunc(func() { close(a.adopted) })
	for {
		changed := a.cfg.Group.Changed()
		err := a.reconcile(ctx, e)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			adopted()
		}
		var again <-chan time.Time
		pending := a.cfg.ChangeFeed.pendingReady()
		if err != nil {
			a.cfg.Log.WarnContext(ctx, "alert takeover failed; retrying", "error", err)
			again, pending = time.After(table.RestartDelay), nil
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-pending:
		case <-again:
		}
	}
}

// Adopted returns a channel that is closed once the engine lists all alerts and has adopted those
// that it owned then.
func (a *Coordinator) Adopted() <-chan struct{} { return a.adopted }

// Balanced reports whether the engine has adopted the alerts that it owns in the present
// group, and no others. Before it has adopted any, there is nothing to take from it.
func (a *Coordinator) Balanced() bool {
	return a.readsOwners() || a.cfg.Group.Candidates().Equal(*a.appliedCandidates.Load())
}

// reconcile brings the engine up to date. A failed pass is completed by the next.
func (a *Coordinator) reconcile(ctx context.Context, e Engine) error {
	if !a.isIndexed() {
		if err := a.indexAll(ctx, e); err != nil {
			return err
		}
		a.indexing.Lock()
		close(a.indexed)
		a.indexing.Unlock()
	}
	if now := a.cfg.Group.Candidates(); !now.Equal(*a.appliedCandidates.Load()) {
		if err := a.rebalance(ctx, e, now); err != nil {
			return err
		}
		a.appliedCandidates.Store(&now)
	}
	return a.deliverChanges(ctx, e, ownedBy(a.cfg.Group.Self(), *a.appliedCandidates.Load()))
}

// indexAll lists the stored alerts in the engine's index. Changes since the feed was
// opened are delivered after it.
func (a *Coordinator) indexAll(ctx context.Context, e Engine) error {
	if u := a.cfg.ChangeFeed.takeUnread(); u != nil {
		return a.indexUnread(ctx, e, u)
	}
	batch := make([]alert.Alert, 0, indexBatch)
	flush := func() error {
		err := e.Index(ctx, batch)
		batch = batch[:0]
		return err
	}
	for one, err := range a.storedAlerts(ctx) {
		if err != nil {
			return err
		}
		if batch = append(batch, one); len(batch) == indexBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// storedAlerts yields the alerts that the change feed has read, or reads them again if an earlier
// pass failed.
func (a *Coordinator) storedAlerts(ctx context.Context) iter.Seq2[alert.Alert, error] {
	all, ok := a.cfg.ChangeFeed.takeInitial()
	if !ok {
		return a.cfg.ChangeFeed.store.Alerts(ctx)
	}
	return func(yield func(alert.Alert, error) bool) {
		for _, one := range all {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// rebalance makes the engine abandon the alerts that other replicas own now and adopt
// those that it owns.
func (a *Coordinator) rebalance(ctx context.Context, e Engine, all member.Candidates) error {
	self := a.cfg.Group.Self()
	former := *a.appliedCandidates.Load()
	had, has := ownedBy(self, former), ownedBy(self, all)
	err := e.Abandon(ctx, has)
	// If a later step fails, the next pass adopts everything that this replica owns then.
	a.appliedCandidates.Store(&member.Candidates{})
	if err != nil {
		return fmt.Errorf("release alerts: %w", err)
	}
	has = ownedBy(self, all) // the engine may still use the other one when ctx has ended
	if err := a.cfg.ChangeFeed.CatchUp(ctx); err != nil {
		return err
	}
	if err := a.deliverChanges(ctx, e, func(s market.Symbol) bool { return has(s) && had(s) }); err != nil {
		return err
	}
	return a.adoptOwned(ctx, e, ownedBy(self, all), ownedBy(self, former))
}

// adoptOwned makes the engine adopt the alerts that it owns and did not own before, each from the
// watermark up to which it was evaluated.
func (a *Coordinator) adoptOwned(ctx context.Context, e Engine, has, had func(market.Symbol) bool) error {
	if err := a.setAsideDead(ctx, e); err != nil {
		return fmt.Errorf("set alerts aside: %w", err)
	}
	marks, err := a.cfg.ChangeFeed.store.marks(ctx)
	if err != nil {
		return fmt.Errorf("read watermarks: %w", err)
	}
	covered := a.cfg.ChangeFeed.coverage()
	err = e.AdoptListed(ctx, func(s market.Symbol) bool { return has(s) && !had(s) }, func(id string, of provider.Sub) int64 {
		if m := marks[of]; covered(id, m) {
			return m.at
		}
		return 0
	})
	if err != nil {
		return fmt.Errorf("adopt alerts: %w", err)
	}
	return nil
}

// deliverChanges delivers the pending changes: the engine adopts new alerts on its own
// instruments, and lists the others. It ignores alerts that it set or ended itself.
func (a *Coordinator) deliverChanges(ctx context.Context, e Engine, mine func(market.Symbol) bool) error {
	c := a.cfg.ChangeFeed.takePending()
	var ended []engine.Name
	var begun []engine.Handed
	var others []alert.Alert
	for one := range maps.Values(c.byID) {
		switch {
		case one.ended:
			ended = append(ended, one.name)
		case mine(one.alert.Instrument):
			begun = append(begun, engine.Handed{Alert: one.alert})
		default:
			others = append(others, one.alert)
		}
	}
	var err error
	if c.lost {
		err = e.Clear(ctx)
	}
	if err == nil && len(ended) > 0 {
		err = e.Ended(ctx, ended)
	}
	if err == nil && len(begun) > 0 {
		err = e.Adopt(ctx, begun)
	}
	if err == nil && len(others) > 0 {
		err = e.Index(ctx, others)
	}
	if err != nil {
		a.cfg.ChangeFeed.requeue(c)
		return fmt.Errorf("deliver alert changes: %w", err)
	}
	a.cfg.ChangeFeed.confirmDelivered(c.through)
	return nil
}

// setRequest is the body of an alert.set call.
type setRequest struct {
	Caller principal.Caller `json:"caller"`
	Alert  alertData        `json:"alert"`
}

func (a *Coordinator) handleSet(ctx context.Context, e Engine, body []byte) ([]byte, error) {
	var form setRequest
	if err := json.Unmarshal(body, &form); err != nil {
		return nil, fmt.Errorf("decode alert.set call: %w", err)
	}
	want, err := form.Alert.alert()
	if err != nil {
		return nil, err
	}
	if err := a.indexOwner(ctx, e, form.Caller); err != nil {
		return nil, err
	}
	set, err := e.Set(ctx, form.Caller, want)
	if err != nil {
		return nil, err
	}
	answer, err := newAlertData(set)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// Set sets an alert at the shard owner of its instrument. See engine.Engine.Set.
func (a *Coordinator) Set(ctx context.Context, caller principal.Caller, want alert.Alert) (alert.Alert, error) {
	venue, err := a.cfg.Route(ctx, want.Symbol)
	if err != nil {
		return alert.Alert{}, err
	}
	want.Owner = caller.Subject
	if want.Instrument, err = provider.Canonical(ctx, venue, want.Symbol); err != nil {
		return alert.Alert{}, err
	}
	form := setRequest{Caller: caller}
	if form.Alert, err = newAlertData(want); err != nil {
		return alert.Alert{}, err
	}
	if len(form.Alert.Rule) > 0 {
		form.Alert.Type = activeRule // a replica that does not know it refuses the call
	}
	body, err := json.Marshal(form)
	if err != nil {
		return alert.Alert{}, fmt.Errorf("encode alert.set call: %w", err)
	}
	answer, err := a.cfg.Group.Call(ctx, alertShard(want.Instrument), setMethod, body)
	if errors.Is(err, member.ErrOutcomeUnknown) {
		return alert.Alert{}, &fault.Error{
			Kind: fault.Unavailable, Code: "outcome_unknown", Cause: err,
			Message: "The alert may have been set. Check list_alerts before you retry.",
		}
	}
	if err != nil {
		return alert.Alert{}, err
	}
	var set alertData
	if err := json.Unmarshal(answer, &set); err != nil {
		return alert.Alert{}, fmt.Errorf("decode alert.set reply: %w", err)
	}
	return set.alert()
}

// Resume lets the alerts of an owner fire again that this replica evaluates. See
// engine.Engine.Resume.
func (a *Coordinator) Resume(ctx context.Context, owner principal.Owner, e *engine.Engine) error {
	return e.Resume(ctx, owner, ownedBy(a.cfg.Group.Self(), a.cfg.Group.Candidates()))
}

// Cancel removes an alert of the caller's, whichever replica evaluates it.
func (a *Coordinator) Cancel(ctx context.Context, caller principal.Caller, alertID string) error {
	return a.cfg.ChangeFeed.store.CancelAlert(ctx, caller, alertID)
}

// ResumeAlert lets an alert of the caller's that was set aside be evaluated again, whichever replica
// evaluates it.
func (a *Coordinator) ResumeAlert(ctx context.Context, caller principal.Caller, alertID string) error {
	return a.cfg.ChangeFeed.store.ResumeAlert(ctx, caller, alertID)
}

// Store returns the store of this replica's engine.
func (a *Coordinator) Store() engine.Store { return &engineStore{a.cfg.ChangeFeed.store, a} }

// engineStore is the shared store as one engine writes to it.
type engineStore struct {
	*Store
	alerts *Coordinator
}

// SaveMarks saves watermarks of the instruments that the engine owns, with the sequence
// number of the newest alert they cover.
func (s *engineStore) SaveMarks(ctx context.Context, marks map[provider.Sub]int64) error {
	knownThrough := s.alerts.cfg.ChangeFeed.knownThrough()
	mine := ownedBy(s.alerts.cfg.Group.Self(), *s.alerts.appliedCandidates.Load())
	kept := maps.Clone(marks)
	maps.DeleteFunc(kept, func(of provider.Sub, _ int64) bool { return !mine(of.Symbol) })
	return s.saveMarks(ctx, watermarkTimeout, kept, knownThrough)
}
