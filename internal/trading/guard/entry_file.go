package guard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// conditionExample is a condition as the file has it.
const conditionExample = `condition = { value = { indicator = "rsi", op = "<", value = 70 } }`

// conditions reads the owner's conditions from a table of the file.
func (r *reader) conditions(label string, doc map[string]any, p *Policy) {
	raw, given := doc[entryKey]
	delete(doc, entryKey)
	if !given {
		return
	}
	tables, ok := tablesOf(raw)
	if raw == none {
		tables, ok = nil, true
	}
	if !ok || len(tables) > MaxEntryConditions {
		got := fmt.Sprint(raw)
		if ok {
			got = strconv.Itoa(len(tables)) + " tables"
		}
		r.problems = append(r.problems, fault.Field(label+entryKey, got, fmt.Sprintf("at most %d tables [[%s%s]] with side, interval and condition", MaxEntryConditions, label, entryKey)))
		return
	}
	p.EntryConditions = nil
	for i, table := range tables {
		p.EntryConditions = append(p.EntryConditions, r.condition(label+entryKey+"["+strconv.Itoa(i)+"].", table))
	}
}

// tablesOf returns a list of tables, false if a value is something else.
func tablesOf(raw any) ([]map[string]any, bool) {
	if tables, ok := raw.([]map[string]any); ok {
		return tables, true
	}
	items, ok := raw.([]any)
	tables := make([]map[string]any, 0, len(items))
	for _, item := range items {
		table, isTable := item.(map[string]any)
		tables, ok = append(tables, table), ok && isTable
	}
	return tables, ok
}

// conditionKeys are the keys of one condition.
func conditionKeys() []string { return []string{"side", "interval", "symbol", "condition"} }

// condition reads one condition.
func (r *reader) condition(label string, table map[string]any) (c EntryCondition) {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if !slices.Contains(conditionKeys(), key) {
			r.wrong(label+key, table[key], strings.Join(conditionKeys(), ", "), fault.Nearest(key, conditionKeys())...)
		}
	}
	before := len(r.problems)
	side, _ := table["side"].(string)
	var err error
	if c.Side, err = order.ParseSide(side); err != nil {
		r.wrong(label+"side", table["side"], `"buy" or "sell"`)
	}
	about, symbol := r.about(label, table)
	on := r.interval(label, table)
	raw, ok := conditionText(table["condition"])
	if !ok {
		r.wrong(label+"condition", table["condition"], "a condition of set_alert, such as "+conditionExample)
	}
	if len(r.problems) > before {
		return c
	}
	if c.Claim, err = r.read(about, on, raw); err != nil {
		r.problems = append(r.problems, inTable(label, err))
	}
	c.Symbol = symbol
	return c
}

// about reads the instrument of a condition, and how it is named.
func (r *reader) about(label string, table map[string]any) (name string, s market.Symbol) {
	given, ok := table["symbol"]
	if !ok {
		return AnySymbol, s
	}
	text, _ := given.(string)
	s, err := market.ParseSymbol(text)
	if err != nil {
		r.wrong(label+"symbol", given, `a symbol in quotes, such as "BTCUSDT", or no symbol for that of the order`)
	}
	return s.String(), s
}

// interval reads the interval of a condition, zero if it has none.
func (r *reader) interval(label string, table map[string]any) market.Interval {
	given, ok := table["interval"]
	if !ok {
		return 0
	}
	text, _ := given.(string)
	on, err := market.ParseInterval(text)
	if err != nil {
		r.wrong(label+"interval", given, `an interval in quotes, such as "1h"`)
	}
	return on
}

// wrong notes a wrong value, nil for one that is missing.
func (r *reader) wrong(field string, raw any, allowed string, near ...string) {
	text := ""
	if raw != nil {
		text = fmt.Sprint(raw)
	}
	r.problems = append(r.problems, fault.Field(field, text, allowed, near...))
}

// inTable names the table in a fault of one of its keys.
func inTable(label string, err error) error {
	f := fault.Of(err)
	if f == nil {
		return fault.Field(label+"condition", "", err.Error())
	}
	named := *f
	named.Field = label + cmp.Or(f.Field, "condition")
	rest, said := strings.CutPrefix(f.Message, f.Field)
	if named.Message = named.Field + rest; f.Field == "" || !said {
		named.Message = named.Field + ": " + f.Message
	}
	return &named
}

// conditionText returns a condition as JSON: a table of the file, or JSON in quotes.
func conditionText(raw any) (json.RawMessage, bool) {
	if text, ok := raw.(string); ok {
		text = strings.TrimSpace(text)
		return json.RawMessage(text), strings.HasPrefix(text, "{") && strictjson.Check([]byte(text)) == nil
	}
	if _, ok := raw.(map[string]any); !ok {
		return nil, false
	}
	text, err := json.Marshal(bareNumbers(raw))
	return text, err == nil
}

// bareNumbers returns a value of the file with its numbers, of which the reader of the file keeps fractions as text.
func bareNumbers(raw any) any {
	switch v := raw.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = bareNumbers(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = bareNumbers(value)
		}
		return out
	case string:
		if d, err := decimal.NewFromString(v); err == nil {
			return json.Number(d.String())
		}
	}
	return raw
}
