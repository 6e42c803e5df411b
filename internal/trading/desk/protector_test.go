package desk_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// exits returns the orders that protect an entry, oldest first.
func (w *world) exits(entry string) []order.Order { return w.store.Book(owner).Exits(entry) }

// restricted reports whether a restriction is in force.
func (w *world) restricted(k guard.RestrictionKind) bool {
	for _, r := range w.Status().State.Restrictions {
		if r.Kind == k {
			return true
		}
	}
	return false
}

// openStops returns how much the working stops at the venue close.
func (w *world) openStops() decimal.Decimal {
	sum := dec("0")
	for _, r := range w.venue.Orders() {
		if r.IsStop() && (r.Status == order.Accepted || r.Status == order.PartiallyFilled) {
			sum = sum.Add(r.Quantity.Sub(r.Filled))
		}
	}
	return sum
}

// wantsStop holds that the working stops at the venue close this much.
func (w *world) wantsStop(quantity string) {
	w.t.Helper()
	if sum := w.openStops(); !sum.Equal(dec(quantity)) {
		w.t.Errorf("stops at the venue close %v, want %s", sum, quantity)
	}
}

// TestProtector_AnEntryThatEndsInPart holds that what an entry brought before it ended gets
// its pair, once, also after a restart in between.
func TestProtector_AnEntryThatEndsInPart(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, id string){
		"the client cancels the rest": func(w *world, id string) {
			if o, err := w.Cancel(w.t.Context(), caller(), id); err != nil || o.Status != order.Canceled {
				w.t.Errorf("cancelled as %v, %v", o.Status, err)
			}
		},
		"the venue ends it": func(w *world, id string) { w.venue.Expire(id, "") },
		"while the desk is down": func(w *world, id string) {
			w.stop()
			w.venue.Expire(id, "")
			w.start()
		},
		"the owner halts": func(w *world, _ string) {
			if _, err := w.Halt(w.t.Context(), "candela halt", ""); err != nil {
				w.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inManner(t, func(w *world) {
				p := w.placed(bracket(limit("0.5", "49000")))
				w.venue.Trade(p.ID, dec("0.123456"))
				time.Sleep(2 * time.Second)
				w.wants(w.order(p.ID), order.PartiallyFilled)
				end(w, p.ID)
				time.Sleep(8 * time.Second)
				w.wantsStop("0.12345")
				exits := w.exits(p.ID)
				if len(exits) != 4 {
					w.t.Fatalf("there are %d exits: %+v", len(exits), exits)
				}
				target, stop := exits[2], exits[3]
				w.wants(target, order.Accepted)
				w.wants(stop, order.Accepted)
				if !stop.StopPrice.Equal(dec("48000")) || !target.Price.Equal(dec("55000")) || stop.Group.Name != target.ID || stop.Parent != p.ID {
					w.t.Errorf("the pair is %+v and %+v", target, stop)
				}
				w.stop()
				w.start()
				time.Sleep(2 * time.Minute)
				if n := len(w.exits(p.ID)); n != 4 || w.restricted(guard.Unprotected) {
					w.t.Errorf("later there are %d exits, %+v", n, w.Status().State.Restrictions)
				}
			})
		})
	}
}

// TestProtector_AnEntryThatIsFilledSlowly holds that a part that waits for its legs is
// reported after the grace, and no longer when they work.
func TestProtector_AnEntryThatIsFilledSlowly(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		p := w.placed(bracket(limit("0.5", "49000")))
		w.venue.Trade(p.ID, dec("0.2"))
		time.Sleep(5 * time.Second)
		if w.restricted(guard.Unprotected) {
			w.t.Error("restricted before the grace has passed")
		}
		time.Sleep(10 * time.Second)
		if !w.restricted(guard.Unprotected) {
			w.t.Error("not restricted")
		}
		if _, err := w.Place(w.t.Context(), caller(), limit("0.1", "48000")); err == nil {
			w.t.Error("another entry passes")
		}
		w.venue.Trade(p.ID, dec("0.3"))
		time.Sleep(5 * time.Second)
		w.wants(w.order(p.ID), order.Filled)
		w.wantsLegs(w.legs(p), order.Accepted, order.Accepted)
		if w.restricted(guard.Unprotected) {
			w.t.Error("still restricted")
		}
		w.wantsStop("0.5")
		if n := len(w.exits(p.ID)); n != 2 {
			w.t.Errorf("there are %d exits", n)
		}
	})
}

// TestProtector_ATargetInPart holds that the rest of a position keeps its stop: where the
// venue ends it, candela places a new pair, and where the venue makes it smaller, nothing.
func TestProtector_ATargetInPart(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		w.wants(p.Order, order.Filled)
		time.Sleep(2 * time.Second)
		w.venue.Trade(p.Legs[1].ID, dec("0.2"))
		time.Sleep(8 * time.Second)
		w.wantsStop("0.3")
		exits := w.exits(p.ID)
		switch caps, _ := w.venue.Capabilities(w.t.Context(), brokertest.MemorySymbol()); {
		case caps.MarketEntry: // like Alpaca
			w.wantsLegs(exits, order.Accepted, order.PartiallyFilled)
			if !exits[0].Remaining().Equal(dec("0.3")) {
				w.t.Errorf("the stop is over %v", exits[0].Remaining())
			}
		default:
			w.wantsLegs(exits, order.Expired, order.Canceled, order.Accepted, order.Accepted)
		}
		w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec("55000")})
		w.venue.SetPrice(dec("55000"))
		time.Sleep(8 * time.Second)
		if s := w.Status(); s.Open != 0 || len(s.State.Restrictions) != 0 {
			w.t.Errorf("the desk is %+v", s)
		}
	})
}

// TestProtector_ALegIsRefused holds that a refused leg is never repeated, and what the
// policy says is done after the grace.
func TestProtector_ALegIsRefused(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]guard.OnUnprotected{"the owner is notified": guard.UnprotectedAlarm, "the position is closed": guard.UnprotectedExit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.stop()
				w.policy.OnUnprotected = then
				w.start()
				time.Sleep(2 * time.Second)
				p := w.placed(bracket(buy("0.5")))
				time.Sleep(2 * time.Second)
				w.venue.Expire(p.Legs[0].ID, "REJECTED")
				time.Sleep(5 * time.Second)
				if n := len(w.exits(p.ID)); n != 2 {
					w.t.Errorf("within the grace there are %d exits", n)
				}
				time.Sleep(8 * time.Second)
				exits := w.exits(p.ID)
				if then == guard.UnprotectedAlarm {
					if len(exits) != 2 || !w.restricted(guard.Unprotected) {
						w.t.Errorf("%d exits, %+v", len(exits), w.Status().State)
					}
					return
				}
				if len(exits) != 3 || exits[2].Role != order.Exit || exits[2].Status != order.Filled || w.restricted(guard.Unprotected) {
					w.t.Errorf("exits are %+v, %+v", exits, w.Status().State)
				}
			})
		})
	}
}

// TestProtector_SomebodyEndsTheProtection holds that a stop or target that the client cancels stays
// cancelled and leaves the other, and that one which ends at the venue is placed again.
func TestProtector_SomebodyEndsTheProtection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		role order.Role // that the client cancels; 0 for the entry
		at   bool       // the venue ends it
		want string
	}{
		"the stop":                {role: order.StopLoss, want: "take_profit"},
		"the target":              {role: order.TakeProfit, want: "stop_loss"},
		"both":                    {want: ""},
		"the stop at the venue":   {role: order.StopLoss, at: true, want: "stop_loss take_profit"},
		"the target at the venue": {role: order.TakeProfit, at: true, want: "stop_loss take_profit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inManner(t, func(w *world) {
				p := w.placed(bracket(buy("0.5")))
				time.Sleep(2 * time.Second)
				victim := p.Order
				for _, leg := range w.legs(p) {
					if leg.Role == c.role {
						victim = leg
					}
				}
				var err error
				if c.at {
					_, err = w.venue.Cancel(w.t.Context(), victim.Handle())
				} else {
					_, err = w.Cancel(w.t.Context(), caller(), victim.ID)
				}
				if err != nil {
					w.t.Error(err)
				}
				time.Sleep(time.Minute)
				var open []string
				for _, o := range w.store.Book(owner).Open() {
					open = append(open, o.Role.String())
				}
				slices.Sort(open)
				if got := strings.Join(open, " "); got != c.want {
					w.t.Errorf("open are %q, want %q", got, c.want)
				}
				if w.restricted(guard.Unprotected) {
					w.t.Error("restricted")
				}
			})
		})
	}
}

// TestCancel_TheLastStop holds that a client cannot strip a position while require_stop
// stands.
func TestCancel_TheLastStop(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		w.stop()
		w.policy.RequireStop = guard.StopAlways
		w.start()
		time.Sleep(2 * time.Second)
		p := w.placed(bracket(buy("0.5")))
		time.Sleep(2 * time.Second)
		if _, err := w.Cancel(w.t.Context(), caller(), p.ID); fault.Of(err) == nil || fault.Of(err).Code != "last_stop" {
			w.t.Errorf("cancelled: %v", err)
		}
		w.wantsStop("0.5")
	})
}

// TestCancel_AnEntryThatWaits holds that the group ends with it.
func TestCancel_AnEntryThatWaits(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		p := w.placed(bracket(limit("0.5", "49000")))
		if _, err := w.Cancel(w.t.Context(), caller(), p.Legs[1].ID); fault.Of(err) == nil || fault.Of(err).Code != "leg_of_pair" {
			w.t.Errorf("the cancel of a leg that waits: %v", err)
		}
		if o, err := w.Cancel(w.t.Context(), caller(), p.ID); err != nil || o.Status != order.Canceled {
			w.t.Errorf("cancelled as %v, %v", o.Status, err)
		}
		time.Sleep(2 * time.Second)
		w.wantsLegs(w.legs(p), order.Canceled, order.Canceled)
	})
}

// TestProtector_BothLegsAreFilled holds that an overfill restricts trading until the owner
// resumes, and that nothing is repaired.
func TestProtector_BothLegsAreFilled(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.venue.Move("BTC", dec("1"))
		p := w.placed(bracket(buy("0.1")))
		time.Sleep(2 * time.Second)
		p.Legs = w.legs(p)
		w.venue.Trade(p.Legs[1].ID, dec("0.1"))
		time.Sleep(2 * time.Second)
		late := order.Report{Spec: p.Legs[0].Spec, VenueID: p.Legs[0].VenueID, Status: order.Filled, Filled: dec("0.1"), At: time.Now()}
		late.Fills = []order.Fill{{TradeID: "x", OrderID: p.Legs[0].ID, Symbol: p.Symbol, Side: order.Sell, Quantity: dec("0.1"), Price: dec("48000"), At: time.Now()}}
		w.venue.Publish(late)
		time.Sleep(2 * time.Second)
		if !w.restricted(guard.LegOverfill) {
			w.t.Errorf("the desk is %+v", w.Status().State)
		}
		if _, err := w.Resume(w.t.Context(), "candela resume"); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if w.restricted(guard.LegOverfill) || len(w.exits(p.ID)) != 2 {
			w.t.Errorf("then the desk is %+v", w.Status().State)
		}
	})
}

// TestProtector_TooLittleForAStop holds that a part below the venue's minimum is not tried,
// does not restrict trading, and is shown as unprotected with the reason.
func TestProtector_TooLittleForAStop(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		p := w.placed(bracket(limit("0.5", "49000")))
		w.venue.Trade(p.ID, dec("0.00001"))
		time.Sleep(2 * time.Second)
		w.venue.Expire(p.ID, "")
		time.Sleep(time.Minute)
		if n := len(w.exits(p.ID)); n != 2 || len(w.Status().State.Restrictions) != 0 {
			w.t.Errorf("%d exits, %+v", n, w.Status().State)
		}
		positions, err := w.Positions(w.t.Context(), caller())
		if err != nil || len(positions) != 1 || !positions[0].Protected.IsZero() || positions[0].Quantity.IsZero() {
			w.t.Fatalf("the position is %+v, %v", positions, err)
		}
		const reason = "it is too little for a stop: memory takes at least 0.00001, orders worth at least 5 USDT"
		if gaps := positions[0].Gaps; len(gaps) != 1 || !gaps[0].Quantity.Equal(dec("0.00001")) || gaps[0].Reason != reason || gaps[0].For < 50*time.Second {
			w.t.Errorf("without a stop are %+v", gaps)
		}
	})
}

// TestProtector_ACancelThatFails holds that exits which close more than is held, because
// somebody sold a part elsewhere, are cancelled with pauses while the venue refuses, and then
// placed again at the right size.
func TestProtector_ACancelThatFails(t *testing.T) {
	t.Parallel()
	inManner(t, func(w *world) {
		w.placed(bracket(buy("0.5")))
		time.Sleep(2 * time.Second)
		const refusals = 10
		for range refusals {
			w.venue.Fail(brokertest.Fault{Fate: broker.ErrRejected})
		}
		w.venue.Place(order.Spec{ID: "elsewhere", Symbol: brokertest.MemorySymbol(), Side: order.Sell, Type: order.Market, Quantity: dec("0.3")})
		began := time.Now()
		for {
			time.Sleep(10 * time.Second)
			if open := w.openStops(); open.Equal(dec("0.2")) {
				break
			}
			if time.Since(began) > time.Hour {
				w.t.Fatal("the exits still close more than is held")
			}
		}
		if took := time.Since(began); took < time.Minute {
			w.t.Errorf("%d refused cancels took %v, without pauses", refusals, took)
		}
	})
}
