package brokertest

import (
	"context"
	"fmt"

	"candela/internal/trading/order"
)

// capabilityChecks are the promises about what some venues do.
func capabilityChecks() []check {
	return []check{
		{"a stop that becomes another order names it", able(children, childNamed)},
	}
}

func children(c order.Capabilities) bool { return c.Children }

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
