package desk_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// trailed is a position of 0.04 whose trail of 2 % has followed the price to 52,000, while the price is
// 51,500.
func (s *site) trailed() {
	s.t.Helper()
	if s.alpaca != nil { // its entries take no trail
		s.done(s.buys("0.04", ""))
		s.done(s.sells(s.held(), "trail 2"))
	} else {
		s.done(s.buys("0.04", "trail 2"))
	}
	s.planned(s.want(s.net("0.04"), "trail 2"))
	s.move("52000")
	time.Sleep(2 * time.Second)
	s.move("51500")
	time.Sleep(2 * time.Second)
}

// level returns the level of the only line.
func (s *site) level() decimal.Decimal {
	s.t.Helper()
	positions, err := s.Positions(s.t.Context(), caller())
	if err != nil || len(positions) != 1 || len(positions[0].Plan) != 1 {
		s.t.Fatalf("the positions are %+v, %v", positions, err)
	}
	return positions[0].Plan[0].Level()
}

// TestPlan_ATrailIsNeverWider holds that a trail which a partial exit ends is placed again at the level
// that it had reached, also after a restart; that it trails again when the price is beyond its best one;
// and that it sells at its level.
func TestPlan_ATrailIsNeverWider(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.trailed()
		for n, left := range []decimal.Decimal{s.net("0.04", "-0.01"), s.net("0.04", "-0.02")} {
			s.sold(s.q("0.01"))
			s.asks(s.want(left, "trail 2"))
			s.works(s.stands(left, "trail 2", "52000"))
			if got := s.level(); !got.Equal(s.p("50960")) {
				s.t.Errorf("after exit %d the level is %v", n, got)
			}
			s.again(s.kill)
			if got := s.level(); !got.Equal(s.p("50960")) {
				s.t.Errorf("after exit %d and a restart the level is %v", n, got)
			}
			s.works(s.stands(left, "trail 2", "52000"))
		}
		left := s.net("0.04", "-0.02")
		s.move("53000")
		time.Sleep(10 * time.Second)
		s.planned(s.want(left, "trail 2"))
		if got := s.level(); !got.Equal(s.p("51940")) {
			s.t.Errorf("beyond its best price the level is %v", got)
		}
		s.move("51930")
		time.Sleep(10 * time.Second)
		if held := s.held(); held.GreaterThan(s.q("0.0001")) {
			s.t.Errorf("below the level %v is held", held)
		}
	})
}

// TestPlan_AStopAtTheLevelSells holds that the fixed stop which stands for a trail sells at its level.
func TestPlan_AStopAtTheLevelSells(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.trailed()
		s.sold(s.q("0.01"))
		s.move("50950")
		time.Sleep(10 * time.Second)
		if held := s.held(); held.GreaterThan(s.q("0.0001")) {
			s.t.Errorf("below the level %v is held", held)
		}
		if open := s.working(); len(open) > 0 {
			s.t.Errorf("open are %q", open)
		}
	})
}

// TestPlan_AWiderStopThanATrail holds that the level that a trail has reached bounds what may take its
// place: a fixed stop, by its ID or by the quantity, and another trail.
func TestPlan_AWiderStopThanATrail(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.trailed()
		stop := s.legOf(order.StopLoss)
		for _, words := range []string{"stop 50000", "stop 50950", "trail 3"} {
			r := s.sells(order.RoundDown(s.held(), dec("0.00001")), words)
			s.denied(r, "allow_wider_stop")
			r.Replaces = stop.ID
			s.denied(r, "allow_wider_stop")
		}
		time.Sleep(2 * time.Second)
		s.planned(s.want(s.net("0.04"), "trail 2"))
		r := s.sells(order.RoundDown(s.held(), dec("0.00001")), "stop 50960")
		r.Replaces = stop.ID
		s.done(r)
		s.planned(s.want(s.net("0.04"), "stop 50960"))
	})
}

// TestPlan_ATrailBesideAnotherLine holds that an exit of the older line does not end the trail of the
// newer one, and that the exit of all of the older and a part of it carries its level.
func TestPlan_ATrailBesideAnotherLine(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.done(s.buys("0.02", "stop 48000"))
		s.trailed2()
		trail := s.want(s.net("0.04"), "trail 2")
		s.sold(s.q("0.01"))
		s.planned(s.want(s.net("0.02", "-0.01"), "stop 48000"), trail)
		s.sold(s.q("0.02"))
		left := s.net("0.02", "0.04", "-0.03")
		s.asks(s.want(left, "trail 2"))
		s.works(s.stands(left, "trail 2", "52000"))
		if got := s.level(); !got.Equal(s.p("50960")) {
			s.t.Errorf("the level is %v", got)
		}
	}, onThePaper, binanceToo)
}

// trailed2 is trailed beside another line.
func (s *site) trailed2() {
	s.t.Helper()
	s.done(s.buys("0.04", "trail 2"))
	s.move("52000")
	time.Sleep(2 * time.Second)
	s.move("51500")
	time.Sleep(2 * time.Second)
}
