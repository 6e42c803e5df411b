package guard

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// MaxEntryConditions is how many conditions of the owner's own apply to the orders in a symbol.
const MaxEntryConditions = 8

// AnySymbol stands for the instrument of the order in the words of a condition that names none.
const AnySymbol = "the symbol"

// entryKey is the key of the tables with the owner's conditions.
const entryKey = "entry_condition"

// EntryCondition is a condition of the owner's own: without it no order of a side opens a position or adds to it.
type EntryCondition struct {
	Side order.Side
	order.Claim
}

// ReadCondition reads a condition in the JSON of set_alert, about an instrument of that name and on an interval, both
// as the file has them. The file has no symbol if it is AnySymbol, and no interval if it is zero.
type ReadCondition func(about string, on market.Interval, raw json.RawMessage) (order.Claim, error)

// OwnCondition is a condition of the owner's own in words.
type OwnCondition struct {
	Symbol market.Symbol // zero for all symbols without a list of their own
	Text   string
}

// OwnConditions lists the conditions of a policy: first the general ones, then those of single symbols.
func OwnConditions(p Policy) []OwnCondition {
	all := ownConditions(market.Symbol{}, p.EntryConditions)
	symbols := slices.SortedFunc(maps.Keys(p.Symbols), func(a, b market.Symbol) int { return cmp.Compare(a.String(), b.String()) })
	for _, s := range symbols {
		if own := p.Symbols[s].EntryConditions; !slices.EqualFunc(own, p.EntryConditions, EntryCondition.same) {
			all = append(all, ownConditions(s, own)...)
		}
	}
	return all
}

func ownConditions(s market.Symbol, all []EntryCondition) []OwnCondition {
	list := make([]OwnCondition, 0, len(all))
	for _, c := range all {
		list = append(list, OwnCondition{s, c.String()})
	}
	return list
}

// String says what the condition demands.
func (c EntryCondition) String() string { return c.Side.String() + ": " + c.Text }

// same reports whether two conditions demand the same.
func (c EntryCondition) same(other EntryCondition) bool {
	return c.Side == other.Side && c.Same(other.Claim)
}

// countConditions says how many conditions there are.
func countConditions(all []EntryCondition) string {
	switch len(all) {
	case 0:
		return none
	case 1:
		return "1 condition"
	}
	return strconv.Itoa(len(all)) + " conditions"
}

// HasConditions reports whether any order may need a condition of the owner's own.
func (p Policy) HasConditions() bool {
	if len(p.EntryConditions) > 0 {
		return true
	}
	for _, own := range p.Symbols {
		if len(own.EntryConditions) > 0 {
			return true
		}
	}
	return false
}

// EntryClaims returns the owner's conditions for orders of a side that open a position in a symbol.
func (p Policy) EntryClaims(s market.Symbol, side order.Side) []order.Claim {
	if !p.HasConditions() {
		return nil
	}
	return p.For(s).conditions(s, side)
}

func (l Limits) conditions(s market.Symbol, side order.Side) []order.Claim {
	var all []order.Claim
	for _, c := range l.EntryConditions {
		if c.Side != side {
			continue
		}
		if c.Symbol.IsZero() {
			c.Text = strings.ReplaceAll(c.Text, AnySymbol, s.Name)
		}
		all = append(all, c.Claim)
	}
	return all
}

// conditions yields what was found of the owner's conditions for the order. One that was not judged, because the policy
// has changed since, is unknown for the moment.
func (q *orderCheck) conditions(yield func(order.Evidence) bool) {
	if len(q.limits.EntryConditions) == 0 || q.closes() || q.Exit {
		return
	}
	for _, c := range q.limits.conditions(q.Symbol, q.Side) {
		e, judged := order.Found(q.Conditions, c)
		if !judged {
			e = c.Unanswered("The policy has just changed.")
		}
		if !yield(e) {
			return
		}
	}
}

func checkConditions(q *orderCheck) *Denial {
	verb, oldest := q.Side.String(), q.limits.MaxEvidenceAge
	for e := range q.conditions {
		switch {
		case e.False():
			return deny("", cmp.Or(e.Value, "false"), cmp.Or(e.Against, "true"),
				"%s is false%s at %s, and the owner requires it for orders that %s. Nothing was sent.", e.Text, valuesOf(e), momentOf(e), verb)
		case e.Known && oldest.exceeded(decimal.NewFromInt(int64(e.BarsAgo))):
			return deny("", strconv.Itoa(e.BarsAgo), oldest.String(),
				"%s was true %d bars ago, which is too old, and the owner requires it for orders that %s. Nothing was sent.", e.Text, e.BarsAgo, verb)
		case !e.Known && !e.Later:
			return deny("", "unknown", "a condition that can be judged",
				"%s cannot be judged, and the owner requires it for orders that %s. %s Nothing was sent.", e.Text, verb, e.Missing)
		}
	}
	return nil
}
