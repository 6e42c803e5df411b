package ledger

import (
	"context"
	"encoding/json"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
)

// reportName is the name of the state that says why nothing evaluates an alert, as it was reported.
func reportName(id string) string { return "alert " + id }

// reported is the value of that state.
type reported struct {
	State  string `json:"state"`
	Reason string `json:"reason"`
	At     stamp  `json:"at"`
}

// ReportAlerts stores a notification about each alert that nothing evaluates, once for each
// reason. The alerts stay as they are.
func (l *Ledger) ReportAlerts(ctx context.Context, reports []alert.Firing) ([]notify.Entry, error) {
	if len(reports) == 0 {
		return nil, nil
	}
	var entries []notify.Entry
	err := l.write(ctx, func(t *tx) error {
		entries = nil
		for i := range reports {
			entry, isNew, err := t.report(&reports[i])
			if err != nil {
				return err
			}
			if isNew {
				entries = append(entries, entry)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// report stores the notification about an alert that is still there, unless it was stored before.
func (t *tx) report(f *alert.Firing) (entry notify.Entry, isNew bool, err error) {
	var active int
	if err := t.row("SELECT count(*) FROM alerts WHERE id = ? AND owner = ?", []any{f.ID, f.Owner}, &active); err != nil || active == 0 {
		return entry, false, err
	}
	value, err := json.Marshal(reported{f.Idle.State, f.Error, stampOf(f.At)})
	if err != nil {
		return entry, false, err
	}
	changed, err := t.exec(`INSERT INTO states (owner, name, value) VALUES (?,?,?) ON CONFLICT DO UPDATE SET value = excluded.value
		WHERE json_extract(states.value, '$.reason') IS NOT json_extract(excluded.value, '$.reason')`, f.Owner, reportName(f.ID), string(value))
	if err != nil || changed != 1 {
		return entry, false, err
	}
	kind := f.Condition.Type.String()
	if kind == "" {
		kind = f.Idle.Kind
	}
	entry = notify.Entry{Owner: f.Owner, Symbol: f.Instrument, Type: kind, At: micro(t.l.now()), Data: f.AppendJSON(nil)}
	err = t.addEntry(&entry, alertReported, f.ID)
	return entry, err == nil, err
}
