package ledger

import (
	"context"
	"encoding/json"
	"fmt"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
)

// entryImported is the kind of event of a notification that another store had.
const entryImported = "notification_imported"

// AddEntries stores notifications that another store had, all or none, in their
// order, and returns them with the numbers that they have here. Their alerts are not
// active any more.
func (l *Ledger) AddEntries(ctx context.Context, entries []notify.Entry) ([]notify.Entry, error) {
	var added []notify.Entry
	err := l.write(ctx, func(t *tx) error {
		added = make([]notify.Entry, 0, len(entries))
		for _, e := range entries {
			if err := t.addEntry(&e); err != nil {
				return err
			}
			added = append(added, e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return added, nil
}

// addEntry stores a notification under the next number.
func (t *tx) addEntry(e *notify.Entry) error {
	var record struct {
		ID string `json:"alert_id"`
	}
	if err := json.Unmarshal(e.Data, &record); err != nil {
		return fmt.Errorf("notification %d: %w", e.Seq, err)
	}
	if _, err := t.removeAlert(record.ID, e.Owner); err != nil {
		return err
	}
	e.Seq = t.head.entry + 1
	_, err := t.exec("INSERT INTO entries (seq, owner, symbol, kind, at, data) VALUES (?,?,?,?,?,?)",
		e.Seq, e.Owner, e.Symbol.String(), e.Type, e.At.UnixMicro(), string(e.Data))
	if err != nil {
		return err
	}
	t.head.entry = e.Seq
	body := fmt.Appendf(nil, `{"notification":%d,"record":%s}`, e.Seq, e.Data)
	return t.record(principal.Caller{}, e.Owner, entryImported, record.ID, body)
}

// States returns the named values of all owners, by owner and name.
func (l *Ledger) States(ctx context.Context) (map[string]map[string][]byte, error) {
	all := make(map[string]map[string][]byte)
	for scan, err := range l.rows(ctx, "SELECT owner, name, value FROM states") {
		var owner, name string
		var value []byte
		if err == nil {
			err = scan(&owner, &name, &value)
		}
		if err != nil {
			return nil, failure("read the states", err)
		}
		if all[owner] == nil {
			all[owner] = make(map[string][]byte)
		}
		all[owner][name] = value
	}
	return all, nil
}

// Journals returns the names of the journals of all owners, by owner.
func (l *Ledger) Journals(ctx context.Context) (map[string][]string, error) {
	all := make(map[string][]string)
	for scan, err := range l.rows(ctx, "SELECT owner, name FROM journals WHERE seq = 1 ORDER BY owner, name") {
		var owner, name string
		if err == nil {
			err = scan(&owner, &name)
		}
		if err != nil {
			return nil, failure("read the journals", err)
		}
		all[owner] = append(all[owner], name)
	}
	return all, nil
}
