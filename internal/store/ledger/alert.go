package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/lib/fault"
	"candela/lib/market"
)

// The kinds of event about alerts.
const (
	alertSet      = "alert_set"
	alertCanceled = "alert_canceled"
	alertExpired  = "alert_expired"
	alertFired    = "alert_fired"
	alertReported = "alert_reported"
	alertResumed  = "alert_resumed"
)

// PutAlert stores an active alert of the caller's subject.
func (l *Ledger) PutAlert(ctx context.Context, by principal.Caller, a alert.Alert) error {
	if a.Owner == "" || a.Owner != by.Subject {
		return fault.Field("owner", string(a.Owner), "the caller's own subject, "+string(by.Subject))
	}
	row, err := rowOf(a)
	if err != nil {
		return fmt.Errorf("alert %s: %w", a.ID, err)
	}
	body, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("alert %s: %w", a.ID, err)
	}
	return l.write(ctx, func(t *tx) error {
		_, err := t.exec("INSERT INTO alerts (id, owner, symbol, instrument, interval, type, threshold, indicator, signal, created, expires, note, since, rule, fires, fired, side) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
			a.ID, a.Owner, row.Symbol, row.Instrument, row.Interval, row.Type, row.Threshold, row.Indicator, row.Signal, row.Created, row.Expires, row.Note, row.Since,
			string(row.Rule), a.State.Fires, stampOf(a.State.LastFired), a.State.Side)
		if isDuplicate(err) {
			return &fault.Error{Kind: fault.Conflict, Code: "alert_exists", Message: "an alert of that id is active already", Field: "alert_id", Value: a.ID}
		}
		if err != nil {
			return err
		}
		if err := t.keepIdle(&a); err != nil {
			return err
		}
		return t.record(by, a.Owner, alertSet, a.ID, body)
	})
}

// CancelAlert removes an active alert of the caller's subject.
func (l *Ledger) CancelAlert(ctx context.Context, by principal.Caller, id string) error {
	return l.write(ctx, func(t *tx) error {
		removed, err := t.removeAlert(id, by.Subject)
		if err == nil {
			_, err = t.exec("DELETE FROM states WHERE owner = ? AND name = ?", by.Subject, reportName(id))
		}
		if err != nil {
			return err
		}
		if !removed {
			return &fault.Error{
				Kind: fault.NotFound, Code: "alert_not_found", Field: "alert_id", Value: id,
				Message: "No active alert with this ID: it fired, expired, was cancelled or never existed. Use list_alerts to list active alerts.",
			}
		}
		return t.record(by, by.Subject, alertCanceled, id, []byte("{}"))
	})
}

// removeAlert removes an alert and reports whether it was active.
func (t *tx) removeAlert(id string, owner principal.Owner) (bool, error) {
	n, err := t.exec("DELETE FROM alerts WHERE id = ? AND owner = ?", id, owner)
	return n == 1, err
}

// FireAlerts removes the alerts and stores a notification for each that was still
// active. The notification's time is that of the commit: a late firing, too, is new
// to its readers.
func (l *Ledger) FireAlerts(ctx context.Context, firings []alert.Firing) ([]notify.Entry, error) {
	if len(firings) == 0 {
		return nil, nil
	}
	var entries []notify.Entry
	err := l.write(ctx, func(t *tx) error {
		entries = make([]notify.Entry, 0, len(firings))
		for i := range firings {
			entry, ok, err := t.fire(&firings[i])
			if err != nil {
				return err
			}
			if ok {
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

// fire turns an active alert into a notification. One that may fire again stays, with its
// new state. Each firing of such an alert has a number and is stored once.
func (t *tx) fire(f *alert.Firing) (notify.Entry, bool, error) {
	var changed int64
	var err error
	switch s := &f.State; {
	case !f.Repeat.Repeats():
		changed, err = t.exec("DELETE FROM alerts WHERE id = ? AND owner = ?", f.ID, f.Owner)
	case f.Last():
		changed, err = t.exec("DELETE FROM alerts WHERE id = ? AND owner = ? AND fires = ?", f.ID, f.Owner, s.Fires-1)
	default:
		changed, err = t.exec("UPDATE alerts SET fires = ?, fired = ?, side = ? WHERE id = ? AND owner = ? AND fires = ?",
			s.Fires, stampOf(s.LastFired), s.Side, f.ID, f.Owner, s.Fires-1)
	}
	if err != nil || changed != 1 {
		return notify.Entry{}, false, err
	}
	entry := notify.Entry{Owner: f.Owner, Symbol: f.Instrument, Type: f.Condition.Type.String(), At: micro(t.l.now()), Data: f.AppendJSON(nil)}
	err = t.addEntry(&entry, alertFired, f.ID)
	return entry, err == nil, err
}

// ExpireAlerts removes those of the alerts that are still active.
func (l *Ledger) ExpireAlerts(ctx context.Context, gone []alert.Alert) error {
	if len(gone) == 0 {
		return nil
	}
	return l.write(ctx, func(t *tx) error {
		for i := range gone {
			removed, err := t.removeAlert(gone[i].ID, gone[i].Owner)
			if err != nil {
				return err
			}
			if !removed {
				continue
			}
			if err := t.record(principal.Caller{}, gone[i].Owner, alertExpired, gone[i].ID, []byte("{}")); err != nil {
				return err
			}
		}
		return nil
	})
}

// alertRow is an alert as its table and its audit event hold it.
type alertRow struct {
	Symbol     string `json:"symbol"`
	Instrument string `json:"instrument"`
	Interval   string `json:"interval,omitempty"`
	Type       string `json:"type"`
	Threshold  string `json:"threshold,omitempty"`
	Indicator  string `json:"indicator,omitempty"`
	Signal     string `json:"signal,omitempty"`
	Created    stamp  `json:"created"`
	Expires    stamp  `json:"expires,omitzero"`
	Note       string `json:"note,omitempty"`
	Since      stamp  `json:"since,omitzero"`

	Rule json.RawMessage `json:"rule,omitempty"` // of an extended alert
}

// stamp is a time in unix microseconds, 0 for none. The table holds the number;
// people read the audit log, which has it as orders have theirs.
type stamp int64

// MarshalText writes the time in RFC 3339.
func (s stamp) MarshalText() ([]byte, error) {
	return time.UnixMicro(int64(s)).UTC().MarshalText()
}

// stampOf returns a time that may be zero.
func stampOf(t time.Time) stamp {
	if t.IsZero() {
		return 0
	}
	return stamp(t.UnixMicro())
}

// time returns the time, zero for none.
func (s stamp) time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(s)).UTC()
}

func rowOf(a alert.Alert) (alertRow, error) {
	rule, err := a.Rule()
	row := alertRow{
		Symbol: a.Symbol.String(), Instrument: a.Instrument.String(), Type: a.Condition.Type.String(),
		Indicator: a.Condition.Indicator, Signal: a.Condition.Signal,
		Created: stamp(a.Created.UnixMicro()), Expires: stampOf(a.Expires), Note: a.Note, Since: stampOf(a.BarOpen), Rule: json.RawMessage(rule),
	}
	if a.Interval.Valid() {
		row.Interval = a.Interval.String()
	}
	if a.Condition.Type == alert.PriceAbove || a.Condition.Type == alert.PriceBelow {
		row.Threshold = a.Condition.Threshold.String()
	}
	if a.IsBroken() && a.Condition.Type == 0 {
		row.Type, row.Rule = a.Idle.Kind, json.RawMessage(a.Idle.Rule)
	}
	return row, err
}

// micro drops what the store does not keep of a time.
func micro(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

// Alerts yields every active alert of all owners.
func (l *Ledger) Alerts(ctx context.Context) iter.Seq2[alert.Alert, error] {
	return func(yield func(alert.Alert, error) bool) {
		known, err := l.reports(ctx)
		if err != nil {
			yield(alert.Alert{}, err)
			return
		}
		for a, err := range l.alerts(ctx) {
			if states := known[a.Owner]; states != nil {
				if r, ok := states[reportName(a.ID)]; ok {
					r.apply(&a)
				}
			}
			if !yield(a, err) {
				return
			}
		}
	}
}

func (l *Ledger) alerts(ctx context.Context) iter.Seq2[alert.Alert, error] {
	return rows(ctx, l.read, "read the alerts", newWords().scanAlert,
		"SELECT id, owner, symbol, instrument, interval, type, threshold, indicator, signal, created, expires, note, since, rule, fires, fired, side FROM alerts")
}

// words remembers what many rows share, so that a million alerts over a thousand
// symbols hold a thousand symbols.
type words struct {
	symbols map[string]market.Symbol
	texts   map[string]string
}

func newWords() *words {
	return &words{symbols: make(map[string]market.Symbol), texts: make(map[string]string)}
}

func (w *words) scanAlert(scan scanner) (alert.Alert, error) {
	var a alert.Alert
	var symbol, instrument, interval, kind, threshold string
	var who, rule string
	var created, expires, since, fired int64 // database/sql scans named types by reflection, which allocates
	err := scan(&a.ID, &who, &symbol, &instrument, &interval, &kind, &threshold, &a.Condition.Indicator, &a.Condition.Signal, &created, &expires, &a.Note, &since,
		&rule, &a.State.Fires, &fired, &a.State.Side)
	if err != nil {
		return alert.Alert{}, err
	}
	a.Owner, a.Condition.Indicator, a.Condition.Signal = principal.Owner(w.text(who)), w.text(a.Condition.Indicator), w.text(a.Condition.Signal)
	a.Created, a.Expires, a.BarOpen = time.UnixMicro(created).UTC(), stamp(expires).time(), stamp(since).time()
	a.State.LastFired = stamp(fired).time()
	var errs [6]error
	a.Symbol, errs[0] = w.symbol(symbol)
	a.Instrument, errs[1] = w.symbol(instrument)
	a.Interval, errs[2] = optional(interval, market.ParseInterval)
	a.Condition.Threshold, errs[3] = optional(threshold, decimal.NewFromString)
	var known bool
	if a.Condition.Type, known = alert.ParseType(kind); !known {
		errs[4] = fmt.Errorf("no type of alert is called %q", kind)
	}
	errs[5] = a.SetRule(rule)
	if err := cmp.Or(errs[:]...); err != nil {
		a.Condition, a.OnTick, a.Repeat = alert.Condition{}, false, alert.Repeat{}
		a.Idle = &alert.Idle{State: alert.Broken, Reason: err.Error(), Kind: kind, Rule: rule}
		return a, damaged("alert "+a.ID, err)
	}
	return a, nil
}

// optional parses a text that may be empty.
func optional[T any](text string, parse func(string) (T, error)) (value T, err error) {
	if text == "" {
		return value, nil
	}
	return parse(text)
}

func (w *words) symbol(text string) (market.Symbol, error) {
	if s, ok := w.symbols[text]; ok {
		return s, nil
	}
	var s market.Symbol
	if err := s.UnmarshalText([]byte(text)); err != nil {
		return s, err
	}
	w.symbols[text] = s
	return s, nil
}

func (w *words) text(s string) string {
	if known, ok := w.texts[s]; ok {
		return known
	}
	w.texts[s] = s
	return s
}
