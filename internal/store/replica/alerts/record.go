package alerts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/lib/market"
)

// The states of an alert. All but active and activeRule are final.
const (
	active = "active"
	// activeRule is the state of an extended alert. A replica that does not know them takes
	// it for an alert that has ended and leaves it alone.
	activeRule = "rule"
	// aside is the state of an alert that is set aside. A replica that does not know it leaves it
	// alone.
	aside     = "aside"
	fired     = "fired"
	cancelled = "cancelled"
	expired   = "expired"
)

// alertRecord is the last message of an alert's subject. It contains everything known about the
// alert, so no earlier message is needed.
type alertRecord struct {
	State string          `json:"state"`
	Alert alertData       `json:"alert"`
	Set   conn.ChangeInfo `json:"set"`
	End   conn.ChangeInfo `json:"end,omitzero"`
	Fire  conn.ChangeInfo `json:"fire,omitzero"` // the last firing after which the alert stayed
	// Data is the notification of an alert that fired.
	Data json.RawMessage `json:"data,omitempty"`
	// Notes are events for the audit log. Their record has nothing else but its state.
	Notes []note `json:"notes,omitempty"`
}

type alertData struct {
	ID         string          `json:"id"`
	Owner      principal.Owner `json:"owner"`
	Symbol     market.Symbol   `json:"symbol"`
	Instrument market.Symbol   `json:"instrument"`
	Interval   market.Interval `json:"interval,omitzero"`
	Type       string          `json:"type"`
	Threshold  decimal.Decimal `json:"threshold,omitzero"`
	Indicator  string          `json:"indicator,omitempty"`
	Signal     string          `json:"signal,omitempty"`
	Created    time.Time       `json:"created"`
	Expires    time.Time       `json:"expires,omitzero"`
	Since      time.Time       `json:"since,omitzero"`
	Note       string          `json:"note,omitempty"`

	// Of an extended alert. Type is then one of the three first types: a replica that knows
	// no other publishes its notifications too.
	Rule  json.RawMessage `json:"rule,omitempty"`
	Kind  string          `json:"kind,omitempty"` // the type
	Fires int             `json:"fires,omitempty"`
	Fired time.Time       `json:"fired,omitzero"`
	Side  int8            `json:"side,omitempty"`

	// Of an alert that is or was set aside.
	Aside   time.Time `json:"aside,omitzero"`
	Why     string    `json:"why,omitempty"`
	Resumed time.Time `json:"resumed,omitzero"`
}

// isActive reports whether the alert can fire.
func (r *alertRecord) isActive() bool { return r.State == active || r.State == activeRule }

// hasEnded reports whether the alert is over. A state that this version does not know is that of an
// alert which a later version set: it is listed as broken and can be cancelled.
func (r *alertRecord) hasEnded() bool {
	return r.State == fired || r.State == cancelled || r.State == expired
}

// listed returns an alert that has not ended. One that this version cannot evaluate is broken.
func (r *alertRecord) listed() alert.Alert {
	a, err := r.Alert.alert()
	if err == nil && r.State == aside {
		a.Idle = &alert.Idle{State: alert.SetAside, Reason: r.Alert.Why, At: r.Alert.Aside}
		return a
	}
	if err == nil && !r.isActive() {
		err = fmt.Errorf("unknown state %q", r.State)
	}
	if err == nil {
		return a
	}
	f := &r.Alert
	a = alert.Alert{
		ID: f.ID, Owner: f.Owner, Symbol: f.Symbol, Instrument: f.Instrument, Interval: f.Interval,
		Created: f.Created, Expires: f.Expires, BarOpen: f.Since, Note: f.Note,
	}
	a.Idle = &alert.Idle{State: alert.Broken, Reason: err.Error(), Kind: cmp.Or(f.Kind, f.Type), Rule: string(f.Rule)}
	return a
}

func newAlertData(a alert.Alert) (alertData, error) {
	f := alertData{
		ID: a.ID, Owner: a.Owner, Symbol: a.Symbol, Instrument: a.Instrument, Interval: a.Interval,
		Type: a.Condition.Type.String(), Threshold: a.Condition.Threshold, Indicator: a.Condition.Indicator, Signal: a.Condition.Signal,
		Created: conn.StoredTime(a.Created), Expires: conn.StoredTime(a.Expires), Since: conn.StoredTime(a.BarOpen), Note: a.Note, Resumed: conn.StoredTime(a.Resumed),
	}
	rule, err := a.Rule()
	if a.IsBroken() && a.Condition.Type == 0 {
		rule, f.Type = a.Idle.Rule, a.Idle.Kind
	}
	if rule == "" {
		return f, err
	}
	f.Rule, f.Kind, f.Type = json.RawMessage(rule), f.Type, alert.PriceAbove.String()
	if a.Interval != 0 {
		f.Type = alert.IndicatorSignal.String()
	}
	f.Threshold, f.Indicator, f.Signal = decimal.Decimal{}, "", ""
	f.setState(a.State)
	return f, err
}

func (f *alertData) setState(s alert.State) {
	f.Fires, f.Fired, f.Side = s.Fires, conn.StoredTime(s.LastFired), s.Side
}

func (f alertData) alert() (alert.Alert, error) {
	kind, ok := alert.ParseType(f.Type)
	if !ok && len(f.Rule) == 0 {
		return alert.Alert{}, fmt.Errorf("alert %s: unknown type %q", f.ID, f.Type)
	}
	a := alert.Alert{
		ID: f.ID, Owner: f.Owner, Symbol: f.Symbol, Instrument: f.Instrument, Interval: f.Interval,
		Condition: alert.Condition{Type: kind, Threshold: f.Threshold, Indicator: f.Indicator, Signal: f.Signal},
		Created:   f.Created, Expires: f.Expires, BarOpen: f.Since, Note: f.Note, Resumed: f.Resumed,
	}
	if len(f.Rule) > 0 {
		a.State = alert.State{Fires: f.Fires, LastFired: f.Fired, Side: f.Side}
		if err := a.SetRule(string(f.Rule)); err != nil {
			return alert.Alert{}, fmt.Errorf("alert %s: %w", f.ID, err)
		}
	}
	return a, nil
}

// notifies reports whether the record is a notification: that of a fired alert, or a notice about an
// order. The latter has the state of a canceled alert, so that a replica which does not know notices
// leaves it alone.
func (r *alertRecord) notifies() bool {
	return r.State == fired || r.State == cancelled && len(r.Data) > 0
}

// entry returns the notification.
func (r *alertRecord) entry(seq uint64) notify.Entry {
	e := notify.Entry{Seq: seq, Owner: r.Alert.Owner, Symbol: r.Alert.Instrument, At: r.End.At, Data: r.Data}
	e.SetStoredType(cmp.Or(r.Alert.Kind, r.Alert.Type))
	return e
}

// encode encodes the record. HTML escaping is off, so that Data keeps its bytes.
func (r *alertRecord) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("encode alert %s: %w", r.Alert.ID, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
