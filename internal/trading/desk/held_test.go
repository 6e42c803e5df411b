package desk_test

import (
	"strings"
	"testing"
	"time"

	"candela/internal/data/provider"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// inHeld runs a test at a venue that takes market and limit orders alone, with a policy that
// lets candela hold stops.
func inHeld(t *testing.T, test func(w *world)) {
	t.Helper()
	inWorld(t, func(w *world) {
		w.stop()
		w.venue.Behave(brokertest.Plain)
		w.policy.HeldStops = guard.HeldAllow
		w.start()
		time.Sleep(2 * time.Second)
		test(w)
	})
}

// tick sets the price at the venue and passes it to the desk, as the feed does.
func (w *world) tick(price string) {
	w.venue.SetPrice(dec(price))
	w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec(price)})
	w.seen(price)
	time.Sleep(100 * time.Millisecond)
}

// seen passes a price to the desk.
func (w *world) seen(price string) {
	p := dec(price).InexactFloat64()
	w.Observe(provider.Event{
		Sub: provider.Sub{Symbol: brokertest.MemorySymbol(), Interval: market.Minute1}, Kind: provider.Forming,
		Bar: market.Bar{T: time.Now().Unix() / 60 * 60, O: p, H: p, L: p, C: p}, Price: p, At: time.Now(),
	})
}

// flat holds that nothing is held and nothing is open.
func (w *world) flat() {
	w.t.Helper()
	positions, err := w.Positions(w.t.Context(), caller())
	if err != nil || len(positions) != 0 {
		w.t.Errorf("held is %+v, %v", positions, err)
	}
	if open, _ := w.Orders(w.t.Context(), caller(), true); len(open) != 0 {
		w.t.Errorf("open are %+v", open)
	}
}

func TestHeld_RefusedWithoutThePolicy(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.venue.Behave(brokertest.Plain)
		_, err := w.Place(w.t.Context(), caller(), bracket(buy("0.5")))
		if f := fault.Of(err); f == nil || !strings.Contains(f.Message, "protection_not_native") {
			w.t.Errorf("refused with %v", err)
		}
	})
}

// TestHeld_ABracket holds that the venue gets the entry alone, that candela records the legs
// with it in one commit, and that the stop is sent once when its price is reached.
func TestHeld_ABracket(t *testing.T) {
	t.Parallel()
	inHeld(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		w.wants(p.Order, order.Filled)
		time.Sleep(time.Second)
		stop, target := w.order(p.Legs[0].ID), w.order(p.Legs[1].ID)
		for _, o := range []order.Order{stop, target} {
			w.wants(o, order.Held)
			if o.Holder != order.HolderCandela || o.Waiting || o.Parent != p.ID || !o.Local() {
				w.t.Errorf("held is %+v", o)
			}
		}
		if n := len(w.venue.Orders()); n != 1 {
			w.t.Errorf("the venue has %d orders", n)
		}
		time.Sleep(time.Minute)
		if w.restricted(guard.Unprotected) {
			w.t.Error("unprotected with a held stop")
		}
		positions, _ := w.Positions(w.t.Context(), caller())
		if len(positions) != 1 || !positions[0].Protected.Equal(dec("0.5")) {
			w.t.Errorf("the position is %+v", positions)
		}
		w.tick("48001")
		w.wants(w.order(stop.ID), order.Held)
		w.tick("48000")
		w.wants(w.order(stop.ID), order.Filled)
		w.wants(w.order(target.ID), order.Canceled)
		if o := w.order(stop.ID); o.Triggered.IsZero() || w.taken(stop.ID) != 1 {
			w.t.Errorf("sent as %+v, %d times", o, w.taken(stop.ID))
		}
		w.flat()
	})
}

func TestHeld_ATargetIsALimitOrder(t *testing.T) {
	t.Parallel()
	inHeld(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		time.Sleep(time.Second)
		w.tick("55000")
		w.wants(w.order(p.Legs[1].ID), order.Filled)
		w.tick("55000")
		w.wants(w.order(p.Legs[0].ID), order.Canceled)
		time.Sleep(2 * time.Second)
		w.flat()
	})
}

// TestHeld_ATargetThatRests holds that a target which the market left again is cancelled
// before the stop is sent, for what the target did not close.
func TestHeld_ATargetThatRests(t *testing.T) {
	t.Parallel()
	inHeld(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		time.Sleep(time.Second)
		stop, target := p.Legs[0].ID, p.Legs[1].ID
		w.seen("55000") // which the venue never traded
		time.Sleep(time.Second)
		w.wants(w.order(target), order.Accepted)
		w.venue.Trade(target, dec("0.2"))
		time.Sleep(2 * time.Second)
		if o := w.order(stop); o.Status != order.Held || !o.Quantity.Equal(dec("0.3")) {
			w.t.Errorf("the stop is %v over %v", o.Status, o.Quantity)
		}
		w.tick("47000")
		time.Sleep(2 * time.Second)
		w.wants(w.order(target), order.Canceled)
		w.wants(w.order(stop), order.Filled)
		w.flat()
		if w.restricted(guard.LegOverfill) {
			w.t.Error("more was closed than was bought")
		}
	})
}

// TestHeld_AnEntryInPart holds that legs work for what is filled, and end with an entry that
// is not.
func TestHeld_AnEntryInPart(t *testing.T) {
	t.Parallel()
	inHeld(t, func(w *world) {
		p := w.placed(bracket(limit("0.5", "49000")))
		w.wants(p.Order, order.Accepted)
		if o := w.order(p.Legs[0].ID); !o.Waiting || o.Status != order.Held {
			w.t.Errorf("before the fill the stop is %+v", o)
		}
		w.seen("47000") // nothing is held
		time.Sleep(time.Second)
		w.wants(w.order(p.Legs[0].ID), order.Held)
		w.venue.Trade(p.ID, dec("0.2"))
		time.Sleep(2 * time.Second)
		if o := w.order(p.Legs[0].ID); o.Waiting || !o.Quantity.Equal(dec("0.2")) {
			w.t.Errorf("the stop is over %v, %+v", o.Quantity, o)
		}
		if _, err := w.Cancel(w.t.Context(), caller(), p.ID); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := len(w.exits(p.ID)); n != 2 || w.restricted(guard.Unprotected) {
			w.t.Errorf("%d exits, %+v", n, w.Status().State.Restrictions)
		}
		w.tick("48000")
		w.wants(w.order(p.Legs[0].ID), order.Filled)
		w.flat()

		w.tick("50000")
		p = w.placed(bracket(limit("0.5", "49500")))
		if _, err := w.Cancel(w.t.Context(), caller(), p.ID); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(time.Second)
		w.flat()
	})
}

// TestHeld_ATrail holds that the stop follows the price, also over a restart.
func TestHeld_ATrail(t *testing.T) {
	t.Parallel()
	inHeld(t, func(w *world) {
		r := buy("0.5")
		r.Protect = order.Protection{TrailPercent: dec("2")}
		p := w.placed(r)
		time.Sleep(time.Second)
		for _, price := range []string{"51000", "52000", "51500"} {
			w.tick(price)
		}
		time.Sleep(15 * time.Second)
		w.stop()
		w.start()
		time.Sleep(3 * time.Second)
		w.tick("50961")
		w.wants(w.order(p.Legs[0].ID), order.Held)
		w.tick("50960") // 2 % below 52000
		w.wants(w.order(p.Legs[0].ID), order.Filled)
		w.flat()
	})
}

// TestHeld_AStopOfItsOwn holds what a client can do with a stop that candela holds.
func TestHeld_AStopOfItsOwn(t *testing.T) {
	t.Parallel()
	inHeld(t, func(w *world) {
		w.place(buy("0.5"))
		p := w.placed(pair("0.5"))
		w.wants(p.Order, order.Held)
		if len(p.Legs) != 1 || p.Legs[0].Holder != order.HolderCandela || len(w.venue.Orders()) != 1 {
			w.t.Fatalf("placed %+v", p)
		}
		r := pair("0.5")
		r.Replaces, r.Protect.StopLoss = p.ID, dec("49000")
		moved := w.placed(r)
		w.wants(moved.Order, order.Held)
		w.wants(w.order(p.Legs[0].ID), order.Canceled)
		if _, err := w.Cancel(w.t.Context(), caller(), moved.Legs[0].ID); err != nil {
			w.t.Errorf("the stop alone: %v", err)
		}
		w.wants(w.order(moved.ID), order.Held)
		exit := buy("0.2")
		exit.Side, exit.ReduceOnly = order.Sell, true
		w.wants(w.place(exit), order.Filled)
		w.wants(w.order(moved.ID), order.Held)
		if left := w.order(moved.ID).Quantity; !left.Equal(dec("0.3")) {
			w.t.Errorf("the target is for %v", left)
		}

		p = w.placed(pair("0.3"))
		w.wants(w.order(moved.ID), order.Canceled)
		if _, err := w.Halt(w.t.Context(), "owner", ""); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		w.wants(w.order(p.ID), order.Held)
		w.tick("48000") // a halt keeps stops
		w.wants(w.order(p.Legs[0].ID), order.Filled)
		w.flat()
	})
}

func TestHeld_HaltAllEndsIt(t *testing.T) {
	t.Parallel()
	inHeld(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		if _, err := w.HaltAll(w.t.Context(), "owner", ""); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		w.wants(w.order(p.Legs[0].ID), order.Canceled)
		w.tick("40000")
		if n := len(w.venue.Orders()); n != 1 {
			w.t.Errorf("the venue has %d orders", n)
		}
	})
}

// TestHeld_RestartAndFailures holds that after every end a stop was sent once or not at all,
// and that what is left has one that works.
func TestHeld_RestartAndFailures(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		fault  brokertest.Fault
		kill   bool   // while it is being sent
		then   string // the price after that
		closed bool
	}{
		"nothing left the machine":                  {fault: brokertest.Fault{Fate: broker.ErrNotSent}, then: "47000", closed: true},
		"the answer was lost":                       {fault: brokertest.Fault{Fate: broker.ErrUnknown, Done: true}, then: "47000", closed: true},
		"the order was lost":                        {fault: brokertest.Fault{Fate: broker.ErrUnknown}, then: "47000", closed: true},
		"the order was lost, the price came back":   {fault: brokertest.Fault{Fate: broker.ErrUnknown}, then: "50000"},
		"killed before it was sent":                 {fault: brokertest.Fault{Hang: true}, kill: true, then: "47000", closed: true},
		"killed before it was sent, the price came": {fault: brokertest.Fault{Hang: true}, kill: true, then: "50000"},
		"killed after it was sent":                  {fault: brokertest.Fault{Hang: true, Done: true}, kill: true, then: "50000", closed: true},
	}
	for name, tc := range cases {
		for kind, r := range map[string][]order.Request{"a bracket": {bracket(buy("0.5"))}, "a stop alone": {buy("0.5"), stopAlone("0.5")}} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				inHeld(t, func(w *world) {
					for _, one := range r {
						w.place(one)
					}
					time.Sleep(time.Second)
					w.venue.Fail(tc.fault)
					w.tick("47500")
					if tc.kill {
						w.kill()
						w.start()
					}
					w.tick(tc.then)
					time.Sleep(3 * time.Minute)
					w.tick(tc.then)
					time.Sleep(time.Second)
					sold := dec("0")
					for _, o := range w.venue.Orders() {
						if o.Side == order.Sell {
							sold = sold.Add(o.Filled)
						}
					}
					if tc.closed {
						if !sold.Equal(dec("0.5")) {
							w.t.Errorf("sold %v", sold)
						}
						w.flat()
						return
					}
					positions, _ := w.Positions(w.t.Context(), caller())
					if !sold.IsZero() || len(positions) != 1 || !positions[0].Protected.Equal(dec("0.5")) {
						w.t.Errorf("sold %v, the position is %+v", sold, positions)
					}
				})
			})
		}
	}
}

// stopAlone asks for a stop of what is held.
func stopAlone(quantity string) order.Request {
	r := pair(quantity)
	r.Protect.TakeProfit = dec("0")
	return r
}

// TestHeld_ABarThatCameLate holds that a stop is sent when a bar that was missing shows that
// its price was reached, but not for a bar from before the order.
func TestHeld_ABarThatCameLate(t *testing.T) {
	t.Parallel()
	inHeld(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		stop := p.Legs[0].ID
		late := func(began time.Time) {
			w.Observe(provider.Event{
				Sub: provider.Sub{Symbol: brokertest.MemorySymbol(), Interval: market.Minute1}, Kind: provider.Closed,
				Bar: market.Bar{T: began.Unix() / 60 * 60, O: 50000, H: 50000, L: 47000, C: 50000}, Price: 50000, At: began.Add(time.Minute),
			})
			time.Sleep(2 * time.Second)
		}
		placed := time.Now()
		time.Sleep(5 * time.Minute)
		w.tick("50000")
		late(placed.Add(-time.Minute))
		w.wants(w.order(stop), order.Held)
		late(placed.Add(2 * time.Minute))
		w.wants(w.order(stop), order.Filled)
		w.flat()
	})
}
