package desk_test

import (
	"strings"
	"testing"
	"time"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// bracket asks for an entry with a stop at 48,000 and a target at 55,000.
func bracket(r order.Request) order.Request {
	r.Protect = order.Protection{StopLoss: dec("48000"), TakeProfit: dec("55000")}
	return r
}

// pair asks for the sale of what is held, at the same prices.
func pair(quantity string) order.Request {
	r := bracket(buy(quantity))
	r.Side, r.ReduceOnly = order.Sell, true
	return r
}

// placed places an order and returns it with its legs.
func (w *world) placed(r order.Request) order.Placed {
	w.t.Helper()
	p, err := w.Place(w.t.Context(), caller(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// wantsLegs holds that the orders have these statuses.
func (w *world) wantsLegs(legs []order.Order, statuses ...order.Status) {
	w.t.Helper()
	if len(legs) != len(statuses) {
		w.t.Fatalf("there are %d legs, want %d: %+v", len(legs), len(statuses), legs)
	}
	for i, o := range legs {
		if o.Status != statuses[i] {
			w.t.Errorf("the %v is %v, want %v (%s)", o.Role, o.Status, statuses[i], o.Reason)
		}
	}
}

// legs returns the legs of a group as the desk has them now.
func (w *world) legs(p order.Placed) []order.Order {
	w.t.Helper()
	now := make([]order.Order, 0, len(p.Legs))
	for _, leg := range p.Legs {
		now = append(now, w.order(leg.ID))
	}
	return now
}

// inManner runs a test at each manner of the venue.
func inManner(t *testing.T, test func(w *world)) {
	t.Helper()
	for name, manner := range map[string]brokertest.Manner{"like Binance": brokertest.LikeBinance, "like Alpaca": brokertest.LikeAlpaca} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.venue.Behave(manner)
				test(w)
			})
		})
	}
}

func TestPlace_ABracketIsOneCommitAndOneRequest(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		w.venue.Fail(brokertest.Fault{Fate: broker.ErrUnknown, Done: true})
		before := w.store.Commits()
		p, err := w.Place(w.t.Context(), caller(), bracket(limit("0.5", "49000")))
		if err != nil || len(p.Legs) != 2 {
			w.t.Fatalf("placed as %+v, %v", p, err)
		}
		created, sent := 0, 0
		for _, e := range w.store.Audit() {
			switch e.Event.Kind {
			case order.KindCreated:
				created++
			case order.KindSent:
				sent++
				if created != sent {
					w.t.Errorf("%d orders are created when %d are sent", created, sent)
				}
			default:
			}
		}
		if n := w.store.Commits() - before; created != 3 || sent != 3 || n == 0 {
			w.t.Errorf("%d created, %d sent, %d commits", created, sent, n)
		}
		time.Sleep(5 * time.Second)
		w.wants(w.order(p.ID), order.Accepted)
		w.wantsLegs(w.legs(p), order.Held, order.Held)
		stop, target := p.Legs[0], p.Legs[1]
		if stop.Role != order.StopLoss || !stop.StopPrice.Equal(dec("48000")) || stop.Parent != p.ID || stop.Side != order.Sell || !stop.Group.Leg || stop.Group.Name != p.ID {
			w.t.Errorf("the stop is %+v", stop)
		}
		if target.Role != order.TakeProfit || !target.Price.Equal(dec("55000")) || target.Parent != p.ID || stop.Key != "" {
			w.t.Errorf("the target is %+v", target)
		}
		if n := len(w.venue.Orders()); n != 3 {
			w.t.Errorf("the venue has %d orders", n)
		}
	})
}

// TestPlace_AKeyOfOtherLegs holds that the error names the legs that the key was used for.
func TestPlace_AKeyOfOtherLegs(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		first := bracket(limit("0.1", "49000"))
		first.Key = "k"
		w.placed(first)
		second := first
		second.Protect.StopLoss = dec("47000")
		if _, err := w.Place(w.t.Context(), caller(), second); err == nil || !strings.Contains(err.Error(), "limit stop_loss 48000 take_profit 55000)") {
			w.t.Errorf("other legs under the same key: %v", err)
		}
	})
}

// TestPlace_ABracketCountsOnceInTheRate holds that the legs use up nothing of the rate.
func TestPlace_ABracketCountsOnceInTheRate(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop()
		w.policy.MaxOrdersPerMinute = guard.Limit{Value: dec("2")}
		w.start()
		time.Sleep(2 * time.Second)
		w.placed(bracket(limit("0.1", "49000")))
		w.placed(bracket(limit("0.1", "49100")))
		if _, err := w.Place(w.t.Context(), caller(), bracket(limit("0.1", "49200"))); err == nil || !strings.Contains(err.Error(), "2 orders in the last minute") {
			w.t.Errorf("the third: %v", err)
		}
	})
}

func TestPlace_TheFateOfAGroupIsThatOfAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fate   error
		status order.Status
		later  order.Status
	}{
		"nothing left this machine": {broker.ErrNotSent, order.Rejected, order.Rejected},
		"the venue refuses":         {broker.ErrRejected, order.Rejected, order.Rejected},
		"no answer, nothing there":  {broker.ErrUnknown, order.Uncertain, order.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inManner(t, func(w *world) {
				w.venue.Fail(brokertest.Fault{Fate: c.fate})
				r := bracket(limit("0.5", "49000"))
				r.Key = "once"
				p, err := w.Place(w.t.Context(), caller(), r)
				if (err == nil) != (c.status == order.Uncertain) {
					w.t.Errorf("the error is %v", err)
				}
				w.wants(p.Order, c.status)
				w.wantsLegs(p.Legs, c.status, c.status)
				time.Sleep(3 * time.Minute)
				again, err := w.Place(w.t.Context(), caller(), r)
				if again.ID != p.ID || (err == nil) != (c.later == order.Canceled) {
					w.t.Errorf("again it is %+v, %v", again, err)
				}
				w.wantsLegs(again.Legs, c.later, c.later)
				if n := len(w.venue.Orders()); n != 0 {
					w.t.Errorf("the venue has %d orders", n)
				}
			})
		})
	}
}

func TestPlace_APairProtectsWhatIsHeld(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		w.wants(w.place(buy("0.2")), order.Filled)
		p := w.placed(pair("0.2"))
		w.wants(p.Order, order.Accepted)
		w.wantsLegs(p.Legs, order.Accepted)
		if p.Role != order.TakeProfit || p.Group.Name != p.ID || p.Legs[0].Group.Leg || !p.Legs[0].StopPrice.Equal(dec("48000")) {
			w.t.Errorf("placed as %+v", p)
		}
		w.venue.SetPrice(dec("47900"))
		time.Sleep(2 * time.Second)
		w.wants(w.order(p.ID), order.Expired)
		w.wantsLegs(w.legs(p), order.Filled)
		if s := w.Status(); len(s.State.Restrictions) > 0 || s.Open > 0 {
			w.t.Errorf("the desk is %+v", s)
		}
	})
}

func TestPlace_AStopAloneIsAnOrderLikeAnyOther(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wants(w.place(buy("0.5")), order.Filled)
		r := pair("0.5")
		r.Protect.TakeProfit = dec("0")
		p := w.placed(r)
		w.wants(p.Order, order.Accepted)
		if p.Role != order.StopLoss || !p.StopPrice.Equal(dec("48000")) || len(p.Legs) != 0 || p.Group.Name != "" {
			w.t.Errorf("placed as %+v", p)
		}
	})
}

// TestPlace_AMarketEntryHasAnEdge holds that the worst price is in the band and on the tick,
// and that a dry run shows the legs and records nothing.
func TestPlace_AMarketEntryHasAnEdge(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		r := bracket(buy("0.5"))
		r.DryRun = true
		p := w.placed(r)
		if p.ID != "" || p.Legs[0].ID != "" || len(p.Legs) != 2 || !p.Edge.Equal(dec("52500")) {
			w.t.Errorf("the dry run is %+v", p)
		}
		w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec("50000.03")})
		r.DryRun = false
		p = w.placed(r)
		if !p.Edge.Equal(dec("52500.03")) {
			w.t.Errorf("the edge is %v", p.Edge)
		}
		w.wants(p.Order, order.Filled)
		time.Sleep(2 * time.Second)
		w.wantsLegs(w.legs(p), order.Accepted, order.Accepted)
		if plain := w.place(limit("0.1", "49000")); !plain.Edge.IsZero() {
			w.t.Errorf("an order on its own has the edge %v", plain.Edge)
		}
	})
}

// TestPlace_NotAfter holds that an order is refused after its time, and that one whose time
// passes while it waits is not sent.
func TestPlace_NotAfter(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		r := bracket(limit("0.5", "49000"))
		r.NotAfter = w.now().Add(-time.Second)
		if _, err := w.Place(w.t.Context(), caller(), r); fault.Of(err) == nil || fault.Of(err).Field != "not_after" {
			w.t.Errorf("a time that has passed: %v", err)
		}
		for range 4 {
			w.venue.Fail(brokertest.Fault{Hang: true})
			go func() { _, _ = w.Place(w.t.Context(), caller(), limit("0.1", "48000")) }()
			time.Sleep(3 * time.Second)
		}
		r.NotAfter = w.now().Add(2 * time.Second)
		p, err := w.Place(w.t.Context(), caller(), r)
		if err == nil || !strings.Contains(err.Error(), "not_after") || !p.NotSent {
			w.t.Errorf("placed as %+v, %v", p.Order, err)
		}
		w.wantsLegs(p.Legs, order.Rejected, order.Rejected)
		time.Sleep(time.Minute)
	})
}

// TestPlace_ACanceledGroupIsNotSent cancels an entry that waits in the queue.
func TestPlace_ACanceledGroupIsNotSent(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		for range 4 {
			w.venue.Fail(brokertest.Fault{Hang: true})
			go func() { _, _ = w.Place(w.t.Context(), caller(), limit("0.1", "48000")) }()
			time.Sleep(3 * time.Second)
		}
		done := make(chan order.Placed, 1)
		go func() {
			p, _ := w.Place(w.t.Context(), caller(), bracket(limit("0.5", "49000")))
			done <- p
		}()
		time.Sleep(time.Second)
		open, err := w.Orders(w.t.Context(), caller(), true)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, o := range open {
			if o.Role == order.Entry {
				_, _ = w.Cancel(w.t.Context(), caller(), o.ID)
			}
		}
		p := <-done
		time.Sleep(time.Minute)
		w.wants(w.order(p.ID), order.Canceled)
		w.wantsLegs(w.legs(p), order.Canceled, order.Canceled)
		if w.taken(p.ID) != 0 {
			w.t.Error("the venue has it")
		}
	})
}

// TestBook_FindsLegsAfterARestart also holds that the desk reads them from a snapshot.
func TestBook_FindsLegsAfterARestart(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		r := bracket(limit("0.5", "49000"))
		r.Key = "once"
		p := w.placed(r)
		time.Sleep(5 * time.Second)
		w.stop()
		w.start()
		time.Sleep(5 * time.Second)
		again := w.placed(r)
		if again.ID != p.ID {
			w.t.Errorf("again it is %+v", again)
		}
		w.wantsLegs(again.Legs, order.Held, order.Held)
		if _, book, err := desk.LoadStored(w.t.Context(), w.store, owner); err != nil || len(book.Group(p.ID)) != 3 || len(book.Exits(p.ID)) != 2 || book.Group(p.Legs[0].ID) != nil {
			w.t.Errorf("stored is %+v, %v", book.Group(p.ID), err)
		}
	})
}
