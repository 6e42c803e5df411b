package alerts

import (
	"context"
	"encoding/json"
	"time"

	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// A replica that evaluates a script for alerts says so in a record of its own, because the replica
// that takes over after its death cannot read its disk.

const (
	evaluatingToken   = "evaluating"
	evaluatingTimeout = time.Second // of a write; a script is evaluated without the record then
)

// evaluation is the record of a script that a replica evaluates.
type evaluation struct {
	Use     string    `json:"use"`
	Replica string    `json:"replica"`
	At      time.Time `json:"at"`
}

func (s *Store) evaluationSubject(use, replica string) string {
	return s.states.Subject(table.StateKind, conn.EncodeToken(evaluatingToken), conn.EncodeToken(use+" "+replica))
}

// Begin records that this replica evaluates a script from now on. The function that it returns
// removes the record.
func (a *Coordinator) Begin(ctx context.Context, use string) (end func()) {
	s, self := a.cfg.ChangeFeed.store, a.cfg.Group.Self()
	subject := s.evaluationSubject(use, self)
	data, err := json.Marshal(evaluation{use, self, s.now().UTC()})
	if err == nil {
		err = s.states.WriteAllFor(ctx, evaluatingTimeout, "record an evaluation", []conn.Change{{Subject: subject, Data: data}})
	}
	if err != nil {
		a.cfg.Log.WarnContext(ctx, "script evaluated without a record of it", "error", err)
	}
	return func() {
		gone := []conn.Change{{Subject: subject, TTL: table.TombstoneTTL}}
		if err := s.states.WriteAllFor(context.WithoutCancel(ctx), evaluatingTimeout, "end an evaluation", gone); err != nil {
			a.cfg.Log.WarnContext(ctx, "record of an evaluation not removed", "error", err)
		}
	}
}

// setAsideDead sets the alerts aside whose script a replica was evaluating when it died. None of
// them is adopted before that is stored.
func (a *Coordinator) setAsideDead(ctx context.Context, e Engine) error {
	s := a.cfg.ChangeFeed.store
	const op = "read evaluations"
	found, err := table.ReadAll(ctx, s.states, op, s.states.Subject(table.StateKind, conn.EncodeToken(evaluatingToken), ">"), 0,
		table.SkipCorrupt(ctx, s.states, op, func(m conn.Message) (one evaluation, _ bool, err error) {
			err = json.Unmarshal(m.Data, &one)
			return one, err == nil && !a.cfg.Group.Live(one.Replica), err
		}))
	if err != nil || len(found) == 0 {
		return err
	}
	died := make(map[string]time.Time, len(found))
	gone := make([]conn.Change, len(found))
	for i, one := range found {
		died[one.Use] = one.At
		gone[i] = conn.Change{Subject: s.evaluationSubject(one.Use, one.Replica), TTL: table.TombstoneTTL}
	}
	if err := e.SetAside(ctx, died); err != nil {
		return err
	}
	return s.states.WriteAll(ctx, "forget evaluations", gone)
}
