package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"iter"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
)

// ofOrders is the name of the snapshot of an owner's book; that of a journal begins
// with ofJournal.
const (
	ofOrders  = "orders"
	ofJournal = "journal "
)

// snapshotKind is the kind of event that has the hash of a snapshot.
const snapshotKind = "snapshot_kept"

type snapshotBody struct {
	Last uint64 `json:"last"`
	Hash Hash   `json:"sha256"`
}

// SaveSnapshot keeps a book of the caller's subject that has all its events.
func (l *Ledger) SaveSnapshot(ctx context.Context, by principal.Caller, b *order.Book) error {
	value, err := b.Snapshot()
	if err != nil {
		return err
	}
	return l.write(ctx, func(t *tx) error { return t.saveSnapshot(by, ofOrders, t.head.event, value) })
}

// SaveJournalSnapshot keeps what all the entries of a journal come to.
func (l *Ledger) SaveJournalSnapshot(ctx context.Context, owner principal.Owner, name string, value []byte) error {
	return l.write(ctx, func(t *tx) error {
		var last uint64
		if err := t.row(lastEntry, []any{owner, name}, &last); err != nil {
			return err
		}
		return t.saveSnapshot(principal.Caller{Subject: owner}, ofJournal+name, last, value)
	})
}

func (t *tx) saveSnapshot(by principal.Caller, name string, last uint64, value []byte) error {
	body, err := json.Marshal(snapshotBody{last, sha256.Sum256(value)})
	if err != nil {
		return err
	}
	if err := t.record(by, by.Subject, snapshotKind, name, body); err != nil {
		return err
	}
	_, err = t.exec("INSERT OR REPLACE INTO snapshots (owner, name, last, event, value) VALUES (?,?,?,?,?)", by.Subject, name, last, t.head.event, value)
	return err
}

// snapshot returns the snapshot of a name and the last that is in it, nil when there
// is none. One that is not what the audit log says comes empty, which nobody takes
// for one.
func (l *Ledger) snapshot(ctx context.Context, owner principal.Owner, name string) (value []byte, last uint64, err error) {
	var body []byte
	err = l.read.QueryRowContext(ctx, `SELECT s.value, s.last, coalesce(e.body, '') FROM snapshots s
		LEFT JOIN events e ON e.seq = s.event AND e.owner = s.owner AND e.kind = ? AND e.subject = s.name
		WHERE s.owner = ? AND s.name = ?`, snapshotKind, owner, name).Scan(&value, &last, &body)
	if noRow(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, failure("read a snapshot", err)
	}
	var known snapshotBody
	err = json.Unmarshal(body, &known)
	if err != nil || known.Last != last || known.Hash != sha256.Sum256(value) {
		value = []byte{}
	}
	return value, last, nil
}

// Snapshot returns what was saved last of an owner's book, nil for nothing, and the
// events since.
func (l *Ledger) Snapshot(ctx context.Context, owner principal.Owner) ([]byte, iter.Seq2[order.Event, error], error) {
	value, last, err := l.snapshot(ctx, owner, ofOrders)
	if err != nil {
		return nil, nil, err
	}
	return value, l.orderEvents(ctx, owner, last), nil
}

// JournalSnapshot returns what was saved last of a journal, nil for nothing, and the
// entries since.
func (l *Ledger) JournalSnapshot(ctx context.Context, owner principal.Owner, name string) ([]byte, iter.Seq2[[]byte, error], error) {
	value, last, err := l.snapshot(ctx, owner, ofJournal+name)
	if err != nil {
		return nil, nil, err
	}
	return value, l.journal(ctx, owner, name, last), nil
}
