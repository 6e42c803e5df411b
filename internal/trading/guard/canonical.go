package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"candela/internal/kit/strictjson"
	"candela/lib/market"
)

// canonical is a policy in words: what its rules, settings and exceptions are, whatever its file looks like.
type canonical struct {
	Approval   string         `json:"approval"`
	Conditions []canonicalKey `json:"entry_conditions,omitempty"` // side and words as the name, their exact form as the value
	Exceptions []canonicalKey `json:"exceptions"`
	Rules      []canonicalKey `json:"rules"`
	Settings   []canonicalKey `json:"settings"`
}

type canonicalKey struct {
	Symbol string `json:"symbol,omitempty"`
	Name   string `json:"name"`
	Value  string `json:"value"`
}

// Canonical returns the policy as a JSON text in canonical form, with every limit and setting, and its hash:
// "sha256:" and hexadecimal digits. Two files that mean the same have the same hash.
func Canonical(p Policy) (text []byte, hash string, err error) {
	p.AllowedSymbols = slices.SortedFunc(slices.Values(p.AllowedSymbols), func(a, b market.Symbol) int { return strings.Compare(a.String(), b.String()) })
	p.Currencies = slices.Sorted(slices.Values(p.Currencies))
	c := canonical{Approval: p.Approval.Explain(), Exceptions: []canonicalKey{}}
	for _, r := range Rules(p) {
		c.Rules = append(c.Rules, canonicalKey{Name: r.Name, Value: r.Limit})
	}
	for _, s := range Settings(p) {
		c.Settings = append(c.Settings, canonicalKey{Name: s.Name, Value: s.Value})
	}
	for _, x := range Exceptions(p) {
		c.Exceptions = append(c.Exceptions, canonicalKey{x.Symbol.String(), x.Rule, x.Limit})
	}
	for _, own := range append([]market.Symbol{{}}, slices.Collect(maps.Keys(p.Symbols))...) {
		c.Conditions = append(c.Conditions, canonicalConditions(p, own)...)
	}
	slices.SortStableFunc(c.Conditions, func(a, b canonicalKey) int { return strings.Compare(a.Symbol, b.Symbol) })
	if text, err = strictjson.CanonicalOf(c); err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(text)
	return text, "sha256:" + hex.EncodeToString(sum[:]), nil
}

// canonicalConditions lists the owner's conditions of a symbol, of all others for none.
func canonicalConditions(p Policy, s market.Symbol) []canonicalKey {
	all := p.EntryConditions
	if own, ok := p.Symbols[s]; ok {
		if slices.EqualFunc(own.EntryConditions, all, EntryCondition.same) {
			return nil
		}
		all = own.EntryConditions
	}
	list := make([]canonicalKey, 0, len(all))
	for _, c := range all {
		on := ""
		if c.Interval.Valid() {
			on = " on " + c.Interval.String()
		}
		list = append(list, canonicalKey{s.String(), c.String(), c.Symbol.String() + on + " " + string(c.Condition)})
	}
	return list
}
