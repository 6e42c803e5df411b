package tool

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/fault"
	"candela/internal/kit/strictjson"
	"candela/internal/market"
)

// text is a string of at most most bytes.
func text(name string, dst *string, most int, doc string) field {
	allowed := fmt.Sprintf("a text of 1 to %d characters", most)
	return field{
		name: name, allowed: allowed,
		schema: &schema{Type: "string", Description: doc, MinLength: 1, MaxLength: most},
		read: func(raw json.RawMessage) error {
			value, ok := strictjson.Text(raw)
			if n := len([]rune(value)); !ok || n == 0 || n > most {
				return fault.Field(name, shown(raw), allowed)
			}
			*dst = value
			return nil
		},
	}
}

// note is a text that is shown to people: what could move a terminal's cursor or turn
// the direction of a line is taken out of it.
func note(name string, dst *string, most int, doc string) field {
	f := text(name, dst, most, doc)
	read := f.read
	f.read = func(raw json.RawMessage) error {
		if err := read(raw); err != nil {
			return err
		}
		if *dst = fault.Clean(*dst, most); *dst == "" {
			return fault.Field(name, shown(raw), f.allowed+" that can be seen")
		}
		return nil
	}
	return f
}

// key is a name that a client makes up and that must not look like another one.
func key(name string, dst *string, most int, doc string) field {
	f := text(name, dst, most, doc)
	f.allowed = fmt.Sprintf("1 to %d printable ASCII characters without a space at either end", most)
	f.read = func(raw json.RawMessage) error {
		value, ok := strictjson.Text(raw)
		switch {
		case !ok || value == "" || len([]rune(value)) > most:
			return fault.Field(name, shown(raw), f.allowed)
		case !fault.Plain(value):
			e := fault.Field(name, strings.Trim(strconv.QuoteToASCII(cut(value)), `"`), f.allowed)
			e.Message = fmt.Sprintf("%s: %s is not allowed; allowed: %s: take other characters out, or choose another key", name, strconv.QuoteToASCII(cut(value)), f.allowed)
			return e
		}
		*dst = value
		return nil
	}
	return f
}

// choice is one of a few words. Case does not matter: BUY is a common spelling.
func choice(name string, dst *string, doc string, values ...string) field {
	allowed := strings.Join(values, ", ")
	s := &schema{Type: "string", Description: doc, Enum: values}
	if *dst != "" {
		s.Default = *dst
	}
	return field{
		name: name, allowed: allowed, schema: s,
		read: func(raw json.RawMessage) error {
			value, _ := strictjson.Text(raw)
			i := slices.IndexFunc(values, func(v string) bool { return strings.EqualFold(v, value) })
			if i < 0 {
				e := fault.Field(name, shown(raw), allowed, fault.Nearest(value, values)...)
				if name == "type" && protective(value) {
					e.Message, e.Suggestions = e.Message+"; "+noProtection, nil
				}
				return e
			}
			*dst = values[i]
			return nil
		},
	}
}

// integer is a whole number from lo to hi. Its present value is the default.
func integer(name string, dst *int, lo, hi int, doc string) field {
	allowed := fmt.Sprintf("a whole number from %d to %d", lo, hi)
	low, high := float64(lo), float64(hi)
	return field{
		name: name, allowed: allowed,
		schema: &schema{Type: "integer", Description: doc, Minimum: &low, Maximum: &high, Default: *dst},
		read: func(raw json.RawMessage) error {
			value, err := strconv.ParseFloat(string(raw), 64) // 2e2 and 200.0 are whole numbers too
			if err != nil || value != math.Trunc(value) || value < low || value > high {
				return mistyped(name, raw, allowed, nearestInt(raw, lo, hi)...)
			}
			*dst = int(value)
			return nil
		},
	}
}

// nearestInt suggests the number inside quotes, or the bound that was passed.
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

// mistyped reports a value that is not allowed where text never is. Text is
// called so, because in an error all values stand in quotes.
func mistyped(name string, raw json.RawMessage, allowed string, right ...string) error {
	if value, ok := strictjson.Text(raw); ok {
		return fault.Quoted(name, cut(value), allowed, right...)
	}
	return fault.Field(name, shown(raw), allowed, right...)
}

// boolean is true or false. Its present value is the default.
func boolean(name string, dst *bool, doc string) field {
	return field{
		name: name, allowed: "true or false",
		schema: &schema{Type: "boolean", Description: doc, Default: *dst},
		read: func(raw json.RawMessage) error {
			if raw[0] != 't' && raw[0] != 'f' {
				return mistyped(name, raw, "true or false", nearestBool(raw)...)
			}
			*dst = raw[0] == 't'
			return nil
		},
	}
}

// symbol is the instrument a tool is about.
func symbol(dst *market.Symbol, doc string) field {
	const name = "symbol"
	return field{
		name: name, allowed: "an instrument such as BTCUSDT, AAPL or binance:BTCUSDT",
		schema: &schema{Type: "string", Description: doc, MinLength: 1, MaxLength: 40},
		read: func(raw json.RawMessage) error {
			value, ok := strictjson.Text(raw)
			if !ok {
				return fault.Field(name, shown(raw), "a text in quotes such as BTCUSDT")
			}
			parsed, err := market.ParseSymbol(value)
			if err != nil {
				return err
			}
			*dst = parsed
			return nil
		},
	}
}

// interval is the length of a bar. Its present value is the default.
func interval(name string, dst *market.Interval, doc string) field {
	names := strings.Join(market.IntervalNames(), " ")
	s := &schema{Type: "string", Description: doc + " One of " + names + "; spellings such as 15min, 60, 1D and 1wk work too. 1M is a month."}
	if dst.Valid() {
		s.Default = dst.String()
	}
	return field{
		name: name, allowed: names, schema: s,
		read: func(raw json.RawMessage) error {
			value, ok := strictjson.Text(raw)
			if !ok {
				return fault.Field(name, shown(raw), names, minutes(raw)...)
			}
			parsed, err := market.ParseInterval(value)
			if err != nil {
				return err
			}
			*dst = parsed
			return nil
		},
	}
}

// minutes suggests the interval that a bare number would mean as text.
func minutes(raw json.RawMessage) []string {
	if parsed, err := market.ParseInterval(string(raw)); err == nil {
		return []string{parsed.String()}
	}
	return nil
}

// Bounds of an exact amount. A literal beyond them is no amount of anything, and
// an exponent of a billion would be written out digit by digit later.
const (
	mostAmountBytes    = 48
	mostAmountExponent = 24
)

// amount is an exact decimal above zero. It goes from the JSON text to a decimal
// without a float between, and a number in quotes is refused: whoever sends text
// may have formatted it for people.
func amount(name string, dst *decimal.Decimal, doc string) field {
	zero := 0.0
	const plain, allowed = "a number above 0", "a number above 0, without quotes"
	return field{
		name: name, allowed: allowed,
		schema: &schema{Type: "number", Description: doc, ExclusiveMinimum: &zero},
		read: func(raw json.RawMessage) error {
			value, ok := exact(raw)
			if !ok || !value.IsPositive() {
				return wrongNumber(name, raw, plain)
			}
			*dst = value
			return nil
		},
	}
}

// price is an exact decimal of either sign: spreads and some futures trade below
// zero.
func price(name string, dst *decimal.Decimal, given *bool, doc string) field {
	const plain, allowed = "a number", "a number, without quotes"
	return field{
		name: name, allowed: allowed,
		schema: &schema{Type: "number", Description: doc},
		read: func(raw json.RawMessage) error {
			value, ok := exact(raw)
			if !ok {
				return wrongNumber(name, raw, plain)
			}
			*dst, *given = value, true
			return nil
		},
	}
}

// noObject reports a value that is no object. A string is called so: the object that
// it may hold has to be given itself.
func noObject(name string, raw json.RawMessage, allowed string) error {
	value, ok := strictjson.Text(raw)
	if !ok {
		return fault.Field(name, shown(raw), allowed)
	}
	e := fault.Quoted(name, cut(value), allowed)
	e.Message = fmt.Sprintf("%s: a string was given, %s; give the object itself, without quotes around it: %s", name, quote(cut(value)), allowed)
	if strings.HasPrefix(value, "{") && value == cut(value) && strictjson.Check([]byte(value)) == nil {
		e.Suggestions = []string{value}
	}
	return e
}

// exact reads a JSON number of sane length and size.
func exact(raw json.RawMessage) (decimal.Decimal, bool) {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') || len(raw) > mostAmountBytes {
		return decimal.Decimal{}, false
	}
	value, err := decimal.NewFromString(string(raw))
	if err != nil || value.Exponent() > mostAmountExponent || value.Exponent() < -mostAmountExponent {
		return decimal.Decimal{}, false
	}
	return value, true
}

// wrongNumber says that a value is no number that is allowed. Where one stands in
// quotes, the message shows it without.
func wrongNumber(name string, raw json.RawMessage, allowed string) error {
	if _, ok := exact(raw); !ok && (raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') {
		allowed = fmt.Sprintf("%s, of at most %d characters and with an exponent from -%d to %d", allowed, mostAmountBytes, mostAmountExponent, mostAmountExponent)
	}
	value, quoted := strictjson.Text(raw)
	if !quoted || value == "" || strictjson.Check([]byte(value)) != nil {
		return mistyped(name, raw, allowed)
	}
	number, ok := exact(json.RawMessage(value))
	if !ok {
		return mistyped(name, raw, allowed)
	}
	return mistyped(name, raw, allowed, number.String())
}

// moment is a time in RFC 3339.
func moment(name string, dst *time.Time, doc string) field {
	const allowed = "a time such as 2026-01-31T16:00:00Z"
	return field{
		name: name, allowed: allowed,
		schema: &schema{Type: "string", Description: doc, Format: "date-time"},
		read: func(raw json.RawMessage) error {
			value, _ := strictjson.Text(raw)
			parsed, err := time.Parse(time.RFC3339, value)
			if err != nil {
				return fault.Field(name, shown(raw), allowed)
			}
			*dst = parsed.UTC()
			return nil
		},
	}
}

// texts is a list whose items check accepts and may rewrite.
func texts[T any](name string, dst *[]T, most int, item *schema, allowed, doc string, check func(string) (T, error)) field {
	return field{
		name: name, allowed: "a list of " + allowed,
		schema: &schema{Type: "array", Description: doc, Items: item, MaxItems: most},
		read: func(raw json.RawMessage) error {
			if raw[0] != '[' {
				return noList(name, raw, "a list of "+allowed)
			}
			values := []T{}
			for each := range strictjson.Items(raw) {
				value, ok := strictjson.Text(each)
				if !ok {
					return fault.Field(name, shown(each), allowed)
				}
				checked, err := check(value)
				if err != nil {
					return rename(err, fault.Of(err).Field, name)
				}
				if values = append(values, checked); len(values) > most {
					return fault.Field(name, "more than "+strconv.Itoa(most)+" items", "at most "+strconv.Itoa(most)+" items")
				}
			}
			*dst = values
			return nil
		},
	}
}

// noList reports a value that is no list. It suggests the list that stands in
// quotes, or the words of a text in brackets.
func noList(name string, raw json.RawMessage, allowed string) error {
	value, ok := strictjson.Text(raw)
	switch {
	case !ok || strings.ContainsAny(value, "{}"):
	case !strings.ContainsAny(value, "[]"):
		items := []byte{'['}
		for i, item := range strings.Split(cut(value), ",") {
			if i > 0 {
				items = append(items, ',')
			}
			items = strictjson.AppendString(items, strings.TrimSpace(item))
		}
		return fault.Field(name, shown(raw), allowed, string(items)+"]")
	case strings.HasPrefix(value, "[") && value == cut(value) && strictjson.Check([]byte(value)) == nil:
		return mistyped(name, raw, allowed, value)
	}
	return mistyped(name, raw, allowed)
}
