package member_test

import (
	"testing"

	"candela/internal/store/replica/member"
)

// TestGroup_DeclaresNobodyDeadAfterAStall delivers heartbeats that the servers delayed in a burst,
// one replica's after the other's. A burst counts once.
func TestGroup_DeclaresNobodyDeadAfterAStall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		beats string // as LiveAfter reads them
		live  bool   // whether b is live
	}{
		"a stall":                         {"ba(aaaaaabbbbb)a", true},
		"ours alone, so far":              {"ba(aaaaaa)", true},
		"stall after stall":               {"b(aaaa)(aaaa)(aaaa)", true},
		"one that is silent, in stalls":   {"b(aaaa)(aaaa)(aaaa)(aaaa)", false},
		"one that is silent since one":    {"b(aaaa)aaa", false},
		"a clock that is behind":          {"ba<aa", true},
		"one that is silent, and a clock": {"ba<aaa", false},
	} {
		if live := member.LiveAfter(c.beats); live != c.live {
			t.Errorf("%s (%s): it is live: %v", name, c.beats, live)
		}
	}
}
