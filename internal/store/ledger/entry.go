package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/trading/order"
)

// entryImported is the kind of event of a notification that another store had.
const entryImported = "notification_imported"

// Entries yields the notifications of all owners after a number, ascending.
func (l *Ledger) Entries(ctx context.Context, after uint64) iter.Seq2[notify.Entry, error] {
	return rows(ctx, l.read, "read the notifications", newWords().scanEntry,
		"SELECT seq, owner, symbol, kind, at, data FROM entries WHERE seq > ? ORDER BY seq", after)
}

func (w *words) scanEntry(scan scanner) (notify.Entry, error) {
	var e notify.Entry
	var who, symbol string
	var at int64
	var kind string
	err := scan(&e.Seq, &who, &symbol, &kind, &at, &e.Data)
	if err != nil {
		return notify.Entry{}, err
	}
	e.SetStoredType(w.text(kind))
	e.Owner, e.At = principal.Owner(w.text(who)), time.UnixMicro(at).UTC()
	if symbol == "" {
		return e, nil // it concerns the whole account
	}
	if e.Symbol, err = w.symbol(symbol); err != nil {
		return notify.Entry{}, damaged(fmt.Sprintf("notification %d", e.Seq), err)
	}
	return e, nil
}

// AddEntries stores notifications that another store had, all or none, in their
// order, and returns them with the numbers that they have here. Their alerts are not
// active any more, unless they repeat or only say that nothing evaluates them.
func (l *Ledger) AddEntries(ctx context.Context, entries []notify.Entry) ([]notify.Entry, error) {
	var added []notify.Entry
	err := l.write(ctx, func(t *tx) error {
		added = slices.Clone(entries)
		for i := range added {
			if err := t.importEntry(&added[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return added, nil
}

func (t *tx) importEntry(e *notify.Entry) error {
	var record struct {
		ID    string `json:"alert_id"`
		Fire  int    `json:"fire"`  // of an alert that repeats
		State string `json:"state"` // of an alert that stays and is not evaluated
	}
	if err := json.Unmarshal(e.Data, &record); err != nil {
		return fmt.Errorf("notification %d: %w", e.Seq, err)
	}
	if record.State == "" {
		if _, err := t.exec("DELETE FROM alerts WHERE id = ? AND owner = ? AND fires = 0 AND ? = 0", record.ID, e.Owner, record.Fire); err != nil {
			return err
		}
	}
	return t.addEntry(e, entryImported, record.ID)
}

// addEntry stores a notification of an alert under the next number, which it sets.
func (t *tx) addEntry(e *notify.Entry, kind, alertID string) error {
	if err := t.insertEntry(e); err != nil {
		return err
	}
	body := fmt.Appendf(nil, `{"notification":%d,"record":%s}`, e.Seq, e.Data)
	return t.record(principal.Caller{}, e.Owner, kind, alertID, body)
}

// insertEntry stores a notification under the next number, which it sets.
func (t *tx) insertEntry(e *notify.Entry) error {
	e.Seq = t.head.entry + 1
	var symbol string
	if !e.Symbol.IsZero() {
		symbol = e.Symbol.String()
	}
	_, err := t.exec("INSERT INTO entries (seq, owner, symbol, kind, at, data) VALUES (?,?,?,?,?,?)",
		e.Seq, e.Owner, symbol, e.StoredType(), e.At.UnixMicro(), string(e.Data))
	if err != nil {
		return err
	}
	t.head.entry = e.Seq
	t.entries = append(t.entries, *e)
	return nil
}

// addNotices stores some notices about orders. The audit log has the events that they follow from.
func (t *tx) addNotices(notices []order.Notice, which func(order.Notice) bool) error {
	for _, n := range notices {
		if !which(n) {
			continue
		}
		e := notify.Entry{Owner: n.Owner, Kind: notify.Order, Symbol: n.Symbol, Type: n.Event, At: micro(t.l.now()), Data: n.Data}
		if err := t.insertEntry(&e); err != nil {
			return err
		}
	}
	return nil
}

// Publish has every notification handed on that is stored from now on, in the order of the numbers
// and as soon as it is on the disk. It must be called before the first is stored. to must not block.
func (l *Ledger) Publish(to func([]notify.Entry)) {
	l.turn <- struct{}{}
	l.publish = to
	<-l.turn
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
func (l *Ledger) cuts(ctx context.Context, keep int) (map[principal.Owner]uint64, error) {
	const query = `
		WITH RECURSIVE owners (owner) AS (
			SELECT min(owner) FROM entries
			UNION ALL
			SELECT (SELECT min(e.owner) FROM entries e WHERE e.owner > owners.owner) FROM owners WHERE owner IS NOT NULL
		)
		SELECT owner, (SELECT seq FROM entries e WHERE e.owner = owners.owner ORDER BY seq DESC LIMIT 1 OFFSET ?)
		FROM owners WHERE owner IS NOT NULL`
	type cut struct {
		owner principal.Owner
		seq   *uint64
	}
	scan := func(scan scanner) (c cut, err error) {
		err = scan(&c.owner, &c.seq)
		return c, err
	}
	cuts := make(map[principal.Owner]uint64)
	for c, err := range rows(ctx, l.read, "read the notifications", scan, query, keep) {
		if err != nil {
			return nil, err
		}
		if c.seq != nil {
			cuts[c.owner] = *c.seq
		}
	}
	return cuts, nil
}
