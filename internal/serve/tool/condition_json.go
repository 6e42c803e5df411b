package tool

import (
	"encoding/json"
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/kit/strictjson"
)

// toConditionJSON returns a condition as set_alert takes it: an object with one key.
func toConditionJSON(c *alert.Condition) json.RawMessage {
	object := append(strictjson.AppendString([]byte{'{'}, c.Type.String()), ':')
	if c.Type.OnPrice() {
		object = append(object, c.Threshold.String()...)
	} else {
		object = c.AppendFields(object)
	}
	return append(object, '}')
}

// conditionSchema describes a condition by examples; the errors say the rest. Some clients
// accept no object without properties, so a few are named and the others allowed.
func conditionSchema() *schema {
	number := &schema{Type: "number"}
	object := &schema{Type: "object"}
	return &schema{
		Type: "object", Description: `Exactly one key. {"price_above":70000}, price_below and price_crosses watch every trade. At the close of a bar: ` +
			`{"value":` + valueExample + `}, where op is ` + strings.Join(alert.Ops(), " ") + `, value a number, "close", {"indicator":"sma200"} or [low,high], ` +
			`and "price":"close" may replace indicator; {"indicator_signal":` + signalExample + `}; {"percent_change":` + changeExample + `}; ` +
			`{"new_high":` + barsExample + `}, new_low; {"all":[...]}, {"any":[...]} of such conditions.`,
		Properties: props{
			{alert.PriceAbove.String(), number},
			{alert.PriceBelow.String(), number},
			{alert.PriceCrosses.String(), number},
			{alert.IndicatorSignal.String(), object},
			{alert.Value.String(), object},
		},
	}
}
