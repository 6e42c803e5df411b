package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/trading/order"
	"candela/internal/work/wording"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// Alerts stores alerts. Set reads symbol, interval, condition, note and expiry of want
// and returns the complete alert. Preview says what is true of one that is being set.
// AlertsOn lists the alerts on one symbol, whose venue may be empty.
type Alerts interface {
	Set(ctx context.Context, caller principal.Caller, want alert.Alert) (alert.Alert, error)
	Preview(ctx context.Context, want alert.Alert) alert.Present
	Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error)
	AlertsOn(ctx context.Context, caller principal.Caller, s market.Symbol) ([]alert.Alert, error)
	Cancel(ctx context.Context, caller principal.Caller, alertID string) error
}

// alertJSON is an alert in a result; only lists have ID.
type alertJSON struct {
	ID        string          `json:"id,omitempty"`
	AlertID   string          `json:"alert_id"`
	Symbol    string          `json:"symbol"`
	Interval  string          `json:"interval"`
	Condition json.RawMessage `json:"condition"`
	CreatedAt string          `json:"created_at"`
	Note      string          `json:"note,omitempty"`
	ExpiresAt string          `json:"expires_at,omitempty"`
	Describe  string          `json:"describe"`
	On        string          `json:"on,omitempty"`
	Repeat    bool            `json:"repeat,omitempty"`
	Cooldown  string          `json:"cooldown,omitempty"`
	MaxFires  int             `json:"max_fires,omitempty"`
	Fires     *int            `json:"fires,omitempty"`
	LastFired string          `json:"last_fired,omitempty"`

	NotEvaluated string `json:"not_evaluated,omitempty"`

	Broken   bool          `json:"broken,omitempty"`
	SetAside *setAsideJSON `json:"set_aside,omitempty"`
}

// setAsideJSON says since when an alert is set aside, and why.
type setAsideJSON struct {
	At     string `json:"at"`
	Reason string `json:"reason"`
}

func toAlertJSON(a alert.Alert) alertJSON {
	r := alertJSON{
		AlertID: a.ID, Symbol: a.Symbol.String(), Condition: storedConditionJSON(&a),
		CreatedAt: formatTime(a.Created), Note: a.Note, Describe: a.Describe(),
	}
	if a.Interval.Valid() {
		r.Interval = a.Interval.String()
	}
	if !a.Expires.IsZero() {
		r.ExpiresAt = formatTime(a.Expires)
	}
	if a.OnTick {
		r.On = "tick"
	}
	if a.Repeat.Repeats() {
		r.Repeat, r.MaxFires, r.Fires = true, a.Repeat.MaxFires, &a.State.Fires
		if a.Repeat.Cooldown > 0 {
			r.Cooldown = formatDuration(a.Repeat.Cooldown)
		}
	}
	if !a.State.LastFired.IsZero() {
		r.LastFired = formatTime(a.State.LastFired)
	}
	if r.Broken = a.IsBroken(); a.IsSetAside() {
		r.SetAside = &setAsideJSON{At: formatTime(a.Idle.At), Reason: a.Idle.Reason}
	}
	return r
}

// storedConditionJSON returns the condition of an alert as set_alert takes it, or its type alone if
// it cannot be read.
func storedConditionJSON(a *alert.Alert) json.RawMessage {
	if a.Condition.Type == 0 {
		return a.AppendCondition(nil)
	}
	return wording.ConditionJSON(&a.Condition)
}

// prefixField adds the path of the enclosing field to an error.
func prefixField(path string, err error) error {
	e := fault.Of(err)
	if e == nil {
		return err
	}
	inner := *e
	inner.Field = path + "." + e.Field
	if inner.Message = path + ": " + e.Message; strings.HasPrefix(e.Message, e.Field+":") || strings.HasPrefix(e.Message, e.Field+" is required") {
		inner.Message = path + "." + e.Message
	}
	return &inner
}

func alertSchema() *schema {
	return object(
		typedProp("alert_id", "string", ""), typedProp("symbol", "string", ""), typedProp("interval", "string", "Empty for price conditions."),
		typedProp("condition", "object", "As in set_alert."),
		typedProp("created_at", "string", ""), typedProp("note?", "string", ""), typedProp("expires_at?", "string", ""),
		typedProp("describe", "string", "When it fires."),
		enumProp("on?", "", "tick"), typedProp("repeat?", "boolean", ""), typedProp("cooldown?", "string", ""), typedProp("max_fires?", "integer", ""),
		typedProp("fires?", "integer", "So far."), typedProp("last_fired?", "string", ""))
}

// alertArgs holds the arguments of set_alert.
type alertArgs struct {
	alert.Alert
	timed    bool // the condition has an interval, or each of its members has
	on       string
	repeat   bool
	cooldown bool // whether it is given
	maxFires int
}

func (t *Trading) declareAlert() (*alertArgs, args) {
	r := &alertArgs{on: "close"}
	return r, args{
		symbolArg(&r.Symbol, "Such as BTCUSDT.").require(),
		conditionArg(t.library, &r.Condition, &r.timed).require(),
		intervalArg(&r.Interval, "").describe("Bar length, as in generate_chart; default 4h. Not for price_ conditions."),
		enumArg("on", &r.on, "tick: values and signals of scripts also while a bar forms.", "close", "tick"),
		boolArg("repeat", &r.repeat, "Fire each time it turns true."),
		durationArg("cooldown", &r.Repeat.Cooldown, "With repeat: least time between, such as 1h.").note(&r.cooldown),
		optionalIntArg("max_fires", &r.maxFires, 1, alert.MaxFires, "With repeat. Default: "+strconv.Itoa(alert.MaxFires)+"."),
		noteArg("note", &r.Note, 500, "Your text, returned when it fires."),
		timeArg("expires_at", &r.Expires, ""),
	}
}

// alert returns the alert that the arguments describe, checked and completed.
func (r *alertArgs) alert(l ta.Library) (alert.Alert, error) {
	a := r.Alert
	a.OnTick = r.on == "tick"
	switch {
	case a.Condition.Type.OnPrice() || a.Interval.Valid():
	case !r.timed:
		a.Interval = market.Hour4
	}
	const once = `it only with "repeat":true; an alert without repeat fires once`
	switch {
	case !r.repeat && r.cooldown:
		return a, fault.Field("cooldown", formatDuration(a.Repeat.Cooldown), once)
	case !r.repeat && r.maxFires > 0:
		return a, fault.Field("max_fires", strconv.Itoa(r.maxFires), once)
	case r.cooldown && a.Repeat.Cooldown < alert.MinTickCooldown && (a.OnTick || a.Condition.Type.OnPrice()):
		return a, fault.Field("cooldown", formatDuration(a.Repeat.Cooldown), "at least 1m for a condition on trades")
	case r.repeat:
		a.Repeat.MaxFires = cmp.Or(r.maxFires, alert.MaxFires)
	}
	return a, a.Normalize(l)
}

func (t *Trading) setAlert() toolSpec {
	return toolSpec{
		name: "set_alert", title: "Set an alert", trading: true, scope: principal.Trade,
		description: "Create an alert on a price, an indicator's value or a signal. It fires once, or repeatedly with repeat: " +
			"a true price condition at once, others when a bar that closes later meets them. " +
			"get_notifications with wait_seconds waits for it.",
		output: setSchema(), hints: hints{},
		call: calling(t.declareAlert, func(ctx context.Context, caller principal.Caller, r *alertArgs) (mcp.Result, error) {
			want, err := r.alert(t.library)
			if err != nil {
				return mcp.Result{}, err
			}
			set, err := t.Alerts.Set(ctx, caller, want)
			if err != nil {
				return mcp.Result{}, err
			}
			preview := t.Alerts.Preview(ctx, set)
			present := toPresentJSON(&preview)
			present.ScriptNotes = t.library.Notes(set.Condition.Scripts())
			return jsonResult(struct {
				alertJSON
				presentJSON
			}{toAlertJSON(set), present}, nil)
		}),
	}
}

func (t *Trading) listAlerts() toolSpec {
	const name = "list_alerts"
	return toolSpec{
		name: name, title: "List alerts", trading: true, scope: principal.Read,
		description: "List active alerts, oldest first. About 0.3 KB each.",
		output:      object(listProp("alerts", "", &schema{Type: "object", Description: "From set_alert, with not_evaluated, broken, set_aside.", Properties: props{typedProp("id", "string", ""), typedProp("alert_id", "string", "")}, Required: []string{"id", "alert_id"}}), moreSchema()),
		hints:       hints{readOnly: true, idempotent: true},
		call: calling(pages(name), func(ctx context.Context, caller principal.Caller, p *symbolPaging) (mcp.Result, error) {
			alerts, err := t.Alerts.Alerts(ctx, caller)
			if err != nil {
				return mcp.Result{}, err
			}
			alerts = slices.DeleteFunc(alerts, func(a alert.Alert) bool { return !order.Named(p.symbol, a.Symbol) })
			return pageResult(name, "alerts", &p.paging, ordered[alert.Alert]{items: alerts, key: alertKey}, "", func(a alert.Alert) any {
				record := toAlertJSON(a)
				record.ID = a.ID
				if t.NotEvaluated != nil {
					record.NotEvaluated = t.NotEvaluated(&a)
				}
				return record
			})
		}),
	}
}

// alertKey sorts alerts by creation time.
func alertKey(a alert.Alert) string { return fmt.Sprintf("%020d %s", a.Created.UnixMilli(), a.ID) }

func (t *Trading) cancelAlert() toolSpec {
	return toolSpec{
		name: "cancel_alert", title: "Cancel an alert", trading: true, scope: principal.Trade,
		description: "Cancel an active alert. Returns {ok, alert_id}.",
		output:      object(prop{"ok", &schema{Type: "boolean", Const: true}}, typedProp("alert_id", "string", "")),
		hints:       hints{destructive: true, idempotent: true},
		call: calling(idFrom("alert_id", `set_alert or list_alerts, or "all"`), func(ctx context.Context, caller principal.Caller, id *string) (mcp.Result, error) {
			answer := struct {
				OK        bool     `json:"ok"`
				AlertID   string   `json:"alert_id"`
				Cancelled []string `json:"cancelled,omitempty"`
			}{OK: true, AlertID: *id}
			var err error
			if strings.EqualFold(*id, "all") {
				answer.Cancelled, err = t.cancelAlerts(ctx, caller)
			} else {
				err = t.Alerts.Cancel(ctx, caller, *id)
			}
			return jsonResult(answer, err)
		}),
	}
}

// cancelAlerts cancels all alerts of the caller and returns their ids. One that has just fired is none.
func (t *Trading) cancelAlerts(ctx context.Context, caller principal.Caller) (done []string, err error) {
	all, err := t.Alerts.Alerts(ctx, caller)
	if err != nil {
		return nil, err
	}
	for i := range all {
		switch err := t.Alerts.Cancel(ctx, caller, all[i].ID); {
		case err == nil:
			done = append(done, all[i].ID)
		case fault.KindOf(err) != fault.NotFound:
			return nil, err
		}
	}
	return done, nil
}
