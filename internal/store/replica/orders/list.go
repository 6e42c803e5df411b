package orders

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/trading/order"
)

// listMargin is how many more archived orders are read at both ends: clocks of replicas differ, so
// orders that were stored one after the other may be listed the other way.
const listMargin = 64

// ListOrders returns up to most orders of an owner after a mark, newest first, and how many come
// after them. An order that returned from the archive may count twice in that number.
func (o *Store) ListOrders(ctx context.Context, owner principal.Owner, after order.Mark, most int) ([]order.Order, int, error) {
	o.mu.RLock()
	a := o.orders.of(owner)
	found := make(map[string]order.Order)
	for id, one := range a.orders {
		if after.Precedes(one) {
			found[id] = one
		}
	}
	spans := a.archive.from(a.firstOf(after.ID))
	o.mu.RUnlock()
	// Of the archive as many are read as are asked for, so that nothing between them is missed.
	// One is read even to count: whether those of the margin come after the mark shows only then.
	for wanted := len(found) + max(most, 1); len(spans) > 0 && len(found) < wanted; {
		n := min(len(spans), most+2*listMargin)
		for n < len(spans) && spans[n].First == spans[n-1].First {
			n++ // orders of one commit
		}
		if err := o.readArchived(ctx, owner, enclosing(spans[:n]), after, found); err != nil {
			return nil, 0, err
		}
		spans = spans[n:]
	}
	listed := slices.SortedFunc(maps.Values(found), func(x, y order.Order) int { return y.Mark().Compare(x.Mark()) })
	left := max(0, len(listed)-most) + len(spans)
	return listed[:min(most, len(listed))], left, nil
}

// readArchived adds to found the closed orders of a range of messages that come after a mark. An
// order in found is newer than its archive.
func (o *Store) readArchived(ctx context.Context, owner principal.Owner, in seqRange, after order.Mark, found map[string]order.Order) error {
	const op = "list orders"
	orders := make(map[string]order.Order)
	for m, err := range o.readRange(ctx, in.First, in.Last, o.Subject(orderKind, conn.EncodeToken(string(owner)))) {
		if err != nil {
			return conn.Unavailable(op, err)
		}
		if err := foldOrders(orders, m.Data); err != nil {
			return conn.Corrupted(op, fmt.Errorf("message %d: %w", m.Seq, err))
		}
	}
	for id, one := range orders {
		if _, known := found[id]; !known && one.Status.Final() && after.Precedes(one) {
			found[id] = one
		}
	}
	return nil
}

// firstOf returns the message that created an order, 0 if it is unknown.
func (a *accountState) firstOf(id string) uint64 {
	if at, ok := a.spans[id]; ok {
		return at.First
	}
	if all := a.archive.lookup(idName, id); len(all) > 0 {
		return enclosing(all).First
	}
	return 0
}

// from returns the ranges of the archived orders by their first message, the newest first, from
// listMargin before a message on, and all of them if that is 0.
func (c archive) from(first uint64) []seqRange {
	var spans []seqRange
	for _, s := range c {
		spans = append(spans, s.spans...)
	}
	slices.SortFunc(spans, func(x, y seqRange) int { return cmp.Compare(y.First, x.First) })
	if first == 0 {
		return spans
	}
	at, _ := slices.BinarySearchFunc(spans, first, func(s seqRange, first uint64) int { return cmp.Compare(first, s.First) })
	return spans[max(0, at-listMargin):]
}
