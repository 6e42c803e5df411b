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

// adoptAtOnce is how many alerts an engine takes over in one step, about: those on one
// instrument stay together, and prices are taken in between.
const adoptAtOnce = 5000

// markTime is how long an engine waits for its marks to be written: it evaluates nothing
// meanwhile, and tries again in a moment.
const markTime = 2 * time.Second

// setMethod is the call that sets an alert.
const setMethod = "alert.set"

// Watcher is an engine, as far as alerts are handed over to it.
type Watcher interface {
	Set(ctx context.Context, caller principal.Caller, want alert.Alert) (alert.Alert, error)
	Adopt(ctx context.Context, handed []engine.Handed) error
	Abandon(ctx context.Context, keep func(market.Symbol) bool) error
	Ended(ctx context.Context, names []engine.Name) error
}

// AlertsConfig is what Alerts works with. Everything is required.
type AlertsConfig struct {
	Members *member.Members
	Tail    *Tail
	// Route finds the venue of a symbol.
	Route func(ctx context.Context, s market.Symbol) (provider.Provider, error)
	Now   func() time.Time
	Log   *slog.Logger
}

// Alerts sets and lists alerts on any replica. An alert is watched by the owner of its
// instrument; Run tells this replica's engine which are its own. It is safe for
// concurrent use.
type Alerts struct {
	cfg AlertsConfig
	// told is who the members were when the engine was last told what is its own; empty
	// until it was, and while it is.
	told atomic.Pointer[member.Candidates]
}

// NewAlerts returns alerts that wait for an engine, which Run is given.
func NewAlerts(cfg AlertsConfig) *Alerts {
	a := &Alerts{cfg: cfg}
	a.told.Store(&member.Candidates{})
	return a
}

// shardName is the name under which an instrument has an owner.
func shardName(s market.Symbol) string { return "alert/" + s.String() }

// ownedBy returns a function that reports whether a member owns a symbol, when the
// members are those. One goroutine only.
func ownedBy(id string, all member.Candidates) func(market.Symbol) bool {
	known := make(map[market.Symbol]bool)
	return func(s market.Symbol) bool {
		mine, asked := known[s]
		if !asked {
			mine = all.Owner(shardName(s)) == id
			known[s] = mine
		}
		return mine
	}
}

// Run tells an engine which alerts are its own until ctx ends: at the start, when
// members come and go, and when alerts begin or end elsewhere.
func (a *Alerts) Run(ctx context.Context, e Watcher) {
	a.cfg.Members.Handle(setMethod, func(ctx context.Context, body []byte) ([]byte, error) { return a.handleSet(ctx, e, body) })
	for {
		changed := a.cfg.Members.Changed()
		err := a.pass(ctx, e)
		if ctx.Err() != nil {
			return
		}
		var again <-chan time.Time
		news := a.cfg.Tail.waiting()
		if err != nil {
			a.cfg.Log.WarnContext(ctx, "alerts are not taken over yet", "error", err)
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

// Settled reports whether the engine was told who the members are: it then watches
// what is its own and nothing else.
func (a *Alerts) Settled() bool { return a.cfg.Members.Candidates().Equal(*a.told.Load()) }

// Owned returns how many instruments with alerts are this replica's own.
func (a *Alerts) Owned() int {
	a.cfg.Tail.mu.Lock()
	all := a.cfg.Tail.index.Instruments()
	a.cfg.Tail.mu.Unlock()
	mine, n := ownedBy(a.cfg.Members.Self(), *a.told.Load()), 0
	for s := range all {
		if mine(s) {
			n++
		}
	}
	return n
}

// pass tells the engine what has changed since the pass before. One that failed is
// made up for by the next.
func (a *Alerts) pass(ctx context.Context, e Watcher) error {
	if now := a.cfg.Members.Candidates(); !now.Equal(*a.told.Load()) {
		if err := a.handOver(ctx, e, now); err != nil {
			return err
		}
		a.told.Store(&now)
	}
	return a.tell(ctx, e)
}

// handOver has the engine abandon what went to others and adopt what came from them.
func (a *Alerts) handOver(ctx context.Context, e Watcher, all member.Candidates) error {
	self := a.cfg.Members.Self()
	had, has := ownedBy(self, *a.told.Load()), ownedBy(self, all)
	err := e.Abandon(ctx, has)
	// What the engine still has is known again when all of this is done. If it fails
	// half-way, the next pass hands over everything, wherever the members are by then.
	a.told.Store(&member.Candidates{})
	if err != nil {
		return fmt.Errorf("abandon: %w", err)
	}
	has = ownedBy(self, all) // the other one may still be in use when ctx has ended
	if err := a.cfg.Tail.Sync(ctx); err != nil {
		return err
	}
	handed, err := a.cfg.Tail.hand(
		func(s market.Symbol) bool { return has(s) && !had(s) },
		func() (map[sub]mark, error) { return a.cfg.Tail.store.marks(ctx) })
	if err != nil {
		return err
	}
	for len(handed) > 0 {
		n := min(adoptAtOnce, len(handed))
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

// tell tells the engine of its own alerts that began or ended elsewhere. It knows of
// those that it set or ended itself, and passes over them.
func (a *Alerts) tell(ctx context.Context, e Watcher) error {
	all, upTo := a.cfg.Tail.take()
	mine := ownedBy(a.cfg.Members.Self(), *a.told.Load())
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
		a.cfg.Tail.giveBack(all)
		return fmt.Errorf("tell of alerts: %w", err)
	}
	a.cfg.Tail.confirm(upTo)
	return nil
}

// setForm is a call that sets an alert.
type setForm struct {
	Caller principal.Caller `json:"caller"`
	Alert  alertForm        `json:"alert"`
}

func (a *Alerts) handleSet(ctx context.Context, e Watcher, body []byte) ([]byte, error) {
	var form setForm
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
	return json.Marshal(formOf(set))
}

// Set makes an alert at the owner of its instrument. See engine.Engine.Set.
func (a *Alerts) Set(ctx context.Context, caller principal.Caller, want alert.Alert) (alert.Alert, error) {
	venue, err := a.cfg.Route(ctx, want.Symbol)
	if err != nil {
		return alert.Alert{}, err
	}
	want.Owner = caller.Subject
	if want.Instrument, err = provider.Canonical(ctx, venue, want.Symbol); err != nil {
		return alert.Alert{}, err
	}
	// The owner of the instrument knows the alerts on its own ones alone.
	if err := a.cfg.Tail.checkCount(caller.Subject); err != nil {
		return alert.Alert{}, err
	}
	body, err := json.Marshal(setForm{caller, formOf(want)})
	if err != nil {
		return alert.Alert{}, fmt.Errorf("a call that sets an alert: %w", err)
	}
	answer, err := a.cfg.Members.Ask(ctx, shardName(want.Instrument), setMethod, body)
	if errors.Is(err, member.ErrUnanswered) {
		return alert.Alert{}, &fault.Error{
			Kind: fault.Unavailable, Code: "outcome_unknown", Cause: err,
			Message: "it is not known whether the alert was set; list_alerts shows it if it was",
		}
	}
	if err != nil {
		return alert.Alert{}, err
	}
	var set alertForm
	if err := json.Unmarshal(answer, &set); err != nil {
		return alert.Alert{}, fmt.Errorf("answer to a call that sets an alert: %w", err)
	}
	return set.alert()
}

// Cancel removes an alert of the caller's, whoever watches it.
func (a *Alerts) Cancel(ctx context.Context, caller principal.Caller, alertID string) error {
	return a.cfg.Tail.store.CancelAlert(ctx, caller, alertID)
}

// Alerts lists the active alerts of the caller's, in the order they were made: all
// that any replica has acknowledged.
func (a *Alerts) Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error) {
	if err := a.cfg.Tail.Sync(ctx); err != nil {
		return nil, err
	}
	return a.current(a.cfg.Tail.List(caller.Subject, market.Symbol{})), nil
}

// AlertsOn lists the active alerts of the caller's on one instrument, as far as they
// are known here. Charts show them, and a chart does not wait for other replicas.
func (a *Alerts) AlertsOn(ctx context.Context, caller principal.Caller, s market.Symbol) ([]alert.Alert, error) {
	venue, err := a.cfg.Route(ctx, s)
	if err != nil {
		return nil, err
	}
	if s, err = provider.Canonical(ctx, venue, s); err != nil {
		return nil, err
	}
	return a.current(a.cfg.Tail.List(caller.Subject, s)), nil
}

// current leaves out what has expired and was not removed yet.
func (a *Alerts) current(all []alert.Alert) []alert.Alert {
	now := a.cfg.Now()
	return slices.DeleteFunc(all, func(a alert.Alert) bool { return !a.Expires.IsZero() && !a.Expires.After(now) })
}

// Store returns the store for this replica's engine. It begins with no alerts: Run
// hands them to it.
func (a *Alerts) Store() engine.Store { return &shardStore{a.cfg.Tail.store, a} }

// shardStore is the store of one engine among others.
type shardStore struct {
	*Store
	alerts *Alerts
}

func (s *shardStore) Alerts(context.Context) iter.Seq2[alert.Alert, error] {
	return func(func(alert.Alert, error) bool) {}
}

func (s *shardStore) Marks(context.Context) (map[provider.Sub]int64, error) {
	return map[provider.Sub]int64{}, nil
}

// SaveMarks writes marks, and for which alerts they hold: those that the engine was
// told of. It leaves out those of symbols whose alerts it was not given yet.
func (s *shardStore) SaveMarks(ctx context.Context, marks map[provider.Sub]int64) error {
	told := s.alerts.cfg.Tail.told()
	mine := ownedBy(s.alerts.cfg.Members.Self(), *s.alerts.told.Load())
	kept := maps.Clone(marks)
	maps.DeleteFunc(kept, func(of provider.Sub, _ int64) bool { return !mine(of.Symbol) })
	return s.saveMarks(ctx, markTime, kept, told)
}
