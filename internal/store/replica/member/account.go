package member

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/fault"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// checkAccount refuses a replica that would trade on another account than those that take
// part.
func checkAccount(ctx context.Context, c *conn.Conn, who Info) error {
	if who.Account == "" {
		return nil
	}
	beats, err := recentHeartbeats(ctx, c)
	if err != nil {
		return err
	}
	for _, beat := range beats {
		if err := who.accountConflict(beat); err != nil {
			return err
		}
	}
	return nil
}

// recentHeartbeats returns the last heartbeats of those that take part, or did half a minute
// ago. One that cannot be read is passed over: it must not keep everybody out.
func recentHeartbeats(ctx context.Context, c *conn.Conn) ([]heartbeat, error) {
	members, err := table.Open(ctx, c, "MEMBERS", jetstream.MemoryStorage, memberKind)
	if err != nil {
		return nil, err
	}
	const doing = "read the members"
	return table.ReadAll(ctx, members, doing, members.Subject(memberKind, "*"), 0, table.SkipCorrupt(ctx, members, doing, func(m conn.Message) (form heartbeat, ok bool, err error) {
		err = json.Unmarshal(m.Data, &form)
		form.Name = cmp.Or(form.Name, strings.TrimPrefix(m.Subject, members.Subject(memberKind, "")))
		return form, true, err
	}))
}

// checkPeers is admit for those that are known.
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

// accountConflict refuses a member that trades on another account, or will: one that drains
// cannot be told from one that is not up yet.
func (w Info) accountConflict(other heartbeat) error {
	if w.Account == "" || other.Account == "" || other.Account == w.Account {
		return nil
	}
	return &fault.Error{
		Kind: fault.Conflict, Code: "another_account", Value: w.Account, Allowed: other.Account,
		Message: fmt.Sprintf("this replica would trade on %s, and the replica %s trades on %s: all replicas trade on one account. "+
			"Stop the others first, or give this one another --nats-prefix; one that was killed is forgotten after half a minute", w.Account, other.Name, other.Account),
	}
}

// Names returns the names of the replicas that take part, or did half a minute
// ago: one that was killed is forgotten after that.
func Names(ctx context.Context, c *conn.Conn) ([]string, error) {
	beats, err := recentHeartbeats(ctx, c)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(beats))
	for i := range beats {
		names[i] = beats[i].Name
	}
	return names, nil
}
