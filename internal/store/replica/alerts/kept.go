package alerts

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// keptName is the name of the state that holds a record of an owner which no account depends on, such as drawings. Reports
// about alerts have names of alerts, which have no space.
func keptName(name string) string { return "kept " + name }

func (s *Store) keptSubject(owner principal.Owner, name string) string {
	return s.states.Subject(table.StateKind, conn.EncodeToken(string(owner)), conn.EncodeToken(keptName(name)))
}

// Kept returns a record of an owner, nil where there is none. A former leader may answer with one that is a moment old.
func (s *Store) Kept(ctx context.Context, owner principal.Owner, name string) (value []byte, err error) {
	err = s.states.RetryRead(ctx, func(ctx context.Context) error {
		m, _, err := s.states.Latest(ctx, s.keptSubject(owner, name))
		value = m.Data
		return err
	})
	if len(value) == 0 {
		value = nil // a record that was removed
	}
	return value, conn.Unavailable("read what an owner keeps", err)
}

// Keep changes a record of an owner. change gets what is kept, nil for nothing, and returns what to keep, which is JSON,
// or nil to remove it; it is called again after a conflict, so it must give the same for what it has changed already.
func (s *Store) Keep(ctx context.Context, owner principal.Owner, name string, change func([]byte) ([]byte, error)) error {
	subject := s.keptSubject(owner, name)
	return s.states.RetryWrite(ctx, "write what an owner keeps", func(ctx context.Context) error {
		m, _, err := s.states.Latest(ctx, subject)
		if err != nil {
			return err
		}
		var before []byte
		if len(m.Data) > 0 {
			before = m.Data
		}
		now, err := change(before)
		switch {
		case err != nil:
			return conn.Final(err)
		case bytes.Equal(now, before):
			return nil
		}
		ch := conn.Change{Subject: subject, Data: now, CompareAndSet: true, Revision: m.Seq}
		if now == nil {
			ch.TTL = table.TombstoneTTL
		}
		_, err = s.states.Write(ctx, ch)
		return err
	})
}

// keptRow is a record with whose it is.
type keptRow struct {
	owner principal.Owner
	name  string
	value []byte
}

// readKept reads a state that is such a record, and false for another.
func (s *Store) readKept(m conn.Message) (row keptRow, ok bool, err error) {
	tokens := strings.Split(strings.TrimPrefix(m.Subject, s.states.Subject(table.StateKind, "")), ".")
	if len(tokens) != 2 {
		return row, false, nil
	}
	owner, err := conn.DecodeToken(tokens[0])
	if err != nil {
		return row, false, err
	}
	name, err := conn.DecodeToken(tokens[1])
	row.owner, row.value = principal.Owner(owner), m.Data
	row.name, ok = strings.CutPrefix(name, keptName(""))
	return row, ok && len(m.Data) > 0, err
}

// exported is the record as an export has it.
func (r keptRow) exported() []byte {
	data, _ := json.Marshal(map[string]any{"name": keptName(r.name), "value": json.RawMessage(r.value)}) // JSON already
	return data
}

// AllKept returns the records of all owners, by owner and name.
func (s *Store) AllKept(ctx context.Context) (map[principal.Owner]map[string][]byte, error) {
	found, err := table.ReadAll(ctx, s.states, "read what owners keep", s.states.Subject(table.StateKind, ">"), 0, s.readKept)
	all := make(map[principal.Owner]map[string][]byte)
	for _, r := range found {
		if all[r.owner] == nil {
			all[r.owner] = make(map[string][]byte)
		}
		all[r.owner][r.name] = r.value
	}
	return all, err
}
