package owners

import (
	"context"
	"encoding/json"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/lib/fault"
)

// confirm refuses a caller whose owner is suspended or erased at the servers, whatever this replica
// knows. What the program does by itself has no token or other key, and passes.
func (s *Store) confirm(ctx context.Context, by principal.Caller) error {
	if by.Key == "" {
		return nil
	}
	m, _, err := s.table.Latest(ctx, s.table.OwnerSubject(by.Subject, standingKind))
	if err != nil || len(m.Data) == 0 {
		return err
	}
	var now owners.Standing
	if err := json.Unmarshal(m.Data, &now); err != nil {
		return conn.Corrupted("read the standing of an owner", err)
	}
	if now.State == owners.Active || now.State == "" {
		return nil
	}
	return fault.New(fault.Unauthorized, "not_your_account", "The account is %s, so nothing was done.", string(now.State))
}
