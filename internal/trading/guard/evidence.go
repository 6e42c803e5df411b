package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

// RequireEvidence says which orders need a claim that candela has found true.
type RequireEvidence string

// The values of RequireEvidence. An order that only reduces a position never needs one.
const (
	EvidenceFree    RequireEvidence = "none"
	EvidenceEntries RequireEvidence = "entries" // orders that open a position or add to it
	EvidenceAll     RequireEvidence = "all"     // these, and orders that reduce one are reported if they have none
)

// Reasoning says how the reasons of orders are judged.
type Reasoning struct {
	RequireEvidence RequireEvidence
	MaxEvidenceAge  Limit            // in bars of a claim's interval
	EntryConditions []EntryCondition // of the owner's own; read-only
}

func defaultReasoning() Reasoning {
	return Reasoning{RequireEvidence: EvidenceFree, MaxEvidenceAge: Limit{Value: decimal.NewFromInt(3)}}
}

// evidenceKeys are the keys of the file about reasons.
func evidenceKeys() []policyKey {
	return []policyKey{
		choiceKey("require_evidence", true, func(p *Policy) *RequireEvidence { return &p.RequireEvidence }, EvidenceFree, EvidenceEntries, EvidenceAll),
		limitKey("max_evidence_age", true, readCount, func(p *Policy) *Limit { return &p.MaxEvidenceAge }),
	}
}

// evidenceRules are the rules about the claims of an order. They come last, so that a limit is named before a false
// claim.
func evidenceRules() []rule {
	return []rule{
		{
			"require_evidence", false, func(p Policy) string { return string(p.RequireEvidence) },
			"With entries or all: an order that opens a position or adds to it and has no because. With all, one that only reduces a position passes, is marked no_evidence and reported to the owner.",
			checkRequired,
		},
		{
			"max_evidence_age", false, func(p Policy) string { return p.MaxEvidenceAge.String() },
			"A claim in because that may be true at a bar older than this many bars of its interval. An order that only reduces a position passes.",
			checkEvidenceAge,
		},
		{
			"evidence", false, func(Policy) string { return "true claims" },
			"A claim in because that is false at its newest closed bar. An order that only reduces a position passes.",
			checkFalse,
		},
		{
			"evidence_unknown", false, func(Policy) string { return "claims that can be judged" },
			"A claim in because that cannot be judged: too few bars, or a script that fails. An order that only reduces a position passes.",
			checkUnknown,
		},
		{
			entryKey, false, func(p Policy) string { return countConditions(p.EntryConditions) },
			"An order that opens a position or adds to it while a condition of the owner's own for its side is false, or cannot be judged. It counts whatever the order says; see [conditions of the owner](#conditions-of-the-owner).",
			checkConditions,
		},
	}
}

// JudgesReasons reports whether a rule is about the reasons of an order, or about conditions of the owner's own. While it is broken,
// the owner cannot allow the order.
func JudgesReasons(name string) bool {
	return slices.ContainsFunc(evidenceRules(), func(r rule) bool { return r.name == name })
}

func checkRequired(q *orderCheck) *Denial {
	required := q.limits.RequireEvidence == EvidenceEntries || q.limits.RequireEvidence == EvidenceAll
	if !required || len(q.Evidence) > 0 || q.closes() || q.Exit {
		return nil
	}
	return deny("because", "none", "conditions that are true",
		`The owner requires a reason for orders that open a position. Add because, such as [{"interval":"1h","value":{"indicator":"rsi","op":"<","value":30}}].`)
}

// claims yields the claims that may deny the order, with their numbers.
func (q *orderCheck) claims(yield func(int, order.Evidence) bool) {
	if q.closes() || q.Exit {
		return
	}
	for i, e := range q.Evidence {
		if !yield(i, e) {
			return
		}
	}
}

func checkEvidenceAge(q *orderCheck) *Denial {
	most := q.limits.MaxEvidenceAge
	for i, e := range q.claims {
		if e.Interval == 0 {
			continue
		}
		if oldest := decimal.NewFromInt(int64(e.Newest() - 1)); most.exceeded(oldest) {
			return deny(becauseField(i)+".within_bars", strconv.Itoa(e.Within), "at most "+most.Value.Add(decimal.NewFromInt(1)).String(),
				"%s is within %d bars, and the owner takes reasons of at most %s bars before the newest one.", e.Text, e.Within, most)
		}
		if most.exceeded(decimal.NewFromInt(int64(e.BarsAgo))) {
			return deny(becauseField(i), strconv.Itoa(e.BarsAgo), most.String(), "%s was true %d bars ago, which is too old. Nothing was sent.", e.Text, e.BarsAgo)
		}
	}
	return nil
}

func checkFalse(q *orderCheck) *Denial {
	for i, e := range q.claims {
		if !e.False() {
			continue
		}
		return deny(becauseField(i), cmp.Or(e.Value, "false"), cmp.Or(e.Against, "true"),
			"%s is false%s at %s. Nothing was sent.", e.Text, valuesOf(e), momentOf(e))
	}
	return nil
}

// valuesOf writes the values that make a claim false.
func valuesOf(e order.Evidence) string {
	if e.Value != "" {
		return ": " + e.Value
	}
	var text strings.Builder
	for _, p := range e.Parts {
		if p.Known && !p.True {
			text.WriteString("; " + p.Text + ": " + cmp.Or(p.Value, "no"))
		}
	}
	return text.String()
}

// momentOf names the bar or the price by which a claim was judged.
func momentOf(e order.Evidence) string {
	if e.Interval == 0 {
		return "the price of " + e.Bar.UTC().Format(time.RFC3339)
	}
	return "the bar that closed " + e.Bar.UTC().Format("2006-01-02 15:04 UTC")
}

func checkUnknown(q *orderCheck) *Denial {
	for i, e := range q.claims {
		if !e.Known && !e.Later {
			return deny(becauseField(i), "unknown", "a claim that can be judged", "%s cannot be judged. %s Nothing was sent.", e.Text, e.Missing)
		}
	}
	return nil
}

// becauseField names a claim.
func becauseField(i int) string { return "because[" + strconv.Itoa(i) + "]" }

// Fresh makes a claim about the price unknown if that price is older than the policy allows, as the price of an order itself may not be.
func Fresh(p Policy, now time.Time, all []order.Evidence) {
	for i := range all {
		e := &all[i]
		if !e.Known || e.Interval != 0 || e.MarketClosed || now.Sub(e.Bar) <= p.MaxQuoteAge {
			continue
		}
		e.Known, e.True, e.Later = false, false, !order.Quote{At: e.Bar}.Stalled(now)
		e.Missing = fmt.Sprintf("The last price, %s, is of %s, older than max_quote_age (%v).", e.Value, e.Bar.UTC().Format(time.RFC3339), p.MaxQuoteAge)
	}
}

// Unjudged returns the fault of an order that opens a position and has a claim, or needs a condition of the owner's,
// that cannot be judged at the moment, nil for any other. Nothing is recorded of it.
func Unjudged(p Policy, in Intent, f Facts) error {
	q := newCheck(p, State{}, in, f)
	for i, e := range q.claims {
		if !e.Known && e.Later {
			return unavailable(e, becauseField(i))
		}
	}
	for e := range q.conditions {
		if !e.Known && e.Later {
			return unavailable(e, "")
		}
	}
	return nil
}

func unavailable(e order.Evidence, field string) error {
	return fault.New(fault.Unavailable, "evidence_unavailable", "%s could not be judged: %s Nothing was sent; the same call may be repeated.", e.Text, e.Missing).
		About(field, "unknown", "").Retry(time.Second)
}

// Closes reports whether an order can only reduce a position, so that its claims deny nothing.
func Closes(p Policy, in Intent, f Facts) bool { return newCheck(p, State{}, in, f).closes() }

// LacksEvidence reports whether an order that only reduces a position passes without the claims that the owner asks for.
func LacksEvidence(p Policy, in Intent, f Facts) bool {
	if len(in.Evidence) > 0 || p.For(in.Symbol).RequireEvidence != EvidenceAll {
		return false
	}
	return in.Exit || in.ReduceOnly || newCheck(p, State{}, in, f).closes()
}
