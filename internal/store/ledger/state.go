package ledger

import (
	"context"
	"iter"
	"maps"
	"slices"

	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// SaveCursors sets how far readers of an owner have come; 0 removes one.
func (l *Ledger) SaveCursors(ctx context.Context, owner principal.Owner, cursors map[string]uint64) error {
	if len(cursors) == 0 {
		return nil
	}
	return l.write(ctx, func(t *tx) error {
		for reader, seq := range cursors {
			var err error
			if seq == 0 {
				_, err = t.exec("DELETE FROM cursors WHERE owner = ? AND reader = ?", owner, reader)
			} else {
				_, err = t.exec("INSERT INTO cursors (owner, reader, seq) VALUES (?,?,?) ON CONFLICT DO UPDATE SET seq = excluded.seq", owner, reader, seq)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Cursors returns the cursors of all owners, by owner and reader.
func (l *Ledger) Cursors(ctx context.Context) (map[principal.Owner]map[string]uint64, error) {
	return byOwner[uint64](ctx, l, "read the cursors", "SELECT owner, reader, seq FROM cursors")
}

// SaveMarks sets up to which bar each series has been evaluated; 0 removes one.
func (l *Ledger) SaveMarks(ctx context.Context, marks map[provider.Sub]int64) error {
	if len(marks) == 0 {
		return nil
	}
	return l.write(ctx, func(t *tx) error {
		for sub, at := range marks {
			var err error
			interval := "" // of a price
			if sub.Interval != 0 {
				interval = sub.Interval.String()
			}
			if at == 0 {
				_, err = t.exec("DELETE FROM marks WHERE symbol = ? AND interval = ?", sub.Symbol.String(), interval)
			} else {
				_, err = t.exec("INSERT INTO marks (symbol, interval, t) VALUES (?,?,?) ON CONFLICT DO UPDATE SET t = excluded.t", sub.Symbol.String(), interval, at)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Marks returns every mark.
func (l *Ledger) Marks(ctx context.Context) (map[provider.Sub]int64, error) {
	type mark struct {
		sub provider.Sub
		at  int64
	}
	scan := func(scan scanner) (m mark, err error) {
		var symbol, interval string
		if err := scan(&symbol, &interval, &m.at); err != nil {
			return m, err
		}
		if m.sub.Symbol, err = market.ParseSymbol(symbol); err == nil {
			m.sub.Interval, err = optional(interval, market.ParseInterval)
		}
		if err != nil {
			err = damaged("a mark", err)
		}
		return m, err
	}
	marks := make(map[provider.Sub]int64)
	for m, err := range rows(ctx, l.read, "read the marks", scan, "SELECT symbol, interval, t FROM marks") {
		if err != nil {
			return nil, err
		}
		marks[m.sub] = m.at
	}
	return marks, nil
}

// Note adds an event to the audit log about something that is kept elsewhere. body is
// JSON.
func (l *Ledger) Note(ctx context.Context, by principal.Caller, kind, subject string, body []byte) error {
	return l.write(ctx, func(t *tx) error { return t.record(by, by.Subject, kind, subject, body) })
}

// SaveState sets a named value of the caller's subject. It is JSON, and the audit
// event carries it.
func (l *Ledger) SaveState(ctx context.Context, by principal.Caller, name string, value []byte, notices ...order.Notice) error {
	return l.write(ctx, func(t *tx) error {
		_, err := t.exec("INSERT INTO states (owner, name, value) VALUES (?,?,?) ON CONFLICT DO UPDATE SET value = excluded.value", by.Subject, name, string(value))
		if err != nil {
			return err
		}
		if err := t.addNotices(notices, func(order.Notice) bool { return true }); err != nil {
			return err
		}
		return t.record(by, by.Subject, chain.StateKind, name, value)
	})
}

// State returns a named value of an owner, nil when it was never set.
func (l *Ledger) State(ctx context.Context, owner principal.Owner, name string) ([]byte, error) {
	var value []byte
	err := l.read.QueryRowContext(ctx, "SELECT value FROM states WHERE owner = ? AND name = ?", owner, name).Scan(&value)
	if noRow(err) {
		return nil, nil
	}
	return value, failure("read a state", err)
}

// OwnersWith returns the owners whose value of a name contains a text.
func (l *Ledger) OwnersWith(ctx context.Context, name, text string) ([]principal.Owner, error) {
	return collect(rows(ctx, l.read, "read the owners of a state", column[principal.Owner],
		"SELECT owner FROM states WHERE name = ? AND instr(value, ?) > 0 ORDER BY owner", name, text))
}

// States returns the named values of all owners, by owner and name, without what was reported of alerts and what owners keep.
func (l *Ledger) States(ctx context.Context) (map[principal.Owner]map[string][]byte, error) {
	return byOwner[[]byte](ctx, l, "read the states", "SELECT owner, name, value FROM states WHERE NOT (name >= 'alert ' AND name < 'alert!') AND NOT (name >= 'kept ' AND name < 'kept!')")
}

// lastEntry finds the number of a journal's last entry.
const lastEntry = "SELECT coalesce(max(seq), 0) FROM journals WHERE owner = ? AND name = ?"

// AppendJournal adds entries, each one JSON object, to a journal of an owner, all
// or none. A journal is what an account that lives here has done; the audit log
// has who asked for it.
func (l *Ledger) AppendJournal(ctx context.Context, owner principal.Owner, name string, entries [][]byte) error {
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
func (l *Ledger) Journal(ctx context.Context, owner principal.Owner, name string) iter.Seq2[[]byte, error] {
	return l.journal(ctx, owner, name, 0)
}

// journal yields the entries of a journal after one.
func (l *Ledger) journal(ctx context.Context, owner principal.Owner, name string, after uint64) iter.Seq2[[]byte, error] {
	return rows(ctx, l.read, "read a journal", column[[]byte],
		"SELECT entry FROM journals WHERE owner = ? AND name = ? AND seq > ? ORDER BY seq", owner, name, after)
}

// Journals returns the names of the journals of all owners, by owner.
func (l *Ledger) Journals(ctx context.Context) (map[principal.Owner][]string, error) {
	journals, err := byOwner[int](ctx, l, "read the journals", "SELECT owner, name, seq FROM journals WHERE seq = 1")
	if err != nil {
		return nil, err
	}
	all := make(map[principal.Owner][]string)
	for owner, names := range journals {
		all[owner] = slices.Sorted(maps.Keys(names))
	}
	return all, nil
}
