package desk

import (
	"context"

	"candela/internal/order"
)

// Submit sends an order as the writer does when its turn has come.
func (d *Desk) Submit(ctx context.Context, o order.Order) (order.Report, error) {
	return newWriter(ctx, ctx, d).submit(ctx, o)
}
