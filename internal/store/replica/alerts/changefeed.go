package alerts

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/market"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// ChangeFeedConfig is where a tail hands on what it reads. Everything is required.
type ChangeFeedConfig struct {
	// Restore takes the notifications that were there when the tail began, ascending,
	// and a number that no later one is below.
	Restore func(last uint64, entries []notify.Entry)
	// Publish takes those that came later, each once and in order. The tail waits
	// for it.
	Publish func([]notify.Entry)
	Log     *slog.Logger
}

// ChangeFeed follows all that happens to alerts, on every replica, with one consumer. It
// knows the active alerts of everyone, hands notifications on in the order in which
// all replicas see them, and collects what an engine must be told. It is safe for
// concurrent use.
type ChangeFeed struct {
	store        *Store
	cfg          ChangeFeedConfig
	stop         context.CancelFunc
	done         chan struct{} // closed when the follower has ended
	barrierWaits barrierWaits

	mu    sync.Mutex
	index *alert.Index
	last  uint64 // all messages up to this number were applied
	// lag is how many messages were there to follow when the last one was sent.
	lag      uint64
	advanced chan struct{} // closed when last moves; nil while nobody waits
	recent   recentAlerts

	pending          map[string]alertChange // by the alert's id, since they were taken last
	available        chan struct{}          // closed when there is something in news
	delivering       bool                   // news were taken and not confirmed yet
	deliveredThrough uint64                 // the last number of what was confirmed
}

// alertChange is what last happened to an alert.
type alertChange struct {
	name  engine.Name
	ended bool
	alert alert.Alert // one that did not end
}

// OpenChangeFeed reads everything that is there and follows from then on. Close must be
// called.
func (s *Store) OpenChangeFeed(ctx context.Context, cfg ChangeFeedConfig) (*ChangeFeed, error) {
	t := &ChangeFeed{
		store: s, cfg: cfg, done: make(chan struct{}), index: alert.NewIndex(),
		pending: make(map[string]alertChange), available: make(chan struct{}),
	}
	if err := t.loadInitial(ctx); err != nil {
		return nil, err
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	t.stop = stop
	f := &table.Follower{
		Table: s.alerts, Filters: []string{t.filter()}, Name: "alerts", Log: cfg.Log, Apply: t.apply,
	}
	f.LostData = func(ctx context.Context) (bool, error) {
		lost, err := f.StreamReset(ctx, t.Stats().Last)
		if lost {
			t.reset(ctx)
		}
		return lost, err
	}
	go func() {
		defer close(t.done)
		f.Run(following, t.last)
	}()
	return t, nil
}

func (t *ChangeFeed) filter() string { return t.store.alerts.Subject(alertKind, ">") }

// loadInitial reads what is there. Nothing is handed on before all is read: a server that
// lags behind first sends what has long been replaced.
func (t *ChangeFeed) loadInitial(ctx context.Context) error {
	entries := make(map[string]notify.Entry)
	for m, err := range t.store.alerts.ReadToBarrier(ctx, 0, t.filter()) {
		if err != nil {
			return conn.Unavailable("read the alerts", err)
		}
		delete(entries, m.Subject)
		t.last = m.Seq
		if entry, ok := t.applyMessage(ctx, m); ok {
			entries[m.Subject] = entry
		}
	}
	t.cfg.Restore(t.last, slices.SortedFunc(maps.Values(entries), func(a, b notify.Entry) int { return cmp.Compare(a.Seq, b.Seq) }))
	clear(t.pending) // whoever comes first asks for all there are
	t.deliveredThrough = t.last
	return nil
}

// Close ends the following.
func (t *ChangeFeed) Close() {
	t.stop()
	<-t.done
}

// apply takes a message of the stream and hands on what it tells.
func (t *ChangeFeed) apply(ctx context.Context, m conn.Message) {
	entry, fired := t.applyMessage(ctx, m)
	if fired {
		t.cfg.Publish([]notify.Entry{entry})
	}
	// Who has waited for this message finds its notification in the log as well.
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last, t.lag = m.Seq, m.Pending
	if t.advanced != nil {
		close(t.advanced)
		t.advanced = nil
	}
}

// applyMessage changes the index by a message. It returns the notification of an alert that
// fired.
func (t *ChangeFeed) applyMessage(ctx context.Context, m conn.Message) (entry notify.Entry, fires bool) {
	if t.store.alerts.IsBarrier(m) || len(m.Data) == 0 {
		return notify.Entry{}, false // what is cleared had ended
	}
	r, err := decodeRecord(m.Data)
	var a alert.Alert
	if err == nil {
		a, err = r.Alert.alert()
	}
	if err != nil {
		t.cfg.Log.ErrorContext(ctx, "alert change skipped: cannot decode", "subject", m.Subject, "number", m.Seq, "error", err)
		return notify.Entry{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := alertChange{name: engine.Name{Owner: a.Owner, ID: a.ID}, ended: r.State != active}
	if n.ended {
		t.index.Remove(a.Owner, a.ID)
	} else {
		n.alert = a
		t.recent.add(m.Seq, a.ID)
		if err := t.index.Add(a); err != nil && !t.index.Has(a.ID) {
			// Such as an indicator that this version does not have.
			t.cfg.Log.ErrorContext(ctx, "alert not indexed: unsupported definition", "alert_id", a.ID, "owner", a.Owner, "error", err)
		}
	}
	t.enqueue(n)
	return r.entry(m.Seq), r.State == fired
}

// enqueue adds news. The caller has locked.
func (t *ChangeFeed) enqueue(n alertChange) {
	if len(t.pending) == 0 {
		close(t.available)
		t.available = make(chan struct{})
	}
	t.pending[n.name.ID] = n
}

// reset forgets everything: the servers have lost what they held, and it will be read
// from the beginning.
func (t *ChangeFeed) reset(ctx context.Context) {
	t.cfg.Log.ErrorContext(ctx, "acknowledged alerts and notifications lost by the NATS servers")
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.index.Where(func(alert.Dependency) bool { return true }) {
		t.enqueue(alertChange{name: engine.Name{Owner: a.Owner, ID: a.ID}, ended: true})
	}
	t.index, t.recent, t.last, t.deliveredThrough = alert.NewIndex(), recentAlerts{}, 0, 0
}

// List returns the active alerts of an owner, in the order they were made, as far as
// they are known here. A symbol that is not zero leaves out those on others.
func (t *ChangeFeed) List(owner string, on market.Symbol) []alert.Alert {
	t.mu.Lock()
	defer t.mu.Unlock()
	if on.IsZero() {
		return t.index.List(owner)
	}
	return t.index.ListOn(owner, on)
}

// checkCount tells why an owner may not set one more alert.
func (t *ChangeFeed) checkCount(owner string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.index.CheckCount(owner)
}

// ChangeFeedStats tells how a tail stands.
type ChangeFeedStats struct {
	Alerts int    // active, of all owners
	Last   uint64 // the number of the last message that was read
	Behind uint64 // messages that were there and were not read yet, when the last one came
}

// Stats returns how the tail stands.
func (t *ChangeFeed) Stats() ChangeFeedStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return ChangeFeedStats{t.index.Len(), t.last, t.lag}
}

// alertsToAdopt returns the alerts on the symbols to take, those on one instrument together,
// each with the mark up to which it was evaluated.
func (t *ChangeFeed) alertsToAdopt(take func(market.Symbol) bool, marks func() (map[seriesKey]watermark, error)) ([]engine.Handed, error) {
	known, err := t.selectAlerts(take, nil)
	if err != nil || len(known) == 0 {
		return nil, err
	}
	evaluated, err := marks()
	if err != nil {
		return nil, fmt.Errorf("read the marks: %w", err)
	}
	return t.selectAlerts(take, evaluated)
}

func (t *ChangeFeed) selectAlerts(take func(market.Symbol) bool, marks map[seriesKey]watermark) ([]engine.Handed, error) {
	t.mu.Lock()
	all := t.index.Where(func(n alert.Dependency) bool { return take(n.Instrument) })
	covered := t.recent.coverage()
	t.mu.Unlock()
	handed := make([]engine.Handed, len(all))
	for i, a := range all {
		handed[i].Alert = a
		if m := marks[seriesKey{Symbol: a.Instrument, Interval: a.Interval}]; covered(a.ID, m) {
			handed[i].Mark = m.at
		}
	}
	slices.SortFunc(handed, func(a, b engine.Handed) int {
		return cmp.Or(strings.Compare(a.Instrument.String(), b.Instrument.String()), strings.Compare(a.ID, b.ID))
	})
	return handed, nil
}

// takePending returns the news since they were taken last. Until they are confirmed, or given
// back, told stays where it was.
func (t *ChangeFeed) takePending() (all map[string]alertChange, upTo uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, t.pending = t.pending, make(map[string]alertChange)
	t.delivering = true
	return all, t.last
}

// confirmDelivered notes that an engine was told of all news up to a number.
func (t *ChangeFeed) confirmDelivered(upTo uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delivering, t.deliveredThrough = false, upTo
}

// requeue takes back news that nobody was told of. What has come since is newer.
func (t *ChangeFeed) requeue(all map[string]alertChange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, n := range all {
		if _, newer := t.pending[id]; !newer {
			t.enqueue(n)
		}
	}
	t.delivering = false
}

// knownThrough returns the number up to which an engine has been told of everything.
func (t *ChangeFeed) knownThrough() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending) == 0 && !t.delivering {
		return t.last
	}
	return t.deliveredThrough
}

// pendingReady returns a channel that is closed when there are news, which may be now.
func (t *ChangeFeed) pendingReady() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending) > 0 {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return t.available
}
