package deskproxy

import (
	"context"

	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// registerApproval is the part of register for the owner's decisions.
func (d *Desk) registerApproval() {
	d.asked = newReadMethod(d, "desk.asked", func(ctx context.Context, running Trader, c cancelCall) (a orderReply, err error) {
		a.Order, err = running.Asked(ctx, c.Caller, c.ID)
		return a, err
	})
	d.withdraw = newMethod(d, "desk.withdraw", func(ctx context.Context, running Trader, c cancelCall) (struct{}, error) {
		return struct{}{}, running.Withdraw(ctx, c.Caller, c.ID)
	})
	d.pending = newReadMethod(d, "desk.pending", func(ctx context.Context, running Trader, _ struct{}) ([]order.Order, error) {
		return running.Pending(ctx)
	})
	d.review = newReadMethod(d, "desk.review", func(ctx context.Context, running Trader, c decideCall) (guard.Review, error) {
		return running.Review(ctx, c.ID)
	})
	d.approve = newMethod(d, "desk.approve", func(ctx context.Context, running Trader, c decideCall) (a orderReply, err error) {
		a.Order.Order, err = running.Approve(ctx, c.ID, c.Who)
		return a, err
	})
	d.refuse = newMethod(d, "desk.refuse", func(ctx context.Context, running Trader, c decideCall) (a orderReply, err error) {
		a.Order.Order, err = running.Refuse(ctx, c.ID, c.Who, c.Reason)
		return a, err
	})
}

// Asked returns an order of the caller's that the owner was asked about, as desk.Desk does.
func (d *Desk) Asked(ctx context.Context, caller principal.Caller, id string) (order.Placed, error) {
	a, err := d.asked(ctx, cancelCall{caller, id})
	return a.Order, err
}

// Withdraw ends an order of the caller's that waits for the owner, as desk.Desk does.
func (d *Desk) Withdraw(ctx context.Context, caller principal.Caller, id string) error {
	_, err := d.withdraw(ctx, cancelCall{caller, id})
	return withRemedy(err, true, "The trading replica did not reply, so the order may still wait. Retry; withdrawing twice is safe.")
}

// Pending lists the orders that wait for the owner, as desk.Desk does.
func (d *Desk) Pending(ctx context.Context) ([]order.Order, error) { return d.pending(ctx, struct{}{}) }

// Review says how an order that waits for the owner stands, as desk.Desk does.
func (d *Desk) Review(ctx context.Context, id string) (guard.Review, error) {
	return d.review(ctx, decideCall{ID: id})
}

// Approve sends an order that waits for the owner, as desk.Desk does.
func (d *Desk) Approve(ctx context.Context, id, by string) (order.Order, error) {
	a, err := d.approve(ctx, decideCall{ID: id, Who: by})
	return a.Order.Order, withRemedy(err, true, "The trading replica did not reply, so the order may have been sent. "+
		"Run the command again: an order is sent once.")
}

// Refuse ends an order that waits for the owner, as desk.Desk does.
func (d *Desk) Refuse(ctx context.Context, id, by, reason string) (order.Order, error) {
	a, err := d.refuse(ctx, decideCall{ID: id, Who: by, Reason: reason})
	return a.Order.Order, withRemedy(err, true, "The trading replica did not reply, so the order may still wait. Run the command again.")
}
