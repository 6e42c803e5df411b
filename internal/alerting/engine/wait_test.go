package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/lib/market"
)

// An alert whose indicator needs more bars than the window has waits until they are
// read. Bars that close meanwhile are still to be evaluated for it, also by the next
// run of the program.
func TestEngine_BarsThatALongerIndicatorWaitsForSetNoWatermark(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		defer func() { s.stop() }()
		s.set(signal("BTC", market.Minute1, "bbands", "breakout_up"))
		time.Sleep(10 * time.Second)
		s.venue.setDry(true)
		waits := s.set(signal("BTC", market.Minute1, "macd", "cross_up"))
		time.Sleep(2 * time.Hour)
		for _, f := range s.fired() {
			if f.AlertID == waits.ID {
				t.Fatalf("fired without its bars: %+v", f)
			}
		}
		s.stop()
		s.venue.setDry(false)
		s.start()
		time.Sleep(time.Minute)
		var notified []firing
		for _, f := range s.fired() {
			if f.AlertID == waits.ID {
				notified = append(notified, f)
			}
		}
		if s.hold([]alert.Alert{waits}, notified, time.Now()) != 1 {
			t.Error("nothing fired")
		}
	})
}

// Missed bars without enough history are not evaluated, and the log reports it:
// an indicator without the bars before it would differ from a chart.
func TestEngine_MissedBarsWithoutThoseBeforeThemFireNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		defer func() { s.stop() }()
		s.set(signal("BTC", market.Minute1, "macd", "cross_up"))
		s.stop()
		const read, history = 20_000, 1871 // bars in one load, and those that macd needs
		time.Sleep(15 * 24 * time.Hour)
		s.start()
		now := time.Now()
		time.Sleep(time.Minute)
		notified := s.fired()
		earliest := now.Add(-(read - history - 1) * time.Minute)
		if len(notified) != 1 || notified[0].Triggered.Before(earliest) || notified[0].Triggered.After(earliest.Add(6*time.Hour)) {
			t.Errorf("fired %+v, want one soon after %v", notified, earliest)
		}
		if s.logged("missed bars skipped: no history") != 1 {
			t.Error("the log does not say that bars were left out")
		}
	})
}
