package engine_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/principal"
	"candela/lib/market"
)

// TestSuspend_NothingFiresUntilResumed suspends an owner: alerts stay listed and do not fire,
// also after a restart. After Resume only later prices count.
func TestSuspend_NothingFiresUntilResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{
			2 * time.Minute: 200, 4 * time.Minute: 100, 8 * time.Minute: 200, 9 * time.Minute: 100, 14 * time.Minute: 200,
		}))
		defer func() { s.stop() }()
		s.suspended = func(owner principal.Owner) bool { return owner == "ann" }
		a, series := s.set(above("BTC", 150)), s.set(signal("ETH", market.Minute1, "rsi", "rsi_oversold"))
		if err := s.Suspend(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		wantQuiet(t, s, a.ID, series.ID)
		s.stop()
		s.start() // which hears from its store who is suspended
		time.Sleep(5 * time.Minute)
		wantQuiet(t, s, a.ID, series.ID)
		s.suspended = nil
		if err := s.Resume(t.Context(), "ann", all); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if notified := s.fired(); len(notified) != 0 {
			t.Errorf("fired for what was meanwhile: %+v", notified)
		}
		time.Sleep(5 * time.Minute)
		if notified := s.fired(); len(notified) != 1 || notified[0].AlertID != a.ID || notified[0].Late {
			t.Errorf("fired %+v", notified)
		}
		if ids := s.active(); !slices.Equal(ids, []string{series.ID}) {
			t.Errorf("active %v", ids)
		}
	})
}

func wantQuiet(t *testing.T, s *scene, ids ...string) {
	t.Helper()
	if notified := s.fired(); len(notified) != 0 {
		t.Errorf("fired %+v", notified)
	}
	slices.Sort(ids) // two of one millisecond have any order
	if got := slices.Sorted(slices.Values(s.active())); !slices.Equal(got, ids) {
		t.Errorf("listed %v", got)
	}
}
