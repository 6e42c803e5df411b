package tool

import (
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/work/wording"
)

// conditionSchema describes a condition by examples; the errors say the rest. Some clients
// accept no object without properties, so a few are named and the others allowed.
func conditionSchema() *schema {
	number := &schema{Type: "number"}
	object := &schema{Type: "object"}
	return &schema{
		Type: "object", Description: `Exactly one key. {"price_above":70000}, price_below and price_crosses watch every trade. At the close of a bar: ` +
			`{"value":` + wording.ValueExample + `}, where op is ` + strings.Join(alert.Ops(), " ") + `, value a number, "close", {"indicator":"sma200"} or [low,high], ` +
			`and "price":"close" may replace indicator; {"indicator_signal":` + wording.SignalExample + `}; {"percent_change":` + wording.ChangeExample + `}; ` +
			`{"new_high":` + wording.BarsExample + `}, new_low; {"all":[...]}, {"any":[...]} of these, each may add interval.`,
		Properties: props{
			{alert.PriceAbove.String(), number},
			{alert.PriceBelow.String(), number},
			{alert.PriceCrosses.String(), number},
			{alert.IndicatorSignal.String(), object},
			{alert.Value.String(), object},
		},
	}
}
