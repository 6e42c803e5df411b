package member

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/seal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

const memberKind = "member" // member.<id>

const (
	beatEvery = time.Second
	// deadAfter is how many of our own heartbeats come by since the last of another
	// member before that one counts as dead.
	deadAfter = 4
	// DeadAfter is how long after its last heartbeat a replica counts as dead.
	DeadAfter = deadAfter * beatEvery
	// beatTTL ends what a dead member has left behind. A member is not judged by it.
	beatTTL = 30 * time.Second
	// lostBeats is how many of our heartbeats may be acknowledged without coming by
	// before the reading of them begins anew.
	lostBeats = 3
)

// Members is who takes part, and who owns what has to be done by one replica at a
// time. It is safe for concurrent use.
//
// Ownership is for availability. It is each replica's own opinion, and for a moment
// two may think that they own a name; whatever must not happen twice is guarded at
// the servers.
//
// No clocks are compared. A member is dead when four of our own heartbeats have come
// by since its last one; while the servers stall, nobody's come and nobody dies. Nor
// does anybody after it: what was held up comes all at once, ours perhaps before
// theirs, and counts as one.
type Members struct {
	table *table.Table
	id    string
	log   *slog.Logger

	stop context.CancelFunc
	wg   sync.WaitGroup // the heartbeat, the follower, and calls under way
	// ending is done when Close was called. Handlers' contexts end with it.
	ending context.Context

	again   chan struct{} // sent to when the follower has to begin anew
	away    atomic.Bool   // nothing is owned here: before Enter and after Leave
	acked   atomic.Int32  // own heartbeats that were acknowledged and did not come by yet
	beats   atomic.Uint64 // own heartbeats that came by
	beaten  atomic.Int64  // when one was acknowledged last, unix nanoseconds
	unheard atomic.Bool   // the last one was not acknowledged
	late    atomic.Bool   // the last one that came by was not stored at the time at which it was sealed
	form    beatForm
	// beating is read-locked by heartbeats under way, and locked by one that tells of a
	// change, so that none from before it follows.
	beating sync.RWMutex

	candidates atomic.Pointer[Candidates] // who is live, by id; replaced, never changed
	mu         sync.Mutex
	others     map[string]*peer
	changed    chan struct{} // closed at the next change
	link       uint64        // of our own heartbeats, as it last came by
	counted    time.Time     // when the servers took the last of them that counted
	// relinked is closed when a heartbeat next tells of another link.
	relinked chan struct{}

	replays  *seal.Replays
	handlers sync.Map // method to Handler
	hold     atomic.Pointer[func(context.Context, string) (context.Context, func(), error)]
	calls    *nats.Subscription
	turns    chan struct{} // taken by calls of others that are under way
	first    chan struct{} // the same for methods that are pressed
	pressed  sync.Map      // methods
}

// Who is what a member tells the others of itself.
type Who struct {
	Name    string `json:"name"`              // for the log
	Account string `json:"account,omitempty"` // on which it would trade; "" for none
	Policy  string `json:"policy,omitempty"`  // by which, in short
}

// beatForm is a heartbeat as it is written.
type beatForm struct {
	Who
	Started  time.Time `json:"started"`
	Draining bool      `json:"draining,omitempty"`
	Link     uint64    `json:"link,omitempty"` // how often its connection was made anew
	// Orders is what it knows of the stream of orders, so that all refuse one that begins
	// anew.
	Orders conn.OrderPosition `json:"orders,omitzero"`
}

// peer is another member that is live.
type peer struct {
	beatForm
	missed int // own heartbeats that came by since its last one
}

// Join takes part and returns when it knows who else does. Nothing is owned here
// before Enter: who only asks others does without. It refuses to take part beside a
// member that trades on another account: the orders of all accounts have one writer,
// and the two would take them from each other for ever. Close must be called.
func Join(ctx context.Context, c *conn.Conn, who Who, log *slog.Logger) (*Members, error) {
	// Before anything is told, so that one that is refused again and again refuses
	// nobody itself.
	if err := admit(ctx, c, who); err != nil {
		return nil, err
	}
	m, err := replicatest_Join(ctx, c, who, log)
	if err != nil {
		return nil, err
	}
	// Of two that come at the same time one has been seen by the other.
	if err := m.agrees(); err != nil {
		m.Close() //nolint:contextcheck // the end is told even when ctx has ended
		return nil, err
	}
	return m, nil
}

func replicatest_Join(ctx context.Context, c *conn.Conn, who Who, log *slog.Logger) (*Members, error) {
	heartbeats, err := table.Open(ctx, c, "MEMBERS", jetstream.MemoryStorage, memberKind)
	if err != nil {
		return nil, err
	}
	ending, stop := context.WithCancel(context.WithoutCancel(ctx))
	m := &Members{
		table: heartbeats, id: rand.Text(), log: log, replays: seal.NewReplays(callWindow, maxRemembered), stop: stop, ending: ending,
		again: make(chan struct{}, 1), form: beatForm{Who: who, Started: time.Now().UTC()},
		others: make(map[string]*peer), changed: make(chan struct{}), relinked: make(chan struct{}), turns: make(chan struct{}, maxCalls), first: make(chan struct{}, maxPressing),
	}
	m.away.Store(true)
	m.candidates.Store(&Candidates{newCandidate(m.id, true)})
	// Who sees the first heartbeat may ask at once.
	if m.calls, err = c.NATS().Subscribe(m.peerSubject(m.id), m.called); err != nil {
		stop()
		return nil, conn.Unavailable("listen to other replicas", err)
	}
	last, err := m.meet(ctx)
	if err != nil {
		m.Close() //nolint:contextcheck // the end is told even when ctx has ended
		return nil, err
	}
	follower := &table.Follower{
		Table: heartbeats, Filters: []string{m.subject("*")}, Name: "members", Log: log, Apply: m.apply, Restart: m.again,
	}
	m.acked.Store(0) // what was written during a long first look is still to come by
	select {
	case <-m.again:
	default:
	}
	m.wg.Go(func() { follower.Run(ending, last) })
	return m, nil
}

// meet begins to write heartbeats, and reads those of the others.
func (m *Members) meet(ctx context.Context) (last uint64, err error) {
	if err := m.table.RetryWrite(ctx, "join", m.tell); err != nil {
		return 0, err
	}
	m.wg.Go(m.beat) // before anything else: whom others know they must go on hearing
	for one, err := range m.table.ReadToBarrier(ctx, 0, m.subject("*")) {
		if err != nil {
			return 0, conn.Unavailable("read the members", err)
		}
		m.apply(ctx, one)
		last = one.Seq
	}
	return last, nil
}

func (m *Members) subject(id string) string { return m.table.Subject(memberKind, id) }

// tell writes a heartbeat that others must not take for an earlier one.
func (m *Members) tell(ctx context.Context) error {
	m.beating.Lock()
	defer m.beating.Unlock()
	return m.sendBeat(ctx)
}

// sendBeat writes a heartbeat. The caller has locked.
func (m *Members) sendBeat(ctx context.Context) error {
	form := m.form
	form.Draining, form.Link, form.Orders = m.away.Load(), m.reconnects(), m.table.History.Position()
	data, err := json.Marshal(form)
	if err != nil {
		return err
	}
	_, err = m.table.Write(ctx, conn.Change{Subject: m.subject(m.id), Data: data, TTL: beatTTL})
	if err == nil {
		m.beaten.Store(time.Now().UnixNano())
	}
	return err
}

// Beat returns when the servers took a heartbeat last. While they take none they take
// nothing else.
func (m *Members) Beat() time.Time { return time.Unix(0, m.beaten.Load()) }

// Late reports whether the clock here and those of the servers differ by more than a
// minute: our heartbeats come back as too old, or from the future. Logins that begin or
// change here do not reach the other replicas.
func (m *Members) Late() bool { return m.late.Load() }

// beat writes heartbeats until Close. One whose answer is late does not hold up the
// next: by their silence others would take this replica for dead.
func (m *Members) beat() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	turns := make(chan struct{}, conn.AttemptTimeout/beatEvery)
	for {
		select {
		case <-m.ending.Done():
			return
		case <-tick.C:
		}
		select {
		case turns <- struct{}{}:
			m.wg.Go(func() {
				m.beatOnce()
				<-turns
			})
		default:
		}
	}
}

// beatOnce writes one heartbeat.
func (m *Members) beatOnce() {
	m.beating.RLock()
	defer m.beating.RUnlock()
	err := m.sendBeat(m.ending)
	if m.ending.Err() != nil {
		return
	}
	if err != nil {
		if !m.unheard.Swap(true) { // once, not every second
			m.log.WarnContext(m.ending, "the servers do not take the heartbeat", "error", err)
		}
		return
	}
	m.unheard.Store(false)
	if m.acked.Add(1) > lostBeats {
		m.acked.Store(0)
		select {
		case m.again <- struct{}{}:
		default:
		}
	}
}

// apply notes a heartbeat, or the end of a member.
func (m *Members) apply(ctx context.Context, one conn.Message) {
	if one.Forged == m.subject(m.id) && one.Late != nil {
		m.late.Store(true)
	}
	id, ok := strings.CutPrefix(one.Subject, m.subject(""))
	if !ok {
		return // a mark
	}
	var form beatForm
	if len(one.Data) > 0 {
		if err := json.Unmarshal(one.Data, &form); err != nil {
			m.log.ErrorContext(ctx, "a heartbeat cannot be read", "member", id, "error", err)
			return
		}
	}
	m.table.History.Learn(form.Orders)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case id == m.id:
		m.acked.Store(0)
		m.late.Store(false)
		m.beats.Add(1)
		m.count(ctx, one.At)
		if form.Link != m.link {
			m.link = form.Link
			m.relink()
		}
	case len(one.Data) == 0:
		if p := m.others[id]; p != nil {
			m.log.InfoContext(ctx, "a member has left", "member", id, "name", p.Name)
			delete(m.others, id)
		}
	case m.others[id] == nil:
		m.log.InfoContext(ctx, "a member has come", "member", id, "name", form.Name)
		m.others[id] = &peer{beatForm: form}
		if form.Account != "" && form.Account == m.form.Account && form.Policy != m.form.Policy {
			m.log.WarnContext(ctx, "a member trades by another policy: which one counts changes with who trades", "member", id, "name", form.Name)
		}
	default:
		if form.Link != m.others[id].Link {
			m.relink()
		}
		*m.others[id] = peer{beatForm: form}
	}
	m.seat()
}

// count notes that one of our heartbeats came by, which the servers took at a time. It
// ends the members that have missed too many. The caller has locked.
func (m *Members) count(ctx context.Context, at time.Time) {
	// Another server that leads may have a clock that is behind.
	if since := at.Sub(m.counted); since >= 0 && since < beatEvery/2 {
		return
	}
	m.counted = at
	for id, p := range m.others {
		if p.missed++; p.missed >= deadAfter {
			m.log.WarnContext(ctx, "a member is silent and counts as dead", "member", id, "name", p.Name)
			delete(m.others, id)
		}
	}
}

// seat works out who is live and tells who waits for it when that has changed. The
// caller has locked.
func (m *Members) seat() {
	all := make(Candidates, 0, 1+len(m.others))
	if m.ending.Err() == nil {
		all = append(all, newCandidate(m.id, m.away.Load()))
	}
	for id, p := range m.others {
		all = append(all, newCandidate(id, p.Draining))
	}
	slices.SortFunc(all, func(a, b candidate) int { return strings.Compare(a.id, b.id) })
	if all.Equal(*m.candidates.Load()) {
		return
	}
	m.candidates.Store(&all)
	close(m.changed)
	m.changed = make(chan struct{})
}

// Self returns the id of this replica, drawn anew by each process.
func (m *Members) Self() string { return m.id }

// Live reports whether a member takes part. One that drains does until it closes.
func (m *Members) Live(id string) bool {
	return slices.ContainsFunc(*m.candidates.Load(), func(s candidate) bool { return s.id == id })
}

// Count returns how many members take part.
func (m *Members) Count() int { return len(*m.candidates.Load()) }

// Changed returns a channel that is closed at the next change of who is live or
// drains. Who waits for it asks for the channel before it asks who the owner is.
func (m *Members) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// Enter begins to own. Everything that an owner needs is up by then: one that fails
// at its start, again and again, would keep interrupting the others.
func (m *Members) Enter(ctx context.Context) {
	m.setAway(false)
	if err := m.tell(ctx); err != nil {
		m.log.WarnContext(ctx, "the other replicas hear with the next heartbeat that this one is ready", "error", err)
	}
}

func (m *Members) setAway(away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away.Store(away)
	m.seat()
}

// Leave hands everything over: the others take over as soon as they see it, and here
// nothing is owned from then on. Calls of others are still answered.
func (m *Members) Leave(ctx context.Context) error {
	m.setAway(true)
	return m.table.RetryWrite(ctx, "leave", m.tell)
}

// Close ends taking part. The others are told if the servers answer; if not, they
// find out.
func (m *Members) Close() {
	m.mu.Lock()
	ended := m.ending.Err() != nil
	m.stop()
	m.seat()
	m.mu.Unlock()
	if ended {
		m.wg.Wait()
		return
	}
	if err := m.calls.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		m.log.WarnContext(m.ending, "listening to other replicas does not end", "error", err)
	}
	m.wg.Wait()
	ctx := context.WithoutCancel(m.ending)
	if _, err := m.table.Write(ctx, conn.Change{Subject: m.subject(m.id), TTL: beatTTL}); err != nil {
		m.log.WarnContext(ctx, "the servers were not told that this replica ends", "error", err)
	}
}

// Conn returns the connection of this replica.
func (m *Members) Conn() *conn.Conn { return m.table.Conn }

// Name returns the name of this replica.
func (m *Members) Name() string { return m.form.Name }

// Peer is another live replica.
type Peer struct{ ID, Name, Account string }

// Peers returns the other live replicas by name, also those that drain.
func (m *Members) Peers() []Peer {
	m.mu.Lock()
	defer m.mu.Unlock()
	peers := make([]Peer, 0, len(m.others))
	for id, p := range m.others {
		peers = append(peers, Peer{id, p.Name, p.Account})
	}
	slices.SortFunc(peers, func(a, b Peer) int { return strings.Compare(a.Name, b.Name) })
	return peers
}
