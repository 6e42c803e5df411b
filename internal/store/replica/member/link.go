package member

import "context"

// A link is the pair of connections that a call travels over. If either reconnects, the call
// or its reply may be lost without an error.
type link struct {
	m                                 *Group
	id                                string // of the other replica
	localReconnects, remoteReconnects uint64
}

func (m *Group) linkTo(id string) link {
	local := m.reconnects() // before locking: the client holds its own lock while it dials
	m.mu.Lock()
	defer m.mu.Unlock()
	return link{m, id, local, m.reconnectsOf(id)}
}

// reconnects counts the reconnects of this replica.
func (m *Group) reconnects() uint64 { return m.table.NATS().Stats().Reconnects }

// reconnectsOf returns the same of another replica, by its last heartbeat. The caller holds mu.
func (m *Group) reconnectsOf(id string) uint64 {
	if p := m.peers[id]; p != nil {
		return p.Link
	}
	return 0
}

// intact reports whether a call may still be answered: the other replica is live and neither
// connection was replaced.
func (l link) intact() bool { return l.m.Live(l.id) && l.m.linkTo(l.id) == l }

// waitBroken returns when ctx ends or the link is no longer intact.
func (l link) waitBroken(ctx context.Context) {
	for {
		changed, reconnected := l.m.Changed(), l.m.reconnectEvents()
		if !l.intact() {
			return
		}
		select {
		case <-changed:
		case <-reconnected:
		case <-ctx.Done():
			return
		}
	}
}

// reconnectEvents returns a channel that is closed when a heartbeat next reports a reconnect.
func (m *Group) reconnectEvents() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reconnected
}

// notifyReconnected wakes callers that wait for a reply. The caller holds mu.
func (m *Group) notifyReconnected() {
	close(m.reconnected)
	m.reconnected = make(chan struct{})
}
