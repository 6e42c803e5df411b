package desk_test

import (
	"testing"
	"testing/synctest"
	"time"

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
