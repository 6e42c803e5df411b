package tool

import (
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

func conditionSchema(doc string) *schema {
	return &schema{
		Type: "object", Description: doc,
		Properties: props{
			typedProp(alert.PriceAbove.String(), "number", "Fires when the traded price reaches or exceeds this."),
			typedProp(alert.PriceBelow.String(), "number", "Fires when the traded price reaches or falls below this."),
			{alert.IndicatorSignal.String(), object("Fires when a bar closes that confirms the signal.",
				typedProp("indicator", "string", "A name from list_indicators."),
				typedProp("signal", "string", "One of that indicator's signals in list_indicators."))},
		},
		MinProperties: 1, MaxProperties: 1, AdditionalProperties: false,
	}
}

// conditionShown is the schema of a condition in a result.
func conditionShown() *schema {
	return &schema{
		Type: "object",
		Properties: props{
			typedProp(alert.PriceAbove.String(), "number", ""), typedProp(alert.PriceBelow.String(), "number", ""),
			{alert.IndicatorSignal.String(), object("", typedProp("indicator", "string", ""), typedProp("signal", "string", ""))},
		},
		MinProperties: 1, MaxProperties: 1, AdditionalProperties: false,
	}
}

// conditionArg is an object with exactly one of the three keys.
func conditionArg(dst *alert.Condition) arg {
	allowed := "an object with exactly one of " + strings.Join(alert.Types(), ", ")
	return arg{
		name: "condition", allowed: allowed,
		schema: conditionSchema(`The trigger: exactly one key, such as {"price_above":70000} or {"indicator_signal":{"indicator":"wavetrend","signal":"cross_up_os"}}.`),
		read: func(raw json.RawMessage) error {
			if raw[0] != '{' {
				return noObject("condition", raw, allowed)
			}
			var keys []string
			for key := range strictjson.Fields(raw) {
				keys = append(keys, truncate(key))
			}
			if len(keys) != 1 {
				given := strings.Join(keys, ", ")
				if given == "" {
					given = "{}"
				}
				return fault.Field("condition", truncate(given), allowed)
			}
			for key, value := range strictjson.Fields(raw) {
				if err := readCondition(key, value, dst); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func readCondition(key string, value json.RawMessage, dst *alert.Condition) error {
	dst.Type, _ = alert.ParseType(key)
	switch dst.Type {
	case alert.PriceAbove, alert.PriceBelow:
		return amountArg("condition."+key, &dst.Threshold, "").read(value)
	case alert.IndicatorSignal:
		return readSignal(value, dst)
	}
	return fault.Field("condition", truncate(key), strings.Join(alert.Types(), ", "), fault.Nearest(key, alert.Types())...)
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

func alertSchema(withID bool) *schema {
	s := object("",
		typedProp("alert_id", "string", ""), typedProp("symbol", "string", ""), typedProp("interval", "string", "Empty for price conditions."),
		prop{"condition", conditionShown()}, typedProp("created_at", "string", ""), typedProp("note?", "string", ""), typedProp("expires_at?", "string", ""))
	if withID {
		s.Properties = append(props{typedProp("id", "string", "")}, s.Properties...)
		s.Required = append([]string{"id"}, s.Required...)
	}
	return s
}

func (t *Trading) alertSpecs() []toolSpec {
	return []toolSpec{t.setAlert(), t.listAlerts(), t.cancelAlert()}
}

func alertArguments() (*alert.Alert, args) {
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
	_, input := alertArguments()
	return toolSpec{
		name: "set_alert", title: "Set an alert", trading: true,
		description: "Create a one-shot alert on a price or an indicator signal. " +
			"A price condition that is already true fires immediately; a signal fires when a bar that closes after creation confirms it. " +
			"To wait for it, call get_notifications with wait_seconds.",
		input: input, output: alertSchema(false), hints: hints{},
		run: func(ctx context.Context, caller principal.Caller, raw json.RawMessage) (mcp.Result, error) {
			r, input := alertArguments()
			if err := input.decode(raw); err != nil {
				return mcp.Result{}, err
			}
			if err := setInterval(r); err != nil {
				return mcp.Result{}, err
			}
			set, err := t.Alerts.Set(ctx, caller, *r)
			if err != nil {
				return mcp.Result{}, err
			}
			return jsonResult(toAlertJSON(set))
		},
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
		name: name, title: "List alerts", trading: true,
		description: "List active alerts, oldest first. Fired, cancelled and expired alerts are not listed. About 0.3 KB per alert.",
		input:       (&paging{limit: maxItems}).fields(name),
		output:      object("", listProp("alerts", "", alertSchema(true)), moreSchema()), hints: hints{readOnly: true, idempotent: true},
		run: func(ctx context.Context, caller principal.Caller, raw json.RawMessage) (mcp.Result, error) {
			p := paging{limit: maxItems}
			if err := p.fields(name).decode(raw); err != nil {
				return mcp.Result{}, err
			}
			alerts, err := t.Alerts.Alerts(ctx, caller)
			if err != nil {
				return mcp.Result{}, err
			}
			array, left, err := page(name, p, ordered[alert.Alert]{items: alerts, key: alertKey}, func(a alert.Alert) any {
				record := toAlertJSON(a)
				record.ID = a.ID
				return record
			})
			if err != nil {
				return mcp.Result{}, err
			}
			return arrayResult(name, "alerts", array, left, "")
		},
	}
}

// alertKey sorts alerts by creation time.
func alertKey(a alert.Alert) string { return fmt.Sprintf("%020d %s", a.Created.UnixMilli(), a.ID) }

func (t *Trading) cancelAlert() toolSpec {
	arguments := func() (*string, args) {
		id := new(string)
		return id, args{stringArg("alert_id", id, 64, "The alert_id from set_alert or list_alerts.").allowing("the alert_id from set_alert or list_alerts").require()}
	}
	_, input := arguments()
	return toolSpec{
		name: "cancel_alert", title: "Cancel an alert", trading: true,
		description: "Cancel an active alert by alert_id. Returns {ok, alert_id}.",
		input:       input,
		output:      object("", prop{"ok", &schema{Type: "boolean", Const: true}}, typedProp("alert_id", "string", "")),
		hints:       hints{destructive: true, idempotent: true},
		run: func(ctx context.Context, caller principal.Caller, raw json.RawMessage) (mcp.Result, error) {
			id, input := arguments()
			if err := input.decode(raw); err != nil {
				return mcp.Result{}, err
			}
			if err := t.Alerts.Cancel(ctx, caller, *id); err != nil {
				return mcp.Result{}, err
			}
			return jsonResult(struct {
				OK      bool   `json:"ok"`
				AlertID string `json:"alert_id"`
			}{true, *id})
		},
	}
}
