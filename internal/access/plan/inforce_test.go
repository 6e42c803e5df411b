package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"candela/internal/access/plan"
)

func parsed(t *testing.T, text string) plan.Table {
	t.Helper()
	table, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestTable_Changed(t *testing.T) {
	t.Parallel()
	before := parsed(t, "[pro]\nalerts = 300\n[gone]\n[same]\nalerts = 7\n")
	after := parsed(t, "[pro]\nalerts = 301\n[added]\n[same]\nalerts = 7\n")
	if got := after.Changed(before); !slices.Equal(got, []string{"added", "gone", "pro"}) {
		t.Error(got)
	}
	if got := before.Changed(before); len(got) != 0 {
		t.Error(got)
	}
}

// Plans reach replicas of another version: a limit that one does not know is ignored, and one that is missing or impossible is the usual one.
func TestTable_TravelsBetweenVersions(t *testing.T) {
	t.Parallel()
	table := parsed(t, "[pro]\nalerts = 300\nstreams = 3\n")
	data, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	var read plan.Table
	if err := json.Unmarshal(data, &read); err != nil || read.Digest() != table.Digest() || read.Of("pro") != table.Of("pro") {
		t.Errorf("%s, %v: %+v", data, err, read.Of("pro"))
	}
	if err := json.Unmarshal([]byte(`{"pro":{"alerts":300,"of_tomorrow":1,"symbols":0}}`), &read); err != nil {
		t.Fatal(err)
	}
	if got := read.Of("pro"); got.Alerts != 300 || got.Symbols != 50 || got.Name != "pro" {
		t.Errorf("%+v", got)
	}
}

func TestInForce_CountsRefusals(t *testing.T) {
	t.Parallel()
	var f plan.InForce
	if f.Has("pro") || f.Table().Of("").Alerts != 200 {
		t.Error("the zero value has more than the default plan")
	}
	f.Set(parsed(t, "[pro]\nalerts = 300\n"))
	if !f.Has("pro") || f.Table().Of("pro").Alerts != 300 {
		t.Error("the plans are not in force")
	}
	for i := range 3000 {
		f.Refused(fmt.Sprintf("p%d", i), plan.Alerts)
	}
	f.Refused("p1", plan.Alerts)
	got := f.Refusals()
	if len(got) > 1001 || got[plan.Refusal{Plan: "p1", Limit: plan.Alerts}] != 2 || got[plan.Refusal{Plan: "other", Limit: plan.Alerts}] != 2000 {
		t.Errorf("%d counts, %d of others", len(got), got[plan.Refusal{Plan: "other", Limit: plan.Alerts}])
	}
}
