package alerts_test

import (
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/replicatest"
	"candela/lib/fault"
)

// A former leader may not know a message that was just written. Callers must not act on that.

func TestStaleRead_AlertsStillFireAndEnd(t *testing.T) {
	t.Parallel()
	ann, conn := principal.Caller{Subject: "ann"}, replicatest.Connect(t, replicatest.Servers(), replicatest.NewPrefix())
	s, err := alerts.Open(t.Context(), conn, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	set := make([]alert.Alert, 3)
	for i := range set {
		set[i] = replicatest.PriceAlert(i)
		if err := s.PutAlert(t.Context(), ann, set[i]); err != nil {
			t.Fatal(err)
		}
	}
	replicatest.StaleReads(conn, 2)
	fired, err := s.FireAlerts(t.Context(), []alert.Firing{{Alert: set[0], Value: 1, At: time.Now()}, {Alert: set[1], Value: 1, At: time.Now()}})
	if err != nil || len(fired) != 2 {
		t.Errorf("%d of 2 fired, %v", len(fired), err)
	}
	replicatest.StaleReads(conn, 1)
	if err := s.CancelAlert(t.Context(), ann, set[2].ID); err != nil {
		t.Error(err)
	}
	// Missing and ended alerts are still reported.
	for _, id := range []string{"none", set[2].ID} {
		if err := s.CancelAlert(t.Context(), ann, id); fault.KindOf(err) != fault.NotFound {
			t.Errorf("cancel %s: %v", id, err)
		}
	}
	if fired, err = s.FireAlerts(t.Context(), []alert.Firing{{Alert: replicatest.PriceAlert(3), Value: 1, At: time.Now()}}); err != nil || len(fired) != 0 {
		t.Errorf("an alert that was never set: %d fired, %v", len(fired), err)
	}
}
