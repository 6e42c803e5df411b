package desk_test

import (
	"testing"
	"time"

	"candela/internal/testkit/longtest"
)

// TestDay_OneSampleAMinute holds a position while its price moves, into the next day.
func TestDay_OneSampleAMinute(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop() // an idle day of a desk costs the test's time, and shows nothing
		time.Sleep(23*time.Hour + 40*time.Minute - longtest.Pick(0, time.Hour))
		w.start()
		time.Sleep(2 * time.Second)
		w.place(buy("0.01"))
		w.price("50000")
		time.Sleep(3 * time.Minute)
		w.price("49000")
		time.Sleep(2 * time.Minute)
		day := w.Day()
		if len(day) < 5 || len(day) > 7 {
			t.Fatalf("%d samples in five minutes: %v", len(day), day)
		}
		for i, s := range day[1:] {
			if s.At.Sub(day[i].At) != time.Minute {
				t.Errorf("%v after %v", s.At, day[i].At)
			}
		}
		if last := day[len(day)-1].PnL; !last.LessThan(dec("-9")) || !last.GreaterThan(dec("-12")) {
			t.Errorf("10 lost, and the last sample is %v", last)
		}
		// Samples that were read stay as they are.
		first, n := day[0], len(day)
		time.Sleep(time.Duration(longtest.Pick(3, 60)) * time.Minute)
		if more := w.Day(); len(more) <= n || more[0] != first || len(day) != n {
			t.Errorf("%d samples after %d", len(more), n)
		}
		time.Sleep(time.Until(time.Now().UTC().Truncate(24 * time.Hour).Add(24*time.Hour + 90*time.Second)))
		if next := w.Day(); len(next) == 0 || len(next) > 3 || next[0].At.Day() == first.At.Day() {
			t.Errorf("the next day begins with %v", next)
		}
	})
}
