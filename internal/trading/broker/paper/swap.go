package paper

import (
	"context"
	"slices"

	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

var _ broker.Swapper = (*Broker)(nil)

// Swap cancels orders and takes others, in one append to the journal. Its errors are those of
// Submit.
func (b *Broker) Swap(ctx context.Context, ended []order.Handle, groups [][]order.Spec) (broker.Swapped, error) {
	if err := ctx.Err(); err != nil {
		return broker.Swapped{}, notSent(err)
	}
	all := slices.Concat(groups...)
	if err := b.vacant(all); err != nil {
		return broker.Swapped{}, err
	}
	if err := distinct(all); err != nil {
		return broker.Swapped{}, refused(err)
	}
	batches := make([]batch, 0, len(groups))
	for _, orders := range groups {
		form := grouped
		if len(orders) == 1 {
			form = single
		}
		g, err := b.prepare(ctx, form, orders)
		if err != nil {
			return broker.Swapped{}, err
		}
		if i := slices.IndexFunc(batches, func(o batch) bool { return o.inst.Symbol == g.inst.Symbol }); i >= 0 {
			g.quote = batches[i].quote // one price for all
		}
		batches = append(batches, g)
	}
	return b.swap(ctx, ended, batches)
}

// distinct refuses two orders with one id.
func distinct(orders []order.Spec) error {
	seen := make(map[string]bool, len(orders))
	for _, o := range orders {
		if seen[o.ID] {
			return fault.Field("orders", o.ID, "an id for each order")
		}
		seen[o.ID] = true
	}
	return nil
}

// swap ends orders and takes batches, all or nothing.
func (b *Broker) swap(ctx context.Context, ended []order.Handle, batches []batch) (broker.Swapped, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range batches {
		if err := b.book.vacant(g.orders); err != nil {
			return broker.Swapped{}, err
		}
	}
	b.expire(ctx, b.cfg.Now())
	p := b.plan()
	old, err := p.endAll(&b.book, ended)
	if err != nil {
		return broker.Swapped{}, refused(err)
	}
	for _, g := range batches {
		if err := p.place(g); err != nil {
			return broker.Swapped{}, refused(err)
		}
	}
	if err := b.commit(ctx, p.entries...); err != nil {
		return broker.Swapped{}, notSent(err)
	}
	done := broker.Swapped{Ended: b.reports(old), Placed: make([][]order.Report, 0, len(batches))}
	for _, g := range batches {
		if s := g.orders[0].Symbol; b.tapes[s] == nil {
			b.tapes[s] = &tape{}
		}
		done.Placed = append(done.Placed, b.reports(g.orders))
	}
	b.sweep()
	return done, nil
}

// endAll cancels orders that are open in the book and returns them.
func (p *plan) endAll(from *book, ended []order.Handle) ([]order.Spec, error) {
	old := make([]order.Spec, len(ended))
	for i, h := range ended {
		t := from.named(h)
		switch {
		case t == nil:
			return nil, fault.Field("order", h.String(), "an order that is open; there is none with this id")
		case t.Status.Final():
			return nil, fault.Field("order", h.String(), "an order that is open; it is "+t.Status.String())
		}
		old[i] = t.Spec
		if k := p.tickets[t.ID]; !k.Status.Final() { // a leg that waits ends with its entry
			p.end(k, order.Canceled, "")
		}
	}
	return old, nil
}

// reports returns the states of orders with their fills. The caller holds the lock.
func (b *Broker) reports(orders []order.Spec) []order.Report {
	all := make([]order.Report, len(orders))
	for i, o := range orders {
		all[i] = b.book.tickets[o.ID].full()
	}
	return all
}
