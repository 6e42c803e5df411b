package wording

import (
	"encoding/json"
	"fmt"
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/kit/strictjson"
	"candela/lib/fault"
)

// SuggestJSON adds the right JSON to an error.
func SuggestJSON(e *fault.Error, right string) *fault.Error {
	e.Message += "; did you mean " + right + "?"
	e.Suggestions = append([]string{right}, e.Suggestions...)
	return e
}

// NoCondition reports a condition that is not an object.
func NoCondition(at string, raw json.RawMessage) error {
	const allowed = `an object with exactly one key, such as {"price_above":70000} or {"value":` + ValueExample + `}`
	text, isText := strictjson.Text(raw)
	if !isText || strings.HasPrefix(text, "{") {
		return NoObject(at, raw, "an object with exactly one of "+strings.Join(alert.Names(), ", "))
	}
	e := fault.Quoted(at, echo(text), allowed)
	e.Message = fmt.Sprintf("%s: invalid text %s; pass an object", at, quote(echo(text)))
	if match := changingBy().FindStringSubmatch(text); match != nil {
		sign, op := "", ">="
		if falls(match[1]) {
			sign, op = "-", "<="
		}
		right := `{"percent_change":{"bars":24,"op":"` + op + `","value":` + sign + match[2] + `}}`
		if match[3] != "" { // from the price of now
			side := map[string]string{">=": "above", "<=": "below"}[op]
			e.Message = at + ": " + quote(echo(text)) + ": use price_" + side + " with the price that is " + match[2] + " % " + side + " the last one (get_indicators has it in last), or " + right + " for the change over 24 bars of interval."
			e.Suggestions = []string{"price_" + side, right}
			return e
		}
		e.Message, e.Suggestions = at+": "+quote(echo(text))+" over how many bars? Use "+right+" for 24 bars of interval.", []string{right}
		return e
	}
	right, ok := fromWords(echo(text))
	if !ok && strings.HasPrefix(strings.ToLower(text), "volume ") {
		right, ok = meantBy(strings.ReplaceAll(strings.ToLower(text), " ", "_"), nil)
	}
	if ok {
		e.Message += ", such as " + right
		e.Suggestions = []string{right}
		return e
	}
	e.Message = fmt.Sprintf("%s: invalid text %s; use %s", at, quote(echo(text)), allowed)
	return e
}

// UnknownCondition reports a key that is no type of condition.
func UnknownCondition(at, key string, value json.RawMessage) error {
	names, near := strings.Join(alert.Names(), ", "), fault.Nearest(key, alert.Names())
	if right, ok := meantBy(key, value); ok {
		e := fault.Field(at, echo(key), names)
		e.Message += ". Use " + right + "."
		e.Suggestions = append([]string{right}, near...)
		return e
	}
	return fault.Field(at, echo(key), names, near...)
}

// meantBy returns the condition that a key with a value may mean.
func meantBy(key string, value json.RawMessage) (string, bool) {
	text, isText := strictjson.Text(value)
	if !isText {
		text = string(value)
	}
	short := len(text) <= 40
	switch strings.ToLower(key) {
	case "and", "all_of":
		return `{"all":[...]} with the same conditions`, true
	case "or", "any_of":
		return `{"any":[...]} with the same conditions`, true
	case "not", "none", "not_any":
		return `the opposite in place of not, such as {"price_below":70000} for not above`, true
	case "volume_spike", "volume_surge", "volume_breakout", "high_volume":
		return `{"value":{"indicator":"relative_volume","op":">","value":2}}`, true
	case "signal":
		return `{"indicator_signal":` + SignalExample + `}`, true
	case "indicator":
		return `{"value":` + ValueExample + `} or {"indicator_signal":` + SignalExample + `}`, true
	case "percent", "change", "price_change", "pct_change", "change_percent", "percentage_change", "change_pct":
		return `{"percent_change":` + ChangeExample + `}`, true
	case "price", "price_equals", "price_at", "crosses", "price_cross", "crosses_above", "crosses_below":
		if number, ok := Number(text); short && ok && number.IsPositive() {
			return `{"price_crosses":` + number.String() + `}`, true
		}
	case "high", "breakout", "highest", "new_highs":
		return `{"new_high":` + BarsExample + `}`, true
	case "low", "breakdown", "lowest", "new_lows":
		return `{"new_low":` + BarsExample + `}`, true
	}
	if !short {
		return "", false
	}
	if right, ok := fromWords(key); ok {
		return right, true
	}
	if len(value) > 0 && value[0] == '{' {
		for word, number := range strictjson.Fields(value) { // such as {"below":30}
			inner, isText := strictjson.Text(number)
			if !isText {
				inner = string(number)
			}
			if op, ok := opOf(word); ok && !strings.Contains(op, "_") {
				word = op
			}
			text = strings.ReplaceAll(word, "_", " ") + " " + inner
		}
	}
	if right, ok := fromWords(key + " " + text); ok {
		return right, true
	}
	if keys, _, ok := sideWords(strings.ReplaceAll(key, "_", " ")); ok {
		return `{"value":{` + keys + `,"op":"<","value":30}}`, true
	}
	return "", false
}

// WrongKeys reports a condition with no key or several.
func WrongKeys(at string, raw json.RawMessage) error {
	fields := map[string]json.RawMessage{}
	var keys []string
	for key, value := range strictjson.Fields(raw) {
		fields[key] = value
		keys = append(keys, echo(key))
	}
	allowed := "an object with exactly one of " + strings.Join(alert.Names(), ", ")
	e := fault.Field(at, echo(strings.Join(keys, ", ")), allowed)
	if len(keys) == 0 {
		return fault.Field(at, "{}", allowed)
	}
	for _, name := range []string{"interval", "repeat", "cooldown", "max_fires", "on", "note", "symbol", "expires_at"} {
		if fields[name] != nil {
			return Misplaced(at, name)
		}
	}
	switch {
	case fields["op"] != nil && fields["value"] != nil && len(raw) <= 200:
		return SuggestJSON(e, `{"value":`+string(raw)+`}`)
	case fields["operator"] != nil || fields["op"] != nil || fields["indicator"] != nil && fields["value"] != nil:
		return SuggestJSON(e, `{"value":`+ValueExample+`}`)
	}
	if fields["indicator"] != nil && fields["signal"] != nil && len(raw) <= 200 {
		return SuggestJSON(e, `{"indicator_signal":`+string(raw)+`}`)
	}
	e.Message += `; several conditions are {"all":[...]} or {"any":[...]}`
	return e
}

// typed returns the condition of an object with a key type, the form of notifications.
func typed(raw json.RawMessage) (string, bool) {
	o := read(raw)
	name := o.text("type")
	kind, ok := alert.ParseType(name)
	if !ok || len(raw) > 2000 {
		return "", false
	}
	if kind.OnPrice() {
		for _, key := range []string{"threshold", "value", "price", "level"} {
			if o.has(key) && len(o.fields) == 2 {
				return `{"` + name + `":` + string(o.get(key)) + `}`, true
			}
		}
		return "", false
	}
	var c alert.Condition
	if json.Unmarshal(raw, &c) != nil {
		return "", false
	}
	return string(ConditionJSON(&c)), true
}
