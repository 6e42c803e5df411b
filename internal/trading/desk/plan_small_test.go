package desk_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/broker"
	"candela/lib/market"
)

// dear is a venue with another least worth of an order.
type dear struct {
	broker.Broker

	least decimal.Decimal
}

func (d dear) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	inst, err := d.Broker.Instrument(ctx, s)
	inst.MinNotional = d.least
	return inst, err
}

// TestPlan_ALineThatBecameTooSmallKeepsItsStop changes prices where the venue takes no more orders of a line's
// size: the stop of the line stays, and the other line changes.
func TestPlan_ALineThatBecameTooSmallKeepsItsStop(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.done(s.buys("0.001", "stop 48500"))
		s.done(s.buys("0.01", "stop 48600"))
		small, large := s.want(dec("0.00099"), "stop 48500"), s.want(s.net("0.01"), "stop 48600 target 55000")
		s.stop()
		s.broker = dear{s.broker, decimal.NewFromInt(100)}
		s.start()
		time.Sleep(5 * time.Second)
		s.done(s.sells(s.held(), "target 55000"))
		time.Sleep(time.Minute)
		s.works(small, large)
		s.denied(s.sells(s.net("0.001"), "target 56000"), "venue_leg_notional")
		time.Sleep(time.Minute)
		s.works(small, large)
	}, binanceToo)
}

// TestPlan_WhatAFeeLeavesTakesNoStop buys with a stop and a target that is reached, again and again. A fee in what was bought
// leaves a little each time, which no stop of the venue can close, and does not count as one.
func TestPlan_WhatAFeeLeavesTakesNoStop(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		for n := range 7 {
			s.done(s.buys("0.0199", fmt.Sprintf("stop %d target %d", 48500+n, 51000+n)))
			s.move("51500")
			time.Sleep(10 * time.Second)
			s.move("50000")
			time.Sleep(10 * time.Second)
		}
		if rest := s.held(); !rest.IsPositive() || rest.GreaterThan(dec("0.00001")) {
			s.t.Errorf("%s is left", rest)
		}
	}, binanceToo)
}
