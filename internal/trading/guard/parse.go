package guard

import (
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"candela/internal/kit/fault"
	"candela/internal/market"
)

// Error lists all problems of a policy.
type Error struct {
	Problems []error // at least one, in the order of the keys
}

// Error joins the problems, one per line.
func (e *Error) Error() string {
	texts := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		texts = append(texts, p.Error())
	}
	return strings.Join(texts, "\n")
}

// Parse reads a policy. Absent keys have the values of Default. An unknown key or an
// invalid value rejects the whole file, with an *Error that lists every problem. Numbers
// are exact.
//
// The keys are flat. A table [symbol."binance:BTCUSDT"], or [symbol.BTCUSDT] for that
// name at every venue, overrides limits for a symbol.
func Parse(data []byte) (Policy, error) {
	var doc map[string]any
	if _, err := toml.Decode(quoteFractions(string(data)), &doc); err != nil {
		return Policy{}, &Error{[]error{&fault.Error{
			Kind: fault.Invalid, Code: "invalid_file", Message: strings.TrimPrefix(err.Error(), "toml: "),
		}}}
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
		if _, twice := r.policy.Symbols[s]; twice {
			r.problems = append(r.problems, invalidValue("symbol", name, "one table for each symbol"))
		}
		own := Policy{Limits: r.policy.Limits}
		r.table(label, doc, &own, func(s policyKey) bool { return s.perSymbol })
		r.policy.Symbols[s] = own.Limits
	}
}
