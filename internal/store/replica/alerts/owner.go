package alerts

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// notesTable is the table of notes, which are events of the audit log on their way there.
const notesTable = "notes"

// ownerRow is a message about something that an owner has.
type ownerRow struct {
	subject, table string
	data           []byte
}

// ownerRows reads what the store has of an owner.
func (s *Store) ownerRows(ctx context.Context, owner principal.Owner) ([]ownerRow, error) {
	const op = "read what an owner has"
	rows, err := table.ReadBelow(ctx, s.alerts, op, s.alerts.OwnerSubject(owner, alertKind), func(m conn.Message) (ownerRow, bool, error) {
		r, err := decodeRecord(m.Data)
		row := ownerRow{subject: m.Subject, table: "alerts", data: m.Data}
		if r.notifies() {
			row.table = "notifications"
		}
		if s.isNotes(m) {
			row.table = notesTable
		}
		return row, r.Alert.Owner == owner || row.table == notesTable, err
	})
	if err != nil {
		return nil, err
	}
	cursors, err := table.ReadAll(ctx, s.states, op, s.states.Subject(table.CursorKind, conn.EncodeToken(string(owner)), ">"), 0, func(m conn.Message) (ownerRow, bool, error) {
		n, err := s.number(m, table.CursorKind)
		data, _ := json.Marshal(map[string]any{"reader": n.second, "seq": n.value}) // a text and a number
		return ownerRow{m.Subject, "cursors", data}, true, err
	})
	if err != nil {
		return nil, err
	}
	reports, err := table.ReadAll(ctx, s.states, op, s.states.Subject(table.StateKind, conn.EncodeToken(string(owner)), ">"), 0, func(m conn.Message) (ownerRow, bool, error) {
		row := ownerRow{m.Subject, "states", m.Data}
		kept, ok, err := s.readKept(m)
		if ok {
			row.data = kept.exported()
		}
		return row, len(m.Data) > 0, err
	})
	return slices.Concat(rows, cursors, reports), err
}

// EraseOwner removes what the store has of an owner and counts it. The streams keep one message of
// a subject, so what was there is gone when the empty one is written.
func (s *Store) EraseOwner(ctx context.Context, owner principal.Owner) (map[string]int64, error) {
	rows, err := s.ownerRows(ctx, owner)
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int64)
	var gone, states []conn.Change
	for _, row := range rows {
		if row.table != notesTable {
			counts[row.table]++
		}
		ch := conn.Change{Subject: row.subject, TTL: table.TombstoneTTL}
		if row.table == "cursors" || row.table == "states" {
			states = append(states, ch)
		} else {
			gone = append(gone, ch)
		}
	}
	if err := s.alerts.WriteAll(ctx, "erase an owner", gone); err != nil {
		return counts, err
	}
	return counts, s.states.WriteAll(ctx, "erase an owner", states)
}

// ExportOwner yields what the store has of an owner.
func (s *Store) ExportOwner(ctx context.Context, owner principal.Owner) iter.Seq2[owners.ExportedRow, error] {
	return yieldAll(func() ([]owners.ExportedRow, error) {
		rows, err := s.ownerRows(ctx, owner)
		exported := make([]owners.ExportedRow, 0, len(rows))
		for _, row := range rows {
			if row.table != notesTable {
				exported = append(exported, owners.ExportedRow{Table: row.table, JSON: row.data})
			}
		}
		return exported, err
	})
}
