package ledger

import "context"

// overwrite makes SQLite overwrite what it deletes. It is on where owners are many, so that
// nothing of an erased owner is left in free pages.
const overwrite = "PRAGMA secure_delete = ON"

// overwriteForOwners turns overwrite on in a store with records of owners.
func (l *Ledger) overwriteForOwners(ctx context.Context) error {
	many := false
	err := l.conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT owner FROM owners)").Scan(&many)
	if err == nil && many {
		_, err = l.conn.ExecContext(ctx, overwrite)
	}
	return failure("open", err)
}

// emptyLog writes the write-ahead log into the file and empties it: it has pages as they were
// before an erasure. Where a reader is in the way, the next checkpoints do the same.
func (l *Ledger) emptyLog(ctx context.Context) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return
	}
	if !l.closed {
		_, _ = l.conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA wal_checkpoint(TRUNCATE)")
	}
}

// MadeFor reports whether the store has records of many owners, and whether it has alerts or
// orders of the owner of an installation for one.
func (l *Ledger) MadeFor(ctx context.Context, sole string) (many, one bool, err error) {
	err = l.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT owner FROM owners), EXISTS (SELECT owner FROM alerts WHERE owner = ?) OR EXISTS (SELECT owner FROM orders WHERE owner = ?) OR EXISTS (SELECT owner FROM entries WHERE owner = ?)", sole, sole, sole).
		Scan(&many, &one)
	return many, one, failure("read the owners", err)
}
