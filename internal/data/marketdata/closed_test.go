package marketdata_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// Closed bars are read again when another one has closed, not before.
func TestBars_ClosedOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &venue{name: "binance"}
		s := service(t, nil, v)
		ask := func(closed bool, want int) {
			t.Helper()
			r := btc(20, 0)
			r.Closed = closed
			set, err := s.Bars(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(v.calls()); n != want {
				t.Errorf("%d requests, want %d", n, want)
			}
			if last := set.Bars.T[set.Bars.Len()-1]; !set.Forming || time.Now().Unix()-last >= 300 {
				t.Errorf("the last bar began %d s ago, forming %v", time.Now().Unix()-last, set.Forming)
			}
		}
		time.Sleep(7 * time.Second)
		ask(true, 1)
		time.Sleep(4 * time.Minute)
		ask(true, 1)
		ask(false, 2)
		time.Sleep(time.Minute)
		ask(true, 3)
	})
}
