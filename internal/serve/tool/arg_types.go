package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/internal/work/wording"
	"candela/lib/fault"
	"candela/lib/market"
)

// newArg is an argument that parse converts to the value of dst.
func newArg[T any](name string, dst *T, allowed string, s *schema, parse func(raw json.RawMessage) (T, error)) arg {
	return arg{name: name, allowed: allowed, schema: s, read: func(raw json.RawMessage) error {
		value, err := parse(raw)
		if err == nil {
			*dst = value
		}
		return err
	}}
}

// inputsArg has the values of the inputs of a script.
func inputsArg(dst *map[string]json.RawMessage) arg {
	const allowed = `an object of inputs of the script such as {"fast":10}`
	s := &schema{Type: "object", Description: `Inputs of the script by name or title, such as {"fast":10}.`}
	return newArg("inputs", dst, allowed, s, func(raw json.RawMessage) (map[string]json.RawMessage, error) {
		if raw[0] != '{' {
			return nil, wording.NoObject("inputs", raw, allowed)
		}
		return maps.Collect(strictjson.Fields(raw)), nil
	})
}

// stringArg is a string of 1 to most characters.
func stringArg(name string, dst *string, most int, doc string) arg {
	allowed := fmt.Sprintf("a text of 1 to %d characters", most)
	s := &schema{Type: "string", Description: doc} // the error has the bound, as the list of tools is in every conversation
	return newArg(name, dst, allowed, s, func(raw json.RawMessage) (string, error) {
		value, ok := strictjson.Text(raw)
		if n := utf8.RuneCountInString(value); !ok || n == 0 || n > most {
			return "", fault.Field(name, quoteValue(raw), allowed)
		}
		return value, nil
	})
}

// idFrom declares an id as the only argument, which one of the tools has returned.
func idFrom(name, tools string) func() (*string, args) {
	from := name + " from " + tools
	return func() (*string, args) {
		id := new(string)
		return id, args{stringArg(name, id, 64, "From "+tools+".").allowing("the " + from).require()}
	}
}

// noteArg is a text shown to people. Control characters and those that change the text
// direction are removed.
func noteArg(name string, dst *string, most int, doc string) arg {
	f := stringArg(name, dst, most, doc)
	read := f.read
	f.read = func(raw json.RawMessage) error {
		if err := read(raw); err != nil {
			return err
		}
		if *dst = fault.Clean(*dst, most); *dst == "" {
			return fault.Field(name, quoteValue(raw), f.allowed+", of which at least one is visible")
		}
		return nil
	}
	return f
}

// keyArg is a name chosen by the client that must not look like another one.
func keyArg(name string, dst *string, most int, doc string) arg {
	allowed := fmt.Sprintf("1 to %d printable ASCII characters without a space at either end", most)
	s := &schema{Type: "string", Description: doc} // the error has the bound, as the list of tools is in every conversation
	return newArg(name, dst, allowed, s, func(raw json.RawMessage) (string, error) {
		value, ok := strictjson.Text(raw)
		switch {
		case !ok || value == "" || utf8.RuneCountInString(value) > most:
			return "", fault.Field(name, quoteValue(raw), allowed)
		case !fault.Plain(value):
			quoted := strconv.QuoteToASCII(truncate(value))
			e := fault.Field(name, strings.Trim(quoted, `"`), allowed)
			e.Message = fmt.Sprintf("%s: invalid value %s; use %s: remove the other characters, or choose another key", name, quoted, allowed)
			return "", e
		}
		return value, nil
	})
}

// enumArg is one of a few words. Case is ignored: BUY is a common spelling.
func enumArg(name string, dst *string, doc string, values ...string) arg {
	allowed := strings.Join(values, ", ")
	s := &schema{Type: "string", Description: doc, Enum: values}
	if *dst != "" {
		s.Default = *dst
	}
	return newArg(name, dst, allowed, s, func(raw json.RawMessage) (string, error) {
		value, _ := strictjson.Text(raw)
		if i := slices.IndexFunc(values, func(v string) bool { return strings.EqualFold(v, value) }); i >= 0 {
			return values[i], nil
		}
		e := fault.Field(name, quoteValue(raw), allowed, fault.Nearest(value, values)...)
		if text, _ := wording.Protective(value); text != "" && slices.Contains(values, "market") { // the type of an order
			e.Message, e.Suggestions = e.Message+"; "+text, []string{"market", "limit"}
		}
		return "", e
	})
}

// intArg is a whole number from lo to hi. The initial value of dst is the default.
func intArg(name string, dst *int, lo, hi int, doc string) arg {
	allowed := fmt.Sprintf("a whole number from %d to %d", lo, hi)
	low, high := float64(lo), float64(hi)
	s := &schema{Type: "integer", Description: doc, Minimum: &low, Maximum: &high, Default: *dst}
	return newArg(name, dst, allowed, s, func(raw json.RawMessage) (int, error) {
		value, err := strconv.ParseFloat(string(raw), 64) // 2e2 and 200.0 are whole numbers too
		if err != nil || value != math.Trunc(value) || value < low || value > high {
			return 0, mistyped(name, raw, allowed, nearestInt(raw, lo, hi)...)
		}
		return int(value), nil
	})
}

// optionalIntArg is a whole number from lo to hi without a default.
func optionalIntArg(name string, dst *int, lo, hi int, doc string) arg {
	f := intArg(name, dst, lo, hi, doc)
	f.schema.Default, f.schema.Minimum, f.schema.Maximum = nil, nil, nil
	return f
}

// limitArg is the number of items in an answer.
func limitArg(dst *int, most int, doc string) arg {
	f := intArg("limit", dst, 1, most, doc)
	f.schema.Minimum, f.schema.Maximum = nil, nil
	return f
}

// durationArg is a time such as 90s, 15m, 1h30m or 2d. A bare number is seconds.
func durationArg(name string, dst *time.Duration, doc string) arg {
	const allowed = "a time such as 30m, 1h or 1d"
	return newArg(name, dst, allowed, &schema{Type: "string", Description: doc}, func(raw json.RawMessage) (time.Duration, error) {
		if d, ok := parseDuration(raw); ok {
			return d, nil
		}
		return 0, fault.Field(name, quoteValue(raw), allowed)
	})
}

// maxDuration bounds a time in an argument.
const maxDuration = 366 * 24 * time.Hour

func parseDuration(raw json.RawMessage) (time.Duration, bool) {
	text, quoted := strictjson.Text(raw)
	if !quoted {
		text = string(raw) + "s"
	}
	if strings.HasSuffix(text, "M") {
		return 0, false // a month, as in an interval
	}
	text = strings.ToLower(strings.ReplaceAll(text, " ", ""))
	for suffix, hours := range map[string]float64{"d": 24, "day": 24, "days": 24, "w": 168, "week": 168, "weeks": 168} {
		if n, err := strconv.ParseFloat(strings.TrimSuffix(text, suffix), 64); err == nil && strings.HasSuffix(text, suffix) {
			text = strconv.FormatFloat(n*hours, 'f', -1, 64) + "h"
		}
	}
	for word, unit := range map[string]string{"hours": "h", "hour": "h", "minutes": "m", "minute": "m", "min": "m", "seconds": "s", "second": "s", "sec": "s"} {
		if rest, ok := strings.CutSuffix(text, word); ok {
			text = rest + unit
			break
		}
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0 && d <= maxDuration
}

// formatDuration writes a time as durationArg reads it, without units that are zero.
func formatDuration(d time.Duration) string {
	text := strings.TrimSuffix(d.String(), "m0s")
	if text != d.String() {
		text += "m"
	}
	if rest, ok := strings.CutSuffix(text, "h0m"); ok {
		text = rest + "h"
	}
	return text
}

// nearestInt suggests the number inside quotes, or the nearest bound.
func nearestInt(raw json.RawMessage, lo, hi int) []string {
	value, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || math.IsNaN(value) {
		return nil
	}
	return []string{strconv.Itoa(int(min(max(math.Round(value), float64(lo)), float64(hi))))}
}

// nearestBool suggests the word inside quotes.
func nearestBool(raw json.RawMessage) []string {
	value, _ := strictjson.Text(raw)
	if value = strings.ToLower(value); value != "true" && value != "false" {
		return nil
	}
	return []string{value}
}

// mistyped reports an invalid value of an argument that is not a string. The error
// says so if the value is a string, because all values appear in quotes.
func mistyped(name string, raw json.RawMessage, allowed string, right ...string) error {
	if value, ok := strictjson.Text(raw); ok {
		return fault.Quoted(name, truncate(value), allowed, right...)
	}
	return fault.Field(name, quoteValue(raw), allowed, right...)
}

// boolArg is true or false, and false when it is absent.
func boolArg(name string, dst *bool, doc string) arg {
	const allowed = "true or false"
	return newArg(name, dst, allowed, &schema{Type: "boolean", Description: doc}, func(raw json.RawMessage) (bool, error) {
		if raw[0] != 't' && raw[0] != 'f' {
			return false, mistyped(name, raw, allowed, nearestBool(raw)...)
		}
		return raw[0] == 't', nil
	})
}

// symbolArg is an instrument.
func symbolArg(dst *market.Symbol, doc string) arg {
	const name, allowed = "symbol", "an instrument such as BTCUSDT, AAPL or binance:BTCUSDT"
	s := &schema{Type: "string", Description: doc}
	return newArg(name, dst, allowed, s, func(raw json.RawMessage) (market.Symbol, error) {
		value, ok := strictjson.Text(raw)
		if !ok {
			return market.Symbol{}, fault.Field(name, quoteValue(raw), "a string such as BTCUSDT")
		}
		return market.ParseSymbol(value)
	})
}

// intervalArg is the length of a bar. The initial value of dst is the default.
func intervalArg(dst *market.Interval, doc string) arg {
	const name = "interval"
	names := market.AllowedIntervals()
	s := &schema{Type: "string", Description: doc + " Any, such as 1m 5m 15m 45m 1h 4h 1d 3d 1w 1M (a month)."}
	if dst.Valid() {
		s.Default = dst.String()
	}
	return newArg(name, dst, names, s, func(raw json.RawMessage) (market.Interval, error) {
		value, ok := strictjson.Text(raw)
		if !ok {
			return 0, fault.Field(name, quoteValue(raw), names, minutes(raw)...)
		}
		return market.ParseInterval(value)
	})
}

// minutes suggests the interval that a bare number stands for.
func minutes(raw json.RawMessage) []string {
	if parsed, err := market.ParseInterval(string(raw)); err == nil {
		return []string{parsed.String()}
	}
	return nil
}

// amountArg is an exact decimal above zero, parsed without a float in between. A number
// in quotes is invalid: it may be formatted for people.
func amountArg(name string, dst *decimal.Decimal, doc string) arg {
	const allowed = "a number above 0"
	s := &schema{Type: "number", Description: doc, ExclusiveMinimum: new(float64)}
	return newArg(name, dst, allowed+", without quotes", s, func(raw json.RawMessage) (decimal.Decimal, error) {
		value, ok := wording.Exact(raw)
		if !ok || !value.IsPositive() {
			return value, wrongNumber(name, raw, allowed)
		}
		return value, nil
	})
}

// optionalAmountArg is an amount whose schema leaves the bound to the error, as the list of
// tools is in every conversation.
func optionalAmountArg(name string, dst *decimal.Decimal, doc string) arg {
	f := amountArg(name, dst, doc)
	f.schema.ExclusiveMinimum = nil
	return f
}

// priceArg is an exact decimal of either sign: spreads and some futures trade below
// zero.
func priceArg(name string, dst *decimal.Decimal, given *bool, doc string) arg {
	const allowed = "a number"
	return newArg(name, dst, allowed+", without quotes", &schema{Type: "number", Description: doc}, func(raw json.RawMessage) (decimal.Decimal, error) {
		value, ok := wording.Exact(raw)
		if !ok {
			return value, wrongNumber(name, raw, allowed)
		}
		*given = true
		return value, nil
	})
}

// wrongNumber reports an invalid number and suggests the number inside quotes.
func wrongNumber(name string, raw json.RawMessage, allowed string) error {
	if _, ok := wording.Exact(raw); !ok && (raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') {
		allowed = fmt.Sprintf("%s, of at most %d characters and with an exponent from -%d to %d", allowed, wording.MaxAmountBytes, wording.MaxAmountExponent, wording.MaxAmountExponent)
	}
	if value, _ := strictjson.Text(raw); strictjson.Check([]byte(value)) == nil {
		if number, ok := wording.Exact(json.RawMessage(value)); ok {
			return mistyped(name, raw, allowed, number.String())
		}
	}
	return mistyped(name, raw, allowed)
}

// timeArg is a time in RFC 3339.
func timeArg(name string, dst *time.Time, doc string) arg {
	const allowed = "a time such as 2026-01-31T16:00:00Z"
	return newArg(name, dst, allowed, &schema{Type: "string", Description: doc, Format: "date-time"}, func(raw json.RawMessage) (time.Time, error) {
		value, _ := strictjson.Text(raw)
		parsed, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return time.Time{}, fault.Field(name, quoteValue(raw), allowed)
		}
		return parsed.UTC(), nil
	})
}

// listArg is a list of strings that check validates and converts.
func listArg[T any](name string, dst *[]T, most int, item *schema, allowed, doc string, check func(string) (T, error)) arg {
	s := &schema{Type: "array", Description: doc, Items: item}
	return newArg(name, dst, "a list of "+allowed, s, func(raw json.RawMessage) ([]T, error) {
		if raw[0] != '[' {
			return nil, noList(name, raw, "a list of "+allowed)
		}
		values := []T{}
		for each := range strictjson.Items(raw) {
			value, ok := strictjson.Text(each)
			if !ok {
				return nil, fault.Field(name, quoteValue(each), allowed)
			}
			checked, err := check(value)
			if err != nil {
				return nil, renameField(err, fault.Of(err).Field, name)
			}
			if values = append(values, checked); len(values) > most {
				return nil, fault.Field(name, "more than "+strconv.Itoa(most)+" items", "at most "+strconv.Itoa(most)+" items")
			}
		}
		return values, nil
	})
}

// noList reports a value that is not a list. It suggests the list inside a string, or a
// list of the string's words.
func noList(name string, raw json.RawMessage, allowed string) error {
	value, ok := strictjson.Text(raw)
	switch {
	case !ok || strings.ContainsAny(value, "{}"):
	case !strings.ContainsAny(value, "[]"):
		items := []byte{'['}
		for i, item := range strings.Split(truncate(value), ",") {
			if i > 0 {
				items = append(items, ',')
			}
			items = strictjson.AppendString(items, strings.TrimSpace(item))
		}
		return fault.Field(name, quoteValue(raw), allowed, string(items)+"]")
	case strings.HasPrefix(value, "[") && value == truncate(value) && strictjson.Check([]byte(value)) == nil:
		return mistyped(name, raw, allowed, value)
	}
	return mistyped(name, raw, allowed)
}
