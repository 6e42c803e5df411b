package guard

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/shopspring/decimal"

	"candela/internal/kit/fault"
	"candela/internal/market"
	"candela/internal/trading/order"
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
// name at every venue, overrides limits for a symbol.
func Parse(data []byte) (Policy, error) {
	var doc map[string]any
	if _, err := toml.Decode(quoteFractions(string(data)), &doc); err != nil {
		return Policy{}, &Error{[]error{fault.New(fault.Invalid, "invalid_file", "%s", strings.TrimPrefix(err.Error(), "toml: "))}}
	}
	r := &reader{policy: Default()}
	symbols := doc["symbol"]
	delete(doc, "symbol")
	r.table("", doc, &r.policy, func(policyKey) bool { return true })
	r.symbols(symbols)
	if len(r.problems) > 0 {
		return Policy{}, &Error{r.problems}
	}
	return r.policy, nil
}

// reader collects a policy and its problems.
type reader struct {
	policy   Policy
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
	if label == "" {
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
		r.policy.Symbols[s] = own.Limits
	}
}

// policyKey is one key of the file. read gets the TOML value, with fractions as text,
// and returns the allowed values if it is invalid.
type policyKey struct {
	key       string
	perSymbol bool // also allowed in the table of a symbol
	read      func(p *Policy, raw any) (allowed string)
}

// policyKeys lists the keys in the order of the documentation.
func policyKeys() []policyKey {
	return slices.Concat(orderKeys(), approvalKeys())
}

// limitKey is the key of a limit of the whole account.
func limitKey(key string, read func(any) (Limit, string), at func(*Policy) *Limit) policyKey {
	return policyKey{key, false, func(p *Policy, raw any) string {
		l, allowed := read(raw)
		if allowed == "" {
			*at(p) = l
		}
		return allowed
	}}
}

// spanKey is the key of a time.
func spanKey(key string, least, most time.Duration, at func(*Policy) *time.Duration) policyKey {
	return policyKey{key, false, func(p *Policy, raw any) string { return readSpan(raw, least, most, at(p)) }}
}

// orderKeys are the keys of the limits of every order.
func orderKeys() []policyKey {
	limit := func(key string, own bool, read func(any) (Limit, string), at func(*Policy) *Limit) policyKey {
		k := limitKey(key, read, at)
		k.perSymbol = own
		return k
	}
	return []policyKey{
		{"allowed_symbols", false, readSymbols},
		{"currencies", false, readCurrencies},
		limit("max_order_quantity", true, readAmount, func(p *Policy) *Limit { return &p.MaxOrderQuantity }),
		limit("max_order_notional", true, readAmount, func(p *Policy) *Limit { return &p.MaxOrderNotional }),
		limit("price_band_pct", true, readPercent, func(p *Policy) *Limit { return &p.PriceBandPct }),
		limit("resting_band_pct", true, readPercent, func(p *Policy) *Limit { return &p.RestingBandPct }),
		limit("max_symbol_exposure", true, readAmount, func(p *Policy) *Limit { return &p.MaxSymbolExposure }),
		limit("max_exposure", false, readAmount, func(p *Policy) *Limit { return &p.MaxExposure }),
		limit("max_symbol_open_orders", true, readCount, func(p *Policy) *Limit { return &p.MaxSymbolOpenOrders }),
		limit("max_open_orders", false, readCount, func(p *Policy) *Limit { return &p.MaxOpenOrders }),
		limit("max_orders_per_minute", false, readCount, func(p *Policy) *Limit { return &p.MaxOrdersPerMinute }),
		limit("max_daily_notional", false, readAmount, func(p *Policy) *Limit { return &p.MaxDailyNotional }),
		limit("max_daily_loss", false, readAmount, func(p *Policy) *Limit { return &p.MaxDailyLoss }),
		{"allow_short", true, readShort},
		spanKey("max_quote_age", time.Second, time.Hour, func(p *Policy) *time.Duration { return &p.MaxQuoteAge }),
		spanKey("duplicate_window", 0, time.Minute, func(p *Policy) *time.Duration { return &p.DuplicateWindow }),
		spanKey("max_clock_skew", time.Millisecond, time.Minute, func(p *Policy) *time.Duration { return &p.MaxClockSkew }),
	}
}

// number reads a decimal with or without quotes.
func number(raw any) (decimal.Decimal, bool) {
	switch v := raw.(type) {
	case int64:
		return decimal.NewFromInt(v), true
	case string:
		d, err := order.ParseAmount("", v)
		return d, err == nil
	default:
		return decimal.Decimal{}, false
	}
}

func readLimit(raw any, allowed string, fits func(decimal.Decimal) bool) (Limit, string) {
	if raw == none {
		return Limit{Off: true}, ""
	}
	d, ok := number(raw)
	if !ok || !fits(d) {
		return Limit{}, allowed
	}
	return Limit{Value: d}, ""
}

func readAmount(raw any) (Limit, string) {
	return readLimit(raw, `a number of 0 or more, bare or in quotes, or "none"`, func(d decimal.Decimal) bool { return !d.IsNegative() })
}

func readPercent(raw any) (Limit, string) {
	return readLimit(raw, `a number above 0 and at most 100, in per cent, or "none"`, func(d decimal.Decimal) bool {
		return d.IsPositive() && d.LessThanOrEqual(decimal.NewFromInt(100))
	})
}

func readCount(raw any) (Limit, string) {
	return readLimit(raw, `a whole number of 0 or more, or "none"`, func(d decimal.Decimal) bool { return !d.IsNegative() && d.IsInteger() })
}

func readSpan(raw any, least, most time.Duration, dst *time.Duration) string {
	text, _ := raw.(string)
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		return fmt.Sprintf(`a time from %v to %v in quotes, such as "2s"`, least, most)
	}
	*dst = d
	return ""
}

func readShort(p *Policy, raw any) string {
	allow, ok := raw.(bool)
	if !ok {
		return "true or false, without quotes"
	}
	p.AllowShort = allow
	return ""
}

func readSymbols(p *Policy, raw any) string {
	symbols, ok := readList(raw, func(text string) (market.Symbol, bool) {
		s, err := market.ParseSymbol(text)
		return s, err == nil
	})
	if !ok {
		return `a list of symbols in quotes, such as ["binance:BTCUSDT", "AAPL"]`
	}
	p.AllowedSymbols = symbols
	return ""
}

// readList reads a list of texts.
func readList[T any](raw any, read func(text string) (T, bool)) ([]T, bool) {
	items, ok := raw.([]any)
	all := make([]T, len(items))
	for i, item := range items {
		text, _ := item.(string)
		if all[i], ok = read(text); !ok {
			return nil, false
		}
	}
	return all, ok
}

// currencyPattern matches the venues' names of currencies.
var currencyPattern = regexp.MustCompile(`^[A-Z0-9]{2,12}$`)

func readCurrencies(p *Policy, raw any) string {
	names, ok := readList(raw, func(text string) (string, bool) {
		text = strings.ToUpper(text)
		return text, currencyPattern.MatchString(text)
	})
	if !ok || len(names) == 0 {
		return `a list of one or more names in quotes, such as ["USD", "USDT"]`
	}
	p.Currencies = names
	return ""
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
			number := tomlFloat.FindString(src[i:])
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
var tomlFloat = regexp.MustCompile(`^[+-]?(?:0|[1-9](?:_?[0-9])*)(?:\.[0-9](?:_?[0-9])*(?:[eE][+-]?[0-9](?:_?[0-9])*)?|[eE][+-]?[0-9](?:_?[0-9])*)`)

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
