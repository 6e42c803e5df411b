package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/market"
)

// The kinds of event about alerts.
const (
	alertSet      = "alert_set"
	alertCanceled = "alert_canceled"
	alertExpired  = "alert_expired"
	alertFired    = "alert_fired"
)

// PutAlert stores an active alert of the caller's subject.
func (l *Ledger) PutAlert(ctx context.Context, by principal.Caller, a alert.Alert) error {
	if a.Owner == "" || a.Owner != by.Subject {
		return fault.Field("owner", a.Owner, "the caller's own subject, "+by.Subject)
	}
	row := rowOf(a)
	body, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("alert %s: %w", a.ID, err)
	}
	return l.write(ctx, func(t *tx) error {
		_, err := t.exec("INSERT INTO alerts (id, owner, symbol, instrument, interval, type, threshold, indicator, signal, created, expires, note, since) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
			a.ID, a.Owner, row.Symbol, row.Instrument, row.Interval, row.Type, row.Threshold, row.Indicator, row.Signal, row.Created, row.Expires, row.Note, row.Since)
		if isDuplicate(err) {
			return &fault.Error{Kind: fault.Conflict, Code: "alert_exists", Message: "an alert of that id is active already", Field: "alert_id", Value: a.ID}
		}
		if err != nil {
			return err
		}
		return t.record(by, a.Owner, alertSet, a.ID, body)
	})
}

// CancelAlert removes an active alert of the caller's subject.
func (l *Ledger) CancelAlert(ctx context.Context, by principal.Caller, id string) error {
	return l.write(ctx, func(t *tx) error {
		removed, err := t.removeAlert(id, by.Subject)
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
func (t *tx) removeAlert(id, owner string) (bool, error) {
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

// fire turns an active alert into a notification.
func (t *tx) fire(f *alert.Firing) (notify.Entry, bool, error) {
	removed, err := t.removeAlert(f.ID, f.Owner)
	if err != nil || !removed {
		return notify.Entry{}, false, err
	}
	entry := notify.Entry{
		Seq: t.head.entry + 1, Owner: f.Owner, Symbol: f.Instrument, Type: f.Condition.Type.String(),
		At: micro(t.l.now()), Data: f.AppendJSON(nil),
	}
	_, err = t.exec("INSERT INTO entries (seq, owner, symbol, kind, at, data) VALUES (?,?,?,?,?,?)",
		entry.Seq, entry.Owner, entry.Symbol.String(), entry.Type, entry.At.UnixMicro(), string(entry.Data))
	if err != nil {
		return notify.Entry{}, false, err
	}
	t.head.entry = entry.Seq
	body := fmt.Appendf(nil, `{"notification":%d,"record":%s}`, entry.Seq, entry.Data)
	return entry, true, t.record(principal.Caller{}, f.Owner, alertFired, f.ID, body)
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
}

// stamp is a time in unix microseconds, 0 for none. The table holds the number;
// people read the audit log, which has it as orders have theirs.
type stamp int64

// MarshalText writes the time in RFC 3339.
func (s stamp) MarshalText() ([]byte, error) {
	return time.UnixMicro(int64(s)).UTC().MarshalText()
}

func rowOf(a alert.Alert) alertRow {
	row := alertRow{
		Symbol: a.Symbol.String(), Instrument: a.Instrument.String(), Type: a.Condition.Type.String(),
		Indicator: a.Condition.Indicator, Signal: a.Condition.Signal,
		Created: stamp(a.Created.UnixMicro()), Note: a.Note,
	}
	if a.Interval.Valid() {
		row.Interval = a.Interval.String()
	}
	if a.Condition.Type != alert.IndicatorSignal {
		row.Threshold = a.Condition.Threshold.String()
	}
	if !a.Expires.IsZero() {
		row.Expires = stamp(a.Expires.UnixMicro())
	}
	if !a.BarOpen.IsZero() {
		row.Since = stamp(a.BarOpen.UnixMicro())
	}
	return row
}

// micro drops what the store does not keep of a time.
func micro(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

// Alerts yields every active alert of all owners.
func (l *Ledger) Alerts(ctx context.Context) iter.Seq2[alert.Alert, error] {
	return func(yield func(alert.Alert, error) bool) {
		var known words
		for scan, err := range l.rows(ctx, "SELECT id, owner, symbol, instrument, interval, type, threshold, indicator, signal, created, expires, note, since FROM alerts") {
			var a alert.Alert
			if err == nil {
				a, err = known.scanAlert(scan)
			}
			if !yield(a, failure("read the alerts", err)) || err != nil {
				return
			}
		}
	}
}

// words remembers what many rows share, so that a million alerts over a thousand
// symbols hold a thousand symbols. The zero value is ready.
type words struct {
	symbols map[string]market.Symbol
	texts   map[string]string
}

func (w *words) scanAlert(scan func(...any) error) (alert.Alert, error) {
	var a alert.Alert
	var symbol, instrument, interval, kind, threshold string
	var created, expires, since int64
	err := scan(&a.ID, &a.Owner, &symbol, &instrument, &interval, &kind, &threshold, &a.Condition.Indicator, &a.Condition.Signal, &created, &expires, &a.Note, &since)
	if err != nil {
		return alert.Alert{}, err
	}
	a.Owner, a.Condition.Indicator, a.Condition.Signal = w.text(a.Owner), w.text(a.Condition.Indicator), w.text(a.Condition.Signal)
	if a.Symbol, err = w.symbol(symbol); err != nil {
		return alert.Alert{}, damaged("alert "+a.ID, err)
	}
	if a.Instrument, err = w.symbol(instrument); err != nil {
		return alert.Alert{}, damaged("alert "+a.ID, err)
	}
	if interval != "" {
		if a.Interval, err = market.ParseInterval(interval); err != nil {
			return alert.Alert{}, damaged("alert "+a.ID, err)
		}
	}
	if threshold != "" {
		if a.Condition.Threshold, err = decimal.NewFromString(threshold); err != nil {
			return alert.Alert{}, damaged("alert "+a.ID, err)
		}
	}
	if a.Condition.Type, err = typeOf(kind); err != nil {
		return alert.Alert{}, damaged("alert "+a.ID, err)
	}
	a.Created = time.UnixMicro(created).UTC()
	if expires != 0 {
		a.Expires = time.UnixMicro(expires).UTC()
	}
	if since != 0 {
		a.BarOpen = time.UnixMicro(since).UTC()
	}
	return a, nil
}

func typeOf(name string) (alert.Type, error) {
	for _, t := range [...]alert.Type{alert.PriceAbove, alert.PriceBelow, alert.IndicatorSignal} {
		if t.String() == name {
			return t, nil
		}
	}
	return 0, fmt.Errorf("no type of alert is called %q", name)
}

func (w *words) symbol(text string) (market.Symbol, error) {
	if s, ok := w.symbols[text]; ok {
		return s, nil
	}
	var s market.Symbol
	if err := s.UnmarshalText([]byte(text)); err != nil {
		return s, err
	}
	if w.symbols == nil {
		w.symbols = make(map[string]market.Symbol)
	}
	w.symbols[text] = s
	return s, nil
}

func (w *words) text(s string) string {
	if known, ok := w.texts[s]; ok {
		return known
	}
	if w.texts == nil {
		w.texts = make(map[string]string)
	}
	w.texts[s] = s
	return s
}
