package ledger

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
)

// The form of the log, which package chain defines.
type (
	// Event is one line of the audit log.
	Event = chain.Event
	// Hash is a SHA-256.
	Hash = chain.Hash
	// Chain is the events of one owner as a chain of their own.
	Chain = chain.Chain
)

// link is the stored chain of an owner.
type link struct {
	Chain

	at     time.Time // of the last event; zero before the first
	sealed uint64    // how many events the last checkpoint has
}

const chainColumns = "events, hash, at, sealed FROM chains WHERE owner = ?"

func scanLink(scan scanner) (c link, err error) {
	var events, at, sealed int64
	var hash []byte
	err = scan(&events, &hash, &at, &sealed)
	c.Events, c.sealed, c.at = uint64(max(events, 0)), uint64(max(sealed, 0)), time.UnixMicro(at).UTC()
	copy(c.Hash[:], hash)
	return c, err
}

// chainOf returns the chain of an owner in the transaction, as its writes have made it.
func (t *tx) chainOf(owner principal.Owner) (link, error) {
	if c, ok := t.chains[owner]; ok {
		return c, nil
	}
	c, err := scanLink(func(columns ...any) error { return t.row("SELECT "+chainColumns, []any{owner}, columns...) })
	if noRow(err) {
		return link{}, nil
	}
	return c, err
}

// extend adds an event to the chain of its owner.
func (t *tx) extend(e *Event) error {
	c, err := t.chainOf(e.Owner)
	if err != nil {
		return err
	}
	c.Add(e.Hash)
	c.at = e.At
	t.setChain(e.Owner, c)
	return nil
}

func (t *tx) setChain(owner principal.Owner, c link) {
	if t.chains == nil {
		t.chains = make(map[principal.Owner]link)
	}
	t.chains[owner] = c
}

// saveChains writes the chains that the transaction has extended.
func (t *tx) saveChains() error {
	for _, owner := range slices.Sorted(maps.Keys(t.chains)) {
		c := t.chains[owner]
		_, err := t.exec("INSERT INTO chains (owner, events, hash, at, sealed) VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET events = excluded.events, hash = excluded.hash, at = excluded.at, sealed = excluded.sealed",
			owner, c.Events, c.Hash[:], c.at.UnixMicro(), c.sealed)
		if err != nil {
			return err
		}
	}
	return nil
}

// buildChains computes the chains of a log from before they were stored, one owner and one event at a time.
func buildChains(ctx context.Context, conn *sql.Conn) error {
	owner, err := nextOwner(ctx, conn, "SELECT min(owner) FROM events")
	for err == nil && owner != nil {
		var c link
		if c, err = readChain(ctx, conn, *owner); err != nil {
			return err
		}
		_, err = conn.ExecContext(ctx, "INSERT INTO chains (owner, events, hash, at, sealed) VALUES (?,?,?,?,0)", *owner, c.Events, c.Hash[:], c.at.UnixMicro())
		if err == nil {
			owner, err = nextOwner(ctx, conn, "SELECT min(owner) FROM events WHERE owner > ?", *owner)
		}
	}
	return err
}

func nextOwner(ctx context.Context, conn *sql.Conn, query string, args ...any) (next *principal.Owner, err error) {
	err = conn.QueryRowContext(ctx, query, args...).Scan(&next)
	return next, err
}

// readChain computes the chain of an owner from the hashes of the owner's events.
func readChain(ctx context.Context, db rowQuerier, owner principal.Owner) (c link, err error) {
	scan := func(scan scanner) (e Event, err error) {
		var at int64
		var hash []byte
		err = scan(&at, &hash)
		e.At = time.UnixMicro(at).UTC()
		copy(e.Hash[:], hash)
		return e, err
	}
	for e, err := range rows(ctx, db, "read the events of an owner", scan, "SELECT at, hash FROM events WHERE owner = ? ORDER BY seq", owner) {
		if err != nil {
			return c, err
		}
		c.Add(e.Hash)
		c.at = e.At
	}
	return c, nil
}

// Chain returns the chain of an owner, and whether it had a given link on the way: one that was noted
// down earlier and must still be there. Whether the events are what was written, Verify says.
func (a *Audit) Chain(ctx context.Context, owner principal.Owner, link Chain) (now Chain, found bool, err error) {
	found = link == Chain{}
	for e, err := range rows(ctx, a.db, "read the events of an owner", scanEvent, selectEvents+"WHERE owner = ? ORDER BY seq", owner) {
		if err != nil {
			return now, false, err
		}
		now.Add(e.Hash)
		found = found || now == link
	}
	return now, found, nil
}

// checkChains compares the chains of the events that were read with those that were stored. A store of an older
// version has none.
func (r *Report) checkChains(ctx context.Context, tx *sql.Tx) error {
	if r.schema < chainsSince {
		return nil
	}
	type row struct {
		owner principal.Owner
		link
	}
	scan := func(scan scanner) (one row, err error) {
		one.link, err = scanLink(func(columns ...any) error { return scan(append([]any{&one.owner}, columns...)...) })
		return one, err
	}
	left := maps.Clone(r.chains)
	for one, err := range rows(ctx, tx, "read the chains", scan, "SELECT owner, events, hash, at, sealed FROM chains ORDER BY owner") {
		if r.damaged(r.Last, err) {
			return nil
		}
		if err != nil {
			return err
		}
		if read := left[one.owner]; read != one.Chain {
			r.found(0, "the chain of owner %q has %d events and the hash %v by its record, %d and %v by the log: events were removed, added or changed", one.owner, one.Events, one.Hash, read.Events, read.Hash)
		}
		delete(left, one.owner)
	}
	for _, owner := range slices.Sorted(maps.Keys(left)) {
		r.found(0, "the chain of owner %q is gone", owner)
	}
	return nil
}
