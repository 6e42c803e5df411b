package desk_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// alone buys 0.05 and asks for its stop or trail afterwards.
func (s *site) alone(words string) order.Placed {
	s.t.Helper()
	s.done(s.buys("0.05", ""))
	p := s.done(s.sells(s.held(), words))
	s.planned(s.want(s.net("0.05"), words))
	return p
}

// stands is a line in words as the venue has it after its trail was placed again: a stop at the level
// that it has reached, until the price is beyond the best one. Paper goes on from there.
func (s *site) stands(quantity decimal.Decimal, words, best string) string {
	if p := s.protection(words); s.paper == nil && p.TrailPercent.IsPositive() {
		level := s.p(best).Mul(decimal.NewFromInt(1).Sub(p.TrailPercent.Shift(-2)))
		p.StopLoss, p.TrailPercent = level, decimal.Zero
		return s.words(quantity, p)
	}
	return s.want(quantity, words)
}

// TestPlan_AStopAloneIsShortened holds that the stop or trail of a plain purchase protects what
// a partial exit leaves, also when the exit is at a limit that trades at once.
func TestPlan_AStopAloneIsShortened(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"stop 48500", "trail 2"} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				s.alone(words)
				s.sold(s.q("0.02"))
				s.asks(s.want(s.net("0.05", "-0.02"), words))
				s.works(s.stands(s.net("0.05", "-0.02"), words, "50000"))
				limit := s.sells(s.q("0.01"), "")
				limit.Type, limit.Price = order.Limit, s.p("49900")
				s.wants(s.order(s.done(limit).ID), order.Filled)
				for range 2 {
					s.asks(s.want(s.net("0.05", "-0.03"), words))
					s.works(s.stands(s.net("0.05", "-0.03"), words, "50000"))
					s.again(s.stop)
				}
			})
		})
	}
}

// TestPlan_ARefusedExitLeavesTheLine holds that a position keeps its stop for all of it when the
// venue refuses a partial exit.
func TestPlan_ARefusedExitLeavesTheLine(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"stop 48500", "trail 2"} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				s.alone(words)
				s.fails("refused")
				s.denied(s.sells(s.q("0.02"), ""), "order_rejected")
				time.Sleep(10 * time.Second)
				if held := s.held(); !held.Equal(s.net("0.05")) {
					s.t.Errorf("%v is held", held)
				}
				s.asks(s.want(s.net("0.05"), words))
				s.works(s.stands(s.net("0.05"), words, "50000"))
			}, binanceToo, alpacaToo)
		})
	}
}

// TestPlan_ACrashBeforeTheExit kills the desk between the end of the stop and the exit, and holds
// that all of the position has its stop after the start: an exit is not sent late.
func TestPlan_ACrashBeforeTheExit(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"stop 48500", "trail 2"} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				s.alone(words)
				s.delay(100 * time.Millisecond)
				exit := s.sells(s.q("0.02"), "")
				go func() { _, _ = s.Place(s.t.Context(), caller(), exit) }()
				s.until("the stop ends", func() bool { return s.bareAtVenue() })
				s.delay(0)
				s.again(s.kill)
				time.Sleep(10 * time.Second)
				if held := s.held(); !held.Equal(s.net("0.05")) {
					s.t.Errorf("%v is held", held)
				}
				s.asks(s.want(s.net("0.05"), words))
				s.works(s.stands(s.net("0.05"), words, "50000"))
			}, binanceToo, alpacaToo)
		})
	}
}

// TestPlan_ACrashDuringASwap kills the desk at every step of a partial exit on paper. After the start
// what is held has its stop, whether the exit was done or not.
func TestPlan_ACrashDuringASwap(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.alone("stop 48500")
		exit, place := s.sells(s.q("0.02"), ""), s.Place
		go func() { _, _ = place(s.t.Context(), caller(), exit) }()
		s.again(s.kill)
		time.Sleep(10 * time.Second)
		s.planned(s.want(s.held(), "stop 48500"))
	}, onThePaper)
}

// TestPlan_AMovedStopThatIsRefused holds that the old stop stands, or stands again, when the venue
// refuses the one that was to take its place.
func TestPlan_AMovedStopThatIsRefused(t *testing.T) {
	t.Parallel()
	for name, replaces := range map[string]bool{"by its ID": true, "by its quantity": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				stop := s.alone("stop 48500")
				r := s.sells(s.held(), "stop 49000")
				if replaces {
					r.Replaces = stop.ID
				}
				refused := orderFault(s, "balance")
				refused.On = stopOrder
				s.next(refused)
				s.denied(r, "order_rejected")
				time.Sleep(10 * time.Second)
				s.planned(s.want(s.net("0.05"), "stop 48500"))
			}, binanceToo, alpacaToo)
		})
	}
}

// TestPlan_TwoStopsAlone holds that of two stops of a plain purchase an exit shortens the older, and
// leaves the orders of the other as they are.
func TestPlan_TwoStopsAlone(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.done(s.buys("0.05", ""))
		s.done(s.sells(s.q("0.02"), "stop 48500"))
		second := s.done(s.sells(s.held().Sub(s.q("0.02")), "stop 48000"))
		s.planned(s.want(s.q("0.02"), "stop 48500"), s.want(s.net("0.05", "-0.02"), "stop 48000"))
		s.sold(s.q("0.01"))
		s.planned(s.want(s.q("0.01"), "stop 48500"), s.want(s.net("0.05", "-0.02"), "stop 48000"))
		s.wants(s.order(second.ID), order.Accepted)
		s.sold(s.q("0.02"))
		s.planned(s.want(s.net("0.05", "-0.03"), "stop 48000"))
	})
}

// TestPlan_WhatNoLineIsForIsSoldFirst holds that an exit leaves a stop for a part of a position alone
// as long as there is something beside it.
func TestPlan_WhatNoLineIsForIsSoldFirst(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.done(s.buys("0.05", ""))
		stop := s.done(s.sells(s.q("0.03"), "stop 48500"))
		exit := s.sold(s.net("0.05", "-0.03"))
		if len(exit.Released) > 0 {
			s.t.Errorf("released are %v", exit.Released)
		}
		s.planned(s.want(s.q("0.03"), "stop 48500"))
		s.wants(s.order(stop.ID), order.Accepted)
	})
}
