package owners

import (
	"context"
	"encoding/json"
	"log/slog"

	"candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/store/replica/conn"
)

// plansToken ends the subject of the plans: standing.plans, which all replicas follow. Standings of owners have longer subjects.
const plansToken = "plans"

var _ owners.PlanStore = (*Store)(nil)

func (s *Store) plansSubject() string { return s.table.Subject(standingKind, plansToken) }

// learnPlans passes on plans that some replica has stored.
func (s *Store) learnPlans(ctx context.Context, log *slog.Logger, m conn.Message) {
	var now owners.SharedPlans
	if len(m.Data) == 0 || s.OnPlans == nil {
		return
	}
	if err := json.Unmarshal(m.Data, &now); err != nil {
		log.ErrorContext(ctx, "plans skipped: cannot decode", "error", err)
		return
	}
	s.OnPlans(now)
}

// SharePlans implements owners.PlanStore.
func (s *Store) SharePlans(ctx context.Context, plans plan.Table, first bool) (stored owners.SharedPlans, err error) {
	err = s.table.RetryWrite(ctx, "write the plans", func(ctx context.Context) error {
		m, ok, err := s.table.Latest(ctx, s.plansSubject())
		if err != nil {
			return err
		}
		stored = owners.SharedPlans{}
		if ok && len(m.Data) > 0 {
			if err := json.Unmarshal(m.Data, &stored); err != nil {
				return conn.Corrupted("read the plans", err)
			}
			if first || stored.Plans.Digest() == plans.Digest() {
				return nil
			}
		}
		noted, err := s.note(owners.EventPlans, plansToken, map[string]any{"version": stored.Version + 1, "changed": plans.Changed(stored.Plans)})
		if err != nil {
			return err
		}
		next := owners.SharedPlans{Version: stored.Version + 1, Plans: plans}
		data, err := json.Marshal(next)
		if err != nil {
			return conn.Final(err)
		}
		if _, err = s.table.Write(ctx, conn.Change{Subject: s.plansSubject(), Data: data, CompareAndSet: true, Revision: m.Seq}, noted); err == nil {
			stored = next
		}
		return err
	})
	return stored, err
}
