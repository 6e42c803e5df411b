package alerts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// Entries yields the notifications of all owners after a sequence number, ascending.
func (s *Store) Entries(ctx context.Context, after uint64) iter.Seq2[notify.Entry, error] {
	return yieldAll(func() ([]notify.Entry, error) {
		return table.ReadAll(ctx, s.alerts, "read notifications", s.alerts.Subject(alertKind, ">"), after, func(m conn.Message) (notify.Entry, bool, error) {
			r, err := decodeRecord(m.Data)
			return r.entry(m.Seq), r.notifies(), err
		})
	})
}

// OwnerEntries returns the notifications of an owner, ascending: all that were committed before the
// call.
func (s *Store) OwnerEntries(ctx context.Context, owner principal.Owner) ([]notify.Entry, error) {
	return table.ReadBelow(ctx, s.alerts, "read notifications", s.alerts.OwnerSubject(owner, alertKind), func(m conn.Message) (notify.Entry, bool, error) {
		r, err := decodeRecord(m.Data)
		return r.entry(m.Seq), r.notifies() && r.Alert.Owner == owner, err
	})
}

// LastEntry returns a sequence number that is at least that of every notification so far and
// below that of every later one.
func (s *Store) LastEntry(ctx context.Context) (uint64, error) {
	last, err := s.alerts.Head(ctx)
	return last, conn.Unavailable("read stream head", err)
}

// PruneEntries removes at most limit notifications: those before a time, and each owner's oldest
// beyond keep.
func (s *Store) PruneEntries(ctx context.Context, before time.Time, keep, limit int) (int, error) {
	return s.prunePart(ctx, s.alerts.Subject(alertKind, ">"), before, keep, limit)
}

// PruneOwners removes each owner's oldest notifications beyond keep, and reads one part of the
// owners after the other. The servers remove old ones themselves.
func (s *Store) PruneOwners(ctx context.Context, keep int) error {
	for _, filter := range s.alerts.PartFilters(alertKind) {
		for n := conn.MaxBatch; n == conn.MaxBatch; {
			var err error
			if n, err = s.prunePart(ctx, filter, time.Time{}, keep, conn.MaxBatch); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) prunePart(ctx context.Context, filter string, before time.Time, keep, limit int) (int, error) {
	const op = "prune notifications"
	all, err := table.ReadAll(ctx, s.alerts, op, filter, 0, table.SkipCorrupt(ctx, s.alerts, op, func(m conn.Message) (prunable, bool, error) {
		r, err := decodeRecord(m.Data)
		return prunable{m.Subject, r.Alert.Owner, r.End.At}, r.notifies(), err
	}))
	if err != nil {
		return 0, err
	}
	held := make(map[principal.Owner]int)
	for i := range all {
		held[all[i].owner]++
	}
	var gone []conn.Change
	for i := range all {
		if e := &all[i]; len(gone) < limit && (e.at.Before(before) || held[e.owner] > keep) {
			gone = append(gone, conn.Change{Subject: e.subject, TTL: table.TombstoneTTL})
			held[e.owner]--
		}
	}
	return len(gone), s.alerts.WriteAll(ctx, op, gone)
}

// prunable is the part of a notification that pruning needs.
type prunable struct {
	subject string
	owner   principal.Owner
	at      time.Time
}

// AddEntries imports notifications of another store in order, in batches of conn.MaxBatch, and
// returns them with their new sequence numbers. Their alerts have ended. No other replica may
// write meanwhile.
func (s *Store) AddEntries(ctx context.Context, entries []notify.Entry) ([]notify.Entry, error) {
	added := slices.Clone(entries)
	for step := range slices.Chunk(added, conn.MaxBatch) {
		changes := make([]conn.Change, len(step))
		for i := range step {
			var err error
			if changes[i], err = s.importChange(&step[i]); err != nil {
				return nil, err
			}
		}
		// An unacknowledged batch is written again and replaces the first attempt.
		err := s.alerts.RetryWrite(ctx, "import notifications", func(ctx context.Context) error {
			first, err := s.alerts.Write(ctx, changes...)
			for i := range step {
				step[i].Seq = first + uint64(i)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return added, nil
}

// importChange returns the message of an alert that fired elsewhere.
func (s *Store) importChange(e *notify.Entry) (conn.Change, error) {
	if e.Kind == notify.Order {
		sum := sha256.Sum256(e.Data)
		return s.noticeChange(e, hex.EncodeToString(sum[:16]))
	}
	var fields struct {
		ID    string `json:"alert_id"`
		Fire  int    `json:"fire"`  // of an alert that repeats
		State string `json:"state"` // of an alert that stays and is not evaluated
	}
	if err := json.Unmarshal(e.Data, &fields); err != nil || !conn.IsSubjectToken(fields.ID) {
		return conn.Change{}, fmt.Errorf("notification %d: invalid alert ID %q: %w", e.Seq, fields.ID, err)
	}
	switch {
	case fields.State != "":
		fields.ID = reportID(fields.ID, string(e.Data))
	case fields.Fire > 0:
		fields.ID = firingID(fields.ID, fields.Fire)
	}
	first, kind := e.Type, ""
	if !slices.Contains(alert.Types(), e.Type) {
		first, kind = alert.PriceAbove.String(), e.Type // as newAlertData does
	}
	r := alertRecord{
		State: fired, Data: e.Data, End: conn.ChangeInfo{ID: "import", At: conn.StoredTime(e.At)},
		Alert: alertData{ID: fields.ID, Owner: e.Owner, Symbol: e.Symbol, Instrument: e.Symbol, Type: first, Kind: kind},
	}
	data, err := r.encode()
	left := max(time.Minute, firedTTL-s.now().Sub(e.At)).Round(time.Second)
	return conn.Change{Subject: s.alerts.OwnerSubject(e.Owner, alertKind, conn.EncodeToken(e.Symbol.String()), fields.ID), Data: data, TTL: left}, err
}
