package desk_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
)

// tickRemains is a time after which the desk does nothing by itself for a while: it reads fills on its ticks,
// once a second.
const tickRemains = 300 * time.Millisecond

// endsWithUnknownFills lets the venue fill 0.07 of a stop, of which the desk hears of 0.03 only, and end it.
// The end says how much was filled.
func (s *site) endsWithUnknownFills(stop order.Order) {
	s.t.Helper()
	time.Sleep(tickRemains)
	s.binance.Lose("executionReport", 2) // that it is triggered, and the first fill
	if !s.binance.Trade(stop.ID, dec("0.04")) || !s.binance.Trade(stop.ID, dec("0.03")) {
		s.t.Fatal("the stop does not trade")
	}
	s.binance.Expire(stop.ID)
	synctest.Wait()
	if o := s.order(stop.ID); o.Status != order.Expired || !o.Filled.Equal(dec("0.03")) || !o.Claimed.Equal(dec("0.07")) {
		s.t.Fatalf("the stop is %v, %v filled, %v by the venue's count", o.Status, o.Filled, o.Claimed)
	}
}

// TestPlan_AStopThatEndsWithUnknownFillsIsNotSoldAgain ends a stop in the moment in which a fill of it is not
// known. What is left by the venue's count is protected, or sold if the price has passed the stop, and no more.
func TestPlan_AStopThatEndsWithUnknownFillsIsNotSoldAgain(t *testing.T) {
	t.Parallel()
	for name, price := range map[string]string{"a stop is placed": "50000", "the rest is sold": "47900"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				s.done(s.buys("0.1", "stop 48000"))
				stop := s.legOf(order.StopLoss)
				s.market.Set(s.symbol, order.Quote{Last: dec(price)}) // the venue's price stays, and its stop
				s.endsWithUnknownFills(stop)
				left := dec("0.0299")
				for _, o := range s.store.Book(owner).Orders() {
					if o.Side == order.Sell && o.ID != stop.ID && !o.Quantity.Equal(left) {
						s.t.Errorf("%v of %v is sold or protected again, want %v", o.Quantity, s.symbol, left)
					}
				}
				s.until("the fill is known", func() bool { return s.order(stop.ID).Filled.Equal(dec("0.07")) })
				if s.held().IsNegative() {
					s.t.Errorf("%v is held", s.held())
				}
			}, binanceToo)
		})
	}
}

// TestPlan_AnExitCountsUnknownFills denies an exit of more than is left by the venue's count.
func TestPlan_AnExitCountsUnknownFills(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.done(s.buys("0.1", "stop 48000"))
		s.endsWithUnknownFills(s.legOf(order.StopLoss))
		s.denied(s.sells(dec("0.06"), ""), "reduce_only")
		s.sold(dec("0.0299"))
		s.planned()
	}, binanceToo)
}

// TestPlan_TradesOfOthersCountInTheirOrder sells, buys and sells at the venue while candela does not run. The
// first sale takes from the line, the second from what was bought in between, whatever the numbers of the orders are.
func TestPlan_TradesOfOthersCountInTheirOrder(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.placed(order.Request{Symbol: brokertest.MemorySymbol(), Side: order.Buy, Type: order.Market, Quantity: dec("1"), Protect: order.Protection{StopLoss: dec("48000")}})
		time.Sleep(2 * time.Second)
		w.stop()
		trade := func(side order.Side, quantity string) string {
			time.Sleep(time.Second)
			return w.venue.Place(order.Spec{Symbol: brokertest.MemorySymbol(), Side: side, Type: order.Market, Quantity: dec(quantity)})
		}
		for number := ""; number < "6"; { // the next has one digit, the last two
			number = w.venue.Place(order.Spec{Symbol: brokertest.MemorySymbol(), Side: order.Buy, Type: order.Limit, Quantity: dec("0.1"), Price: dec("100")})
		}
		numbers := []string{trade(order.Sell, "0.5"), trade(order.Buy, "1"), trade(order.Sell, "1")}
		if !slices.IsSorted([]string{numbers[2], numbers[0], numbers[1]}) {
			t.Fatalf("the numbers of the orders are %q", numbers)
		}
		w.start()
		time.Sleep(time.Minute)
		lines := w.store.Book(owner).Lines(brokertest.MemorySymbol())
		if len(lines) != 1 || !lines[0].Quantity.Equal(dec("0.5")) {
			t.Errorf("the plan is %+v, want a line over 0.5", lines)
		}
	})
}
