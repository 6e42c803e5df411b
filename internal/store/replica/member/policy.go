package member

import (
	"context"
	"fmt"

	"candela/lib/fault"
)

// policyConflict refuses a replica with another policy: what passes would depend on the replica that
// trades.
func (w Info) policyConflict(other heartbeat) error {
	if w.Rules == "" || other.Rules == "" || w.Rules == other.Rules {
		return nil
	}
	return &fault.Error{
		Kind: fault.Conflict, Code: "other_policy", Field: "policy.toml", Value: w.Rules, Allowed: other.Rules,
		Message: fmt.Sprintf("The policy of this replica is %s, and that of replica %s is %s. Copy its policy.toml. To change the policy, copy the new file to every replica "+
			"and run candela policy apply at one of them. A killed replica is forgotten after 30 s.", w.Rules, other.Name, other.Rules),
	}
}

// SetPolicy announces that this replica has another policy.
func (m *Group) SetPolicy(ctx context.Context, rules string) {
	m.heartbeatMu.Lock()
	m.mu.Lock()
	m.self.Rules = rules
	m.mu.Unlock()
	m.heartbeatMu.Unlock()
	if err := m.announce(ctx); err != nil {
		m.log.WarnContext(ctx, "announcing the policy failed; sent with the next heartbeat", "error", err)
	}
}

// CheckPolicies returns an error if a live replica of this account has another policy. An apply that
// failed half-way leaves such a group.
func (m *Group) CheckPolicies() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.peers {
		if p.Account == m.self.Account {
			if err := m.self.policyConflict(p.heartbeat); err != nil {
				return err
			}
		}
	}
	return nil
}

// OwnerName returns the name of the replica that owns a shard, "" for none.
func (m *Group) OwnerName(shard string) string {
	id, mine := m.ShardOwner(shard)
	if mine {
		return m.Name()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.peers[id]; p != nil {
		return p.Name
	}
	return ""
}

// settingsDiffer returns the settings in which a replica differs and should not: clients get another
// server behind the same address.
func (w Info) settingsDiffer(other Info) (names []string) {
	if w.BaseURL != other.BaseURL && w.BaseURL != "" && other.BaseURL != "" {
		names = append(names, "base-url")
	}
	if w.Toolsets != other.Toolsets && w.Toolsets != "" && other.Toolsets != "" {
		names = append(names, "toolsets")
	}
	return names
}
