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

func evidenceRefusals() map[string]refusal {
	return map[string]refusal{
		"an entry without the reason that the owner asks for": {
			"require_evidence", "conditions that are true", "none", "Add because, such as [{", "because", "",
			func(s *scene) { s.RequireEvidence = guard.EvidenceEntries },
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
