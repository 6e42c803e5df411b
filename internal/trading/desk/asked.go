package desk

import (
	"context"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Asked returns an order that the owner was asked about for the caller's token, as Place returns it when its key is used
// again. An order of another token, or one that the owner was not asked about, is not found.
func (d *Desk) Asked(ctx context.Context, caller principal.Caller, id string) (order.Placed, error) {
	caller, err := d.authorize(caller)
	if err != nil {
		return order.Placed{}, err
	}
	var o order.Order
	var known bool
	if err := d.do(ctx, func(l *loop) { o, known = l.book.Order(id) }); err != nil {
		return order.Placed{}, err
	}
	if !known {
		if o, err = d.cfg.Store.Order(ctx, d.cfg.Owner, id); err != nil && fault.KindOf(err) != fault.NotFound {
			return order.Placed{}, err
		}
	}
	if err != nil || o.Token != caller.Key || o.Approval.Asked.IsZero() {
		return order.Placed{}, fault.New(fault.NotFound, "unknown_order", "No order %q of this client was shown to the owner.", id).About("order_id", id, "")
	}
	return order.Placed{Order: o}, orderError(o)
}

// Withdraw ends an order of the caller's token that waits for the owner, with the others of its group. An order that no
// longer waits stays as it is, so that nothing that was sent is cancelled.
func (d *Desk) Withdraw(ctx context.Context, caller principal.Caller, id string) error {
	if p, err := d.Asked(ctx, caller, id); p.ID == "" {
		return err
	}
	caller, err := d.authorize(caller)
	if err == nil {
		_, err = d.confirm(ctx, caller)
	}
	if err != nil {
		return err
	}
	var failure error
	err = d.do(ctx, func(l *loop) {
		if o, ok := l.book.Order(id); ok && o.Status == order.PendingApproval && o.Token == caller.Key {
			failure = l.withdraw(caller, o).err
		}
	})
	if err != nil {
		return err
	}
	return failure
}
