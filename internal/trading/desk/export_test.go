package desk

import (
	"context"

	"candela/internal/trading/order"
)

// Submit sends an order as the writer does when its turn has come.
func (d *Desk) Submit(ctx context.Context, o order.Order) (order.Report, error) {
	return newLoop(ctx, ctx, d).submit(ctx, o, o.Created)
}

// SnapshotEvery sets after how many events the book is kept.
func (d *Desk) SnapshotEvery(events int) { d.snapshotEvery = events }

// SetMaxClosed sets how many orders that have ended stay in memory.
func (d *Desk) SetMaxClosed(orders int) { d.maxClosedInMemory = orders }
