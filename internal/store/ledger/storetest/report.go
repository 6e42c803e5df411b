package storetest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"candela/internal/alerting/alert"
)

// reportIdle reports an alert that nothing evaluates. It is reported once for a reason, also after a
// restart, stays as it was put, and is reported no more once it is gone.
func reportIdle(t *testing.T, s scene) {
	t.Helper()
	a, other := price("ann", "42"), price("ann", "43")
	put(t, s, a, other)
	broken := a
	broken.MarkBroken(errors.New("its script is gone"))
	at := time.Now().Truncate(time.Millisecond).UTC()
	report := func(one alert.Alert) int {
		t.Helper()
		entries, err := s.ReportAlerts(t.Context(), []alert.Firing{alert.Report(one, at)})
		must(t, err)
		for _, e := range entries {
			var said struct {
				ID    string `json:"alert_id"`
				Error string `json:"error"`
				State string `json:"state"`
			}
			if err := json.Unmarshal(e.Data, &said); err != nil || said.ID != a.ID || said.Error != one.Idle.Reason || said.State != alert.Broken || e.Owner != "ann" || e.Seq == 0 {
				t.Errorf("entry %d of %s: %s, %v", e.Seq, e.Owner, e.Data, err)
			}
		}
		return len(entries)
	}
	if first, second := report(broken), report(broken); first != 1 || second != 0 {
		t.Errorf("reported %d and then %d times", first, second)
	}
	must(t, s.Close())
	s.AlertStore = s.reopen(t)
	if n := report(broken); n != 0 {
		t.Errorf("reported %d times after a restart", n)
	}
	broken.MarkBroken(errors.New("its script cannot be read"))
	if n := report(broken); n != 1 {
		t.Errorf("another reason is reported %d times", n)
	}
	active(t, s, a, other)
	must(t, s.CancelAlert(t.Context(), caller("ann"), a.ID))
	broken.MarkBroken(errors.New("a third reason"))
	if n := report(broken); n != 0 {
		t.Errorf("a cancelled alert is reported %d times", n)
	}
	active(t, s, other)
}
