package alert

import (
	"encoding/json"
	"strconv"
	"time"

	"candela/internal/kit/strictjson"
	"candela/lib/fault"
)

// The reasons for which nothing evaluates a stored alert.
const (
	Broken   = "broken"    // this version cannot read or evaluate its definition
	SetAside = "set_aside" // the process ended while its script was evaluated
)

// Idle says why nothing evaluates a stored alert.
type Idle struct {
	State  string // Broken or SetAside
	Reason string
	At     time.Time // since when it is set aside; zero for a broken one

	Kind string // of a broken alert, its type as it is stored
	Rule string // of a broken alert whose condition cannot be read, the condition as it is stored
}

// MarkBroken says that an alert cannot be evaluated, because of an error.
func (a *Alert) MarkBroken(err error) {
	idle := Idle{State: Broken, Kind: a.Condition.Type.String()}
	if a.Idle != nil && a.Idle.State == Broken {
		idle = *a.Idle
	}
	idle.Reason = err.Error()
	a.Idle = &idle
}

// IsBroken reports whether this version cannot evaluate the alert.
func (a *Alert) IsBroken() bool { return a.Idle != nil && a.Idle.State == Broken }

// IsSetAside reports whether the alert is not evaluated until its owner resumes it.
func (a *Alert) IsSetAside() bool { return a.Idle != nil && a.Idle.State == SetAside }

// Storable reports whether the alert can be stored elsewhere as it is. Of one that this version cannot
// read only its whole condition is known as it was stored, not one in single fields.
func (a *Alert) Storable() bool {
	return !a.IsBroken() || a.Condition.Type != 0 || a.Idle.Kind != "" && json.Valid([]byte(a.Idle.Rule))
}

// Report returns the notification which says that nothing evaluates an alert any more. The alert
// stays.
func Report(a Alert, at time.Time) Firing {
	f := Failed(a, a.Idle.Reason, at)
	f.State, f.Repeat = a.State, Repeat{}
	return f
}

// unreadable describes an alert whose condition cannot be read.
func (a *Alert) unreadable() string {
	kind := ""
	if a.Idle != nil && a.Idle.Kind != "" {
		kind = " of the type " + strconv.Quote(a.Idle.Kind)
	}
	on := a.Symbol.String()
	if a.Interval.Valid() {
		on += " on " + a.Interval.String()
	}
	return "a condition" + kind + " on " + on + " that this version of candela cannot read"
}

// AppendCondition appends the condition as clients read it: of one that cannot be read its type
// alone.
func (a *Alert) AppendCondition(dst []byte) []byte {
	return append(a.appendOpenCondition(dst), '}')
}

func (a *Alert) appendOpenCondition(dst []byte) []byte {
	if a.Condition.Type != 0 || a.Idle == nil {
		return a.Condition.appendOpen(dst)
	}
	kind := a.Idle.Kind
	if kind == "" {
		kind = "unknown"
	}
	return strictjson.AppendString(append(dst, `{"type":`...), kind)
}

// NotSetAside is the error of resuming an alert that is not set aside.
func NotSetAside(id string) error {
	return &fault.Error{
		Kind: fault.Conflict, Code: "alert_not_set_aside", Field: "alert_id", Value: id, Allowed: "an alert that is set aside",
		Message: "No alert with this ID is set aside. list_alerts shows those that are with set_aside.",
	}
}
