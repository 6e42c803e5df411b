package guard

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"candela/lib/pattern"

	"github.com/BurntSushi/toml"

	"candela/lib/fault"
	"candela/lib/market"
)

// Error lists all problems of a policy.
type Error struct {
	Problems []error // at least one, in the order of the keys
}

// Error joins the problems, one per line.
func (e *Error) Error() string { return errors.Join(e.Problems...).Error() }

// Parse reads a policy. Absent keys have the values of Default. An unknown key or an
// invalid value rejects the whole file, with an *Error that lists every problem. Numbers
// are exact.
//
// The keys are flat. A table [symbol."binance:BTCUSDT"], or [symbol.BTCUSDT] for that
// name at every venue, overrides limits for a symbol. Tables [[entry_condition]] have the owner's own conditions, which
// read reads.
func Parse(data []byte, read ReadCondition) (Policy, error) {
	var doc map[string]any
	if _, err := toml.Decode(quoteFractions(string(data)), &doc); err != nil {
		return Policy{}, &Error{[]error{fault.New(fault.Invalid, "invalid_file", "%s", strings.TrimPrefix(err.Error(), "toml: "))}}
	}
	r := &reader{policy: Default(), read: read}
	symbols := doc["symbol"]
	delete(doc, "symbol")
	r.table("", doc, &r.policy, func(policyKey) bool { return true })
	r.checkDistances("", r.policy.Limits)
	r.symbols(symbols)
	if len(r.problems) > 0 {
		return Policy{}, &Error{r.problems}
	}
	return r.policy, nil
}

// reader collects a policy and its problems.
type reader struct {
	policy   Policy
	read     ReadCondition
	problems []error
}

// table reads the allowed keys of a table into a policy.
func (r *reader) table(label string, doc map[string]any, p *Policy, may func(policyKey) bool) {
	var names []string
	for _, s := range policyKeys() {
		if !may(s) {
			continue
		}
		names = append(names, s.key)
		raw, given := doc[s.key]
		if !given {
			continue
		}
		delete(doc, s.key)
		if allowed := s.read(p, raw); allowed != "" {
			r.problems = append(r.problems, invalidValue(label+s.key, raw, allowed))
		}
	}
	r.conditions(label, doc, p)
	if names = append(names, entryKey); label == "" {
		names = append(names, "symbol")
	}
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		r.problems = append(r.problems, fault.Field(label+"key", key, strings.Join(names, ", "), fault.Nearest(key, names)...))
	}
}

// symbols reads the tables of single symbols. They inherit the limits of all symbols.
func (r *reader) symbols(raw any) {
	tables, ok := raw.(map[string]any)
	if raw != nil && !ok {
		r.problems = append(r.problems, invalidValue("symbol", raw, `tables such as [symbol."binance:BTCUSDT"]`))
	}
	r.policy.Symbols = make(map[market.Symbol]Limits, len(tables))
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		label := "symbol." + name + "."
		doc, ok := tables[name].(map[string]any)
		s, err := market.ParseSymbol(name)
		switch {
		case !ok:
			r.problems = append(r.problems, invalidValue("symbol."+name, tables[name], `a table such as [symbol."binance:BTCUSDT"]`))
			continue
		case err != nil:
			r.problems = append(r.problems, err)
			continue
		case !r.policy.Allows(s):
			r.problems = append(r.problems, invalidValue("symbol", name, "symbols of allowed_symbols: "+joinSymbols(r.policy.AllowedSymbols)))
		}
		if slices.ContainsFunc(slices.Collect(maps.Keys(r.policy.Symbols)), func(other market.Symbol) bool { return other.Venue == s.Venue && spelling(other) == spelling(s) }) {
			r.problems = append(r.problems, invalidValue("symbol", name, "one table for each symbol"))
		}
		own := Policy{Limits: r.policy.Limits}
		r.table(label, doc, &own, func(s policyKey) bool { return s.perSymbol })
		r.checkDistances(label, own.Limits)
		r.policy.Symbols[s] = own.Limits
	}
}

// invalidValue returns the fault of an invalid value.
func invalidValue(label string, raw any, allowed string) *fault.Error {
	return fault.Field(label, fmt.Sprint(raw), allowed)
}

// quoteFractions puts the bare fractions of a TOML document in quotes, because the
// decoder would read them as binary floating point, which cannot represent 0.1. All
// other bytes stay the same; the decoder reports invalid TOML.
//
// A value begins after an equals sign outside strings and comments. Lists are skipped:
// no key of a policy is a list of numbers.
func quoteFractions(src string) string {
	var b strings.Builder
	for i := 0; i < len(src); {
		switch c := src[i]; c {
		case '#':
			i += copyTo(&b, src[i:], lineEnd(src[i:]))
		case '"', '\'':
			i += copyTo(&b, src[i:], stringEnd(src[i:]))
		case '=':
			blank := 1 + len(src[i+1:]) - len(strings.TrimLeft(src[i+1:], " \t"))
			i += copyTo(&b, src[i:], blank)
			number := tomlFloat().FindString(src[i:])
			if number != "" && endsValue(src[i+len(number):]) {
				b.WriteString(`"` + strings.TrimPrefix(strings.ReplaceAll(number, "_", ""), "+") + `"`)
				i += len(number)
			}
		default:
			i += copyTo(&b, src[i:], 1)
		}
	}
	return b.String()
}

// tomlFloat matches a TOML float other than inf and nan.
var tomlFloat = pattern.Of(`^[+-]?(?:0|[1-9](?:_?[0-9])*)(?:\.[0-9](?:_?[0-9])*(?:[eE][+-]?[0-9](?:_?[0-9])*)?|[eE][+-]?[0-9](?:_?[0-9])*)`)

// endsValue reports whether a value before rest is complete.
func endsValue(rest string) bool { return rest == "" || strings.ContainsAny(rest[:1], " \t\r\n,}#") }

func copyTo(b *strings.Builder, src string, n int) int {
	b.WriteString(src[:n])
	return n
}

func lineEnd(src string) int {
	if i := strings.IndexByte(src, '\n'); i >= 0 {
		return i
	}
	return len(src)
}

// stringEnd returns the end of the string at the start of src: after its closing quotes
// or, if they are missing, at the end of the line or document.
func stringEnd(src string) int {
	quote := src[:1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(src, long) {
		quote = long
	}
	escapes := src[0] == '"'
	for i := len(quote); i < len(src); i++ {
		switch {
		case escapes && src[i] == '\\':
			i++
		case strings.HasPrefix(src[i:], quote):
			i += len(quote)
			// Up to two quotes may precede the closing three.
			for len(quote) == 3 && i < len(src) && src[i] == quote[0] {
				i++
			}
			return i
		case len(quote) == 1 && src[i] == '\n':
			return i
		}
	}
	return len(src)
}
