package desk_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// moved asks for a pair in place of one, with another stop.
func moved(replaces, stop string) order.Request {
	r := pair("0.5")
	r.Replaces, r.Protect.StopLoss = replaces, dec(stop)
	return r
}

// TestReplace_MovesAStop holds that the new pair is sent after the old one has ended, and
// that a stop moves only nearer to the market.
func TestReplace_MovesAStop(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		time.Sleep(2 * time.Second)
		if _, err := w.Place(w.t.Context(), caller(), moved(p.Legs[0].ID, "47000")); err == nil || !strings.Contains(err.Error(), "allow_wider_stop") {
			w.t.Errorf("a wider stop: %v", err)
		}
		w.wantsLegs(w.legs(p), order.Accepted, order.Accepted)
		next := w.placed(moved(p.Legs[0].ID, "49000"))
		w.wants(next.Order, order.Accepted)
		w.wantsLegs(next.Legs, order.Accepted)
		w.wantsLegs(w.legs(p), order.Canceled, order.Canceled)
		if next.Parent != p.ID || next.Replaces != p.Legs[0].ID || !next.Legs[0].StopPrice.Equal(dec("49000")) || len(next.Released) != 0 {
			w.t.Errorf("placed as %+v", next)
		}
		w.wantsStop("0.5")
		time.Sleep(time.Minute) // one of them was denied
		if n := len(w.exits(p.ID)); n != 5 || len(w.Status().State.Restrictions) != 0 {
			w.t.Errorf("%d exits, %+v", n, w.Status().State)
		}
		alone := moved(next.Legs[0].ID, "49100")
		alone.Protect.TakeProfit = dec("0")
		stop := w.placed(alone)
		w.wants(stop.Order, order.Accepted)
		if len(stop.Legs) != 1 || !stop.Legs[0].Price.Equal(dec("55000")) || stop.Role != order.StopLoss || !stop.StopPrice.Equal(dec("49100")) {
			w.t.Errorf("a stop that moves without its target is %+v", stop)
		}
	})
}

// TestReplace_TheNewOneIsRefused holds that the position gets the old prices back.
func TestReplace_TheNewOneIsRefused(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		time.Sleep(2 * time.Second)
		w.venue.Fail(brokertest.Fault{}, brokertest.Fault{Fate: broker.ErrRejected})
		if _, err := w.Place(w.t.Context(), caller(), moved(p.Legs[0].ID, "49000")); err == nil {
			w.t.Error("no error")
		}
		time.Sleep(8 * time.Second)
		w.wantsStop("0.5")
		exits := w.exits(p.ID)
		if last := exits[len(exits)-1]; len(exits) != 6 || !last.StopPrice.Equal(dec("48000")) {
			w.t.Errorf("%d exits, the last a %v at %v", len(exits), last.Role, last.StopPrice)
		}
	})
}

// TestReplace_ARestartInBetween holds that the new order is not sent late, and that the
// position is protected at the old prices.
func TestReplace_ARestartInBetween(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		time.Sleep(2 * time.Second)
		w.venue.Fail(brokertest.Fault{Hang: true, Done: true})
		answer := make(chan error, 1)
		go func() {
			_, err := w.Place(w.t.Context(), caller(), moved(p.Legs[0].ID, "49000"))
			answer <- err
		}()
		time.Sleep(time.Millisecond)
		w.kill()
		if f := fault.Of(<-answer); f == nil || f.Code != "outcome_unknown" {
			w.t.Errorf("the call that waited was answered with %v", f)
		}
		w.start()
		time.Sleep(20 * time.Second)
		exits := w.exits(p.ID)
		if len(exits) != 6 {
			w.t.Fatalf("exits are %+v", exits)
		}
		w.wantsLegs(exits, order.Canceled, order.Canceled, order.Denied, order.Denied, order.Accepted, order.Accepted)
		if exits[2].Denial.Rule != "not_sent_late" || w.restricted(guard.Unprotected) {
			w.t.Errorf("denied by %+v, %+v", exits[2].Denial, w.Status().State)
		}
		w.wantsStop("0.5")
	})
}

// TestRelease_AnExitReleasesTheLegs holds that reduce_only sells what legs hold, and that
// the rest is protected again.
func TestRelease_AnExitReleasesTheLegs(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		time.Sleep(2 * time.Second)
		exit := buy("0.2")
		exit.Side = order.Sell
		if _, err := w.Place(w.t.Context(), caller(), exit); err == nil || !strings.Contains(err.Error(), "reduce_only") {
			w.t.Errorf("without reduce_only: %v", err)
		}
		exit.ReduceOnly, exit.Key = true, "out"
		sold := w.placed(exit)
		w.wants(sold.Order, order.Filled)
		want := []string{p.Legs[0].ID, p.Legs[1].ID}
		slices.Sort(want)
		for range 2 {
			slices.Sort(sold.Released)
			if !slices.Equal(sold.Released, want) {
				w.t.Errorf("released are %v, want %v", sold.Released, want)
			}
			sold = w.placed(exit) // the same again
		}
		time.Sleep(8 * time.Second)
		w.wantsStop("0.3")
		exit.Quantity, exit.Key = dec("0.3"), "all"
		w.wants(w.placed(exit).Order, order.Filled)
		time.Sleep(8 * time.Second)
		if s := w.Status(); s.Open != 0 || len(s.State.Restrictions) != 0 {
			w.t.Errorf("the desk is %+v", s)
		}
	})
}

// TestReplace_TheCancelFails holds that nothing is sent while the old order is open.
func TestReplace_TheCancelFails(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		time.Sleep(2 * time.Second)
		w.venue.Fail(brokertest.Fault{Fate: broker.ErrRejected})
		next, err := w.Place(w.t.Context(), caller(), moved(p.Legs[0].ID, "49000"))
		if err == nil || next.Status != order.Denied {
			w.t.Errorf("placed as %+v, %v", next, err)
		}
		w.wantsLegs(next.Legs, order.Denied)
		w.wantsLegs(w.legs(p), order.Accepted, order.Accepted)
		time.Sleep(time.Minute)
		w.wantsStop("0.5")
	})
}

// TestRelease_AnEntryInPart holds that nothing sells what an entry brought while more of it
// may come: its legs will close all of it, and would then close more than is held.
func TestRelease_AnEntryInPart(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		p := w.placed(bracket(limit("0.5", "49000")))
		w.venue.Trade(p.ID, dec("0.2"))
		time.Sleep(2 * time.Second)
		exit := buy("0.1")
		exit.Side = order.Sell
		if _, err := w.Place(w.t.Context(), caller(), exit); err == nil || !strings.Contains(err.Error(), p.ID+" is filled in part") {
			w.t.Errorf("without reduce_only: %v", err)
		}
		w.wants(w.order(p.ID), order.PartiallyFilled)
		exit.ReduceOnly = true
		sold := w.placed(exit)
		w.wants(sold.Order, order.Filled)
		w.wants(w.order(p.ID), order.Canceled)
		w.wantsLegs(w.legs(p), order.Canceled, order.Canceled)
		if len(sold.Released) != 3 || !slices.Contains(sold.Released, p.ID) {
			w.t.Errorf("released are %v", sold.Released)
		}
		time.Sleep(8 * time.Second)
		w.wantsStop("0.1")
		w.venue.SetPrice(dec("47500"))
		time.Sleep(2 * time.Second)
		if held, _ := w.venue.Holdings(w.t.Context()); slices.ContainsFunc(held, func(h order.Holding) bool { return h.Quantity.IsNegative() }) {
			w.t.Errorf("the venue has %+v", held)
		}
	})
}

// TestReplace_AStopAlone holds that a target in place of a stop is beside it.
func TestReplace_AStopAlone(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		w.wants(w.place(buy("0.5")), order.Filled)
		stop := pair("0.5")
		stop.Protect.TakeProfit = dec("0")
		p := w.placed(stop)
		w.wants(p.Order, order.Accepted)
		next := pair("0.5")
		next.Replaces, next.Protect.StopLoss = p.ID, dec("0")
		target := w.placed(next)
		w.wants(target.Order, order.Accepted)
		if len(target.Legs) != 1 || !target.Legs[0].StopPrice.Equal(dec("48000")) {
			w.t.Errorf("beside the target are %+v", target.Legs)
		}
		w.wantsStop("0.5")
	})
}

// TestReplace_NamesTheTimeWithoutAStop holds that the answer says how long the position had no
// stop, and that the ID of the entry leads to that of its stop.
func TestReplace_NamesTheTimeWithoutAStop(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		waits := w.placed(bracket(limit("0.1", "49000")))
		time.Sleep(2 * time.Second)
		_, err := w.Place(w.t.Context(), caller(), moved(p.ID, "49000"))
		if err == nil || !strings.Contains(err.Error(), "its stop_loss "+p.Legs[0].ID+", take_profit "+p.Legs[1].ID+" can be replaced. Use replaces "+p.Legs[0].ID) {
			w.t.Errorf("the entry: %v", err)
		}
		if _, err := w.Place(w.t.Context(), caller(), moved("none", "49000")); err == nil || strings.Contains(err.Error(), waits.Legs[0].ID) {
			w.t.Errorf("an unknown order: %v", err)
		}
		w.venue.Fail(brokertest.Fault{}, brokertest.Fault{Fate: broker.ErrUnknown, Done: true})
		next := w.placed(moved(p.Legs[0].ID, "49000"))
		w.wants(next.Order, order.Accepted)
		if next.UnprotectedFor < 0 || next.UnprotectedFor > 5*time.Second {
			w.t.Errorf("unprotected for %v", next.UnprotectedFor)
		}
		if by := order.Replacements(w.store.Book(owner).Orders())[p.Legs[0].ID]; by != next.ID {
			w.t.Errorf("the old stop is replaced by %q, want %s", by, next.ID)
		}
	})
}

// TestRelease_AnExitThatIsRepeated holds that a client that asks again and again for the end of
// a position does not put off the end of a stop whose submission was lost: that the venue does
// not know it counts after the grace, and then an exit is sent.
func TestRelease_AnExitThatIsRepeated(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		time.Sleep(2 * time.Second)
		w.venue.Fail(brokertest.Fault{}, brokertest.Fault{Fate: broker.ErrUnknown})
		next := w.placed(moved(p.Legs[0].ID, "49000"))
		w.wants(next.Order, order.Uncertain)
		stop, began := next.Legs[0].ID, time.Now()
		exit := buy("0.5")
		exit.Side, exit.ReduceOnly = order.Sell, true
		held := func() bool { return w.store.Book(owner).Position(next.Symbol).Quantity.IsPositive() }
		for held() && time.Since(began) < 5*time.Minute {
			_, _ = w.Place(w.t.Context(), caller(), exit) // denied while an outcome is unknown
			time.Sleep(10 * time.Second)
		}
		w.wants(w.order(next.ID), order.Canceled)
		w.wants(w.order(stop), order.Canceled)
		if after := time.Since(began); held() || after > 2*time.Minute {
			w.t.Errorf("it took %v, held is %v", after, held())
		}
	})
}
