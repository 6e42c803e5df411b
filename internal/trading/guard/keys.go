package guard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/lib/pattern"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// policyKey is one key of the file. read gets the TOML value, with fractions as text,
// and returns the allowed values if it is invalid.
type policyKey struct {
	key       string
	perSymbol bool // also allowed in the table of a symbol
	read      func(p *Policy, raw any) (allowed string)
}

// policyKeys lists the keys in the order of the documentation.
func policyKeys() []policyKey {
	return slices.Concat(orderKeys(), perpetualKeys(), protectiveKeys(), approvalKeys(), evidenceKeys())
}

// orderKeys are the keys of the limits of every order.
func orderKeys() []policyKey {
	return []policyKey{
		{"allowed_symbols", false, readSymbols},
		{"currencies", false, readCurrencies},
		limitKey("max_order_quantity", true, readAmount, func(p *Policy) *Limit { return &p.MaxOrderQuantity }),
		limitKey("max_order_notional", true, readAmount, func(p *Policy) *Limit { return &p.MaxOrderNotional }),
		limitKey("price_band_pct", true, readPercent, func(p *Policy) *Limit { return &p.PriceBandPct }),
		limitKey("resting_band_pct", true, readPercent, func(p *Policy) *Limit { return &p.RestingBandPct }),
		limitKey("max_symbol_exposure", true, readAmount, func(p *Policy) *Limit { return &p.MaxSymbolExposure }),
		limitKey("max_exposure", false, readAmount, func(p *Policy) *Limit { return &p.MaxExposure }),
		limitKey("max_symbol_open_orders", true, readCount, func(p *Policy) *Limit { return &p.MaxSymbolOpenOrders }),
		limitKey("max_open_orders", false, readCount, func(p *Policy) *Limit { return &p.MaxOpenOrders }),
		limitKey("max_orders_per_minute", false, readCount, func(p *Policy) *Limit { return &p.MaxOrdersPerMinute }),
		limitKey("max_daily_notional", false, readAmount, func(p *Policy) *Limit { return &p.MaxDailyNotional }),
		limitKey("max_daily_loss", false, readAmount, func(p *Policy) *Limit { return &p.MaxDailyLoss }),
		flagKey("allow_short", func(p *Policy) *bool { return &p.AllowShort }),
		spanKey("max_quote_age", time.Second, time.Hour, func(p *Policy) *time.Duration { return &p.MaxQuoteAge }),
		spanKey("duplicate_window", 0, time.Minute, func(p *Policy) *time.Duration { return &p.DuplicateWindow }),
		spanKey("max_clock_skew", time.Millisecond, time.Minute, func(p *Policy) *time.Duration { return &p.MaxClockSkew }),
	}
}

// limitKey is a key whose value is a Limit.
func limitKey(key string, perSymbol bool, read func(any) (Limit, string), at func(*Policy) *Limit) policyKey {
	return policyKey{key, perSymbol, func(p *Policy, raw any) string {
		l, allowed := read(raw)
		if allowed == "" {
			*at(p) = l
		}
		return allowed
	}}
}

// spanKey is a key whose value is a time span.
func spanKey(key string, least, most time.Duration, at func(*Policy) *time.Duration) policyKey {
	return policyKey{key, false, func(p *Policy, raw any) string { return readSpan(raw, least, most, at(p)) }}
}

// flagKey is a key of a symbol whose value is true or false.
func flagKey(key string, at func(*Policy) *bool) policyKey {
	return policyKey{key, true, func(p *Policy, raw any) string {
		v, ok := raw.(bool)
		if !ok {
			return "true or false, without quotes"
		}
		*at(p) = v
		return ""
	}}
}

// rateKey is a key of a symbol whose value is a number of percent that may be zero.
func rateKey(key string, at func(*Policy) *decimal.Decimal) policyKey {
	return policyKey{key, true, func(p *Policy, raw any) string {
		d, ok := number(raw)
		if !ok || d.IsNegative() || d.GreaterThan(decimal.NewFromInt(20)) {
			return "a number from 0 to 20, in per cent"
		}
		*at(p) = d
		return ""
	}}
}

// choiceKey is a key whose value is one of several words.
func choiceKey[T ~string](key string, perSymbol bool, at func(*Policy) *T, choices ...T) policyKey {
	return policyKey{key, perSymbol, func(p *Policy, raw any) string {
		text, ok := raw.(string)
		if !ok || !slices.Contains(choices, T(text)) {
			names := make([]string, 0, len(choices))
			for _, c := range choices {
				names = append(names, strconv.Quote(string(c)))
			}
			return strings.Join(names, " or ")
		}
		*at(p) = T(text)
		return ""
	}}
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
var currencyPattern = pattern.Of(`^[A-Z0-9]{2,12}$`)

func readCurrencies(p *Policy, raw any) string {
	names, ok := readList(raw, func(text string) (string, bool) {
		text = strings.ToUpper(text)
		return text, currencyPattern().MatchString(text)
	})
	if !ok || len(names) == 0 {
		return `a list of one or more names in quotes, such as ["USD", "USDT"]`
	}
	p.Currencies = names
	return ""
}
