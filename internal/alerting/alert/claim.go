package alert

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// ReadClaim reads a condition in the JSON of set_alert, which strictjson.Check has passed, as a claim about an instrument of that name, on the bars of an
// interval, 0 for one that the condition names or that is about the price. Names of indicators are those of the
// catalogue: stored scripts belong to clients and are not known here.
func ReadClaim(about string, on market.Interval, raw json.RawMessage) (order.Claim, error) {
	stored, err := storedForm("condition", raw, false)
	if err != nil {
		return order.Claim{}, err
	}
	want := Alert{Symbol: market.Symbol{Name: about}, Interval: on}
	text, err := json.Marshal(stored)
	if err == nil {
		err = want.Condition.UnmarshalJSON(text)
	}
	if err != nil {
		return order.Claim{}, fault.Field("condition", string(raw), "a condition of set_alert")
	}
	if want.Condition.Type == PriceCrosses {
		return order.Claim{}, fault.Field("condition", PriceCrosses.String(), "price_above or price_below: candela knows the price of now, and no crossing")
	}
	if err := want.Normalize(ta.Library{}); err != nil {
		return order.Claim{}, err
	}
	if err := want.Possible(ta.Library{}, "condition"); err != nil {
		return order.Claim{}, err
	}
	c := order.Claim{Interval: want.Interval, Text: want.Describe()}
	c.Condition, err = want.Condition.MarshalJSON()
	return c, err
}

// fieldsOf are the keys of a condition of a type in set_alert.
func fieldsOf(t Type) []string {
	switch t {
	case IndicatorSignal:
		return []string{"indicator", "signal"}
	case Value:
		return []string{"indicator", "price", "line", "op", "value"}
	case PercentChange:
		return []string{"bars", "op", "value"}
	default: // NewHigh, NewLow
		return []string{"bars"}
	}
}

// storedForm returns a condition of set_alert as stores have it: with its type beside its fields.
func storedForm(at string, raw json.RawMessage, member bool) (map[string]any, error) {
	allowed := "an object with one of " + strings.Join(Names(), ", ")
	given, err := objectAt(at, raw, allowed)
	if err != nil {
		return nil, err
	}
	out := make(map[string]any, len(given)+1)
	if on, ok := given["interval"]; ok && member {
		out["interval"] = on
		delete(given, "interval")
	}
	key := slices.Sorted(maps.Keys(given))
	if len(key) != 1 {
		return nil, fault.Field(at, strings.Join(key, ", "), allowed)
	}
	kind, known := ParseType(key[0])
	if !known {
		return nil, fault.Field(at, key[0], allowed, fault.Nearest(key[0], Names())...)
	}
	out["type"] = kind.String()
	at += "." + key[0]
	switch value := given[key[0]]; kind {
	case PriceAbove, PriceBelow, PriceCrosses:
		if _, err := strconv.ParseFloat(string(value), 64); err != nil {
			return nil, fault.Field(at, string(value), "a price")
		}
		out["threshold"] = value
	case All, Any:
		out["conditions"], err = storedMembers(at, value, member)
	default:
		err = storedFields(at, kind, value, out)
	}
	return out, err
}

// objectAt reads an object.
func objectAt(at string, raw json.RawMessage, allowed string) (map[string]json.RawMessage, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, fault.Field(at, string(raw), allowed)
	}
	return maps.Collect(strictjson.Fields(raw)), nil
}

// storedMembers reads the conditions of an all or any.
func storedMembers(at string, raw json.RawMessage, member bool) ([]map[string]any, error) {
	if member || len(raw) == 0 || raw[0] != '[' {
		return nil, fault.Field(at, string(raw), "a list of conditions, and no list within a list")
	}
	var all []map[string]any
	for item := range strictjson.Items(raw) {
		one, err := storedForm(at+"["+strconv.Itoa(len(all))+"]", item, true)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// storedFields adds the fields of a condition that is an object.
func storedFields(at string, kind Type, raw json.RawMessage, out map[string]any) error {
	names := fieldsOf(kind)
	given, err := objectAt(at, raw, "an object with "+strings.Join(names, ", "))
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, key) {
			return fault.Field(at+"."+key, string(given[key]), strings.Join(names, ", "), fault.Nearest(key, names)...)
		}
		out[key] = given[key]
	}
	if text, ok := strictjson.Text(given["op"]); ok {
		if _, known := ParseOp(text); !known {
			return fault.Field(at+".op", text, strings.Join(Ops(), ", "), fault.Nearest(text, Ops())...)
		}
	}
	return nil
}
