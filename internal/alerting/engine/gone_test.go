package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
)

// renamed is a venue under another name.
type renamed struct{ *venue }

func (renamed) Name() string { return "other" }

// An alert whose venue is gone after a restart is listed as such, logged once, and evaluated
// again when the venue is back.
func TestEngine_AnAlertOnAVenueThatIsGoneWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{time.Hour: 200, 2 * time.Hour: 100}))
		defer func() { s.stop() }()
		price, closes := s.set(above("BTC", 150)), s.set(closeAbove(150))
		there := s.from
		restart := func(from provider.Provider) {
			s.stop()
			s.from = from
			s.start()
		}
		restart(renamed{s.venue})
		time.Sleep(3 * time.Hour)
		all, err := s.Alerts(t.Context(), ann())
		if err != nil || len(all) != 2 {
			t.Fatalf("listed %v, %v", all, err)
		}
		for i := range all {
			if why := s.NotEvaluated(&all[i]); !strings.Contains(why, "venue venue is not set up") {
				t.Errorf("%s is not evaluated because %q", all[i].ID, why)
			}
		}
		if now := s.Status(); now.Alerts != 2 || now.NotEvaluated != 2 || now.Loading != 0 {
			t.Errorf("status %+v", now)
		}
		if n := s.logged("venue not set up"); n != 1 || s.logged("history load failed") != 0 {
			t.Errorf("logged %d times: %s", n, &s.log)
		}
		restart(there)
		time.Sleep(time.Minute)
		if why := s.NotEvaluated(&all[0]); why != "" || s.Status().NotEvaluated != 0 {
			t.Errorf("with the venue: %q, %+v", why, s.Status())
		}
		fired := map[string]bool{}
		for _, f := range s.fired() {
			fired[f.AlertID] = f.Late
		}
		if len(fired) != 2 || !fired[price.ID] || !fired[closes.ID] {
			t.Errorf("fired %v", fired)
		}
	})
}
