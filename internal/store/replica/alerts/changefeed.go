package alerts

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// ChangeFeedConfig names the receivers of a change feed.
type ChangeFeedConfig struct {
	// Restore receives the notifications stored when the feed opened, ascending, and the
	// sequence number of the last message read. If it is nil, opening the feed reads nothing: the
	// Coordinator reads the alerts later, and notifications are read for each owner.
	Restore func(last uint64, entries []notify.Entry)
	// Publish receives later notifications, each once and in order. The feed waits for it.
	Publish func([]notify.Entry)
	Log     *slog.Logger
}

// ChangeFeed follows every change of an alert on every replica, with one consumer. It
// publishes notifications in the order that all replicas see, and collects the changes
// that the Coordinator delivers to this replica's engine. It is safe for concurrent use.
type ChangeFeed struct {
	store        *Store
	cfg          ChangeFeedConfig
	stop         context.CancelFunc
	done         chan struct{} // closed when the follower has ended
	barrierWaits barrierWaits

	mu       sync.Mutex
	last     uint64        // all messages up to this sequence number were applied
	lag      uint64        // messages in the stream after the last one, when it was sent
	advanced chan struct{} // closed when last or deliveredThrough advances; nil without waiters
	recent   recentAlerts
	skipped  bool // a change could not be decoded

	initial          map[string]alert.Alert // active when the feed opened, by alert ID; until they are taken
	unread           *unread                // what the Coordinator has to read; nil if nothing
	pending          map[string]alertChange // by alert ID, since the last delivery
	lost             bool                   // the servers lost the stream: all alerts before pending are gone
	available        chan struct{}          // closed when there are pending changes
	delivering       bool                   // pending changes were taken and not confirmed yet
	deliveredThrough uint64                 // the sequence number up to which changes were delivered
}

// alertChange is the latest change of an alert.
type alertChange struct {
	name  engine.Name
	ended bool
	alert alert.Alert // zero when it ended
}

// OpenChangeFeed reads the stored notifications and follows the stream from there. Close
// must be called.
func (s *Store) OpenChangeFeed(ctx context.Context, cfg ChangeFeedConfig) (*ChangeFeed, error) {
	t := &ChangeFeed{
		store: s, cfg: cfg, done: make(chan struct{}),
		pending: make(map[string]alertChange), available: make(chan struct{}),
	}
	if err := t.open(ctx); err != nil {
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

// open reads what is stored, or leaves it to the Coordinator.
func (t *ChangeFeed) open(ctx context.Context) (err error) {
	if t.cfg.Restore != nil {
		return t.loadInitial(ctx)
	}
	if t.last, err = t.store.alerts.WriteBarrier(ctx); err != nil {
		return err
	}
	t.unread, t.deliveredThrough = &unread{through: t.last}, t.last
	return nil
}

func (t *ChangeFeed) filter() string { return t.store.alerts.Subject(alertKind, ">") }

// loadInitial reads the stream up to a barrier. Nothing is published before all is read:
// a server that lags behind first sends messages that have been replaced since. The
// Coordinator takes the alerts themselves, so that they are read once.
func (t *ChangeFeed) loadInitial(ctx context.Context) error {
	entries := make(map[string]notify.Entry)
	t.initial = make(map[string]alert.Alert)
	for m, err := range t.store.alerts.ReadToBarrier(ctx, 0, t.filter()) {
		if err != nil {
			return conn.Unavailable("read alerts", err)
		}
		delete(entries, m.Subject)
		t.last = m.Seq
		if entry, ok := t.applyMessage(ctx, m); ok {
			entries[m.Subject] = entry
		}
		for id, c := range t.pending {
			if c.ended {
				delete(t.initial, id)
			} else {
				t.initial[id] = c.alert
			}
			delete(t.pending, id)
		}
	}
	t.cfg.Restore(t.last, slices.SortedFunc(maps.Values(entries), func(a, b notify.Entry) int { return cmp.Compare(a.Seq, b.Seq) }))
	t.deliveredThrough = t.last
	return nil
}

// takeInitial returns the alerts that were active when the feed opened, once. Later changes are
// delivered.
func (t *ChangeFeed) takeInitial() (_ map[string]alert.Alert, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.initial
	t.initial = nil
	return all, all != nil
}

// Close stops following the stream.
func (t *ChangeFeed) Close() {
	t.stop()
	<-t.done
}

func (t *ChangeFeed) apply(ctx context.Context, m conn.Message) {
	entry, fired := t.applyMessage(ctx, m)
	if fired {
		t.cfg.Publish([]notify.Entry{entry})
	}
	// A waiter for this message also finds its notification in the inbox.
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last, t.lag = m.Seq, m.Pending
	t.advance()
}

// advance wakes those who wait for a sequence number. The caller holds the lock.
func (t *ChangeFeed) advance() {
	if t.advanced != nil {
		close(t.advanced)
		t.advanced = nil
	}
}

// applyMessage queues the change in a message. It returns the notification of an alert
// that fired.
func (t *ChangeFeed) applyMessage(ctx context.Context, m conn.Message) (entry notify.Entry, fires bool) {
	if t.store.alerts.IsBarrier(m) || t.store.isNotes(m) {
		return notify.Entry{}, false
	}
	if len(m.Data) == 0 {
		t.applyTombstone(m)
		return notify.Entry{}, false
	}
	r, err := decodeRecord(m.Data)
	if err != nil {
		t.skip(ctx, m.Subject, m.Seq, err)
		return notify.Entry{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := r.change()
	if !c.ended && c.alert.State.Fires == 0 { // a later message changes only its state
		t.recent.add(m.Seq, c.name.ID)
	}
	t.enqueue(c)
	return r.entry(m.Seq), r.notifies()
}

// change returns what a record says about its alert.
func (r *alertRecord) change() alertChange {
	c := alertChange{name: engine.Name{Owner: r.Alert.Owner, ID: r.Alert.ID}, ended: r.hasEnded()}
	if !c.ended {
		c.alert = r.listed()
	}
	return c
}

// applyTombstone queues the end of an alert: with many owners, what an erased owner had ends with
// tombstones alone. Others follow the end of their alert.
func (t *ChangeFeed) applyTombstone(m conn.Message) {
	if name, ok := t.ended(m); ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.enqueue(alertChange{name: name, ended: true})
	}
}

// ended returns the name of the alert that a tombstone ends. With one owner the subject does not
// name the owner.
func (t *ChangeFeed) ended(m conn.Message) (engine.Name, bool) {
	if !t.store.alerts.ManyOwners() {
		return engine.Name{}, false
	}
	return nameOf(m.Subject)
}

// skip records and logs a change that cannot be decoded.
func (t *ChangeFeed) skip(ctx context.Context, subject string, seq uint64, err error) {
	t.cfg.Log.ErrorContext(ctx, "alert change skipped: cannot decode", "subject", subject, "seq", seq, "error", err)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.skipped = true
}

// enqueue adds a change. The caller holds the lock.
func (t *ChangeFeed) enqueue(c alertChange) {
	t.wake()
	t.pending[c.name.ID] = c
}

// wake announces the first pending change. The caller holds the lock.
func (t *ChangeFeed) wake() {
	if len(t.pending) == 0 && !t.lost {
		close(t.available)
		t.available = make(chan struct{})
	}
}

// reset forgets everything after the servers have lost the stream. It is read again from
// the beginning.
func (t *ChangeFeed) reset(ctx context.Context) {
	t.cfg.Log.ErrorContext(ctx, "acknowledged alerts and notifications lost by the NATS servers")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wake()
	clear(t.pending)
	t.initial, t.unread = nil, nil
	t.lost, t.recent, t.last, t.deliveredThrough = true, recentAlerts{}, 0, 0
}

// ChangeFeedStats is the state of a change feed.
type ChangeFeedStats struct {
	Last   uint64 // the sequence number of the last message read
	Behind uint64 // messages in the stream after it, when it was sent
}

// Stats returns the state of the feed.
func (t *ChangeFeed) Stats() ChangeFeedStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return ChangeFeedStats{t.last, t.lag}
}

// coverage returns a function that reports whether a watermark holds for an alert.
func (t *ChangeFeed) coverage() func(id string, m watermark) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.recent.coverage()
}

// changes holds pending changes on their way to an engine.
type changes struct {
	byID    map[string]alertChange
	lost    bool   // all alerts before these changes are gone
	through uint64 // the sequence number of the last message they include
}

// takePending returns the pending changes. Until they are confirmed or put back,
// knownThrough stays where it was.
func (t *ChangeFeed) takePending() changes {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := changes{t.pending, t.lost, t.last}
	t.pending, t.lost, t.delivering = make(map[string]alertChange), false, true
	return c
}

// confirmDelivered records that the engine has all changes up to a sequence number.
func (t *ChangeFeed) confirmDelivered(through uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delivering, t.deliveredThrough = false, through
	t.advance()
}

// requeue puts back changes that were not delivered. Changes that came since replace them.
func (t *ChangeFeed) requeue(c changes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delivering = false
	if t.lost {
		return // the stream was lost since
	}
	for id, one := range c.byID {
		if _, newer := t.pending[id]; !newer {
			t.enqueue(one)
		}
	}
	if c.lost {
		t.wake()
		t.lost = true
	}
}

// knownThrough returns the sequence number up to which the engine has all changes.
func (t *ChangeFeed) knownThrough() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known()
}

func (t *ChangeFeed) known() uint64 {
	if len(t.pending) == 0 && !t.lost && !t.delivering {
		return t.last
	}
	return t.deliveredThrough
}

// pendingReady returns a channel that is closed when there are pending changes.
func (t *ChangeFeed) pendingReady() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending) > 0 || t.lost {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return t.available
}
