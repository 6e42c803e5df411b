package desk_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// TestPlan_ARefusedSwap holds that the plan is as it was when a broker that ends and places orders in one
// step refuses to.
func TestPlan_ARefusedSwap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, _ := newPlanInMemory(t, brokertest.LikeBinance, true, false).(planInMemory)
		time.Sleep(2 * time.Second)
		r := order.Request{Symbol: v.symbol(), Side: order.Buy, Type: order.Market, Quantity: dec("0.05")}
		r.Protect.StopLoss = v.last().Mul(dec("0.96")).Round(0)
		if _, err := v.Place(t.Context(), caller(), r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		v.venue.Fail(brokertest.Fault{Fate: broker.ErrRejected})
		change := order.Request{Symbol: v.symbol(), Side: order.Sell, Type: order.Market, Quantity: dec("0.05"), ReduceOnly: true}
		change.Protect.StopLoss = v.last().Mul(dec("0.98")).Round(0)
		if p, err := v.Place(t.Context(), caller(), change); fault.Of(err) == nil || fault.Of(err).Code != "order_rejected" {
			t.Fatalf("the change is %v, %v", p.Status, err)
		}
		time.Sleep(10 * time.Second)
		book := v.store.Book(owner)
		lines, legs := book.Lines(v.symbol()), book.Legs(v.symbol())
		if len(lines) != 1 || !lines[0].Protect.StopLoss.Equal(r.Protect.StopLoss) || len(legs) != 1 || !legs[0].StopPrice.Equal(r.Protect.StopLoss) || v.left(legs[0]).IsZero() {
			t.Errorf("the plan is %+v, and the orders are %+v", lines, legs)
		}
	})
}

// TestPlan_ACancelThatIsRefused holds that a stop stays in the plan when the venue refuses its cancel.
func TestPlan_ACancelThatIsRefused(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		stop := s.alone("stop 48500")
		refused := orderFault(s, "balance")
		refused.On = func(r *http.Request) bool { return r.Method == http.MethodDelete }
		s.next(refused)
		if o, err := s.Cancel(s.t.Context(), caller(), stop.ID); err == nil {
			s.t.Errorf("the cancel is %v", o.Status)
		}
		time.Sleep(10 * time.Second)
		s.planned(s.want(s.net("0.05"), "stop 48500"))
	}, binanceToo, alpacaToo)
}

// TestPlan_ARefusedCancelKeepsTheOrderOfLines holds that a line which a refused cancel brings back is the
// oldest again: an exit shortens it first.
func TestPlan_ARefusedCancelKeepsTheOrderOfLines(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.done(s.buys("0.02", "stop 48000"))
		stop := s.legOf(order.StopLoss)
		s.done(s.buys("0.03", "stop 49000"))
		refused := orderFault(s, "balance")
		refused.On = func(r *http.Request) bool { return r.Method == http.MethodDelete }
		s.next(refused)
		if o, err := s.Cancel(s.t.Context(), caller(), stop.ID); err == nil {
			s.t.Errorf("the cancel is %v", o.Status)
		}
		time.Sleep(10 * time.Second)
		s.planned(s.want(s.net("0.02"), "stop 48000"), s.want(s.net("0.03"), "stop 49000"))
	}, binanceToo)
}

// TestPlan_ATrailStandsOnTheNearerTick holds that the stop in place of a trail, whose level is between two
// ticks, is at the one nearer to the market.
func TestPlan_ATrailStandsOnTheNearerTick(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.move("50001.01")
		s.done(s.buys("0.04", ""))
		s.done(s.sells(s.held(), "trail 1.33"))
		s.sold(s.q("0.01"))
		s.works(s.want(s.net("0.04", "-0.01"), "stop 49335.9966"))
	}, binanceToo)
}
