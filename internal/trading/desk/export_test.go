package desk

import (
	"context"

	"candela/internal/trading/order"
)

// Submit sends an order as the loop does.
func (d *Desk) Submit(ctx context.Context, o order.Order) (order.Report, error) {
	reports, err := newLoop(ctx, ctx, d).submit(ctx, []order.Order{o}, o.Created)
	if len(reports) == 0 {
		return order.Report{}, err
	}
	return reports[0], err
}

// SnapshotEvery sets the number of events between snapshots.
func (d *Desk) SnapshotEvery(events int) { d.snapshotEvery = events }

// SetMaxClosed sets how many closed orders stay in memory.
func (d *Desk) SetMaxClosed(orders int) { d.maxClosedInMemory = orders }
