// Package member tracks the live replicas by their heartbeats, assigns each shard an owner and
// calls it. A shard is work for one replica at a time: an instrument's alerts, or trading.
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
	// deadAfterBeats is the number of own heartbeats without one of a replica after which
	// that replica is declared dead.
	deadAfterBeats = 4
	// DeadAfter is the time from a replica's last heartbeat until it is declared dead.
	DeadAfter = deadAfterBeats * heartbeatEvery
	// heartbeatTTL removes the last heartbeat of a dead replica. It does not decide liveness.
	heartbeatTTL = 30 * time.Second
	// maxUnseenAcks is how many own heartbeats may be acknowledged without arriving before
	// the follower restarts.
	maxUnseenAcks = 3
)

// Group is the set of live replicas and assigns each shard an owner. It is safe for concurrent
// use.
//
// Ownership is each replica's own view, and two may briefly claim a shard. The servers prevent
// anything that must not happen twice.
//
// Clocks are never compared. A replica is dead when four of our own heartbeats arrive after its
// last one. If the servers stall, no heartbeats arrive and nobody is declared dead; heartbeats
// delivered in a burst count once.
type Group struct {
	table *table.Table
	id    string
	log   *slog.Logger

	stop context.CancelFunc
	wg   sync.WaitGroup // heartbeats, the follower and calls in progress
	// ctx ends with Close, and the handlers' contexts with it.
	ctx context.Context

	restart          chan struct{} // restarts the follower
	inactive         atomic.Bool   // owns nothing: before Activate and after Drain
	ackedUnseen      atomic.Int32  // own heartbeats acknowledged and not received yet
	ownSeen          atomic.Uint64 // own heartbeats received
	lastAcked        atomic.Int64  // time of the last acknowledgement, unix nanoseconds
	heartbeatFailing atomic.Bool   // the last heartbeat was not acknowledged
	late             atomic.Bool   // the last own heartbeat was stored too long before or after it was sealed
	self             heartbeat
	// heartbeatMu is read-locked while a heartbeat is sent, and locked while a change is
	// announced, so that no earlier state follows it.
	heartbeatMu sync.RWMutex

	candidates    atomic.Pointer[Candidates] // live replicas by ID; replaced, never modified
	mu            sync.Mutex
	peers         map[string]*peer
	changed       chan struct{} // closed when candidates change
	ownReconnects uint64        // from the last own heartbeat received
	lastCounted   time.Time     // stored time of the last own heartbeat that counted
	// reconnected is closed when a heartbeat next reports a reconnect.
	reconnected chan struct{}

	replays         *seal.Replays
	handlers        sync.Map // method to Handler
	hold            atomic.Pointer[func(context.Context, string) (context.Context, func(), error)]
	calls           *nats.Subscription
	callSlots       chan struct{} // held by calls in progress
	prioritySlots   chan struct{} // held by calls of priority methods
	priorityMethods sync.Map      // methods
}

// Info describes a replica to the others.
type Info struct {
	Name    string `json:"name"`              // for the log
	Account string `json:"account,omitempty"` // trading account, "" for none
	Rules   string `json:"rules,omitempty"`   // digest of the trading policy

	BaseURL  string `json:"base,omitempty"`  // under which clients reach it
	Toolsets string `json:"tools,omitempty"` // that it offers; "none" for none
}

// heartbeat is the stored form of a heartbeat.
type heartbeat struct {
	Info
	Started  time.Time `json:"started"`
	Draining bool      `json:"draining,omitempty"`
	Link     uint64    `json:"link,omitempty"` // reconnects
	// Orders is its view of the order stream, so that all replicas refuse a replaced one.
	Orders conn.OrderPosition `json:"orders,omitzero"`
}

type peer struct {
	heartbeat
	missed int // own heartbeats received since its last one
}

// Join starts heartbeats and returns when it knows the other replicas. This replica owns nothing
// before Activate. Join refuses a replica with another trading account: all accounts share one
// order writer, and the two would take it from each other forever. Close must be called.
func Join(ctx context.Context, c *conn.Conn, self Info, log *slog.Logger) (*Group, error) {
	// Checked before the first heartbeat, so that a refused replica that restarts again and
	// again refuses nobody itself.
	if err := checkAccount(ctx, c, self); err != nil {
		return nil, err
	}
	m, err := join(ctx, c, self, log)
	if err != nil {
		return nil, err
	}
	// Of two that join at the same time, one sees the other.
	if err := m.checkPeers(); err != nil {
		m.Close() //nolint:contextcheck // announces the departure even if ctx has ended
		return nil, err
	}
	return m, nil
}

func join(ctx context.Context, c *conn.Conn, self Info, log *slog.Logger) (*Group, error) {
	heartbeats, err := table.Open(ctx, c, "MEMBERS", jetstream.MemoryStorage, memberKind)
	if err != nil {
		return nil, err
	}
	ending, stop := context.WithCancel(context.WithoutCancel(ctx))
	m := &Group{
		table: heartbeats, id: rand.Text(), log: log, replays: seal.NewReplays(callWindow, maxRemembered), stop: stop, ctx: ending,
		restart: make(chan struct{}, 1), self: heartbeat{Info: self, Started: time.Now().UTC()},
		peers: make(map[string]*peer), changed: make(chan struct{}), reconnected: make(chan struct{}), callSlots: make(chan struct{}, maxCalls), prioritySlots: make(chan struct{}, maxPriorityCalls),
	}
	m.inactive.Store(true)
	m.candidates.Store(&Candidates{newCandidate(m.id, true)})
	// Replicas that receive the first heartbeat may call at once.
	if m.calls, err = c.NATS().Subscribe(m.peerSubject(m.id), m.onCall); err != nil {
		stop()
		return nil, conn.Unavailable("subscribe to calls", err)
	}
	follower := &table.Follower{
		Table: heartbeats, Filters: []string{m.subject("*")}, Name: "heartbeats", Log: log, Apply: m.apply, Restart: m.restart,
	}
	last, err := m.start(ctx, follower)
	if err != nil {
		m.Close() //nolint:contextcheck // announces the departure even if ctx has ended
		return nil, err
	}
	m.ackedUnseen.Store(0) // heartbeats sent during a long first read arrive later
	select {
	case <-m.restart:
	default:
	}
	m.wg.Go(func() { follower.Run(ending, last) })
	return m, nil
}

// start starts heartbeats and reads those of other replicas.
func (m *Group) start(ctx context.Context, from *table.Follower) (last uint64, err error) {
	if err := m.table.RetryWrite(ctx, "send heartbeat", m.announce); err != nil {
		return 0, err
	}
	m.wg.Go(m.runHeartbeats) // first, or others would declare this replica dead
	return from.Load(ctx, "read heartbeats")
}

func (m *Group) subject(id string) string { return m.table.Subject(memberKind, id) }

// announce sends a heartbeat after a change. No heartbeat with the earlier state follows it.
func (m *Group) announce(ctx context.Context) error {
	m.heartbeatMu.Lock()
	defer m.heartbeatMu.Unlock()
	return m.sendHeartbeat(ctx)
}

// sendHeartbeat writes a heartbeat. The caller holds heartbeatMu.
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
		if !m.inactive.Load() { // one that starts serves nobody who would wait
			m.table.Heard()
		}
	}
	return err
}

// LastHeartbeat returns when the servers last acknowledged a heartbeat.
func (m *Group) LastHeartbeat() time.Time { return time.Unix(0, m.lastAcked.Load()) }

// Late reports whether the local clock and the servers' clocks differ by more than conn.MaxDelay.
// Other replicas then ignore login changes of this one.
func (m *Group) Late() bool { return m.late.Load() }

// runHeartbeats sends heartbeats until Close. A slow acknowledgement does not delay the next
// one, or other replicas would consider this one dead.
func (m *Group) runHeartbeats() {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	slots := make(chan struct{}, conn.AttemptTimeout/heartbeatEvery)
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case slots <- struct{}{}:
			m.wg.Go(func() {
				m.heartbeatOnce()
				<-slots
			})
		default:
		}
	}
}

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

// apply handles a heartbeat or a departure.
func (m *Group) apply(ctx context.Context, one conn.Message) {
	if one.Forged == m.subject(m.id) && one.Late != nil {
		m.late.Store(true)
	}
	id, ok := strings.CutPrefix(one.Subject, m.subject(""))
	if !ok {
		return // a barrier
	}
	var form heartbeat
	if len(one.Data) > 0 {
		if err := json.Unmarshal(one.Data, &form); err != nil {
			m.log.ErrorContext(ctx, "heartbeat skipped: cannot decode", "replica", id, "error", err)
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
			m.log.InfoContext(ctx, "replica left", "replica", id, "name", p.Name)
			delete(m.peers, id)
		}
	case m.peers[id] == nil:
		m.log.InfoContext(ctx, "replica joined", "replica", id, "name", form.Name)
		m.peers[id] = &peer{heartbeat: form}
		if differ := m.self.settingsDiffer(form.Info); len(differ) > 0 {
			m.log.WarnContext(ctx, "settings differ between replicas; give all of them the same", "settings", differ, "replica", id, "name", form.Name)
		}
	default:
		if form.Link != m.peers[id].Link {
			m.notifyReconnected()
		}
		*m.peers[id] = peer{heartbeat: form}
	}
	m.updateCandidates()
}

// countMissed counts an own heartbeat, stored at the given time, against all peers and removes
// the dead ones. The caller holds mu.
func (m *Group) countMissed(ctx context.Context, at time.Time) {
	// After a change of leaders the time may go back.
	if since := at.Sub(m.lastCounted); since >= 0 && since < heartbeatEvery/2 {
		return
	}
	m.lastCounted = at
	for id, p := range m.peers {
		if p.missed++; p.missed >= deadAfterBeats {
			m.log.WarnContext(ctx, "replica declared dead: heartbeats missed", "replica", id, "name", p.Name)
			delete(m.peers, id)
		}
	}
}

// updateCandidates recomputes the live replicas and wakes waiters after a change. The caller holds
// mu.
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

// Self returns the ID of this replica, random for each process.
func (m *Group) Self() string { return m.id }

// Live reports whether a replica is live. A draining one is, until it closes.
func (m *Group) Live(id string) bool {
	return slices.ContainsFunc(*m.candidates.Load(), func(s candidate) bool { return s.id == id })
}

// Count returns the number of live replicas.
func (m *Group) Count() int { return len(*m.candidates.Load()) }

// Changed returns a channel that is closed at the next change of the live or draining replicas.
// Get it before ShardOwner, so that no change is missed.
func (m *Group) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// Activate lets this replica own shards. Call it when everything is ready: a replica that fails
// again and again would interrupt the others.
func (m *Group) Activate(ctx context.Context) {
	m.setInactive(false)
	if err := m.announce(ctx); err != nil {
		m.log.WarnContext(ctx, "announcing readiness failed; sent with the next heartbeat", "error", err)
	}
}

func (m *Group) setInactive(inactive bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inactive.Store(inactive)
	m.updateCandidates()
}

// Drain gives up all shards. Other replicas take them over as soon as they see it. Calls are
// still answered.
func (m *Group) Drain(ctx context.Context) error {
	m.setInactive(true)
	return m.table.RetryWrite(ctx, "drain", m.announce)
}

// Close leaves the group and announces the departure. If that fails, the others detect it.
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
		m.log.WarnContext(ctx, "announcing departure failed; other replicas will detect it", "error", err)
	}
}

// Conn returns the connection of this replica.
func (m *Group) Conn() *conn.Conn { return m.table.Conn }

// Name returns the name of this replica.
func (m *Group) Name() string { return m.self.Name }

// Account returns the account of this replica, "" for none.
func (m *Group) Account() string { return m.self.Account }

// Peer is another live replica.
type Peer struct{ ID, Name, Account string }

// Peers returns the other live replicas by name, draining ones included.
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
