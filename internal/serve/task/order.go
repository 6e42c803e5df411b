package task

import (
	"context"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
)

// Orders are the orders that wait for the owner, or did. The id of one is that of its task.
type Orders interface {
	// Task returns the task of an order of the caller's, or mcp.ErrNoTask.
	Task(ctx context.Context, caller principal.Caller, id string) (*mcp.Task, error)
	// Withdraw ends an order of the caller's that waits. It never cancels one that was sent.
	Withdraw(ctx context.Context, caller principal.Caller, id string) error
}

func (t *Tasks) ofOrder(ctx context.Context, caller principal.Caller, id string) (*mcp.Task, error) {
	if t.cfg.Orders == nil {
		return nil, mcp.ErrNoTask
	}
	return t.cfg.Orders.Task(ctx, caller, id)
}

func (t *Tasks) withdraw(ctx context.Context, caller principal.Caller, id string) error {
	if t.cfg.Orders == nil {
		return mcp.ErrNoTask
	}
	return t.cfg.Orders.Withdraw(ctx, caller, id)
}
