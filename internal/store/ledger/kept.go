package ledger

import (
	"bytes"
	"context"

	"candela/internal/kit/principal"
)

// keptName is the name of the state that holds a record of an owner which no account depends on, such as drawings.
func keptName(name string) string { return "kept " + name }

// Kept returns a record of an owner, nil where there is none.
func (l *Ledger) Kept(ctx context.Context, owner principal.Owner, name string) ([]byte, error) {
	return l.State(ctx, owner, keptName(name))
}

// Keep changes a record of an owner. change gets what is kept, nil for nothing, and returns what to keep, which is JSON,
// or nil to remove it. It has no event in the audit log: nothing follows from it.
func (l *Ledger) Keep(ctx context.Context, owner principal.Owner, name string, change func([]byte) ([]byte, error)) error {
	return l.write(ctx, func(t *tx) error {
		var before []byte
		err := t.row("SELECT value FROM states WHERE owner = ? AND name = ?", []any{owner, keptName(name)}, &before)
		if err != nil && !noRow(err) {
			return err
		}
		now, err := change(before)
		switch {
		case err != nil || bytes.Equal(now, before):
			return err
		case now == nil:
			_, err = t.exec("DELETE FROM states WHERE owner = ? AND name = ?", owner, keptName(name))
		default:
			_, err = t.exec("INSERT INTO states (owner, name, value) VALUES (?,?,?) ON CONFLICT DO UPDATE SET value = excluded.value", owner, keptName(name), string(now))
		}
		return err
	})
}

// AllKept returns the records of all owners, by owner and name.
func (l *Ledger) AllKept(ctx context.Context) (map[principal.Owner]map[string][]byte, error) {
	return byOwner[[]byte](ctx, l, "read what owners keep", "SELECT owner, substr(name, 6), value FROM states WHERE name >= 'kept ' AND name < 'kept!'")
}
