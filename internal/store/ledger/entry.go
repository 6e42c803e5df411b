package ledger

import (
	"context"
	"fmt"
	"iter"
	"time"

	"candela/internal/alerting/notify"
)

// Entries yields the notifications of all owners after a number, ascending.
func (l *Ledger) Entries(ctx context.Context, after uint64) iter.Seq2[notify.Entry, error] {
	return func(yield func(notify.Entry, error) bool) {
		var known words
		for scan, err := range l.rows(ctx, "SELECT seq, owner, symbol, kind, at, data FROM entries WHERE seq > ? ORDER BY seq", after) {
			var e notify.Entry
			if err == nil {
				e, err = known.scanEntry(scan)
			}
			if !yield(e, failure("read the notifications", err)) || err != nil {
				return
			}
		}
	}
}

func (w *words) scanEntry(scan func(...any) error) (notify.Entry, error) {
	var e notify.Entry
	var symbol string
	var at int64
	err := scan(&e.Seq, &e.Owner, &symbol, &e.Type, &at, &e.Data)
	if err != nil {
		return notify.Entry{}, err
	}
	e.Owner, e.Type, e.At = w.text(e.Owner), w.text(e.Type), time.UnixMicro(at).UTC()
	if e.Symbol, err = w.symbol(symbol); err != nil {
		return notify.Entry{}, damaged(fmt.Sprintf("notification %d", e.Seq), err)
	}
	return e, nil
}

// LastEntry returns the highest number that a notification ever had.
func (l *Ledger) LastEntry(ctx context.Context) (uint64, error) {
	var last uint64
	err := l.read.QueryRowContext(ctx, "SELECT entry FROM head").Scan(&last)
	return last, failure("read the head", err)
}

// PruneEntries removes at most limit notifications: those from before a time, then
// of each owner the oldest over keep. What to remove is found without holding up
// the writers.
func (l *Ledger) PruneEntries(ctx context.Context, before time.Time, keep, limit int) (int, error) {
	cuts, err := l.cuts(ctx, keep)
	if err != nil {
		return 0, err
	}
	removed := 0
	err = l.write(ctx, func(t *tx) error {
		// The numbers ascend with the time, so the oldest are the first. One that
		// a clock set back has put out of order waits for those before it.
		n, err := t.exec("DELETE FROM entries WHERE seq IN (SELECT seq FROM entries ORDER BY seq LIMIT ?) AND at < ?", limit, before.UnixMicro())
		if err != nil {
			return err
		}
		removed = int(n)
		for owner, seq := range cuts {
			n, err := t.exec("DELETE FROM entries WHERE seq IN (SELECT seq FROM entries WHERE owner = ? AND seq <= ? ORDER BY seq LIMIT ?)", owner, seq, limit-removed)
			if err != nil {
				return err
			}
			removed += int(n)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// cuts finds for each owner with more than keep notifications the number up to
// which they go. It steps from owner to owner on the index.
func (l *Ledger) cuts(ctx context.Context, keep int) (map[string]uint64, error) {
	const query = `
		WITH RECURSIVE owners (owner) AS (
			SELECT min(owner) FROM entries
			UNION ALL
			SELECT (SELECT min(e.owner) FROM entries e WHERE e.owner > owners.owner) FROM owners WHERE owner IS NOT NULL
		)
		SELECT owner, (SELECT seq FROM entries e WHERE e.owner = owners.owner ORDER BY seq DESC LIMIT 1 OFFSET ?)
		FROM owners WHERE owner IS NOT NULL`
	cuts := make(map[string]uint64)
	for scan, err := range l.rows(ctx, query, keep) {
		if err != nil {
			return nil, err
		}
		var owner string
		var seq *uint64
		if err := scan(&owner, &seq); err != nil {
			return nil, failure("read the notifications", err)
		}
		if seq != nil {
			cuts[owner] = *seq
		}
	}
	return cuts, nil
}
