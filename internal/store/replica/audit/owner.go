package audit

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/replica/auditlog"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/orders"
	"candela/internal/trading/order"
)

// Owned is what the two streams have of owners.
type Owned struct{ Log *auditlog.Log }

// ChainOf returns the chain of the owner's events in the stream AUDIT.
func (o Owned) ChainOf(ctx context.Context, owner principal.Owner) (chain.Chain, error) {
	return o.Log.ChainOf(ctx, owner)
}

// EraseOwner removes the owner's events from the stream AUDIT. The order stream forbids that: what it has stays there.
func (o Owned) EraseOwner(ctx context.Context, owner principal.Owner) (chain.Chain, error) {
	return o.Log.Erase(ctx, owner)
}

// ExportOwner yields orders, fills, states, journals and events of an owner. The events are two chains: audit has those of the stream
// AUDIT, audit_orders those of the order stream.
func (o Owned) ExportOwner(ctx context.Context, owner principal.Owner) iter.Seq2[owners.ExportedRow, error] {
	return func(yield func(owners.ExportedRow, error) bool) {
		x := &export{yield: yield, book: order.NewBook(owner), states: make(map[string]json.RawMessage)}
		err := x.events(ctx, o.Log.Conn, owner)
		if err == nil && !x.stopped {
			err = x.journals(ctx, o.Log.Conn, owner)
		}
		if err != nil && !x.stopped {
			yield(owners.ExportedRow{}, err)
		}
	}
}

// export writes the rows of an owner.
type export struct {
	yield   func(owners.ExportedRow, error) bool
	stopped bool
	book    *order.Book
	states  map[string]json.RawMessage
}

// row writes a row, unless the reader wants no more.
func (x *export) row(table string, value any) error {
	data, err := json.Marshal(value)
	if err == nil && !x.stopped {
		x.stopped = !x.yield(owners.ExportedRow{Table: table, JSON: data}, nil)
	}
	return err
}

// events writes the events of both streams, and what those of the order stream come to.
func (x *export) events(ctx context.Context, c *conn.Conn, owner principal.Owner) error {
	for part, err := range (orders.Log{Conn: c}).Parts(ctx, time.Time{}, owner) {
		if err == nil {
			err = x.part("audit_orders", part)
		}
		for i := range part.All() {
			if err == nil {
				err = x.apply(&part.All()[i])
			}
		}
		if err != nil || x.stopped {
			return err
		}
	}
	for part, err := range (auditlog.Reader{Conn: c}).OfOwner(ctx, owner) {
		if err == nil {
			err = x.part("audit", part)
		}
		if err != nil || x.stopped {
			return err
		}
	}
	for _, made := range x.book.Orders() {
		if err := x.order(made); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.states)) {
		if err := x.row("states", map[string]any{"name": name, "value": x.states[name]}); err != nil {
			return err
		}
	}
	return nil
}

func (x *export) part(table string, part chain.Part) error {
	for _, e := range part.All() {
		row := map[string]any{
			"seq": e.Seq, "at": e.At.UnixMicro(), "kind": e.Kind, "subject": e.Subject, "actor": e.Actor, "client": e.Client, "body": string(e.Body), "prev": e.Prev, "hash": e.Hash,
		}
		if len(part.Loose) > 0 { // an older version wrote it without a chain
			delete(row, "seq")
			delete(row, "prev")
			delete(row, "hash")
		}
		if err := x.row(table, row); err != nil {
			return err
		}
	}
	return nil
}

// apply adds an event to the orders and states.
func (x *export) apply(e *chain.Event) error {
	switch {
	case e.Kind == chain.StateKind:
		x.states[e.Subject] = e.Body
	case isOrder(e):
		var one order.Event
		err := json.Unmarshal(e.Body, &one)
		if err == nil {
			err = x.book.Apply(one)
		}
		return conn.Corrupted("read order", err)
	}
	return nil
}

func (x *export) order(made order.Order) error {
	err := x.row("orders", map[string]any{"id": made.ID, "key": made.Key, "created": made.Created.UnixMicro(), "status": made.Status.String(), "order": made})
	for _, f := range made.Fills {
		if err == nil {
			err = x.row("fills", map[string]any{"symbol": f.Symbol, "trade": f.TradeID, "side": f.Side, "order_id": made.ID, "fill": f})
		}
	}
	return err
}

// journals writes the entries of paper accounts.
func (x *export) journals(ctx context.Context, c *conn.Conn, owner principal.Owner) error {
	seq := make(map[string]int)
	for entry, err := range (orders.Log{Conn: c}).Journals(ctx, owner) {
		if err != nil {
			return err
		}
		seq[entry.Name]++
		if err := x.row("journal", map[string]any{"name": entry.Name, "seq": seq[entry.Name], "entry": entry.Text}); err != nil || x.stopped {
			return err
		}
	}
	return nil
}
