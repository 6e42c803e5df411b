package tool

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/strictjson"
	"candela/internal/work/wording"
	"candela/lib/fault"
	"candela/lib/ta"
)

// comparison matches words such as "rsi < 30", "price above 70000" and "close crosses
// above sma200".
var comparison = regexp.MustCompile(`(?i)^\s*(.+?)\s*(<=|>=|<|>|\b(?:is\s+|goes\s+)?(?:below|under|above|over|less than|greater than)|\bcross(?:es|ing)?\s+(?:above|over|below|under))\s*(\S.*?)\s*%?\s*$`)

// fromWords returns the condition that words or the names of keys may mean, as JSON.
func fromWords(words string) (string, bool) {
	words = strings.Join(strings.Fields(strings.ReplaceAll(words, "_", " ")), " ")
	switch plain := strings.ToLower(words); plain {
	case "golden cross", "death cross":
		return `{"indicator_signal":{"indicator":"ma_cross","signal":"` + strings.ReplaceAll(plain, " ", "_") + `"}}`, true
	}
	match := comparison.FindStringSubmatch(words)
	if match == nil {
		return "", false
	}
	ops := otherOps(match[2])
	if op, ok := alert.ParseOp(match[2]); ok {
		ops = []string{op.String()}
	}
	left, isPrice, ok := sideWords(match[1])
	if len(ops) == 0 || !ok {
		return "", false
	}
	number, isNumber := parseNumber(match[3])
	right := number.String()
	switch traded := map[string]string{"<": "price_below", "<=": "price_below", ">": "price_above", ">=": "price_above", "crosses_above": "price_crosses", "crosses_below": "price_crosses"}[ops[0]]; {
	case isPrice && isNumber && traded != "" && number.IsPositive():
		return `{"` + traded + `":` + right + `}`, true
	case !isNumber:
		other, _, known := sideWords(match[3])
		if !known {
			return "", false
		}
		right = "{" + other + "}"
	}
	return fmt.Sprintf(`{"value":{%s,"op":"%s","value":%s}}`, left, ops[0], right), true
}

// sideWords returns one side of a comparison as the keys of a condition, and whether it
// is the price.
func sideWords(words string) (keys string, isPrice, ok bool) {
	name := strings.ToLower(strings.TrimSpace(words))
	switch {
	case name == "price" || name == "close":
		return `"price":"close"`, true, true
	case slices.Contains(alert.Prices(), name):
		return `"price":"` + name + `"`, false, true
	case len(name) > 40:
		return "", false, false
	}
	for _, spelling := range []string{name, strings.ReplaceAll(name, " ", "_"), strings.ReplaceAll(name, " ", "")} {
		selection, err := ta.Resolve(ta.Request{Name: spelling})
		if err != nil {
			continue
		}
		keys = `"indicator":` + quote(spelling)
		if lines := selection.Def.Lines; len(lines) > 1 {
			keys += `,"line":` + quote(lines[0])
		}
		return keys, false, true
	}
	return "", false, false
}

// parseNumber parses a number that people may have written with separators.
func parseNumber(text string) (decimal.Decimal, bool) {
	text = strings.NewReplacer(",", "", "$", "", "%", "").Replace(text)
	if text == "" {
		return decimal.Decimal{}, false
	}
	return parseExact(json.RawMessage(text))
}

// otherOps returns the operators that another spelling may mean.
func otherOps(spelling string) []string {
	word := wording.Joined(spelling)
	word = strings.TrimPrefix(strings.TrimPrefix(word, "is"), "goes")
	for i, spellings := range [][]string{
		{"<", "lt", "less", "lessthan", "below", "under", "lower", "lowerthan", "smaller"},
		{"<=", "=<", "≤", "lte", "le", "atmost"},
		{">", "gt", "greater", "greaterthan", "above", "over", "higher", "higherthan", "more", "morethan"},
		{">=", "=>", "≥", "gte", "ge", "atleast"},
		{"crossesabove", "crossabove", "crossingabove", "crossover", "crossesover", "crossup", "crossesup", "crossingup"},
		{"crossesbelow", "crossbelow", "crossingbelow", "crossunder", "crossesunder", "crossdown", "crossesdown", "crossingdown"},
		{"enters", "enter", "inside", "in", "between", "within"},
		{"leaves", "leave", "exits", "exit", "outside", "out"},
	} {
		if slices.Contains(spellings, word) {
			return alert.Ops()[i : i+1]
		}
	}
	switch word {
	case "cross", "crosses", "crossing", "=", "==", "eq", "equals", "equal":
		return []string{"crosses_above", "crosses_below"}
	}
	return fault.Nearest(spelling, alert.Ops())
}

// suggestJSON adds the right JSON to an error.
func suggestJSON(e *fault.Error, right string) *fault.Error {
	e.Message += "; did you mean " + right + "?"
	e.Suggestions = append([]string{right}, e.Suggestions...)
	return e
}

// noCondition reports a condition that is not an object.
func noCondition(at string, raw json.RawMessage) error {
	const allowed = `an object with exactly one key, such as {"price_above":70000} or {"value":` + valueExample + `}`
	text, isText := strictjson.Text(raw)
	if !isText || strings.HasPrefix(text, "{") {
		return noObject(at, raw, "an object with exactly one of "+strings.Join(alert.Names(), ", "))
	}
	e := fault.Quoted(at, truncate(text), allowed)
	e.Message = fmt.Sprintf("%s: invalid text %s; pass an object", at, quote(truncate(text)))
	if right, ok := fromWords(truncate(text)); ok {
		e.Message += ", such as " + right
		e.Suggestions = []string{right}
		return e
	}
	e.Message = fmt.Sprintf("%s: invalid text %s; use %s", at, quote(truncate(text)), allowed)
	return e
}

// unknownCondition reports a key that is no type of condition.
func unknownCondition(at, key string, value json.RawMessage) error {
	names, near := strings.Join(alert.Names(), ", "), fault.Nearest(key, alert.Names())
	if right, ok := meantBy(key, value); ok {
		e := suggestJSON(fault.Field(at, truncate(key), names), right)
		e.Suggestions = append(e.Suggestions, near...)
		return e
	}
	return fault.Field(at, truncate(key), names, near...)
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
	case "signal":
		return `{"indicator_signal":` + signalExample + `}`, true
	case "indicator":
		return `{"value":` + valueExample + `} or {"indicator_signal":` + signalExample + `}`, true
	case "percent", "change", "price_change", "pct_change", "change_percent", "percentage_change", "change_pct":
		return `{"percent_change":` + changeExample + `}`, true
	case "price", "price_equals", "price_at", "crosses", "price_cross", "crosses_above", "crosses_below":
		if number, ok := parseNumber(text); short && ok && number.IsPositive() {
			return `{"price_crosses":` + number.String() + `}`, true
		}
	case "high", "breakout", "highest", "new_highs":
		return `{"new_high":` + barsExample + `}`, true
	case "low", "breakdown", "lowest", "new_lows":
		return `{"new_low":` + barsExample + `}`, true
	}
	if !short {
		return "", false
	}
	if right, ok := fromWords(key); ok {
		return right, true
	}
	if len(value) > 0 && value[0] == '{' {
		for word, number := range strictjson.Fields(value) { // such as {"below":30}
			text = word + " " + string(number)
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

// wrongKeys reports a condition with no key or several.
func wrongKeys(at string, raw json.RawMessage) error {
	fields := map[string]json.RawMessage{}
	var keys []string
	for key, value := range strictjson.Fields(raw) {
		fields[key] = value
		keys = append(keys, truncate(key))
	}
	allowed := "an object with exactly one of " + strings.Join(alert.Names(), ", ")
	e := fault.Field(at, truncate(strings.Join(keys, ", ")), allowed)
	if len(keys) == 0 {
		return fault.Field(at, "{}", allowed)
	}
	if right, ok := typed(raw, fields); ok {
		return suggestJSON(e, right)
	}
	for _, name := range []string{"interval", "repeat", "cooldown", "max_fires", "on", "note", "symbol", "expires_at"} {
		if fields[name] != nil {
			return misplaced(at, name)
		}
	}
	switch {
	case fields["op"] != nil && fields["value"] != nil && len(raw) <= 200:
		return suggestJSON(e, `{"value":`+string(raw)+`}`)
	case fields["operator"] != nil || fields["op"] != nil || fields["indicator"] != nil && fields["value"] != nil:
		return suggestJSON(e, `{"value":`+valueExample+`}`)
	}
	if fields["indicator"] != nil && fields["signal"] != nil && len(raw) <= 200 {
		return suggestJSON(e, `{"indicator_signal":`+string(raw)+`}`)
	}
	e.Message += `; several conditions are {"all":[...]} or {"any":[...]}`
	return e
}

// typed returns the condition of an object with a key type, the form of notifications.
func typed(raw json.RawMessage, fields map[string]json.RawMessage) (string, bool) {
	name, _ := strictjson.Text(fields["type"])
	kind, ok := alert.ParseType(name)
	if !ok || len(raw) > 500 {
		return "", false
	}
	if kind.OnPrice() {
		for _, key := range []string{"threshold", "value", "price", "level"} {
			if fields[key] != nil {
				return `{"` + name + `":` + string(fields[key]) + `}`, true
			}
		}
		return `{"` + name + `":70000}`, true
	}
	var c alert.Condition
	if json.Unmarshal(raw, &c) != nil {
		return "", false
	}
	return string(toConditionJSON(&c)), true
}
