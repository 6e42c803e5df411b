package ledger

import (
	"context"
	"iter"
)

// AppendJournal adds entries, each one JSON object, to a journal of an owner, all
// or none. A journal is what an account that lives here has done; the audit log
// has who asked for it.
func (l *Ledger) AppendJournal(ctx context.Context, owner, name string, entries [][]byte) error {
	if len(entries) == 0 {
		return nil
	}
	return l.write(ctx, func(t *tx) error {
		var last int64
		err := t.row("SELECT coalesce(max(seq), 0) FROM journals WHERE owner = ? AND name = ?", []any{owner, name}, &last)
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
	return func(yield func([]byte, error) bool) {
		for scan, err := range l.rows(ctx, "SELECT entry FROM journals WHERE owner = ? AND name = ? ORDER BY seq", owner, name) {
			var entry []byte
			if err == nil {
				err = scan(&entry)
			}
			if !yield(entry, failure("read a journal", err)) || err != nil {
				return
			}
		}
	}
}
