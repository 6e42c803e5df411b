package alerts_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/replicatest"
	"candela/lib/market"
)

// fakeEngine is an engine that records its alerts and fails on request.
type fakeEngine struct {
	mu      sync.Mutex
	fails   int                      // number of next calls that fail
	half    bool                     // Abandon works and returns an error
	listed  map[string]alert.Alert   // all alerts
	watched map[string]engine.Handed // adopted ones
}

var _ alerts.Engine = (*fakeEngine)(nil)

func (w *fakeEngine) call(do func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails > 0 {
		w.fails--
		return errors.New("not now")
	}
	do()
	return nil
}

func (w *fakeEngine) Set(context.Context, principal.Caller, alert.Alert) (alert.Alert, error) {
	return alert.Alert{}, errors.ErrUnsupported
}

func (w *fakeEngine) Adopt(_ context.Context, handed []engine.Handed) error {
	return w.call(func() {
		for _, h := range handed {
			w.listed[h.ID] = h.Alert
			if _, there := w.watched[h.ID]; !there {
				w.watched[h.ID] = h
			}
		}
	})
}

func (w *fakeEngine) Abandon(_ context.Context, keep func(market.Symbol) bool) error {
	half := false
	err := w.call(func() {
		for id, h := range w.watched {
			if !keep(h.Instrument) {
				delete(w.watched, id)
			}
		}
		half = w.half
	})
	if half {
		return errors.New("half-way")
	}
	return err
}

// setHalf makes Abandon fail half-way, or not.
func (w *fakeEngine) setHalf(half bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.half = half
}

func (w *fakeEngine) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.watched)
}

func (w *fakeEngine) Ended(_ context.Context, names []engine.Name) error {
	return w.call(func() {
		for _, n := range names {
			delete(w.watched, n.ID)
			delete(w.listed, n.ID)
		}
	})
}

func (w *fakeEngine) Index(_ context.Context, all []alert.Alert) error {
	return w.call(func() {
		for _, a := range all {
			w.listed[a.ID] = a
		}
	})
}

func (w *fakeEngine) SetAside(context.Context, map[string]time.Time) error { return nil }

func (w *fakeEngine) Clear(context.Context) error {
	return w.call(func() {
		clear(w.listed)
		clear(w.watched)
	})
}

func (w *fakeEngine) AdoptListed(_ context.Context, match func(market.Symbol) bool, mark func(id string, of provider.Sub) int64) error {
	return w.call(func() {
		for id, a := range w.listed {
			if _, there := w.watched[id]; !there && match(a.Instrument) {
				w.watched[id] = engine.Handed{Alert: a, Mark: mark(id, provider.Sub{Symbol: a.Instrument, Interval: a.Interval})}
			}
		}
	})
}

// Listed returns one alert at a time, in the order of their IDs.
func (w *fakeEngine) Listed(_ context.Context, from int) (all []alert.Alert, next int, err error) {
	err = w.call(func() {
		ids := slices.Sorted(maps.Keys(w.listed))
		if from >= len(ids) {
			return
		}
		all = append(all, w.listed[ids[from]])
		if next = from + 1; next == len(ids) {
			next = 0
		}
	})
	return all, next, err
}

func (w *fakeEngine) Alerts(_ context.Context, caller principal.Caller) (all []alert.Alert, err error) {
	err = w.call(func() {
		for _, a := range w.listed {
			if a.Owner == caller.Subject {
				all = append(all, a)
			}
		}
	})
	return all, err
}

func (w *fakeEngine) AlertsOn(context.Context, principal.Caller, market.Symbol) ([]alert.Alert, error) {
	return nil, errors.ErrUnsupported
}

func (w *fakeEngine) fail(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fails = n
}

func (w *fakeEngine) has(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, there := w.watched[id]
	return there && w.fails == 0
}

// startFakeEngine runs a coordinator with a fake engine.
func startFakeEngine(t *testing.T, to *natstest.Cluster, prefix string) (*fakeEngine, *alerts.Coordinator, *member.Group) {
	t.Helper()
	r, _ := openFeed(t, to, prefix)
	var err error
	if r.members, err = member.Join(t.Context(), r.conn, member.Info{Name: "w"}, replicatest.Quiet()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.members.Close)
	r.members.Activate(t.Context())
	w := &fakeEngine{listed: make(map[string]alert.Alert), watched: make(map[string]engine.Handed)}
	r.Coordinator = alerts.NewCoordinator(alerts.CoordinatorConfig{Group: r.members, ChangeFeed: r.feed, Log: replicatest.Quiet()})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx, w) }()
	t.Cleanup(func() { stop(); <-done })
	return w, r.Coordinator, r.members
}

func TestCoordinator_RedeliversChangesAnEngineRefused(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	store := replicatest.OpenStore(t, replicatest.Servers(), prefix)
	w, _, _ := startFakeEngine(t, replicatest.Servers(), prefix)
	for i := range 3 {
		a := replicatest.PriceAlert(i)
		w.fail(2)
		if err := store.PutAlert(t.Context(), principal.Caller{Subject: "ann"}, a); err != nil {
			t.Fatal(err)
		}
		replicatest.Eventually(t, "the engine has it", func() bool { return w.has(a.ID) })
		w.fail(2)
		if err := store.CancelAlert(t.Context(), principal.Caller{Subject: "ann"}, a.ID); err != nil {
			t.Fatal(err)
		}
		replicatest.Eventually(t, "the engine no longer has it", func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.fails == 0 && len(w.watched) == 0
		})
	}
}

// A replica joins and leaves while the handover to it fails half-way: the engine adopts the
// abandoned alerts again.
func TestCoordinator_AdoptsAgainAfterAFailedHandover(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	store := replicatest.OpenStore(t, replicatest.Servers(), prefix)
	w, alerts, a := startFakeEngine(t, replicatest.Servers(), prefix)
	names := symbolsOf(30)
	for i, name := range names {
		one := replicatest.PriceAlert(i)
		one.Instrument = market.Symbol{Venue: "market", Name: name}
		if err := store.PutAlert(t.Context(), principal.Caller{Subject: "ann"}, one); err != nil {
			t.Fatal(err)
		}
	}
	replicatest.Eventually(t, "the engine has all", func() bool { return w.count() == len(names) })
	w.setHalf(true)
	b, _ := replicatest.Join(t, replicatest.Servers(), prefix, "b")
	replicatest.Eventually(t, "the engine has abandoned some", func() bool { return w.count() < len(names) })
	b.Close()
	replicatest.Agree(t, a)
	w.setHalf(false)
	replicatest.Eventually(t, "the engine has all again", func() bool { return w.count() == len(names) && alerts.Balanced() })
}

func TestSaveMarks_SavesOnlyOwnedShards(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	store := replicatest.OpenStore(t, replicatest.Servers(), prefix)
	_, alerts, a := startFakeEngine(t, replicatest.Servers(), prefix)
	_, _, b := startFakeEngine(t, replicatest.Servers(), prefix)
	replicatest.Agree(t, a, b)
	marks := make(map[provider.Sub]int64)
	for _, name := range symbolsOf(50) {
		marks[provider.Sub{Symbol: market.Symbol{Venue: "market", Name: name}, Interval: market.Hour1}] = 3600
	}
	mine := func(s provider.Sub) bool { _, mine := a.ShardOwner("alert/" + s.Symbol.String()); return mine }
	// The engine adopts alerts a moment after the replicas agree.
	replicatest.Eventually(t, "an engine saves only its own watermarks", func() bool {
		if err := alerts.Store().SaveMarks(t.Context(), marks); err != nil {
			t.Fatal(err)
		}
		kept, err := store.Marks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		astray := make(map[provider.Sub]int64)
		for sub := range marks {
			if _, there := kept[sub]; there != mine(sub) {
				astray[sub] = 0
			}
		}
		if err := store.SaveMarks(t.Context(), astray); err != nil {
			t.Fatal(err)
		}
		return len(astray) == 0 && len(kept) > 0
	})
}

// The engine's loop waits for its watermarks and retries soon.
func TestSaveMarks_ReturnsSoonWithoutServers(t *testing.T) {
	t.Parallel()
	one := replicatest.Start(t, 1)
	_, alerts, _ := startFakeEngine(t, one, replicatest.NewPrefix())
	marks := map[provider.Sub]int64{{Symbol: market.Symbol{Venue: "market", Name: "S0"}, Interval: market.Hour1}: 3600}
	replicatest.Eventually(t, "the engine has adopted its alerts", alerts.Balanced)
	if err := alerts.Store().SaveMarks(t.Context(), marks); err != nil {
		t.Fatal(err)
	}
	one.Kill(0)
	began := time.Now()
	if err := alerts.Store().SaveMarks(t.Context(), marks); err == nil {
		t.Error("watermarks were saved without servers")
	}
	if took := time.Since(began); took >= replicatest.Patience { // other writes are retried for that long
		t.Errorf("it took %s", took)
	}
}

func (w *fakeEngine) Preview(context.Context, alert.Alert) alert.Present { return alert.Present{} }
