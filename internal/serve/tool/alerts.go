package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/analysis/indicator"
	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/market"
	"candela/internal/serve/mcp"
)

// Alerts stores alerts. Set reads symbol, interval, condition, note and expiry of want
// and returns the complete alert. AlertsOn lists the alerts on one symbol, whose venue
// may be empty.
type Alerts interface {
	Set(ctx context.Context, caller principal.Caller, want alert.Alert) (alert.Alert, error)
	Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error)
	AlertsOn(ctx context.Context, caller principal.Caller, s market.Symbol) ([]alert.Alert, error)
	Cancel(ctx context.Context, caller principal.Caller, alertID string) error
}

// conditionJSON is a condition as an object with one key.
type conditionJSON struct {
	Above  json.Number `json:"price_above,omitempty"`
	Below  json.Number `json:"price_below,omitempty"`
	Signal *signalJSON `json:"indicator_signal,omitempty"`
}

type signalJSON struct {
	Indicator string `json:"indicator"`
	Signal    string `json:"signal"`
}

func toConditionJSON(c alert.Condition) conditionJSON {
	threshold := json.Number(c.Threshold.String())
	switch c.Type {
	case alert.PriceAbove:
		return conditionJSON{Above: threshold}
	case alert.PriceBelow:
		return conditionJSON{Below: threshold}
	default:
		return conditionJSON{Signal: &signalJSON{c.Indicator, c.Signal}}
	}
}

// alertJSON is an alert in a result; only lists have ID.
type alertJSON struct {
	ID        string        `json:"id,omitempty"`
	AlertID   string        `json:"alert_id"`
	Symbol    string        `json:"symbol"`
	Interval  string        `json:"interval"`
	Condition conditionJSON `json:"condition"`
	CreatedAt string        `json:"created_at"`
	Note      string        `json:"note,omitempty"`
	ExpiresAt string        `json:"expires_at,omitempty"`
}

func toAlertJSON(a alert.Alert) alertJSON {
	r := alertJSON{
		AlertID: a.ID, Symbol: a.Symbol.String(), Condition: toConditionJSON(a.Condition),
		CreatedAt: formatTime(a.Created), Note: a.Note,
	}
	if a.Interval.Valid() {
		r.Interval = a.Interval.String()
	}
	if !a.Expires.IsZero() {
		r.ExpiresAt = formatTime(a.Expires)
	}
	return r
}

// conditionSchema describes a condition. doc gives the description of each part, which
// is "" in a result.
func conditionSchema(doc func(text string) string) *schema {
	return &schema{
		Type: "object", Description: doc(`The trigger: exactly one key, such as {"price_above":70000} or {"indicator_signal":{"indicator":"wavetrend","signal":"cross_up_os"}}.`),
		Properties: props{
			typedProp(alert.PriceAbove.String(), "number", doc("Fires when the traded price reaches or exceeds this.")),
			typedProp(alert.PriceBelow.String(), "number", doc("Fires when the traded price reaches or falls below this.")),
			{alert.IndicatorSignal.String(), object(
				typedProp("indicator", "string", doc("A name from list_indicators.")),
				typedProp("signal", "string", doc("One of that indicator's signals in list_indicators.")))},
		},
		MinProperties: 1, MaxProperties: 1, AdditionalProperties: false,
	}
}

// conditionArg is an object with exactly one of the three keys.
func conditionArg(dst *alert.Condition) arg {
	allowed := "an object with exactly one of " + strings.Join(alert.Types(), ", ")
	s := conditionSchema(func(text string) string { return text })
	return newArg("condition", dst, allowed, s, func(raw json.RawMessage) (c alert.Condition, err error) {
		if raw[0] != '{' {
			return c, noObject("condition", raw, allowed)
		}
		var keys []string
		for key, value := range strictjson.Fields(raw) {
			if keys = append(keys, truncate(key)); len(keys) == 1 {
				c, err = readCondition(key, value)
			}
		}
		if len(keys) != 1 {
			return c, fault.Field("condition", truncate(cmp.Or(strings.Join(keys, ", "), "{}")), allowed)
		}
		return c, err
	})
}

func readCondition(key string, value json.RawMessage) (c alert.Condition, err error) {
	c.Type, _ = alert.ParseType(key)
	switch c.Type {
	case alert.PriceAbove, alert.PriceBelow:
		err = amountArg("condition."+key, &c.Threshold, "").read(value)
	case alert.IndicatorSignal:
		err = readSignal(value, &c)
	default:
		err = fault.Field("condition", truncate(key), strings.Join(alert.Types(), ", "), fault.Nearest(key, alert.Types())...)
	}
	return c, err
}

// readSignal checks that the indicator emits the signal: otherwise the alert would
// never fire.
func readSignal(raw json.RawMessage, dst *alert.Condition) error {
	const at = "condition.indicator_signal"
	if raw[0] != '{' {
		return noObject(at, raw, `an object such as {"indicator":"wavetrend","signal":"cross_up"}`)
	}
	inner := args{
		stringArg("indicator", &dst.Indicator, 64, "").allowing("a name from list_indicators, such as wavetrend").require(),
		stringArg("signal", &dst.Signal, 64, ""), // required too, but its error lists the signals of the indicator
	}
	if err := inner.decode(raw); err != nil {
		return prefixField(at, err)
	}
	def, err := indicator.Find(dst.Indicator)
	if err != nil {
		return prefixField(at, withField(err, "indicator"))
	}
	dst.Indicator = def.Name
	if own := def.Labels(); dst.Signal == "" && len(own) > 0 {
		return fault.Missing(at+".signal", "one of "+strings.Join(own, ", "))
	}
	return indicator.CheckSignal(def, dst.Signal)
}

// prefixField adds the path of the enclosing field to an error.
func prefixField(path string, err error) error {
	e := fault.Of(err)
	if e == nil {
		return err
	}
	inner := *e
	inner.Field = path + "." + e.Field
	inner.Message = path + ": " + e.Message
	return &inner
}

func alertSchema(first ...prop) *schema {
	return object(append(first,
		typedProp("alert_id", "string", ""), typedProp("symbol", "string", ""), typedProp("interval", "string", "Empty for price conditions."),
		prop{"condition", conditionSchema(func(string) string { return "" })},
		typedProp("created_at", "string", ""), typedProp("note?", "string", ""), typedProp("expires_at?", "string", ""))...)
}

func declareAlert() (*alert.Alert, args) {
	r := &alert.Alert{}
	return r, args{
		symbolArg(&r.Symbol, "The instrument, such as BTCUSDT.").require(),
		conditionArg(&r.Condition).require(),
		intervalArg("interval", &r.Interval, "Bar length for an indicator condition; default 4h. Not allowed for price conditions, which watch every trade."),
		noteArg("note", &r.Note, 500, "Your own text, returned with the notification."),
		timeArg("expires_at", &r.Expires, "Expiry time in RFC 3339. Default: never."),
	}
}

func (t *Trading) setAlert() toolSpec {
	return toolSpec{
		name: "set_alert", title: "Set an alert", trading: true, scope: principal.Trade,
		description: "Create a one-shot alert on a price or an indicator signal. " +
			"A price condition that is already true fires immediately; a signal fires when a bar that closes after creation confirms it. " +
			"To wait for it, call get_notifications with wait_seconds.",
		output: alertSchema(), hints: hints{},
		call: calling(declareAlert, func(ctx context.Context, caller principal.Caller, r *alert.Alert) (mcp.Result, error) {
			if err := setInterval(r); err != nil {
				return mcp.Result{}, err
			}
			set, err := t.Alerts.Set(ctx, caller, *r)
			return jsonResult(toAlertJSON(set), err)
		}),
	}
}

// setInterval applies the default interval of indicator conditions and rejects an
// interval for price conditions.
func setInterval(a *alert.Alert) error {
	switch {
	case a.Condition.Type == alert.IndicatorSignal && !a.Interval.Valid():
		a.Interval = market.Hour4
	case a.Condition.Type != alert.IndicatorSignal && a.Interval.Valid():
		return fault.Field("interval", a.Interval.String(), "no interval for "+a.Condition.Type.String()+", which watches every trade")
	}
	return nil
}

func (t *Trading) listAlerts() toolSpec {
	const name = "list_alerts"
	return toolSpec{
		name: name, title: "List alerts", trading: true, scope: principal.Read,
		description: "List active alerts, oldest first. Fired, cancelled and expired alerts are not listed. About 0.3 KB per alert.",
		output:      object(listProp("alerts", "", alertSchema(typedProp("id", "string", ""))), moreSchema()),
		hints:       hints{readOnly: true, idempotent: true},
		call: calling(pages(name), func(ctx context.Context, caller principal.Caller, p *paging) (mcp.Result, error) {
			alerts, err := t.Alerts.Alerts(ctx, caller)
			if err != nil {
				return mcp.Result{}, err
			}
			return pageResult(name, "alerts", p, ordered[alert.Alert]{items: alerts, key: alertKey}, "", func(a alert.Alert) any {
				record := toAlertJSON(a)
				record.ID = a.ID
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
		description: "Cancel an active alert by alert_id. Returns {ok, alert_id}.",
		output:      object(prop{"ok", &schema{Type: "boolean", Const: true}}, typedProp("alert_id", "string", "")),
		hints:       hints{destructive: true, idempotent: true},
		call: calling(idFrom("alert_id", "set_alert or list_alerts"), func(ctx context.Context, caller principal.Caller, id *string) (mcp.Result, error) {
			err := t.Alerts.Cancel(ctx, caller, *id)
			return jsonResult(struct {
				OK      bool   `json:"ok"`
				AlertID string `json:"alert_id"`
			}{true, *id}, err)
		}),
	}
}
