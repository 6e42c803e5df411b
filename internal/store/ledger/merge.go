package ledger

import (
	"context"
	"encoding/json"

	"candela/internal/kit/principal"
)

// MergeOwner gives what belongs to one owner to another: alerts, notifications and how
// far their readers have come. Audit events are not touched; one more says what was
// done. It does nothing when there is nothing to give.
func (l *Ledger) MergeOwner(ctx context.Context, from, to string) error {
	var there bool
	const query = "SELECT EXISTS (SELECT 1 FROM alerts WHERE owner = ?1) OR EXISTS (SELECT 1 FROM entries WHERE owner = ?1) OR EXISTS (SELECT 1 FROM cursors WHERE owner = ?1)"
	if err := l.read.QueryRowContext(ctx, query, from).Scan(&there); err != nil || !there {
		return failure("look for another owner", err)
	}
	return l.write(ctx, func(t *tx) error {
		if err := t.mergeCursors(from, to); err != nil {
			return err
		}
		var moved struct {
			From          string `json:"from"`
			Alerts        int64  `json:"alerts"`
			Notifications int64  `json:"notifications"`
		}
		moved.From = from
		var err error
		if moved.Alerts, err = t.exec("UPDATE alerts SET owner = ? WHERE owner = ?", to, from); err != nil {
			return err
		}
		if moved.Notifications, err = t.exec("UPDATE entries SET owner = ? WHERE owner = ?", to, from); err != nil {
			return err
		}
		body, err := json.Marshal(moved)
		if err != nil {
			return err
		}
		return t.record(principal.Caller{}, to, "owner_merged", from, body)
	})
}

// mergeCursors has each reader go on at the first notification that is not done, of
// either owner: that is what a cursor is. What was delivered after it comes a second
// time.
func (t *tx) mergeCursors(from, to string) error {
	const merge = `
		INSERT INTO cursors (owner, reader, seq)
		SELECT ?2, f.reader, CASE WHEN o.seq IS NULL THEN f.seq ELSE coalesce(
			(SELECT min(e.seq) FROM entries e WHERE e.owner = ?1 AND e.seq >= f.seq OR e.owner = ?2 AND e.seq >= o.seq), max(f.seq, o.seq)) END
		FROM cursors f LEFT JOIN cursors o ON o.owner = ?2 AND o.reader = f.reader WHERE f.owner = ?1
		ON CONFLICT DO UPDATE SET seq = excluded.seq`
	if _, err := t.exec(merge, from, to); err != nil {
		return err
	}
	_, err := t.exec("DELETE FROM cursors WHERE owner = ?", from)
	return err
}
