package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/analysis/indicator"
	"candela/internal/analysis/pine"
	"candela/internal/market"
	"candela/internal/store/scripts"
)

// fragile fails at the bar that opens at a time.
const fragile = `//@version=6
indicator("Fragile")
limit = input.int(%d, "Limit")
if time >= limit * 1000
    runtime.error("no more")
alertcondition(false, "Never")
plot(close, "Close")
`

// TestEngine_AFailedScriptEndsItsAlertsWithANotification has a script fail while alerts wait on it. Each of
// them ends with one notification that has the message and the line, also if the store refuses it at
// first; other alerts stay.
func TestEngine_AFailedScriptEndsItsAlertsWithANotification(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shelf := scripts.Open(t.TempDir(), false, pine.Compile)
		bad := monday.Truncate(time.Minute).Add(10 * time.Minute)
		if _, err := shelf.Save("fragile", fmt.Sprintf(fragile, bad.Unix())); err != nil {
			t.Fatal(err)
		}
		s := &scene{t: t, venue: newVenue(waves), dir: t.TempDir(), library: indicator.Library{Scripts: shelf}}
		time.Sleep(time.Until(monday))
		s.from = s.venue
		s.start()
		defer func() { s.stop() }()
		once := s.set(signal("BTC", market.Minute1, "fragile", "never"))
		again := signal("BTC", market.Minute1, "fragile", "never")
		again.Repeat = alert.Repeat{MaxFires: 5, Cooldown: time.Minute}
		repeats := s.set(again)
		other := signal("BTC", market.Minute1, "fragile", "never")
		other.Condition.Params = `{"limit":4000000000}`
		stays := s.set(other)
		time.Sleep(9 * time.Minute)
		if got := s.fired(); len(got) != 0 {
			t.Fatalf("before the failure there is %+v", got)
		}
		s.store.refuse(errors.New("disk full"))
		time.Sleep(3 * time.Minute)
		s.store.refuse(nil)
		time.Sleep(time.Minute)
		got := s.fired()
		told := map[string]bool{}
		for _, f := range got {
			told[f.AlertID] = strings.Contains(f.Error, "line 5") && strings.Contains(f.Error, "no more") && strings.Contains(f.Error, "fragile")
		}
		if len(got) != 2 || !told[once.ID] || !told[repeats.ID] {
			t.Errorf("the failure gives %+v", got)
		}
		if left := s.active(); len(left) != 1 || left[0] != stays.ID {
			t.Errorf("active alerts are %v, not %s", left, stays.ID)
		}
		s.stop()
		s.start()
		time.Sleep(5 * time.Minute)
		if got := s.fired(); len(got) != 0 {
			t.Errorf("after a restart there is %+v", got)
		}
	})
}
