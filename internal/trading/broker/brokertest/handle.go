package brokertest

import (
	"context"
	"fmt"

	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// byVenueID holds that an order whose id of ours the venue does not know can be asked for
// and cancelled, as the legs of a bracket are.
func byVenueID(ctx context.Context, v *Venue) error {
	o := v.limit(order.Buy)
	r, err := v.submit(ctx, o)
	if err != nil {
		return err
	}
	h := order.Handle{Spec: o, VenueID: r.VenueID}
	h.ID = ""
	got, err := v.Broker.Query(ctx, h)
	if err != nil || got.VenueID != r.VenueID || got.ID != o.ID {
		return fmt.Errorf("query: %s %s, want %s %s (%w)", got.ID, got.VenueID, o.ID, r.VenueID, orNone(err))
	}
	if _, err := v.Broker.Cancel(ctx, h); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	if _, err := v.await(ctx, o, order.Canceled); err != nil {
		return err
	}
	h.VenueID = "999999999"
	_, err = v.Broker.Query(ctx, h)
	return want(err, broker.ErrNotFound)
}
