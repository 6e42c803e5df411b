package brokertest

import (
	"context"
	"fmt"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

func fills(ctx context.Context, v *Venue) error {
	none, cursor, err := v.Broker.Fills(ctx, v.Symbol, "")
	if err != nil || len(none) != 0 {
		return fmt.Errorf("before any trade there are %d fills, %w", len(none), orNone(err))
	}
	byVenueID := map[string]order.Spec{}
	var each []order.Fill // read after each order, while the clock stands still
	for _, side := range []order.Side{order.Buy, order.Buy, order.Sell} {
		o := v.market(side)
		if _, err := v.submit(ctx, o); err != nil {
			return err
		}
		r, err := v.await(ctx, o, order.Filled)
		if err != nil {
			return err
		}
		byVenueID[r.VenueID] = o
		var next []order.Fill
		if next, cursor, err = v.Broker.Fills(ctx, v.Symbol, cursor); err != nil {
			return err
		}
		each = append(each, next...)
	}
	if rest, end, err := v.Broker.Fills(ctx, v.Symbol, cursor); err != nil || len(rest) != 0 || end != cursor {
		return fmt.Errorf("after the newest fill come %d, and a cursor other than the same %q: %q, %w", len(rest), cursor, end, orNone(err))
	}
	all, _, err := v.Broker.Fills(ctx, v.Symbol, "")
	if err != nil {
		return err
	}
	sums := map[string]decimal.Decimal{}
	for i, f := range all {
		o, ok := byVenueID[f.VenueID]
		if !ok {
			return fmt.Errorf("a fill of an order that was not sent: %+v", f)
		}
		if err := soundFill(f, o, f.VenueID); err != nil {
			return err
		}
		if i > 0 && f.At.Before(all[i-1].At) {
			return fmt.Errorf("a fill of %v comes after one of %v", f.At, all[i-1].At)
		}
		sums[f.VenueID] = sums[f.VenueID].Add(f.Quantity)
		if len(each) != len(all) || each[i].TradeID != f.TradeID {
			return fmt.Errorf("from cursor to cursor come %d fills, and %d from the first", len(each), len(all))
		}
	}
	for venueID, o := range byVenueID {
		if !sums[venueID].Equal(o.Quantity) {
			return fmt.Errorf("the fills of an order of %s add up to %s", o.Quantity, sums[venueID])
		}
	}
	return nil
}

// forced holds that what the venue closed by itself is a trade like any other, of no order of ours, with its cause.
func forced(ctx context.Context, v *Venue) error {
	if v.Force == nil {
		return nil
	}
	half := v.Quantity.Div(decimal.NewFromInt(2))
	for _, cause := range order.Causes() {
		if err := v.buy(ctx); err != nil {
			return err
		}
		_, cursor, err := v.Broker.Fills(ctx, v.Symbol, "")
		if err != nil {
			return err
		}
		before, err := v.held(ctx)
		if err != nil {
			return err
		}
		v.Force(half, cause)
		fills, _, err := v.Broker.Fills(ctx, v.Symbol, cursor)
		if err != nil || len(fills) != 1 || fills[0].Cause != cause || fills[0].Side != order.Sell || !fills[0].Quantity.Equal(half) || fills[0].VenueID == "" {
			return fmt.Errorf("after a %s of %s there are %+v, %w", cause, half, fills, orNone(err))
		}
		after, err := v.held(ctx)
		if err != nil || !after.Quantity.Equal(before.Quantity.Sub(half)) {
			return fmt.Errorf("after a %s of %s, %s of %s are held, %w", cause, half, after.Quantity, before.Quantity, orNone(err))
		}
	}
	return nil
}

func holdings(ctx context.Context, v *Venue) error {
	before, err := v.held(ctx)
	if err != nil {
		return err
	}
	if err := v.buy(ctx); err != nil {
		return err
	}
	after, err := v.held(ctx)
	if err != nil {
		return err
	}
	bought := v.Quantity.Mul(decimal.NewFromInt(2))
	gain := after.Quantity.Sub(before.Quantity)
	// A fee may have been taken from it.
	if gain.GreaterThan(bought) || gain.LessThan(bought.Mul(decimal.RequireFromString("0.99"))) {
		return fmt.Errorf("after buying %s there are %s more", bought, gain)
	}
	o := v.limit(order.Sell)
	if _, err := v.submit(ctx, o); err != nil {
		return err
	}
	if _, err := v.await(ctx, o, order.Accepted); err != nil {
		return err
	}
	resting, err := v.held(ctx)
	if err != nil {
		return err
	}
	if !resting.Quantity.Equal(after.Quantity) || !resting.Available.Equal(after.Available.Sub(o.Quantity)) {
		return fmt.Errorf("with %s for sale, %s of %s are available", o.Quantity, resting.Available, resting.Quantity)
	}
	return nil
}

// held returns what the account has of the symbol.
func (v *Venue) held(ctx context.Context) (order.Holding, error) {
	inst, err := v.Broker.Instrument(ctx, v.Symbol)
	if err != nil {
		return order.Holding{}, err
	}
	all, err := v.Broker.Holdings(ctx)
	if err != nil {
		return order.Holding{}, err
	}
	for _, h := range all {
		if h.Symbol == v.Symbol || h.Symbol.Name == "" && h.Asset == inst.Base && inst.Base != "" {
			return h, nil
		}
	}
	return order.Holding{}, nil
}
