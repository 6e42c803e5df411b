package plan_test

import (
	"strings"
	"testing"

	"candela/internal/access/plan"
)

func TestParse(t *testing.T) {
	t.Parallel()
	none, err := plan.Parse(nil)
	if err != nil || none.Of("") != (plan.Plan{Name: "default", Alerts: 200, Symbols: 50, Calls: 50, Rate: 20, Streams: 20, Orders: 60, Processor: 1800}) || none.Of("pro") != none.Of("default") || none.Has("pro") {
		t.Errorf("%+v, %v", none.Of(""), err)
	}
	some, err := plan.Parse([]byte("[pro]\nalerts = 1000\n[default]\nsymbols = 10\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := some.Of("pro"); got != (plan.Plan{Name: "pro", Alerts: 1000, Symbols: 10, Calls: 50, Rate: 20, Streams: 20, Orders: 60, Processor: 1800}) {
		t.Errorf("%+v", got)
	}
	if got := strings.Join(some.Names(), " "); got != "default pro" || !some.Has("pro") || some.Of("").Symbols != 10 {
		t.Errorf("%s, %+v", got, some.Of(""))
	}
	for text, want := range map[string]string{
		"alerts = 1":                              "a plan is a table",
		"[pro]\nalerts = 0\nnothing = 1":          "pro.alerts must be a whole number from 1 to 10000 (got 0); unknown limit pro.nothing",
		"[pro]\ncalls_per_second = \"many\"":      "calls_per_second must be a whole number",
		"[pro]\nsymbols = 2001":                   "from 1 to 2000",
		"[pro\n":                                  "a plan is a table",
		"[default]\ncalls_at_once = 1.5\n[other]": "default.calls_at_once",
	} {
		if _, err := plan.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestDigest_IsThatOfTheLimits holds that files that mean the same have the same digest.
func TestDigest_IsThatOfTheLimits(t *testing.T) {
	t.Parallel()
	digest := func(text string) string {
		table, err := plan.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return table.Digest()
	}
	if a, b := digest("[pro]\nalerts = 300\n"), digest("# more\n[pro]\nalerts = 300\nsymbols = 50\n"); a != b {
		t.Errorf("%s and %s", a, b)
	}
	if digest("[pro]\nalerts = 300\n") == digest("[pro]\nalerts = 301\n") || digest("") != (plan.Table{}).Digest() {
		t.Error("the digest says nothing")
	}
	if got := (plan.Table{}).Limits(""); len(got) != 7 || got[0] != (plan.Limit{Key: "alerts", Value: 200}) {
		t.Errorf("%+v", got)
	}
}
