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
	s.upAndBack()
}

// upAndBack moves the price to 52,000 and then to 51,500.
func (s *site) upAndBack() {
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
			s.levelAtVenue("50960")
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
		s.move("51930")
		time.Sleep(10 * time.Second)
		if held := s.held(); held.GreaterThan(s.q("0.0001")) {
			s.t.Errorf("below the level %v is held", held)
		}
	})
}

// TestPlan_ATrailKeepsItsTick holds that a trail which is placed again and again stays at its level. It begins at
// the price of the fill, which the desk knows only by the level that the venue has put on its tick.
func TestPlan_ATrailKeepsItsTick(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		for _, c := range []struct{ trail, level string }{{"1.3", "49374.67"}, {"1.7", "49174.57"}, {"3.1", "48474.22"}} {
			s.done(s.buys("0.04", "trail "+c.trail))
			for _, target := range []string{"52000", "52100", "52200"} {
				s.done(s.sells(s.held(), "target "+target))
				s.levelAtVenue(c.level)
			}
			s.denied(s.sells(s.held(), "stop "+dec(c.level).Sub(dec("0.01")).String()), "allow_wider_stop")
			s.done(s.sells(s.held(), "stop "+c.level))
			s.levelAtVenue(c.level)
			s.sold(s.held())
		}
	}, onThePaper)
}

// TestPlan_ATargetBesideATrail holds that a target which is added, moved or cancelled leaves the trail at
// the level that it has reached.
func TestPlan_ATargetBesideATrail(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.trailed()
		all := s.net("0.04")
		for _, words := range []string{"target 55000", "target 54000"} {
			s.done(s.sells(all, words))
			s.asks(s.want(all, "trail 2 "+words))
			s.works(s.stands(all, "trail 2 "+words, "52000"))
			s.levelAtVenue("50960")
		}
		if _, err := s.Cancel(s.t.Context(), caller(), s.legOf(order.TakeProfit).ID); err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		s.asks(s.want(all, "trail 2"))
		s.works(s.stands(all, "trail 2", "52000"))
		s.levelAtVenue("50960")
	}, onThePaper, binanceToo)
}

// TestPlan_AnotherTrailBeginsNow holds that a trail of another distance begins at the price of the moment,
// and not at the best price of the one whose place it takes.
func TestPlan_AnotherTrailBeginsNow(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.trailed()
		s.done(s.sells(s.net("0.04"), "trail 1"))
		s.planned(s.want(s.net("0.04"), "trail 1"))
		s.move("51450") // below 52,000 less 1 %
		time.Sleep(5 * time.Second)
		s.sold(s.q("0.01"))
		s.asks(s.want(s.net("0.04", "-0.01"), "trail 1"))
		if got := s.level(); !got.Equal(s.p("50985")) {
			s.t.Errorf("the level is %v", got)
		}
		level := "50985"
		if s.shares { // on the tick, nearer to the price
			level = "50990"
		}
		s.levelAtVenue(level)
	})
}

// levelAtVenue holds the price at which the only stop at the venue sells.
func (s *site) levelAtVenue(want string) {
	s.t.Helper()
	open, err := s.broker.Open(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range open {
		if r.IsStop() {
			if !r.StopPrice.Equal(s.p(want)) {
				s.t.Errorf("at the venue the stop sells at %v, want %v", r.StopPrice, s.p(want))
			}
			return
		}
	}
	s.t.Error("the venue has no stop")
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
		s.done(s.buys("0.04", "trail 2"))
		s.upAndBack()
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
