package engine_test

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestEngine_ASymbolThatIsGoneKeepsNoAlertFromExpiring(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(nil))
		defer func() { s.stop() }()
		lasting := s.set(above("GONE", 150))
		for _, name := range []string{"GONE", "BTC"} {
			a := above(name, 150)
			a.Expires = time.Now().Add(5 * time.Minute)
			s.set(a)
		}
		s.stop()
		s.venue.gone = "GONE"
		s.start()
		time.Sleep(15 * time.Minute)
		for a, err := range s.store.Alerts(t.Context()) {
			if err != nil || a.ID != lasting.ID {
				t.Errorf("still stored: %v %v", a, err)
			}
		}
	})
}

// While the bars of one venue are missing, its alerts may have come true in time.
func TestEngine_AnAlertDoesNotExpireWhileItsBarsAreMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{3 * time.Minute: 200}))
		defer func() { s.stop() }()
		a := above("BTC", 150)
		a.Expires = time.Now().Add(5 * time.Minute)
		a = s.set(a)
		s.stop()
		s.venue.setDown(true)
		s.start()
		time.Sleep(time.Hour)
		s.venue.setDown(false)
		time.Sleep(10 * time.Minute)
		if notified := s.fired(); len(notified) != 1 || notified[0].AlertID != a.ID || !notified[0].Late {
			t.Errorf("fired %+v", notified)
		}
	})
}

// A loop that stood still has the bars of that time still to come.
func TestEngine_AnAlertDoesNotExpireBeforeWhatWasMissedIsSeen(t *testing.T) {
	t.Parallel()
	for range 8 { // which of two things is handled first is a matter of chance
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t, steps(map[time.Duration]float64{70 * time.Second: 200, 180 * time.Second: 300}))
			defer s.stop()
			s.set(above("BTC", 150))
			a := above("BTC", 250)
			a.Expires = time.Now().Add(200 * time.Second)
			a = s.set(a)
			s.store.stall(10 * time.Minute) // when the first one fires
			time.Sleep(20 * time.Minute)
			if notified := s.fired(); len(notified) != 2 || notified[1].AlertID != a.ID {
				t.Errorf("fired %+v", notified)
			}
		})
	}
}
