package ledger

import (
	"context"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
)

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
func (l *Ledger) MadeFor(ctx context.Context, sole principal.Owner) (many, one bool, err error) {
	err = l.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT owner FROM owners), EXISTS (SELECT owner FROM alerts WHERE owner = ?) OR EXISTS (SELECT owner FROM orders WHERE owner = ?) OR EXISTS (SELECT owner FROM entries WHERE owner = ?)", sole, sole, sole).
		Scan(&many, &one)
	return many, one, failure("read the owners", err)
}

// Identities returns the identities that were linked to an owner.
func (l *Ledger) Identities(ctx context.Context, id principal.Owner) (all []owners.Identity, err error) {
	scan := func(scan scanner) (i owners.Identity, err error) {
		err = scan(&i.Issuer, &i.Subject)
		return i, err
	}
	for one, err := range rows(ctx, l.read, "read the identities", scan, "SELECT issuer, subject FROM identities WHERE owner = ? ORDER BY issuer, subject", id) {
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// ImportOwner stores a record of another store as it is, with its linked identities. It reports
// false, and does nothing, if there is one.
func (l *Ledger) ImportOwner(ctx context.Context, o owners.Owner, linked []owners.Identity) (added bool, err error) {
	err = l.write(ctx, func(t *tx) error {
		_, err := t.owner(o.ID)
		if added = noRow(err); !added {
			return err
		}
		if err := t.putOwner(o); err != nil {
			return err
		}
		for _, i := range linked {
			if _, err := t.exec("INSERT INTO identities (issuer, subject, owner) VALUES (?,?,?)", i.Issuer, i.Subject, o.ID); err != nil {
				return err
			}
		}
		if _, err := t.exec(overwrite); err != nil {
			return err
		}
		return t.record(principal.Caller{}, "", ownerBegan, string(o.ID), []byte("{}"))
	})
	return added, err
}
