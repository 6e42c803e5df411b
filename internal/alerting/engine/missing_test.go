package engine_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/data/provider"
	"candela/lib/market"
)

// interrupt cuts the streams for a while, during which the bars are missed.
func (s *scene) interrupt(d time.Duration) {
	s.venue.setDown(true)
	time.Sleep(d)
	s.venue.setDown(false)
}

// closeAbove is an alert on the close of bars of a minute of BTC.
func closeAbove(price float64) alert.Alert {
	return alert.Alert{Symbol: symbol("BTC"), Interval: market.Minute1, Condition: alert.Condition{
		Type: alert.Value, Left: alert.Operand{Price: "close"}, Op: alert.Greater, Right: alert.Operand{Number: decimal.NewFromFloat(price)},
	}}
}

// After an outage prices fire alerts and reach orders at once, though the bars of the outage
// cannot be read; what depends on all bars waits for them and is late.
func TestEngine_PricesDoNotWaitForMissingBars(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{10 * time.Minute: 200}))
		defer func() { s.stop() }()
		price, closes := s.set(above("BTC", 150)), s.set(closeAbove(150))
		time.Sleep(2 * time.Minute)
		s.venue.setDry(true)
		s.interrupt(3 * time.Minute)
		time.Sleep(5*time.Minute + 10*time.Second)
		fired := s.fired()
		if len(fired) != 1 || fired[0].AlertID != price.ID || fired[0].Late || time.Since(fired[0].Triggered) > 10*time.Second {
			t.Fatalf("fired %+v", fired)
		}
		s.mu.Lock()
		last := s.observed[len(s.observed)-1]
		s.mu.Unlock()
		if last.Kind != provider.Forming || last.Price != 200 || time.Since(last.At) > tickEvery*time.Second {
			t.Errorf("orders saw last %+v", last)
		}
		time.Sleep(3 * time.Minute)
		if fired := s.fired(); len(fired) != 0 {
			t.Errorf("before all bars are known fired %+v", fired)
		}
		s.venue.setDry(false)
		time.Sleep(6 * time.Minute)
		if fired := s.fired(); len(fired) != 1 || fired[0].AlertID != closes.ID || !fired[0].Late || fired[0].Value != 200 {
			t.Errorf("then fired %+v", fired)
		}
	})
}

// A price that came and went while bars were missed is found afterwards, once, and is late.
func TestEngine_WhatMissingBarsHidIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{3 * time.Minute: 200, 5 * time.Minute: 100}))
		defer func() { s.stop() }()
		once := s.set(above("BTC", 150))
		crosses := above("BTC", 150)
		crosses.Condition.Type, crosses.Repeat = alert.PriceCrosses, alert.Repeat{MaxFires: 10, Cooldown: time.Minute}
		crosses = s.set(crosses)
		time.Sleep(2 * time.Minute)
		s.venue.setDry(true)
		s.interrupt(4 * time.Minute)
		time.Sleep(time.Minute) // in which newer prices come
		s.venue.setDry(false)
		time.Sleep(4 * time.Minute)
		fired := map[string][]float64{}
		for _, f := range s.fired() {
			fired[f.AlertID] = append(fired[f.AlertID], f.Value)
			if !f.Late || f.Triggered.After(monday.Add(6*time.Minute)) {
				t.Errorf("fired %+v", f)
			}
		}
		if !slices.Equal(fired[once.ID], []float64{200}) || !slices.Equal(fired[crosses.ID], []float64{200, 100}) {
			t.Errorf("fired %v", fired)
		}
	})
}

// An alert that came true while candela was stopped fires, also in the bar in which it expired.
func TestEngine_AnAlertThatCameTrueBeforeItsExpiryFires(t *testing.T) {
	t.Parallel()
	reached := monday.Add(3 * time.Minute).Truncate(time.Minute).Add(5 * time.Second)
	cases := map[string]struct {
		expires, started time.Duration // after the price was reached
		repeat           alert.Repeat
		fires            bool
	}{
		"in the bar before":               {expires: 90 * time.Second, started: 5 * time.Minute, fires: true},
		"in the same bar":                 {expires: 39 * time.Second, started: 5 * time.Minute, fires: true},
		"in the same bar, which is there": {expires: 10 * time.Second, started: 30 * time.Second, fires: true},
		"of one that fires again":         {expires: 39 * time.Second, started: 5 * time.Minute, repeat: alert.Repeat{MaxFires: 3, Cooldown: time.Minute}, fires: true},
		"a bar too late":                  {expires: -10 * time.Second, started: 5 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, steps(map[time.Duration]float64{reached.Sub(monday): 200, reached.Sub(monday) + 10*time.Second: 100}))
				defer func() { s.stop() }()
				a := above("BTC", 150)
				a.Expires, a.Repeat = reached.Add(tc.expires), tc.repeat
				a = s.set(a)
				s.stop()
				time.Sleep(time.Until(reached.Add(tc.started)))
				s.start()
				time.Sleep(5 * time.Minute)
				fired := s.fired()
				switch {
				case !tc.fires && len(fired) == 0:
				case tc.fires && len(fired) == 1 && fired[0].Late && !fired[0].Triggered.After(a.Expires):
				default:
					t.Errorf("fired %+v", fired)
				}
				if left := s.active(); len(left) != 0 {
					t.Errorf("still active: %v", left)
				}
			})
		})
	}
}
