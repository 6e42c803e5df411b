package member

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
	"candela/lib/fault"
)

// checkAccount refuses a replica that is configured for another account than the group.
func checkAccount(ctx context.Context, c *conn.Conn, self Info) error {
	if self.Account == "" {
		return nil
	}
	heartbeats, err := recentHeartbeats(ctx, c)
	if err != nil {
		return err
	}
	for _, other := range heartbeats {
		if err := self.accountConflict(other); err != nil {
			return err
		}
	}
	return nil
}

// recentHeartbeats returns the last heartbeats of the past heartbeatTTL. It skips those that
// cannot be decoded: they must not keep every replica out.
func recentHeartbeats(ctx context.Context, c *conn.Conn) ([]heartbeat, error) {
	members, err := table.Open(ctx, c, "MEMBERS", jetstream.MemoryStorage, memberKind)
	if err != nil {
		return nil, err
	}
	const op = "read heartbeats"
	return table.ReadAll(ctx, members, op, members.Subject(memberKind, "*"), 0, table.SkipCorrupt(ctx, members, op, func(m conn.Message) (form heartbeat, ok bool, err error) {
		err = json.Unmarshal(m.Data, &form)
		form.Name = cmp.Or(form.Name, strings.TrimPrefix(m.Subject, members.Subject(memberKind, "")))
		return form, true, err
	}))
}

// checkPeers is checkAccount for the known replicas.
func (m *Group) checkPeers() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.peers {
		if err := m.self.accountConflict(p.heartbeat); err != nil {
			return err
		}
	}
	return nil
}

// accountConflict refuses a replica with another account, even a draining one: it looks like one
// that is starting.
func (w Info) accountConflict(other heartbeat) error {
	if w.Account == "" || other.Account == "" {
		return nil
	}
	if other.Account == w.Account {
		return w.policyConflict(other)
	}
	return &fault.Error{
		Kind: fault.Conflict, Code: "another_account", Value: w.Account, Allowed: other.Account,
		Message: fmt.Sprintf("This replica is configured for account %s, but replica %s trades on %s. All replicas must use one account: "+
			"stop the others first, or use another --nats-prefix. A killed replica is forgotten after 30 s.", w.Account, other.Name, other.Account),
	}
}

// Names returns the names of the replicas that sent a heartbeat within the past heartbeatTTL.
func Names(ctx context.Context, c *conn.Conn) ([]string, error) {
	heartbeats, err := recentHeartbeats(ctx, c)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(heartbeats))
	for i, h := range heartbeats {
		names[i] = h.Name
	}
	return names, nil
}
