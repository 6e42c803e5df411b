package guard_test

import (
	"strings"
	"testing"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// reasons is one claim about a bar.
func reasons(known, is bool) []order.Evidence {
	return []order.Evidence{{
		Claim: order.Claim{Interval: market.Hour1, Text: "RSI(14) of BTCUSDT on 1h closes below 30"}, Known: known, True: is, Value: "41.52", Against: "30", Bar: noon,
	}}
}

// gate adds a condition of the owner's for purchases, and returns what was found of it.
func (s *scene) gate(known, is bool) []order.Evidence {
	found := reasons(known, is)
	found[0].Condition = []byte(`{"value":1}`)
	s.EntryConditions = []guard.EntryCondition{{Side: order.Buy, Claim: found[0].Claim}}
	return found
}

// TestConditions_OfTheOwner holds that a condition counts for entries of its side alone, and that one that was not
// judged, because the policy has changed, asks the client to come again.
func TestConditions_OfTheOwner(t *testing.T) {
	t.Parallel()
	s := passing()
	s.Conditions = s.gate(true, true)
	if d := guard.Check(s.Policy, s.State, s.Intent, s.Facts); d != nil {
		t.Errorf("a true one: %+v", d)
	}
	s.Conditions = nil
	if d, f := guard.Check(s.Policy, s.State, s.Intent, s.Facts), fault.Of(guard.Unjudged(s.Policy, s.Intent, s.Facts)); d != nil || f == nil || f.Code != "evidence_unavailable" || !f.Retryable {
		t.Errorf("one that was not judged: %+v, %v", d, f)
	}
	s.EntryConditions[0].Side = order.Sell
	if err := guard.Unjudged(s.Policy, s.Intent, s.Facts); err != nil {
		t.Errorf("one for the other side: %v", err)
	}
	s.sell("0.1")
	s.EntryConditions[0].Side = order.Sell
	if d, err := guard.Check(s.Policy, s.State, s.Intent, s.Facts), guard.Unjudged(s.Policy, s.Intent, s.Facts); d != nil || err != nil {
		t.Errorf("an exit: %+v, %v", d, err)
	}
	s.RequireEvidence = guard.EvidenceAll
	if d := guard.Check(s.Policy, s.State, s.Intent, s.Facts); d != nil || !guard.LacksEvidence(s.Policy, s.Intent, s.Facts) {
		t.Errorf("an exit without a reason: %+v", d)
	}
	s.Evidence = reasons(true, true)
	if guard.LacksEvidence(s.Policy, s.Intent, s.Facts) {
		t.Error("an exit with a reason lacks one")
	}
}

// TestEvidence_CostsNothingWithoutClaims holds that an order without claims, under a policy without conditions, allocates
// nothing for either.
func TestEvidence_CostsNothingWithoutClaims(t *testing.T) {
	s := passing()
	if n := testing.AllocsPerRun(100, func() {
		if s.HasConditions() || s.EntryClaims(s.Symbol, s.Side) != nil || guard.LacksEvidence(s.Policy, s.Intent, s.Facts) {
			t.Error("an order without claims needs some")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func evidenceRefusals() map[string]refusal {
	return map[string]refusal{
		"an entry without the reason that the owner asks for": {
			"require_evidence", "conditions that are true", "none", "Add because, such as [{", "because", "",
			func(s *scene) { s.RequireEvidence = guard.EvidenceEntries },
		},
		"an entry without a reason where all orders need one": {
			"require_evidence", "conditions that are true", "none", "Add because, such as [{", "because", "",
			func(s *scene) { s.RequireEvidence = guard.EvidenceAll },
		},
		"an entry while a condition of the owner is false": {
			"entry_condition", "30", "41.52", "is false: 41.52 at the bar that closed 2026-01-31 12:00 UTC, and the owner requires it for orders that buy. Nothing was sent.", "", "",
			func(s *scene) { s.Conditions = s.gate(true, false) },
		},
		"an entry while nobody can judge a condition of the owner": {
			"entry_condition", "a condition that can be judged", "unknown", "cannot be judged, and the owner requires it for orders that buy. It needs 200 bars. Nothing was sent.", "", "",
			func(s *scene) {
				s.Conditions = s.gate(false, false)
				s.Conditions[0].Missing = "It needs 200 bars."
			},
		},
		"an entry after a condition of the owner was true too long ago": {
			"entry_condition", "3", "4", "was true 4 bars ago, which is too old", "", "",
			func(s *scene) {
				s.Conditions = s.gate(true, true)
				s.Conditions[0].BarsAgo = 4
			},
		},
		"a false reason": {
			"evidence", "30", "41.52", "closes below 30 is false: 41.52 at the bar that closed 2026-01-31 12:00 UTC. Nothing was sent.", "because[0]", "",
			func(s *scene) { s.Evidence = reasons(true, false) },
		},
		"a false part of a reason": {
			"evidence", "true", "false", "is false; the close is above SMA(200): 5 at the bar", "because[1]", "",
			func(s *scene) {
				s.Evidence = append(reasons(true, true), reasons(true, false)...)
				s.Evidence[1].Value, s.Evidence[1].Against = "", ""
				s.Evidence[1].Parts = []order.Part{{Text: "one", Known: true, True: true}, {Text: "the close is above SMA(200)", Known: true, Value: "5"}}
			},
		},
		"a false price": {
			"evidence", "30", "41.52", "at the price of 2026-01-31T12:00:00Z", "because[0]", "",
			func(s *scene) {
				s.Evidence = reasons(true, false)
				s.Evidence[0].Interval = 0
			},
		},
		"a reason that nobody can judge": {
			"evidence_unknown", "a claim that can be judged", "unknown", "cannot be judged. It needs 200 bars. Nothing was sent.", "because[0]", "",
			func(s *scene) {
				s.Evidence = reasons(false, false)
				s.Evidence[0].Missing = "It needs 200 bars."
			},
		},
		"a reason within too many bars": {
			"max_evidence_age", "at most 4", "5", "is within 5 bars", "because[0].within_bars", "",
			func(s *scene) {
				s.Evidence = reasons(true, true)
				s.Evidence[0].Within = 5
			},
		},
		"a reason that was true too long ago": {
			"max_evidence_age", "3", "4", "was true 4 bars ago", "because[0]", "",
			func(s *scene) {
				s.Evidence = reasons(true, true)
				s.Evidence[0].BarsAgo = 4
			},
		},
	}
}

// TestUnjudged asks an entry to come again while a claim is not known, and no exit.
func TestUnjudged(t *testing.T) {
	t.Parallel()
	s := passing()
	s.Evidence = append(reasons(true, true), reasons(false, false)...)
	s.Evidence[1].Later, s.Evidence[1].Missing = true, "The newest closed bar has not arrived."
	f := fault.Of(guard.Unjudged(s.Policy, s.Intent, s.Facts))
	if f == nil || f.Code != "evidence_unavailable" || !f.Retryable || f.Field != "because[1]" || !strings.Contains(f.Message, "has not arrived. Nothing was sent") {
		t.Errorf("an entry: %+v", f)
	}
	s.sell("0.1")
	if err := guard.Unjudged(s.Policy, s.Intent, s.Facts); err != nil || !guard.Closes(s.Policy, s.Intent, s.Facts) {
		t.Errorf("an exit: %v", err)
	}
}
