package ledger

import (
	"context"
	"math"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
)

// ListOrders returns up to most orders of an owner after a mark, newest first, with their fills,
// and how many come after them, all of one moment.
func (l *Ledger) ListOrders(ctx context.Context, owner principal.Owner, after order.Mark, most int) ([]order.Order, int, error) {
	const older = " FROM orders WHERE owner = ? AND (created, id) < (?, ?)"
	tx, err := snapshot(ctx, l.read)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = tx.Rollback() }() // nothing to undo
	created := int64(math.MaxInt64)
	if !after.IsZero() {
		created = after.Created.UnixMicro()
	}
	scan := func(scan scanner) (order.Order, error) {
		body, err := column[[]byte](scan)
		if err != nil {
			return order.Order{}, err
		}
		return parseOrder(body)
	}
	orders, err := collect(rows(ctx, tx, "list the orders", scan, "SELECT body"+older+" ORDER BY created DESC, id DESC LIMIT ?", owner, created, after.ID, most))
	if err != nil {
		return nil, 0, err
	}
	for i, o := range orders {
		created, after.ID = o.Created.UnixMicro(), o.ID
		if orders[i].Fills, err = fillsOf(ctx, tx, owner, o.ID); err != nil {
			return nil, 0, err
		}
	}
	left, err := collect(rows(ctx, tx, "count the orders", column[int], "SELECT count(*)"+older, owner, created, after.ID))
	if err != nil {
		return nil, 0, err
	}
	return orders, left[0], nil
}
