package brokertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// rest is after how long a venue that failed is asked again: a client that keeps off it
// for a while has come back by then.
const rest = 5 * time.Minute

// judge holds an error against what the failure is, and lets the venue recover.
func (f Failure) judge(ctx context.Context, err error, disarm func()) error {
	disarm()
	if err := want(err, f.Want); err != nil {
		return err
	}
	return wait(ctx, rest)
}

// fate holds that the venue took an order once, or not at all, and that a query
// says so.
func (f Failure) fate(ctx context.Context, v *Venue, o order.Spec, status order.Status) error {
	n, wanted := v.taken(o.ID), 0
	if f.Done {
		wanted = 1
	}
	if n != wanted {
		return fmt.Errorf("the venue took the order %d times, want %d", n, wanted)
	}
	if f.Done {
		_, err := v.await(ctx, o, status)
		return err
	}
	_, err := v.Broker.Query(ctx, o.Handle())
	return want(err, broker.ErrNotFound)
}

func failedLimit(ctx context.Context, v *Venue, f Failure) error {
	return failedSubmit(ctx, v, f, v.limit(order.Buy), order.Accepted)
}

func failedMarket(ctx context.Context, v *Venue, f Failure) error {
	return failedSubmit(ctx, v, f, v.market(order.Buy), order.Filled)
}

func failedSubmit(ctx context.Context, v *Venue, f Failure, o order.Spec, status order.Status) error {
	disarm := f.Arm()
	_, err := v.Broker.Submit(ctx, o)
	if err := f.judge(ctx, err, disarm); err != nil {
		return err
	}
	return f.fate(ctx, v, o, status)
}

func failedCancel(ctx context.Context, v *Venue, f Failure) error {
	o := v.limit(order.Buy)
	if _, err := v.submit(ctx, o); err != nil {
		return err
	}
	disarm := f.Arm()
	_, err := v.Broker.Cancel(ctx, o.Handle())
	if f.Orders {
		disarm()
		if err != nil {
			return fmt.Errorf("cancel: %w", err)
		}
	} else if err := f.judge(ctx, err, disarm); err != nil {
		return err
	}
	status := order.Accepted
	if f.Done || f.Orders {
		status = order.Canceled
	}
	_, err = v.await(ctx, o, status)
	return err
}

// failedAbandoned cancels the context of a request whose answer does not come.
func failedAbandoned(ctx context.Context, v *Venue, f Failure) error {
	if !f.Hang {
		return nil // it is answered before anybody can leave
	}
	o := v.limit(order.Buy)
	disarm := f.Arm()
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := v.Broker.Submit(short, o)
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the error does not say that the context ended: %w", orNone(err))
	}
	if err := f.judge(ctx, err, disarm); err != nil {
		return err
	}
	return f.fate(ctx, v, o, order.Accepted)
}
