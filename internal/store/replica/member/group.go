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
	heartbeatEvery = time.Second
	// deadAfterBeats is how many of our own heartbeats come by since the last of another
	// member before that one counts as dead.
	deadAfterBeats = 4
	// DeadAfter is how long after its last heartbeat a replica counts as dead.
	DeadAfter = deadAfterBeats * heartbeatEvery
	// heartbeatTTL ends what a dead member has left behind. A member is not judged by it.
	heartbeatTTL = 30 * time.Second
	// maxUnseenAcks is how many of our heartbeats may be acknowledged without coming by
	// before the reading of them begins anew.
	maxUnseenAcks = 3
)

// Group is who takes part, and who owns what has to be done by one replica at a
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
type Group struct {
	table *table.Table
	id    string
	log   *slog.Logger

	stop context.CancelFunc
	wg   sync.WaitGroup // the heartbeat, the follower, and calls under way
	// ctx is done when Close was called. Handlers' contexts end with it.
	ctx context.Context

	restart          chan struct{} // sent to when the follower has to begin anew
	inactive         atomic.Bool   // nothing is owned here: before Enter and after Leave
	ackedUnseen      atomic.Int32  // own heartbeats that were acknowledged and did not come by yet
	ownSeen          atomic.Uint64 // own heartbeats that came by
	lastAcked        atomic.Int64  // when one was acknowledged last, unix nanoseconds
	heartbeatFailing atomic.Bool   // the last one was not acknowledged
	late             atomic.Bool   // the last one that came by was not stored at the time at which it was sealed
	self             heartbeat
	// heartbeatMu is read-locked by heartbeats under way, and locked by one that tells of a
	// change, so that none from before it follows.
	heartbeatMu sync.RWMutex

	candidates    atomic.Pointer[Candidates] // who is live, by id; replaced, never changed
	mu            sync.Mutex
	peers         map[string]*peer
	changed       chan struct{} // closed at the next change
	ownReconnects uint64        // of our own heartbeats, as it last came by
	lastCounted   time.Time     // when the servers took the last of them that counted
	// reconnected is closed when a heartbeat next tells of another link.
	reconnected chan struct{}

	replays         *seal.Replays
	handlers        sync.Map // method to Handler
	hold            atomic.Pointer[func(context.Context, string) (context.Context, func(), error)]
	calls           *nats.Subscription
	callSlots       chan struct{} // taken by calls of others that are under way
	prioritySlots   chan struct{} // the same for methods that are pressed
	priorityMethods sync.Map      // methods
}

// Info is what a member tells the others of itself.
type Info struct {
	Name    string `json:"name"`              // for the log
	Account string `json:"account,omitempty"` // on which it would trade; "" for none
	Policy  string `json:"policy,omitempty"`  // by which, in short
}

// heartbeat is a heartbeat as it is written.
type heartbeat struct {
	Info
	Started  time.Time `json:"started"`
	Draining bool      `json:"draining,omitempty"`
	Link     uint64    `json:"link,omitempty"` // how often its connection was made anew
	// Orders is what it knows of the stream of orders, so that all refuse one that begins
	// anew.
	Orders conn.OrderPosition `json:"orders,omitzero"`
}

// peer is another member that is live.
type peer struct {
	heartbeat
	missed int // own heartbeats that came by since its last one
}

// Join takes part and returns when it knows who else does. Nothing is owned here
// before Enter: who only asks others does without. It refuses to take part beside a
// member that trades on another account: the orders of all accounts have one writer,
// and the two would take them from each other for ever. Close must be called.
func Join(ctx context.Context, c *conn.Conn, who Info, log *slog.Logger) (*Group, error) {
	// Before anything is told, so that one that is refused again and again refuses
	// nobody itself.
	if err := checkAccount(ctx, c, who); err != nil {
		return nil, err
	}
	m, err := join(ctx, c, who, log)
	if err != nil {
		return nil, err
	}
	// Of two that come at the same time one has been seen by the other.
	if err := m.checkPeers(); err != nil {
		m.Close() //nolint:contextcheck // the end is told even when ctx has ended
		return nil, err
	}
	return m, nil
}

func join(ctx context.Context, c *conn.Conn, who Info, log *slog.Logger) (*Group, error) {
	heartbeats, err := table.Open(ctx, c, "MEMBERS", jetstream.MemoryStorage, memberKind)
	if err != nil {
		return nil, err
	}
	ending, stop := context.WithCancel(context.WithoutCancel(ctx))
	m := &Group{
		table: heartbeats, id: rand.Text(), log: log, replays: seal.NewReplays(callWindow, maxRemembered), stop: stop, ctx: ending,
		restart: make(chan struct{}, 1), self: heartbeat{Info: who, Started: time.Now().UTC()},
		peers: make(map[string]*peer), changed: make(chan struct{}), reconnected: make(chan struct{}), callSlots: make(chan struct{}, maxCalls), prioritySlots: make(chan struct{}, maxPriorityCalls),
	}
	m.inactive.Store(true)
	m.candidates.Store(&Candidates{newCandidate(m.id, true)})
	// Who sees the first heartbeat may ask at once.
	if m.calls, err = c.NATS().Subscribe(m.peerSubject(m.id), m.onCall); err != nil {
		stop()
		return nil, conn.Unavailable("listen to other replicas", err)
	}
	last, err := m.start(ctx)
	if err != nil {
		m.Close() //nolint:contextcheck // the end is told even when ctx has ended
		return nil, err
	}
	follower := &table.Follower{
		Table: heartbeats, Filters: []string{m.subject("*")}, Name: "members", Log: log, Apply: m.apply, Restart: m.restart,
	}
	m.ackedUnseen.Store(0) // what was written during a long first look is still to come by
	select {
	case <-m.restart:
	default:
	}
	m.wg.Go(func() { follower.Run(ending, last) })
	return m, nil
}

// start begins to write heartbeats, and reads those of the others.
func (m *Group) start(ctx context.Context) (last uint64, err error) {
	if err := m.table.RetryWrite(ctx, "join", m.announce); err != nil {
		return 0, err
	}
	m.wg.Go(m.runHeartbeats) // before anything else: whom others know they must go on hearing
	for one, err := range m.table.ReadToBarrier(ctx, 0, m.subject("*")) {
		if err != nil {
			return 0, conn.Unavailable("read the members", err)
		}
		m.apply(ctx, one)
		last = one.Seq
	}
	return last, nil
}

func (m *Group) subject(id string) string { return m.table.Subject(memberKind, id) }

// announce writes a heartbeat that others must not take for an earlier one.
func (m *Group) announce(ctx context.Context) error {
	m.heartbeatMu.Lock()
	defer m.heartbeatMu.Unlock()
	return m.sendHeartbeat(ctx)
}

// sendHeartbeat writes a heartbeat. The caller has locked.
func (m *Group) sendHeartbeat(ctx context.Context) error {
	form := m.self
	form.Draining, form.Link, form.Orders = m.inactive.Load(), m.reconnects(), m.table.History.Position()
	data, err := json.Marshal(form)
	if err != nil {
		return err
	}
	_, err = m.table.Write(ctx, conn.Change{Subject: m.subject(m.id), Data: data, TTL: heartbeatTTL})
	if err == nil {
		m.lastAcked.Store(time.Now().UnixNano())
	}
	return err
}

// LastHeartbeat returns when the servers took a heartbeat last. While they take none they take
// nothing else.
func (m *Group) LastHeartbeat() time.Time { return time.Unix(0, m.lastAcked.Load()) }

// Late reports whether the clock here and those of the servers differ by more than a
// minute: our heartbeats come back as too old, or from the future. Logins that begin or
// change here do not reach the other replicas.
func (m *Group) Late() bool { return m.late.Load() }

// runHeartbeats writes heartbeats until Close. One whose answer is late does not hold up the
// next: by their silence others would take this replica for dead.
func (m *Group) runHeartbeats() {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	turns := make(chan struct{}, conn.AttemptTimeout/heartbeatEvery)
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case turns <- struct{}{}:
			m.wg.Go(func() {
				m.heartbeatOnce()
				<-turns
			})
		default:
		}
	}
}

// heartbeatOnce writes one heartbeat.
func (m *Group) heartbeatOnce() {
	m.heartbeatMu.RLock()
	defer m.heartbeatMu.RUnlock()
	err := m.sendHeartbeat(m.ctx)
	if m.ctx.Err() != nil {
		return
	}
	if err != nil {
		if !m.heartbeatFailing.Swap(true) { // once, not every second
			m.log.WarnContext(m.ctx, "heartbeat failed", "error", err)
		}
		return
	}
	m.heartbeatFailing.Store(false)
	if m.ackedUnseen.Add(1) > maxUnseenAcks {
		m.ackedUnseen.Store(0)
		select {
		case m.restart <- struct{}{}:
		default:
		}
	}
}

// apply notes a heartbeat, or the end of a member.
func (m *Group) apply(ctx context.Context, one conn.Message) {
	if one.Forged == m.subject(m.id) && one.Late != nil {
		m.late.Store(true)
	}
	id, ok := strings.CutPrefix(one.Subject, m.subject(""))
	if !ok {
		return // a mark
	}
	var form heartbeat
	if len(one.Data) > 0 {
		if err := json.Unmarshal(one.Data, &form); err != nil {
			m.log.ErrorContext(ctx, "heartbeat skipped: cannot decode", "member", id, "error", err)
			return
		}
	}
	m.table.History.Learn(form.Orders)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case id == m.id:
		m.ackedUnseen.Store(0)
		m.late.Store(false)
		m.ownSeen.Add(1)
		m.countMissed(ctx, one.At)
		if form.Link != m.ownReconnects {
			m.ownReconnects = form.Link
			m.notifyReconnected()
		}
	case len(one.Data) == 0:
		if p := m.peers[id]; p != nil {
			m.log.InfoContext(ctx, "replica left", "member", id, "name", p.Name)
			delete(m.peers, id)
		}
	case m.peers[id] == nil:
		m.log.InfoContext(ctx, "a member has come", "member", id, "name", form.Name)
		m.peers[id] = &peer{heartbeat: form}
		if form.Account != "" && form.Account == m.self.Account && form.Policy != m.self.Policy {
			m.log.WarnContext(ctx, "trading policies differ between replicas; the trading replica's policy applies", "member", id, "name", form.Name)
		}
	default:
		if form.Link != m.peers[id].Link {
			m.notifyReconnected()
		}
		*m.peers[id] = peer{heartbeat: form}
	}
	m.updateCandidates()
}

// countMissed notes that one of our heartbeats came by, which the servers took at a time. It
// ends the members that have missed too many. The caller has locked.
func (m *Group) countMissed(ctx context.Context, at time.Time) {
	// Another server that leads may have a clock that is behind.
	if since := at.Sub(m.lastCounted); since >= 0 && since < heartbeatEvery/2 {
		return
	}
	m.lastCounted = at
	for id, p := range m.peers {
		if p.missed++; p.missed >= deadAfterBeats {
			m.log.WarnContext(ctx, "replica declared dead: heartbeats missed", "member", id, "name", p.Name)
			delete(m.peers, id)
		}
	}
}

// updateCandidates works out who is live and tells who waits for it when that has changed. The
// caller has locked.
func (m *Group) updateCandidates() {
	all := make(Candidates, 0, 1+len(m.peers))
	if m.ctx.Err() == nil {
		all = append(all, newCandidate(m.id, m.inactive.Load()))
	}
	for id, p := range m.peers {
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
func (m *Group) Self() string { return m.id }

// Live reports whether a member takes part. One that drains does until it closes.
func (m *Group) Live(id string) bool {
	return slices.ContainsFunc(*m.candidates.Load(), func(s candidate) bool { return s.id == id })
}

// Count returns how many members take part.
func (m *Group) Count() int { return len(*m.candidates.Load()) }

// Changed returns a channel that is closed at the next change of who is live or
// drains. Who waits for it asks for the channel before it asks who the owner is.
func (m *Group) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// Activate begins to own. Everything that an owner needs is up by then: one that fails
// at its start, again and again, would keep interrupting the others.
func (m *Group) Activate(ctx context.Context) {
	m.setInactive(false)
	if err := m.announce(ctx); err != nil {
		m.log.WarnContext(ctx, "announcing readiness failed; sent with the next heartbeat", "error", err)
	}
}

func (m *Group) setInactive(away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inactive.Store(away)
	m.updateCandidates()
}

// Drain hands everything over: the others take over as soon as they see it, and here
// nothing is owned from then on. Calls of others are still answered.
func (m *Group) Drain(ctx context.Context) error {
	m.setInactive(true)
	return m.table.RetryWrite(ctx, "leave", m.announce)
}

// Close ends taking part. The others are told if the servers answer; if not, they
// find out.
func (m *Group) Close() {
	m.mu.Lock()
	ended := m.ctx.Err() != nil
	m.stop()
	m.updateCandidates()
	m.mu.Unlock()
	if ended {
		m.wg.Wait()
		return
	}
	if err := m.calls.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		m.log.WarnContext(m.ctx, "closing the call subscription failed", "error", err)
	}
	m.wg.Wait()
	ctx := context.WithoutCancel(m.ctx)
	if _, err := m.table.Write(ctx, conn.Change{Subject: m.subject(m.id), TTL: heartbeatTTL}); err != nil {
		m.log.WarnContext(ctx, "the servers were not told that this replica ends", "error", err)
	}
}

// Conn returns the connection of this replica.
func (m *Group) Conn() *conn.Conn { return m.table.Conn }

// Name returns the name of this replica.
func (m *Group) Name() string { return m.self.Name }

// Peer is another live replica.
type Peer struct{ ID, Name, Account string }

// Peers returns the other live replicas by name, also those that drain.
func (m *Group) Peers() []Peer {
	m.mu.Lock()
	defer m.mu.Unlock()
	peers := make([]Peer, 0, len(m.peers))
	for id, p := range m.peers {
		peers = append(peers, Peer{id, p.Name, p.Account})
	}
	slices.SortFunc(peers, func(a, b Peer) int { return strings.Compare(a.Name, b.Name) })
	return peers
}
