package storetest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/lib/fault"
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

// setAside sets an alert aside. It is read as such, also after a restart, until its owner resumes it;
// then it may be set aside and reported again.
func setAside(t *testing.T, s scene) {
	t.Helper()
	a, other := price("ann", "42"), price("ann", "43")
	put(t, s, a, other)
	at := start().Add(time.Hour).Truncate(time.Millisecond)
	aside := a
	aside.Idle = &alert.Idle{State: alert.SetAside, Reason: "candela ended while it evaluated its script", At: at}
	entries, err := s.ReportAlerts(t.Context(), []alert.Firing{alert.Report(aside, at)})
	must(t, err)
	if len(entries) != 1 || !strings.Contains(string(entries[0].Data), `"state":"set_aside"`) {
		t.Errorf("reported %+v", entries)
	}
	active(t, s, aside, other)
	must(t, s.Close())
	s.AlertStore = s.reopen(t)
	active(t, s, aside, other)
	wantKind(t, s.ResumeAlert(t.Context(), caller("bob"), a.ID), fault.Conflict)
	wantKind(t, s.ResumeAlert(t.Context(), caller("ann"), other.ID), fault.Conflict)
	wantKind(t, s.ResumeAlert(t.Context(), caller("ann"), "none"), fault.Conflict)
	must(t, s.ResumeAlert(t.Context(), caller("ann"), a.ID))
	wantKind(t, s.ResumeAlert(t.Context(), caller("ann"), a.ID), fault.Conflict)
	for _, one := range collect(t, s.Alerts(t.Context())) {
		if one.Idle != nil || one.Resumed.IsZero() != (one.ID != a.ID) {
			t.Errorf("after the resume: %+v", one)
		}
	}
	aside.Idle.At = at.Add(time.Hour)
	entries, err = s.ReportAlerts(t.Context(), []alert.Firing{alert.Report(aside, at)})
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("the second time gives %d reports", len(entries))
	}
	must(t, s.CancelAlert(t.Context(), caller("ann"), a.ID))
	active(t, s, other)
	wantKind(t, s.ResumeAlert(t.Context(), caller("ann"), a.ID), fault.Conflict)
}
