package ledger

import (
	"context"
	"encoding/json"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
)

// reportName is the name of the state that says why nothing evaluates an alert, as it was reported.
func reportName(id string) string { return "alert " + id }

// resumed is the state of an alert that its owner resumed.
const resumed = "resumed"

// reported is the value of that state.
type reported struct {
	State  string    `json:"state"` // alert.Broken, alert.SetAside or resumed
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// apply says what was reported of an alert. That it is broken is found again at each start.
func (r *reported) apply(a *alert.Alert) {
	switch r.State {
	case alert.SetAside:
		if a.Idle == nil {
			a.Idle = &alert.Idle{State: alert.SetAside, Reason: r.Reason, At: r.At}
		}
	case resumed:
		a.Resumed = r.At
	}
}

// keepIdle stores that an alert from elsewhere is set aside, or was resumed.
func (t *tx) keepIdle(a *alert.Alert) error {
	r := reported{State: resumed, At: micro(a.Resumed)}
	switch {
	case a.IsSetAside():
		r = reported{alert.SetAside, a.Idle.Reason, micro(a.Idle.At)}
	case a.Resumed.IsZero():
		return nil
	}
	value, err := json.Marshal(r)
	if err == nil {
		_, err = t.exec("INSERT INTO states (owner, name, value) VALUES (?,?,?) ON CONFLICT DO UPDATE SET value = excluded.value", a.Owner, reportName(a.ID), string(value))
	}
	return err
}

// reports returns what was reported, by owner and the name of the state.
func (l *Ledger) reports(ctx context.Context) (map[principal.Owner]map[string]reported, error) {
	found, err := byOwner[[]byte](ctx, l, "read the states of alerts", "SELECT owner, name, value FROM states WHERE name >= 'alert ' AND name < 'alert!'")
	if err != nil {
		return nil, err
	}
	all := make(map[principal.Owner]map[string]reported, len(found))
	for owner, states := range found {
		all[owner] = make(map[string]reported, len(states))
		for name, value := range states {
			var one reported
			if err := json.Unmarshal(value, &one); err == nil { // another value is not of an alert
				all[owner][name] = one
			}
		}
	}
	return all, nil
}

// ResumeAlert stores that an alert of the caller's subject is no longer set aside.
func (l *Ledger) ResumeAlert(ctx context.Context, by principal.Caller, id string) error {
	value, err := json.Marshal(reported{State: resumed, At: micro(l.now())})
	if err != nil {
		return err
	}
	return l.write(ctx, func(t *tx) error {
		changed, err := t.exec(`UPDATE states SET value = ? WHERE owner = ? AND name = ? AND json_extract(value, '$.state') = ?
			AND EXISTS (SELECT 1 FROM alerts a WHERE a.id = ? AND a.owner = states.owner)`, string(value), by.Subject, reportName(id), alert.SetAside, id)
		if err != nil {
			return err
		}
		if changed == 0 {
			return alert.NotSetAside(id)
		}
		return t.record(by, by.Subject, alertResumed, id, []byte("{}"))
	})
}

// ReportAlerts stores a notification about each alert that nothing evaluates, once for each
// reason. The alerts stay as they are; those that are set aside are read as such from now on.
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
	at := f.At
	if f.IsSetAside() {
		at = f.Idle.At
	}
	value, err := json.Marshal(reported{f.Idle.State, f.Error, micro(at)})
	if err != nil {
		return entry, false, err
	}
	changed, err := t.exec(`INSERT INTO states (owner, name, value) VALUES (?,?,?) ON CONFLICT DO UPDATE SET value = excluded.value
		WHERE json_extract(states.value, '$.reason') IS NOT json_extract(excluded.value, '$.reason')
		AND NOT (json_extract(states.value, '$.state') = 'set_aside' AND json_extract(excluded.value, '$.state') = 'broken')`, f.Owner, reportName(f.ID), string(value))
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
