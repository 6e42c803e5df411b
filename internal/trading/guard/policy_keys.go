package guard

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/fault"
	"candela/internal/market"
	"candela/internal/trading/order"
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
	limit := func(key string, own bool, read func(any) (Limit, string), at func(*Policy) *Limit) policyKey {
		return policyKey{key, own, func(p *Policy, raw any) string {
			l, allowed := read(raw)
			if allowed == "" {
				*at(p) = l
			}
			return allowed
		}}
	}
	span := func(key string, least, most time.Duration, at func(*Policy) *time.Duration) policyKey {
		return policyKey{key, false, func(p *Policy, raw any) string { return readSpan(raw, least, most, at(p)) }}
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
		span("max_quote_age", time.Second, time.Hour, func(p *Policy) *time.Duration { return &p.MaxQuoteAge }),
		span("duplicate_window", 0, time.Minute, func(p *Policy) *time.Duration { return &p.DuplicateWindow }),
		span("max_clock_skew", time.Millisecond, time.Minute, func(p *Policy) *time.Duration { return &p.MaxClockSkew }),
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
	const allowed = `a list of symbols in quotes, such as ["binance:BTCUSDT", "AAPL"]`
	items, ok := raw.([]any)
	if !ok {
		return allowed
	}
	symbols := make([]market.Symbol, 0, len(items))
	for _, item := range items {
		text, _ := item.(string)
		s, err := market.ParseSymbol(text)
		if err != nil {
			return allowed
		}
		symbols = append(symbols, s)
	}
	p.AllowedSymbols = symbols
	return ""
}

// currencyPattern matches the venues' names of currencies.
var currencyPattern = regexp.MustCompile(`^[A-Z0-9]{2,12}$`)

func readCurrencies(p *Policy, raw any) string {
	const allowed = `a list of one or more names in quotes, such as ["USD", "USDT"]`
	items, ok := raw.([]any)
	if !ok || len(items) == 0 {
		return allowed
	}
	names := make([]string, 0, len(items))
	for _, item := range items {
		text, _ := item.(string)
		if text = strings.ToUpper(text); !currencyPattern.MatchString(text) {
			return allowed
		}
		names = append(names, text)
	}
	p.Currencies = names
	return ""
}

// invalidValue returns the fault of an invalid value.
func invalidValue(label string, raw any, allowed string) *fault.Error {
	return fault.Field(label, fmt.Sprint(raw), allowed)
}
