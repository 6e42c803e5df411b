package alerts_test

import (
	"context"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/replicatest"
	"candela/lib/fault"
)

// set sets an alert at a price that is not reached yet, as clients do: it retries if nothing was
// executed, and looks at the list where the outcome is unknown. Servers and replicas that stand
// still for a while are enough for both.
func set(tb testing.TB, at *replica, a alert.Alert) string {
	tb.Helper()
	for began := time.Now(); ; {
		one, err := at.Set(context.WithoutCancel(tb.Context()), principal.Caller{Subject: "ann", Key: "k"}, a)
		if err == nil {
			return one.ID
		}
		f := fault.Of(err)
		if f != nil && f.Code == "outcome_unknown" {
			if id := findAlert(tb, at, a); id != "" {
				return id
			}
			continue // later than that no replica executes the call
		}
		if f == nil || !f.Retryable || time.Since(began) > replicatest.Patience {
			tb.Error(err)
			return ""
		}
	}
}

// findAlert looks for an alert for longer than a call may be delayed, and returns its id, or "".
func findAlert(tb testing.TB, at *replica, want alert.Alert) string {
	tb.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < time.Minute; <-tick.C {
		list, err := at.Alerts(context.WithoutCancel(tb.Context()), principal.Caller{Subject: "ann"})
		if err != nil {
			continue
		}
		for _, a := range list {
			if a.Symbol.Name == want.Symbol.Name && a.Condition.Threshold.Equal(want.Condition.Threshold) {
				return a.ID
			}
		}
	}
	return ""
}

// catchUp waits until a replica has read all changes.
func catchUp(tb testing.TB, r *replica) {
	tb.Helper()
	replicatest.Eventually(tb, "the feed has caught up", func() bool { return again(tb, r.feed.CatchUp(tb.Context())) })
}

// listed returns the alerts that a replica lists.
func listed(tb testing.TB, r *replica) (list []alert.Alert) {
	tb.Helper()
	replicatest.Eventually(tb, "the alerts are listed", func() bool {
		var err error
		list, err = r.Alerts(tb.Context(), principal.Caller{Subject: "ann"})
		return again(tb, err)
	})
	return list
}

// again reports whether there was no error. One that clients need not retry ends the test.
func again(tb testing.TB, err error) (succeeded bool) {
	tb.Helper()
	if f := fault.Of(err); err != nil && (f == nil || !f.Retryable) {
		tb.Fatal(err)
	}
	return err == nil
}
