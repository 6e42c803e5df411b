package member

import "context"

// replicatest_Proxy is the way from this replica to another while a call is under way. What the
// servers carry between two connections is lost when one of them breaks: the call, or
// its answer. Nobody says so, and both sides go on over new connections.
type replicatest_Proxy struct {
	m           *Members
	id          string // of the other
	here, there uint64 // how often the connections had been made anew
}

// lineTo returns the way to a member as it is.
func (m *Members) lineTo(id string) replicatest_Proxy {
	here := m.reconnects() // before locking: the client holds its own lock while it dials
	m.mu.Lock()
	defer m.mu.Unlock()
	return replicatest_Proxy{m, id, here, m.linkOf(id)}
}

// reconnects is how often the connection of this replica was made anew.
func (m *Members) reconnects() uint64 { return m.table.NATS().Stats().Reconnects }

// linkOf is the same for another, as it last told. The caller has locked.
func (m *Members) linkOf(id string) uint64 {
	if p := m.others[id]; p != nil {
		return p.Link
	}
	return 0
}

// holds reports whether what was sent may still be answered: the other is live and
// both have the connection that they had.
func (l replicatest_Proxy) holds() bool { return l.m.Live(l.id) && l.m.lineTo(l.id) == l }

// awaitEnd returns when ctx ends or the way no longer holds.
func (l replicatest_Proxy) awaitEnd(ctx context.Context) {
	for {
		changed, relinked := l.m.Changed(), l.m.relinks()
		if !l.holds() {
			return
		}
		select {
		case <-changed:
		case <-relinked:
		case <-ctx.Done():
			return
		}
	}
}

// relinks returns a channel that is closed when a member, or this one, next tells
// that its connection was made anew.
func (m *Members) relinks() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.relinked
}

// relink tells who waits for an answer. The caller has locked.
func (m *Members) relink() {
	close(m.relinked)
	m.relinked = make(chan struct{})
}
