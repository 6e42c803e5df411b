package desk_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// TestForced_IsBookedAndHalts holds that what the venue closes by itself is booked with its cause, halts trading and
// is no mismatch at any time, whether its report comes, comes late, or an order of ours on the same side has no
// answer yet.
func TestForced_IsBookedAndHalts(t *testing.T) {
	t.Parallel()
	ways := map[string]func(w *world, cause string){
		"reported": func(w *world, cause string) { w.venue.Force(dec("0.4"), cause) },
		"while the stream is down": func(w *world, cause string) {
			w.venue.Deaf(errors.New("no answer"))
			w.venue.Drop()
			time.Sleep(time.Second)
			w.venue.Force(dec("0.4"), cause)
			w.venue.Deaf(nil)
		},
		"while candela is down": func(w *world, cause string) {
			w.stop()
			w.venue.Force(dec("0.4"), cause)
			w.start()
		},
		"beside an order without an answer": func(w *world, cause string) {
			w.venue.Fail(brokertest.Fault{Fate: broker.ErrUnknown})
			w.wants(w.place(order.Request{Symbol: brokertest.MemorySymbol(), Side: order.Sell, Type: order.Market, Quantity: dec("0.1"), ReduceOnly: true}), order.Uncertain)
			w.stop()
			w.venue.Force(dec("0.4"), cause)
			w.start()
		},
	}
	for way, force := range ways {
		for _, cause := range order.Causes() {
			t.Run(way+" "+cause, func(t *testing.T) {
				t.Parallel()
				inWorld(t, func(w *world) {
					w.wants(w.place(buy("1")), order.Filled)
					time.Sleep(time.Minute)
					force(w, cause)
					for i := range 60 {
						time.Sleep(time.Second)
						if w.restricted(guard.Mismatch) {
							t.Fatalf("%d s after: %+v", i, w.Status().State.Restrictions)
						}
						if booked := w.store.Book(owner).Position(brokertest.MemorySymbol()).Quantity; i > 30 && !booked.Equal(dec("0.6")) {
							t.Fatalf("%d s after: %v is held", i, booked)
						}
					}
					w.level(guard.Halted)
					if !w.restricted(guard.Liquidated) {
						t.Errorf("%+v", w.Status().State.Restrictions)
					}
					if trades := w.store.Book(owner).Trades(); len(trades) != 1 || trades[0].Reason != cause || !trades[0].Quantity.Equal(dec("0.4")) {
						t.Errorf("%+v", trades)
					}
					if !w.noticed(order.NoticeFilled, cause) {
						t.Errorf("no notice with the reason %s", cause)
					}
				})
			})
		}
	}
}

// noticed reports whether there is a notice of an event with a reason.
func (w *world) noticed(event, reason string) bool {
	for _, n := range w.store.Notices() {
		var r order.NoticeRecord
		if err := json.Unmarshal(n.Data, &r); err != nil {
			w.t.Fatal(err)
		}
		if r.Event == event && r.Reason == reason {
			return true
		}
	}
	return false
}
