package wording

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/strictjson"
	"candela/lib/fault"
)

// Examples of conditions in errors.
const (
	ValueExample  = `{"indicator":{"name":"rsi","length":14},"op":"<","value":30}`
	SignalExample = `{"indicator":"macd","signal":"cross_up"}`
	ChangeExample = `{"bars":24,"op":">=","value":5}`
	BarsExample   = `{"bars":20}`
)

// Bounds of an exact amount. A huge exponent would be expanded digit by digit when the
// amount is formatted.
const (
	MaxAmountBytes    = 48
	MaxAmountExponent = 24
)

// Exact parses a JSON number within the bounds of an amount.
func Exact(raw json.RawMessage) (decimal.Decimal, bool) {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') || len(raw) > MaxAmountBytes {
		return decimal.Decimal{}, false
	}
	value, err := decimal.NewFromString(string(raw))
	if err != nil || value.Exponent() > MaxAmountExponent || value.Exponent() < -MaxAmountExponent {
		return decimal.Decimal{}, false
	}
	return value, true
}

// ConditionJSON returns a condition as set_alert takes it: an object with one key.
func ConditionJSON(c *alert.Condition) json.RawMessage {
	object := append(strictjson.AppendString([]byte{'{'}, c.Type.String()), ':')
	if c.Type.OnPrice() {
		object = append(object, c.Threshold.String()...)
	} else {
		object = c.AppendFields(object)
	}
	return append(object, '}')
}

// NoObject reports a value that is not an object, and suggests the object inside a
// string.
func NoObject(name string, raw json.RawMessage, allowed string) error {
	value, ok := strictjson.Text(raw)
	if !ok {
		return fault.Field(name, shown(raw), allowed)
	}
	e := fault.Quoted(name, echo(value), allowed)
	e.Message = fmt.Sprintf("%s: invalid text %s; pass the object itself, without quotes: %s", name, quote(echo(value)), allowed)
	if strings.HasPrefix(value, "{") && value == echo(value) && strictjson.Check([]byte(value)) == nil {
		e.Suggestions = []string{value}
	}
	return e
}

// Misplaced reports an argument of set_alert that is inside the condition.
func Misplaced(at, name string) error {
	e := fault.Field(at+"."+name, name, "it beside condition, as an argument of set_alert")
	e.Message = at + ": " + name + " is an argument of set_alert and belongs beside condition, not into it"
	return e
}

// echo bounds a client's words.
func echo(text string) string { return fault.Truncate(text, maxEcho) }

func quote(text string) string { return string(strictjson.AppendString(nil, text)) }

// OfWord is a text as the reader of an argument takes it: a number if it is one, the words between commas and
// spaces of a list, and otherwise a text.
func OfWord(kind, text string) json.RawMessage {
	switch kind {
	case "integer", "number":
		if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	case "array":
		quoted := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
		for i, word := range quoted {
			quoted[i] = quote(word)
		}
		return json.RawMessage("[" + strings.Join(quoted, ",") + "]")
	}
	return json.RawMessage(quote(text))
}
