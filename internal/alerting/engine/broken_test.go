package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/ta"
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

// single is a library of one script.
type single struct{ def *ta.Def }

func (s single) Script(name string) (*ta.Def, error) {
	if strings.HasPrefix(name, s.def.Name) {
		return s.def, nil
	}
	return nil, nil
}
func (s single) Inline(string) (*ta.Def, error) { return s.def, nil }
func (s single) Stored() []*ta.Def              { return []*ta.Def{s.def} }
func (s single) Pin(*ta.Def) error              { return nil }

// fragileDef compiles fragile with the time of the bar that it fails at, in seconds.
func fragileDef(tb testing.TB, failsAt int64) *ta.Def {
	tb.Helper()
	def, err := pine.Compile("fragile", fmt.Sprintf(fragile, failsAt), nil)
	if err != nil {
		tb.Fatal(err)
	}
	def.Version = "0123456789ab"
	return def
}

// TestEngine_AFailedScriptEndsItsAlertsWithANotification has a script fail while alerts wait on it. Each of
// them ends with one notification that has the message and the line, also if the store refuses it at
// first; other alerts stay.
func TestEngine_AFailedScriptEndsItsAlertsWithANotification(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := monday.Truncate(time.Minute).Add(10 * time.Minute)
		def := fragileDef(t, bad.Unix())
		s := &scene{t: t, venue: newVenue(waves), dir: t.TempDir(), library: ta.Library{Scripts: single{def}}}
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
		reported := map[string]bool{}
		for _, f := range got {
			reported[f.AlertID] = strings.Contains(f.Error, "line 5") && strings.Contains(f.Error, "no more") && strings.Contains(f.Error, "fragile")
		}
		if len(got) != 2 || !reported[once.ID] || !reported[repeats.ID] {
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
