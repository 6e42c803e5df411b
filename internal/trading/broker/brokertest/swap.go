package brokertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/shopspring/decimal"

	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// swapChecks are the promises of a broker.Swapper about one that holds stops and pairs.
func swapChecks() []check {
	return []check{
		{"a swap puts a pair in the place of a stop", swaps(swapStop)},
		{"a swap sells a part and protects the rest", swaps(swapPart)},
		{"a swap of which one group is refused changes nothing", swaps(swapRefused)},
		{"a swap of an order that is over changes nothing", swaps(swapOver)},
		{"a swap of an order that nobody sent changes nothing", swaps(swapUnknown)},
		{"the ids of a swap are never refused once they are taken", swaps(swapTwice)},
		{"a swap whose context ended is not sent", swaps(swapAbandoned)},
		{"every order of a swap is reported", swaps(swapStream)},
	}
}

// exchange is a venue that swaps, with a stop over what is held.
type exchange struct {
	scene
	broker.Swapper
	stop order.Handle
}

// swaps runs a check at a venue that can do it.
func swaps(run func(context.Context, exchange) error) func(context.Context, *Venue) error {
	return func(ctx context.Context, v *Venue) error {
		x, err := newExchange(ctx, v)
		if err != nil || x.Swapper == nil {
			return err
		}
		return run(ctx, x)
	}
}

// newExchange returns a venue without a Swapper where nothing can be swapped.
func newExchange(ctx context.Context, v *Venue) (exchange, error) {
	s, err := newScene(ctx, v)
	swapper, ok := v.Broker.(broker.Swapper)
	if err != nil || !ok || !s.can.Stops || !s.can.Pairs {
		return exchange{}, err
	}
	x := exchange{scene: s, Swapper: swapper}
	if err := x.hold(ctx); err != nil {
		return x, err
	}
	// All that is held, so that nothing is free for another order.
	x.quantity = x.quantity.Add(v.Quantity)
	o := x.exit(order.Protection{StopLoss: x.Rest(order.Buy)})[0]
	r, err := v.Broker.Submit(ctx, o)
	if err != nil {
		return x, fmt.Errorf("submit the stop: %w", err)
	}
	x.stop = order.Handle{Spec: o, VenueID: r.VenueID}
	return x, nil
}

// part returns a sale of half of what is held, and a pair for the other half.
func (x exchange) part() [][]order.Spec {
	x.quantity = x.quantity.Div(decimal.NewFromInt(2))
	return [][]order.Spec{x.exit(order.Protection{}), x.pair()}
}

// want holds the stop and the new orders against their statuses.
func (x exchange) want(ctx context.Context, stop order.Status, groups [][]order.Spec, statuses ...order.Status) error {
	if _, err := x.state(ctx, x.stop, stop); err != nil {
		return err
	}
	for i, group := range groups {
		for _, o := range group {
			if n := x.taken(o.ID); n != 1 {
				return fmt.Errorf("the venue took the %v %d times", o.Role, n)
			}
			if _, err := x.state(ctx, o.Handle(), statuses[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// unchanged holds that the stop works and the venue has none of the new orders.
func (x exchange) unchanged(ctx context.Context, groups [][]order.Spec) error {
	for _, group := range groups {
		if err := x.absent(ctx, group); err != nil {
			return err
		}
	}
	return x.want(ctx, order.Accepted, nil)
}

// swap swaps the stop for groups, and holds that the reports are of these orders.
func (x exchange) swap(ctx context.Context, groups [][]order.Spec) error {
	done, err := x.Swap(ctx, []order.Handle{x.stop}, groups)
	if err != nil {
		return fmt.Errorf("swap: %w", err)
	}
	if len(done.Ended) != 1 || done.Ended[0].ID != x.stop.ID || done.Ended[0].Status != order.Canceled {
		return fmt.Errorf("ended are %+v", done.Ended)
	}
	if len(done.Placed) != len(groups) {
		return fmt.Errorf("%d groups of reports for %d groups of orders", len(done.Placed), len(groups))
	}
	for i, group := range groups {
		if len(done.Placed[i]) != len(group) {
			return fmt.Errorf("%d reports of %d orders", len(done.Placed[i]), len(group))
		}
		for k, o := range group {
			if r := done.Placed[i][k]; r.ID != o.ID || about(r, o) != nil {
				return fmt.Errorf("the report of %s has the id %q: %w", o.ID, r.ID, orNone(about(r, o)))
			}
		}
	}
	return nil
}

func swapStop(ctx context.Context, x exchange) error {
	groups := [][]order.Spec{x.pair()}
	if err := x.swap(ctx, groups); err != nil {
		return err
	}
	return x.want(ctx, order.Canceled, groups, order.Accepted)
}

func swapPart(ctx context.Context, x exchange) error {
	groups := x.part()
	if err := x.swap(ctx, groups); err != nil {
		return err
	}
	return x.want(ctx, order.Canceled, groups, order.Filled, order.Accepted)
}

func swapRefused(ctx context.Context, x exchange) error {
	groups := x.part()
	groups = append(groups, x.pair()) // of what the others have
	_, err := x.Swap(ctx, []order.Handle{x.stop}, groups)
	if err := want(err, broker.ErrRejected); err != nil {
		return err
	}
	return x.unchanged(ctx, groups)
}

func swapOver(ctx context.Context, x exchange) error {
	over := x.limit(order.Buy)
	if _, err := x.submit(ctx, over); err != nil {
		return err
	}
	x.Trade(over.ID, over.Quantity)
	if _, err := x.await(ctx, over, order.Filled); err != nil {
		return err
	}
	groups := x.part()
	_, err := x.Swap(ctx, []order.Handle{x.stop, over.Handle()}, groups)
	if err := want(err, broker.ErrRejected); err != nil {
		return err
	}
	return x.unchanged(ctx, groups)
}

func swapUnknown(ctx context.Context, x exchange) error {
	groups := x.part()
	_, err := x.Swap(ctx, []order.Handle{x.stop, x.limit(order.Buy).Handle()}, groups)
	if err := want(err, broker.ErrRejected); err != nil {
		return err
	}
	return x.unchanged(ctx, groups)
}

func swapTwice(ctx context.Context, x exchange) error {
	groups := x.part()
	if err := x.swap(ctx, groups); err != nil {
		return err
	}
	_, err := x.Swap(ctx, []order.Handle{x.stop}, groups)
	if err := want(err, broker.ErrUnknown); err != nil {
		return err
	}
	return x.want(ctx, order.Canceled, groups, order.Filled, order.Accepted)
}

func swapAbandoned(ctx context.Context, x exchange) error {
	over, cancel := context.WithCancel(ctx)
	cancel()
	groups := x.part()
	_, err := x.Swap(over, []order.Handle{x.stop}, groups)
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the error does not say that the context ended: %w", orNone(err))
	}
	if err := want(err, broker.ErrNotSent); err != nil {
		return err
	}
	return x.unchanged(ctx, groups)
}

func swapStream(ctx context.Context, x exchange) error {
	l := Listen(ctx, x.Broker)
	defer l.cancel()
	if err := l.await(ctx); err != nil {
		return err
	}
	groups := x.part()
	done, err := x.Swap(ctx, []order.Handle{x.stop}, groups)
	if err != nil {
		return fmt.Errorf("swap: %w", err)
	}
	handles := []order.Handle{x.stop}
	for i, group := range done.Placed {
		for k, r := range group {
			handles = append(handles, order.Handle{Spec: groups[i][k], VenueID: r.VenueID})
		}
	}
	if err := l.reported(ctx, handles, false); err != nil {
		return err
	}
	return l.over()
}

// failedSwap is a promise about a swap that fails: all of it is done, or nothing.
func failedSwap(ctx context.Context, v *Venue, f Failure) error {
	x, err := newExchange(ctx, v)
	if err != nil || x.Swapper == nil {
		return err
	}
	groups := x.part()
	disarm := f.Arm()
	_, err = x.Swap(ctx, []order.Handle{x.stop}, groups)
	if err := f.judge(ctx, err, disarm); err != nil {
		return err
	}
	if !f.Done {
		return x.unchanged(ctx, groups)
	}
	return x.want(ctx, order.Canceled, groups, order.Filled, order.Accepted)
}
