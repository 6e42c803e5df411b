package desk_test

import (
	"testing"
	"time"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// sell asks for an exit at market.
func sell(quantity string) order.Request {
	r := buy(quantity)
	r.Side, r.ReduceOnly = order.Sell, true
	return r
}

// TestProtector_APairBesideAnEntryWithoutItsStop holds that the pair of a plain purchase is not taken
// for the stop that an entry beside it lacks and the desk places again.
func TestProtector_APairBesideAnEntryWithoutItsStop(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		entry := w.placed(bracket(buy("0.4")))
		time.Sleep(2 * time.Second)
		for _, leg := range entry.Legs {
			if leg.Role == order.TakeProfit {
				w.venue.Trade(leg.ID, dec("0.1")) // Binance ends the stop
			}
		}
		w.wants(w.place(buy("0.2")), order.Filled)
		p := w.placed(pair("0.2"))
		if p.Parent != p.ID {
			w.t.Errorf("the pair protects %s", p.Parent)
		}
		time.Sleep(time.Minute)
		w.wantsStop("0.5")
		if w.restricted(guard.Unprotected) {
			w.t.Errorf("restricted: %+v", w.Status().State)
		}
	})
}

// TestProtector_APairOfWhatAnEntryLacks holds that a pair of exactly the quantity which an entry lacks is
// the entry's where the venue refused its stop, although something else is held.
func TestProtector_APairOfWhatAnEntryLacks(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		w.wants(w.place(buy("0.3")), order.Filled)
		entry := w.placed(bracket(limit("0.4", "49000")))
		w.venue.Trade(entry.ID, dec("0.1"))
		time.Sleep(2 * time.Second)
		w.venue.Fail(brokertest.Fault{}, brokertest.Fault{Fate: broker.ErrRejected})
		if _, err := w.Cancel(w.t.Context(), caller(), entry.ID); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if !w.restricted(guard.Unprotected) {
			w.t.Fatal("the refused stop is not seen")
		}
		if p := w.placed(pair("0.1")); p.Parent != entry.ID {
			w.t.Errorf("the pair protects %q, want %s", p.Parent, entry.ID)
		}
		time.Sleep(time.Minute)
		w.wantsStop("0.1")
		if w.restricted(guard.Unprotected) {
			w.t.Errorf("restricted: %+v", w.Status().State)
		}
	})
}

// TestProtector_AnExitClosesWhatItReleases holds that an exit which releases the legs of one entry, or
// the pair of a plain purchase, closes that: what is bought afterwards gets no stop that nobody
// asked for.
func TestProtector_AnExitClosesWhatItReleases(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*world){
		"of an entry": func(w *world) { w.placed(bracket(buy("0.3"))) },
		"of a plain purchase": func(w *world) {
			w.wants(w.place(buy("0.3")), order.Filled)
			w.placed(pair("0.3"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inManner(t, func(w *world) {
				open(w)
				time.Sleep(2 * time.Second)
				if x := w.place(sell("0.1")); x.Status != order.Filled || x.Parent != "" {
					w.t.Errorf("the exit is %v and closes %q", x.Status, x.Parent)
				}
				w.wants(w.place(buy("0.5")), order.Filled)
				time.Sleep(time.Minute)
				w.wantsStop("0.2")
				w.stop()
				w.start()
				time.Sleep(time.Minute)
				w.wantsStop("0.2")
				// A sale takes first the part that nobody asked to protect, then the one with a stop.
				if x := w.place(sell("0.4")); x.Status != order.Filled || x.Parent != "" {
					w.t.Errorf("the sale is %v and closes %q", x.Status, x.Parent)
				}
				time.Sleep(time.Minute)
				w.wantsStop("0.2")
				if w.restricted(guard.Unprotected) {
					w.t.Errorf("restricted: %+v", w.Status().State)
				}
				if x := w.place(sell("0.2")); x.Status != order.Filled || x.Parent != "" {
					w.t.Errorf("the sale of both is %v and closes %q", x.Status, x.Parent)
				}
				time.Sleep(time.Minute)
				w.wantsStop("0.1")
			})
		})
	}
}

// TestProtector_AnExitWhoseLegsAreFilled holds that an exit is not sent if the target that it releases
// is filled first: it would close what another entry brought. So does a stop that is moved.
func TestProtector_AnExitWhoseLegsAreFilled(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(entry order.Placed) order.Request{
		"an exit": func(order.Placed) order.Request { return sell("0.1") },
		"a move": func(entry order.Placed) order.Request {
			r := pair("0.3")
			r.Protect.StopLoss, r.Replaces = dec("48100"), entry.Legs[0].ID
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inManner(t, func(w *world) {
				entry := w.placed(bracket(buy("0.3"))) // the oldest is closed first
				time.Sleep(time.Second)
				w.placed(bracket(buy("0.2")))
				time.Sleep(2 * time.Second)
				w.venue.Fail(brokertest.Fault{Fate: broker.ErrUnknown}) // the cancel is lost
				done := make(chan order.Placed)
				go func() {
					p, _ := w.Place(w.t.Context(), caller(), ask(entry))
					done <- p
				}()
				time.Sleep(100 * time.Millisecond)
				w.venue.Trade(entry.Legs[1].ID, dec("0.3"))
				if p := <-done; p.Status != order.Denied || p.Denial.Rule != "reduce_only" {
					w.t.Errorf("the order is %v: %s", p.Status, p.Reason)
				}
				time.Sleep(time.Minute)
				w.wantsStop("0.2")
				if w.Status().State.Level() != guard.Active {
					w.t.Errorf("restricted: %+v", w.Status().State)
				}
			})
		})
	}
}
