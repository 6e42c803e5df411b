package desk_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// TestHeld_WhileNothingWatched holds what becomes of a stop that nothing watched for an hour.
func TestHeld_WhileNothingWatched(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		bars   []market.Bar
		err    error
		price  string // after the start
		sent   bool
		missed bool
	}{
		"the price stayed away":              {bars: []market.Bar{{L: 49000, H: 51000}}, price: "50000"},
		"it is beyond the stop":              {bars: []market.Bar{{L: 47000, H: 51000}}, price: "47500", sent: true},
		"it passed the stop and came back":   {bars: []market.Bar{{L: 47999, H: 51000}}, price: "50000", missed: true},
		"it passed the target and came back": {bars: []market.Bar{{L: 49000, H: 55000}}, price: "50000", missed: true},
		"it is not known":                    {err: errors.New("no bars"), price: "50000", missed: true},
		"it is not known, and beyond":        {err: errors.New("no bars"), price: "47500", sent: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inHeld(t, func(w *world) {
				var since atomic.Pointer[time.Time]
				w.bars = func(_ context.Context, _ market.Symbol, from time.Time) ([]market.Bar, error) {
					since.Store(&from)
					return tc.bars, tc.err
				}
				p := w.placed(bracket(buy("0.5")))
				time.Sleep(time.Minute)
				stopped := time.Now()
				w.stop()
				time.Sleep(time.Hour)
				w.venue.SetPrice(dec(tc.price))
				w.market.Set(p.Symbol, order.Quote{Last: dec(tc.price)})
				w.start()
				time.Sleep(5 * time.Second)
				if from := since.Load(); from == nil || stopped.Sub(*from).Abs() > time.Second {
					w.t.Errorf("bars were read since %v, it was stopped at %v", from, stopped)
				}
				if tc.sent {
					w.wants(w.order(p.Legs[0].ID), order.Filled)
					w.flat()
				} else {
					w.wants(w.order(p.Legs[0].ID), order.Held)
				}
				if got := w.restricted(guard.Unprotected); got != tc.missed {
					w.t.Errorf("unprotected is %v, want %v: %+v", got, tc.missed, w.Status().State.Restrictions)
				}
				if !tc.missed {
					return
				}
				if _, err := w.Resume(w.t.Context(), "owner"); err != nil {
					w.t.Fatal(err)
				}
				time.Sleep(2 * time.Second)
				if w.restricted(guard.Unprotected) {
					w.t.Error("restricted after the owner resumed")
				}
				w.tick("48000")
				w.wants(w.order(p.Legs[0].ID), order.Filled)
			})
		})
	}
}
