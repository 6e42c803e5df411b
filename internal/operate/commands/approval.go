package commands

import (
	"context"

	"candela/internal/operate/control"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/trading/order"
)

// The commands candela approvals, approve and refuse. They need a program that trades, or
// with replicas one that does somewhere: an approval needs the price of now.

// Approvals lists the orders that wait for the owner.
func (c *Set) Approvals(ctx context.Context) ([]control.Pending, error) {
	all, reached, err := control.Approvals(ctx, c.home)
	if reached || err != nil {
		return all, err
	}
	orders, err := c.elsewhere.ask(ctx, func(ctx context.Context, d *deskproxy.Desk) ([]order.Order, error) { return d.Pending(ctx) })
	return control.PendingOf(orders), err
}

// Approve sends an order that waits for the owner, if every rule still passes.
func (c *Set) Approve(ctx context.Context, id string) (control.Decided, error) {
	d, reached, err := control.Approve(ctx, c.home, id)
	if reached || err != nil {
		return d, err
	}
	return c.decide(ctx, func(ctx context.Context, d *deskproxy.Desk) (order.Order, error) {
		return d.Approve(ctx, id, control.ByApprove)
	})
}

// Refuse ends an order that waits for the owner. The client reads the reason.
func (c *Set) Refuse(ctx context.Context, id, reason string) (control.Decided, error) {
	d, reached, err := control.Refuse(ctx, c.home, id, reason)
	if reached || err != nil {
		return d, err
	}
	return c.decide(ctx, func(ctx context.Context, d *deskproxy.Desk) (order.Order, error) {
		return d.Refuse(ctx, id, control.ByRefuse, reason)
	})
}

// decide asks the replica that trades about one order.
func (c *Set) decide(ctx context.Context, ask func(context.Context, *deskproxy.Desk) (order.Order, error)) (control.Decided, error) {
	all, err := c.elsewhere.ask(ctx, func(ctx context.Context, d *deskproxy.Desk) ([]order.Order, error) {
		o, err := ask(ctx, d)
		return []order.Order{o}, err
	})
	if err != nil {
		return control.Decided{}, err
	}
	return control.DecidedOf(all[0]), nil
}
