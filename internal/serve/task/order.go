package task

import (
	"context"
	"fmt"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Orders are the orders that the owner was asked about. The id of one is that of its task.
type Orders interface {
	// Asked returns an order of the caller's token, with the error that placing it ended with. One that is not found is
	// a fault of that kind.
	Asked(ctx context.Context, caller principal.Caller, id string) (order.Placed, error)
	// Withdraw ends an order that waits, and leaves any other as it is.
	Withdraw(ctx context.Context, caller principal.Caller, id string) error
}

// OfOrder describes an order that the owner was asked about. It has no result yet.
func OfOrder(o *order.Order) *mcp.Task {
	t := &mcp.Task{ID: o.ID, Created: o.Approval.Asked, Updated: o.Updated, Until: o.Approval.Expires}
	switch o.Status {
	case order.PendingApproval:
		t.Status = mcp.TaskWorking
		t.Message = "Nothing was sent. The order waits for the owner's approval until " + o.Approval.Expires.UTC().Format("2006-01-02T15:04:05Z") + "."
		t.Question = fmt.Sprintf("Approve %s %s %s?", o.Side, o.Quantity, o.Symbol.Name)
	case order.New, order.Submitted:
		t.Status, t.Message = mcp.TaskWorking, "The owner has approved the order; the venue has not answered."
	case order.Canceled:
		if t.Status = mcp.TaskCompleted; o.NotSent {
			t.Status, t.Message = mcp.TaskCancelled, "The order was withdrawn; nothing was sent."
		}
	default:
		t.Status = mcp.TaskCompleted
	}
	return t
}

// ofOrder returns the task of an order of the caller's, with the order as it stands.
func (t *Tasks) ofOrder(ctx context.Context, caller principal.Caller, id string) (*mcp.Task, error) {
	if t.cfg.Orders == nil {
		return nil, mcp.ErrNoTask
	}
	placed, err := t.cfg.Orders.Asked(ctx, caller, id)
	if placed.ID == "" {
		return nil, unknown(err)
	}
	result, err := t.cfg.Render(ctx, placed, err)
	if err != nil {
		return nil, err
	}
	task := OfOrder(&placed.Order)
	task.Result = &result
	return task, nil
}

func (t *Tasks) withdraw(ctx context.Context, caller principal.Caller, id string) error {
	if t.cfg.Orders == nil || caller.Scope < principal.Trade {
		return mcp.ErrNoTask
	}
	return unknown(t.cfg.Orders.Withdraw(ctx, caller, id))
}

// unknown returns mcp.ErrNoTask in place of the error of an order that is not found.
func unknown(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return mcp.ErrNoTask
	}
	return err
}
