package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/lib/market"
)

// TestScript_SignalsWithinTheBarOnce holds that an alert on ticks fires within the bar when a script signals, once in
// each bar, whether the engine restarts within it or not.
func TestScript_SignalsWithinTheBarOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := newGate(t)
		defer func() { s.stop() }()
		a := signal("BTC", market.Minute5, "gate", "bar")
		a.OnTick, a.Repeat = true, alert.Repeat{MaxFires: 100}
		s.set(a)
		began := time.Now()
		time.Sleep(12*time.Minute + 30*time.Second)
		s.stop()
		s.start()
		time.Sleep(20 * time.Minute)
		s.stop()
		s.start()
		time.Sleep(5 * time.Minute)
		within, bars := 0, map[int64]int{}
		for _, f := range s.fired() {
			at := f.Triggered
			bars[at.Add(-time.Nanosecond).Unix()/300]++
			if at.UnixMilli()%300_000 != 0 {
				within++
			}
		}
		for bar, n := range bars {
			if n != 1 {
				t.Errorf("%d firings in the bar of %s", n, time.Unix(bar*300, 0).UTC())
			}
		}
		if want := int(time.Since(began)/(5*time.Minute)) + 1; len(bars) != want || within < want-2 {
			t.Errorf("%d bars have a firing, %d of them within; want %d", len(bars), within, want)
		}
	})
}
