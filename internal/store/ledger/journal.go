package ledger

import (
	"context"
	"iter"
	"maps"
	"slices"
)

// lastEntry finds the number of a journal's last entry.
const lastEntry = "SELECT coalesce(max(seq), 0) FROM journals WHERE owner = ? AND name = ?"

// AppendJournal adds entries, each one JSON object, to a journal of an owner, all
// or none. A journal is what an account that lives here has done; the audit log
// has who asked for it.
func (l *Ledger) AppendJournal(ctx context.Context, owner, name string, entries [][]byte) error {
	if len(entries) == 0 {
		return nil
	}
	return l.write(ctx, func(t *tx) error {
		var last int64
		err := t.row(lastEntry, []any{owner, name}, &last)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			last++
			if _, err := t.exec("INSERT INTO journals (owner, name, seq, entry) VALUES (?,?,?,?)", owner, name, last, string(entry)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Journal yields the entries of a journal from the beginning. After an error it
// ends.
func (l *Ledger) Journal(ctx context.Context, owner, name string) iter.Seq2[[]byte, error] {
	return l.journal(ctx, owner, name, 0)
}

// journal yields the entries of a journal after one.
func (l *Ledger) journal(ctx context.Context, owner, name string, after uint64) iter.Seq2[[]byte, error] {
	return rows(ctx, l.read, "read a journal", column[[]byte], "SELECT entry FROM journals WHERE owner = ? AND name = ? AND seq > ? ORDER BY seq", owner, name, after)
}

// Journals returns the names of the journals of all owners, by owner.
func (l *Ledger) Journals(ctx context.Context) (map[string][]string, error) {
	journals, err := byOwner[int](ctx, l, "read the journals", "SELECT owner, name, seq FROM journals WHERE seq = 1")
	if err != nil {
		return nil, err
	}
	all := make(map[string][]string)
	for owner, names := range journals {
		all[owner] = slices.Sorted(maps.Keys(names))
	}
	return all, nil
}
