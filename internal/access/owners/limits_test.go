package owners_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// limited returns the limits of a file of plans, with an owner on the plan pro and others on the default.
func limited(t *testing.T, text string) *owners.Limits {
	t.Helper()
	table, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l := &owners.Limits{Plans: &plan.InForce{}, Standing: func(owner principal.Owner) owners.Standing {
		if owner == ownerName(1) {
			return owners.Standing{State: owners.Active, Plan: "pro"}
		}
		return owners.Standing{State: owners.Active}
	}}
	l.Plans.Set(table)
	return l
}

// overPlan checks that an error is that of a plan, and that it was counted.
func overPlan(t *testing.T, l *owners.Limits, err error, limit string) {
	t.Helper()
	f := fault.Of(err)
	if f == nil || f.Code != "plan_limit" || !f.Retryable || f.RetryAfter <= 0 || !strings.Contains(f.Message, "plan pro has") {
		t.Errorf("got %v", err)
	}
	if n := l.Plans.Refusals()[plan.Refusal{Plan: "pro", Limit: limit}]; n != 1 {
		t.Errorf("counted %d", n)
	}
}

// An owner may send as many orders a minute as the plan has, more when the time has come or the plan changes, and others are not affected.
func TestLimits_Orders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, "[pro]\norders_per_minute = 3\n")
		admit := l.Orders()
		for range 3 {
			if err := admit(ownerName(1)); err != nil {
				t.Fatal(err)
			}
		}
		overPlan(t, l, admit(ownerName(1)), plan.Orders)
		if err := admit(ownerName(2)); err != nil {
			t.Errorf("another owner: %v", err)
		}
		time.Sleep(20 * time.Second)
		if err := admit(ownerName(1)); err != nil {
			t.Errorf("after a third of a minute: %v", err)
		}
		for n := range 200 { // plans that come and go
			table, err := plan.Parse([]byte("[pro]\norders_per_minute = " + string(rune('1'+n%9)) + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			l.Plans.Set(table)
			_ = admit(ownerName(1))
		}
	})
	if (*owners.Limits)(nil).Orders() != nil || (*owners.Limits)(nil).Processor(nil) != nil || (*owners.Limits)(nil).Refused() != nil {
		t.Error("one owner has limits")
	}
}

func TestLimits_Processor(t *testing.T) {
	t.Parallel()
	l := limited(t, "[pro]\nprocessor_seconds_per_hour = 2\n")
	took, until := 1999*time.Millisecond, time.Now().Add(time.Minute)
	admit := l.Processor(func(principal.Owner) (time.Duration, time.Time) { return took, until })
	if err := admit(ownerName(1)); err != nil {
		t.Error(err)
	}
	took = 2 * time.Second
	overPlan(t, l, admit(ownerName(1)), plan.Processor)
	if err := admit(ownerName(2)); err != nil {
		t.Errorf("an owner of another plan: %v", err)
	}
}

// A reload puts a changed file in force and records it. A file that the start would refuse changes nothing, and neither does one that cannot be recorded.
func TestPlans_Reload(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "plans.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var recorded []string
	var failing error
	p := owners.Plans{File: file, InForce: &plan.InForce{}, Log: slog.New(slog.DiscardHandler), Audit: func(_ context.Context, _ principal.Caller, kind, _ string, body []byte) error {
		if failing == nil {
			recorded = append(recorded, kind+" "+string(body))
		}
		return failing
	}}
	write("[pro]\nalerts = 300\n")
	now, err := p.Reload(t.Context())
	if err != nil || !slices.Equal(now.Plans, []string{"default", "pro"}) || !slices.Equal(now.Changed, []string{"pro"}) || p.InForce.Table().Of("pro").Alerts != 300 {
		t.Errorf("%+v, %v", now, err)
	}
	write("[pro]\nalerts = 0\n")
	if _, err := p.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "pro.alerts") {
		t.Errorf("a file that is wrong: %v", err)
	}
	write("[pro]\nalerts = 400\n")
	failing = errors.New("full")
	if _, err := p.Reload(t.Context()); !errors.Is(err, failing) || p.InForce.Table().Of("pro").Alerts != 300 {
		t.Errorf("not recorded: %v, %+v", err, p.InForce.Table().Of("pro"))
	}
	failing = nil
	for range 2 { // the second changes nothing
		if _, err := p.Reload(t.Context()); err != nil || p.InForce.Table().Of("pro").Alerts != 400 {
			t.Errorf("%v", err)
		}
	}
	if len(recorded) != 2 || !strings.HasPrefix(recorded[1], `plans_changed {"plans":["default","pro"],"changed":["pro"]}`) {
		t.Errorf("%q", recorded)
	}
}
