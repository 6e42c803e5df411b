package desk_test

import (
	"testing"
	"time"

	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// TestProtector_APairOfAPlainPurchase holds that the rest of a position keeps its stop when a part
// of the target is filled, although no entry asked for one: also after a restart, a refusal for the
// moment and a second part, and until somebody ends it.
func TestProtector_APairOfAPlainPurchase(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(w *world){
		"at once":       func(*world) {},
		"while stopped": func(w *world) { w.stop(); w.start() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inManner(t, func(w *world) {
				w.wants(w.place(buy("0.5")), order.Filled)
				p := w.placed(pair("0.5"))
				time.Sleep(2 * time.Second)
				w.venue.Trade(p.ID, dec("0.2"))
				between(w)
				time.Sleep(8 * time.Second)
				w.wantsStop("0.3")
				target := w.open(order.TakeProfit)
				w.venue.Trade(target.ID, dec("0.1"))
				time.Sleep(8 * time.Second)
				w.wantsStop("0.2")
				if w.restricted(guard.Unprotected) {
					w.t.Error("restricted")
				}
				w.stop()
				w.start()
				time.Sleep(2 * time.Minute)
				w.wantsStop("0.2")
				stop := w.open(order.StopLoss)
				if !stop.StopPrice.Equal(dec("48000")) || !w.open(order.TakeProfit).Price.Equal(dec("55000")) {
					w.t.Errorf("the stop is at %v, the target at %v", stop.StopPrice, w.open(order.TakeProfit).Price)
				}
				for _, role := range []order.Role{order.TakeProfit, order.StopLoss} {
					if _, err := w.Cancel(w.t.Context(), caller(), w.open(role).ID); err != nil {
						w.t.Fatal(err)
					}
					time.Sleep(2 * time.Minute)
				}
				w.wantsStop("0")
				if s := w.Status(); s.Open != 0 || w.restricted(guard.Unprotected) {
					w.t.Errorf("after the cancel the desk is %+v", s)
				}
			})
		})
	}
}

// open returns the open order of a role.
func (w *world) open(role order.Role) order.Order {
	w.t.Helper()
	for _, o := range w.store.Book(owner).Open() {
		if o.Role == role {
			return o
		}
	}
	w.t.Fatalf("no %v is open", role)
	return order.Order{}
}

// TestProtector_APairThatIsFilled holds that nothing is placed after a target that is filled at
// once, or a stop that is.
func TestProtector_APairThatIsFilled(t *testing.T) {
	t.Parallel()
	for _, price := range []string{"55000", "48000"} {
		inManner(t, func(w *world) {
			w.wants(w.place(buy("0.5")), order.Filled)
			w.placed(pair("0.5"))
			time.Sleep(2 * time.Second)
			w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec(price)})
			w.venue.SetPrice(dec(price))
			time.Sleep(time.Minute)
			if s := w.Status(); s.Open != 0 || w.restricted(guard.Unprotected) {
				w.t.Errorf("the desk is %+v", s)
			}
		})
	}
}

// TestProtector_AStopForAPart holds that a stop which a client places for a part of a position
// whose protection it ended protects that part alone, and that this part keeps it.
func TestProtector_AStopForAPart(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		time.Sleep(2 * time.Second)
		if _, err := w.Cancel(w.t.Context(), caller(), p.ID); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		part := w.placed(pair("0.2"))
		if part.Parent != part.ID {
			w.t.Errorf("it protects %q, want %s", part.Parent, part.ID)
		}
		time.Sleep(2 * time.Minute)
		w.wantsStop("0.2")
		w.venue.Trade(part.ID, dec("0.05"))
		time.Sleep(time.Minute)
		w.wantsStop("0.15")
		more := pair("0.1")
		more.Protect.TakeProfit = dec("0")
		w.placed(more)
		time.Sleep(time.Minute)
		w.wantsStop("0.25")
		if s := w.Status(); w.restricted(guard.Unprotected) {
			w.t.Errorf("restricted: %+v", s)
		}
		positions, err := w.Positions(w.t.Context(), caller())
		if err != nil || len(positions) != 1 || !positions[0].Protected.Equal(dec("0.25")) || len(positions[0].Gaps) != 0 {
			w.t.Errorf("the position is %+v, %v", positions, err)
		}
	})
}

// TestProtector_APairThatIsReleased holds that an exit of a part, which releases the pair of a
// plain purchase, leaves the rest with a stop, and that the stop of an entry beside it does not
// count for that rest.
func TestProtector_APairThatIsReleased(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		w.wants(w.place(buy("0.5")), order.Filled)
		p := w.placed(pair("0.5"))
		time.Sleep(2 * time.Second)
		exit := buy("0.2")
		exit.Side, exit.ReduceOnly = order.Sell, true
		w.wants(w.place(exit), order.Filled)
		time.Sleep(time.Minute)
		w.wantsStop("0.3")
		if stop := w.open(order.StopLoss); stop.Parent != p.ID {
			w.t.Errorf("the stop protects %q, want %s", stop.Parent, p.ID)
		}
		entry := w.placed(bracket(limit("0.4", "49000")))
		w.venue.Trade(entry.ID, dec("0.1"))
		time.Sleep(2 * time.Second)
		if _, err := w.Cancel(w.t.Context(), caller(), entry.ID); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.wantsStop("0.4")
	})
}
