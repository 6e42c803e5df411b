package brokertest

import (
	"context"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// capabilityChecks are the promises about what some venues do.
func capabilityChecks() []check {
	return []check{
		{"a price of too many digits is refused", tooManyDigits},
		{"a request that is void when it arrives does nothing", able(drops, voidDropped)},
		{"a stop that becomes another order names it", able(children, childNamed)},
	}
}

func children(c order.Capabilities) bool { return c.Children }

// tooManyDigits holds that a price with more digits than the instrument says is not taken, and that a valid one has
// no more.
func tooManyDigits(ctx context.Context, v *Venue) error {
	inst, err := v.Broker.Instrument(ctx, v.Symbol)
	if err != nil {
		return err
	}
	o := v.limit(order.Buy)
	tick := inst.TickAt(o.Price)
	if inst.Digits < 0 || tick.IsPositive() && !o.Price.Mod(tick).IsZero() {
		return fmt.Errorf("a valid price, %s, is not a multiple of %s", o.Price, tick)
	}
	if inst.Digits == 0 {
		return nil
	}
	o.Price = o.Price.Add(tick.Div(decimal.NewFromInt(10)))
	_, err = v.Broker.Submit(ctx, o)
	return want(err, broker.ErrRejected)
}

func drops(c order.Capabilities) bool { return c.Void > 0 }

// voidDropped holds that an order is found that arrives before its request is void, and none that arrives later.
func voidDropped(ctx context.Context, s scene) error {
	if s.Late == nil {
		return nil
	}
	for _, by := range []time.Duration{s.can.Void / 2, s.can.Void + time.Second} {
		s.Late(by)
		o := s.limit(order.Buy)
		_, err := s.Broker.Submit(ctx, o)
		if err := want(err, broker.ErrUnknown); err != nil {
			return err
		}
		if err := wait(ctx, 2*s.can.Void); err != nil {
			return err
		}
		if _, err = s.Broker.Query(ctx, o.Handle()); by < s.can.Void && err == nil {
			continue
		}
		if err := want(err, broker.ErrNotFound); err != nil || by < s.can.Void || s.taken(o.ID) != 0 {
			return fmt.Errorf("an order that arrived after %v was taken %d times, %w", by, s.taken(o.ID), orNone(err))
		}
	}
	return nil
}

// childNamed holds that the fills of what a stop became have the ID that the stop's report names.
func childNamed(ctx context.Context, s scene) error {
	if s.Reach == nil {
		return nil
	}
	if err := s.hold(ctx); err != nil {
		return err
	}
	stop := s.exit(order.Protection{StopLoss: s.Rest(order.Buy)})[0]
	if _, err := s.Broker.Submit(ctx, stop); err != nil {
		return err
	}
	_, cursor, err := s.Broker.Fills(ctx, s.Symbol, "")
	if err != nil {
		return err
	}
	s.Reach(stop.StopPrice)
	r, err := s.state(ctx, stop.Handle(), order.Filled)
	if err != nil {
		return err
	}
	fills, _, err := s.Broker.Fills(ctx, s.Symbol, cursor)
	if err != nil || r.Linked == "" || r.Linked == r.VenueID || len(fills) == 0 || fills[0].VenueID != r.Linked {
		return fmt.Errorf("a stop with the venue's id %s became %q, and the fills are %+v, %w", r.VenueID, r.Linked, fills, orNone(err))
	}
	return nil
}
