package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// AppendEvents persists events of the caller's subject and what they make of its
// orders, and the notices of those events. It returns the events without the fills whose trades were known.
func (l *Ledger) AppendEvents(ctx context.Context, by principal.Caller, events []order.Event, notices ...order.Notice) ([]order.Event, error) {
	if len(events) == 0 {
		return nil, nil
	}
	bodies := make([][]byte, len(events))
	for i, e := range events {
		var err error
		if bodies[i], err = json.Marshal(e); err != nil {
			return nil, fmt.Errorf("order event: %w", err)
		}
	}
	var kept []order.Event
	err := l.write(ctx, func(t *tx) error {
		kept = make([]order.Event, 0, len(events))
		for i, e := range events {
			if err := t.checkpoint(by.Subject); err != nil { // first, so that the event has the next number
				return err
			}
			isNew, err := t.project(by.Subject, e)
			if err != nil {
				return err
			}
			if !isNew {
				continue
			}
			if err := t.record(by, by.Subject, chain.OrderKind+e.Kind.String(), e.About(), bodies[i]); err != nil {
				return err
			}
			kept = append(kept, e)
			if err := t.addNotices(notices, func(n order.Notice) bool { return n.Of == i }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// project makes of an owner's order what the event says, and returns false for a
// fill that is known.
func (t *tx) project(owner principal.Owner, e order.Event) (bool, error) {
	switch e.Kind {
	case order.KindCreated:
		return true, t.createOrder(owner, e)
	case order.KindAdjusted, order.KindPlanned, order.KindFunded, order.KindAssigned:
		return true, refused(order.NewBook(owner).Check(e)) // positions, plans, funding and books have no rows
	case order.KindVenueReset:
		return true, t.renameFills(owner, e.Survivors)
	default:
	}
	o, err := t.order(owner, e.OrderID)
	if err != nil {
		return false, err
	}
	// A stored order has the sums of its fills only, so a large order costs no more
	// than a small one. That a trade is new is known from its own row.
	if e.Kind == order.KindFill && e.Fill != nil {
		isNew, err := t.addFill(owner, e.Fill)
		if err != nil || !isNew {
			return false, err
		}
	}
	next, err := order.Apply(o, e)
	if err != nil {
		return false, refused(err)
	}
	body, err := bodyOf(next)
	if err != nil {
		return false, err
	}
	_, err = t.exec("UPDATE orders SET status = ?, body = ? WHERE id = ? AND owner = ?", next.Status.String(), body, next.ID, owner)
	return true, err
}

// refused marks an event that an order does not take.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return &fault.Error{Kind: fault.Conflict, Code: "order_event_refused", Message: "the order does not allow that now", Cause: err}
}

func (t *tx) createOrder(owner principal.Owner, e order.Event) error {
	o, err := order.Apply(order.Order{}, e)
	if err != nil {
		return refused(err)
	}
	if o.Owner != owner {
		return fault.Field("owner", string(o.Owner), "the caller's own subject, "+string(owner))
	}
	body, err := bodyOf(o)
	if err != nil {
		return err
	}
	var key any // NULL for none
	if o.Key != "" {
		key = o.Key
	}
	_, err = t.exec("INSERT INTO orders (id, owner, key, created, status, body) VALUES (?,?,?,?,?,?)", o.ID, owner, key, o.Created.UnixMicro(), o.Status.String(), body)
	if isDuplicate(err) {
		return t.taken(o)
	}
	return err
}

// taken says which of its names an order shares with one that exists.
func (t *tx) taken(o order.Order) error {
	var id string
	err := t.row("SELECT id FROM orders WHERE owner = ? AND key = ?", []any{o.Owner, o.Key}, &id)
	switch {
	case err == nil && id != o.ID:
		return &fault.Error{
			Kind: fault.Conflict, Code: "idempotency_key_used", Field: "idempotency_key", Value: id,
			Message: "an order with that idempotency key exists: " + id,
		}
	case err != nil && !noRow(err):
		return err
	}
	return &fault.Error{Kind: fault.Conflict, Code: "order_exists", Field: "order_id", Value: o.ID, Message: "an order of that id exists"}
}

// addFill notes a trade and reports whether it was new.
func (t *tx) addFill(owner principal.Owner, f *order.Fill) (bool, error) {
	body, err := json.Marshal(f)
	if err != nil {
		return false, fmt.Errorf("fill %s: %w", f.TradeID, err)
	}
	// The second part finds a trade of this order from before a venue reset, reported again.
	n, err := t.exec(`INSERT INTO fills (owner, symbol, trade, side, order_id, body) SELECT ?1, ?2, ?3, ?4, ?5, ?6
		WHERE NOT EXISTS (SELECT 1 FROM fills WHERE owner = ?1 AND order_id = ?5 AND substr(trade, 1, 6) = 'wiped ' AND substr(trade, -length(?3) - 1) = ' ' || ?3)
		ON CONFLICT DO NOTHING`,
		owner, f.Symbol.String(), f.TradeID, f.Side.String(), f.OrderID, string(body))
	return n == 1, err
}

// renameFills frees the names of an owner's trades, all but those of orders that are
// kept, because the venue assigns them again. The trade itself has its own still.
func (t *tx) renameFills(owner principal.Owner, kept []string) error {
	prefix := fmt.Sprintf("%s%d ", wiped, t.head.event+1)
	_, err := t.exec("UPDATE fills SET trade = ? || trade WHERE owner = ? AND substr(trade, 1, ?) <> ?", prefix, owner, len(wiped), wiped)
	for _, id := range kept {
		if err != nil {
			break
		}
		// From any venue reset. Of two kept orders with one name the first has it.
		_, err = t.exec(`UPDATE OR IGNORE fills SET trade = substr(trade, ?1 + 1 + instr(substr(trade, ?1 + 1), ' '))
			WHERE order_id = ?2 AND owner = ?3 AND substr(trade, 1, ?1) = ?4`, len(wiped), id, owner, wiped)
	}
	return err
}

// wiped begins the names of trades that the venue has forgotten; the number of the
// event that says so follows. No venue's own names have a blank.
const wiped = "wiped "

// order returns an order of an owner without its fills.
func (t *tx) order(owner principal.Owner, id string) (order.Order, error) {
	var body []byte
	err := t.row("SELECT body FROM orders WHERE id = ? AND owner = ?", []any{id, owner}, &body)
	if err != nil {
		return order.Order{}, orderFailure(id, err)
	}
	return parseOrder(body)
}

func orderFailure(name string, err error) error {
	if noRow(err) {
		return &fault.Error{Kind: fault.NotFound, Code: "order_not_found", Field: "order_id", Value: name, Message: "no order of that id; get_orders lists those that there are"}
	}
	return failure("read an order", err)
}

// bodyOf returns an order as its row holds it.
func bodyOf(o order.Order) (string, error) {
	o.Fills = nil
	body, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("order %s: %w", o.ID, err)
	}
	return string(body), nil
}

func parseOrder(body []byte) (order.Order, error) {
	var o order.Order
	if err := json.Unmarshal(body, &o); err != nil {
		return order.Order{}, damaged("an order", err)
	}
	return o, nil
}

// OrderEvents yields the events of an owner in the order in which they were
// persisted.
func (l *Ledger) OrderEvents(ctx context.Context, owner principal.Owner) iter.Seq2[order.Event, error] {
	return l.orderEvents(ctx, owner, 0)
}

// orderEvents yields the events of an owner after one.
func (l *Ledger) orderEvents(ctx context.Context, owner principal.Owner, after uint64) iter.Seq2[order.Event, error] {
	return rows(ctx, l.read, "read the events", scanOrderEvent,
		"SELECT seq, body FROM events WHERE owner = ? AND seq > ? AND substr(kind, 1, 6) = 'order_' ORDER BY seq", owner, after)
}

func scanOrderEvent(scan scanner) (e order.Event, err error) {
	var seq uint64
	var body []byte
	if err := scan(&seq, &body); err != nil {
		return e, err
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return order.Event{}, damaged(fmt.Sprintf("event %d", seq), err)
	}
	return e, nil
}

// OrderOwners returns who has events of orders. It steps from owner to owner on the
// index.
func (l *Ledger) OrderOwners(ctx context.Context) ([]principal.Owner, error) {
	const query = `
		WITH RECURSIVE owners (owner) AS (
			SELECT min(owner) FROM events WHERE substr(kind, 1, 6) = 'order_'
			UNION ALL
			SELECT (SELECT min(e.owner) FROM events e WHERE substr(e.kind, 1, 6) = 'order_' AND e.owner > owners.owner) FROM owners WHERE owner IS NOT NULL
		)
		SELECT owner FROM owners WHERE owner IS NOT NULL`
	return collect(rows(ctx, l.read, "read the owners", column[principal.Owner], query))
}

// Order returns an order of an owner.
func (l *Ledger) Order(ctx context.Context, owner principal.Owner, id string) (order.Order, error) {
	return l.findOrder(ctx, owner, "id", id)
}

// OrderByKey returns the order of an owner's idempotency key.
func (l *Ledger) OrderByKey(ctx context.Context, owner principal.Owner, key string) (order.Order, error) {
	return l.findOrder(ctx, owner, "key", key)
}

// findOrder returns the order of an owner that has a name in the column by, with its
// fills, both of one moment.
func (l *Ledger) findOrder(ctx context.Context, owner principal.Owner, by, name string) (order.Order, error) {
	tx, err := snapshot(ctx, l.read)
	if err != nil {
		return order.Order{}, err
	}
	defer func() { _ = tx.Rollback() }() // nothing to undo
	var body []byte
	err = tx.QueryRowContext(ctx, "SELECT body FROM orders WHERE owner = ? AND "+by+" = ?", owner, name).Scan(&body)
	if err != nil {
		return order.Order{}, orderFailure(name, err)
	}
	o, err := parseOrder(body)
	if err != nil {
		return order.Order{}, err
	}
	if o.Fills, err = fillsOf(ctx, tx, owner, o.ID); err != nil {
		return order.Order{}, err
	}
	return o, nil
}

// fillsOf returns the fills of an owner's order as order.Order holds them: by time, and
// those of one moment by their keys.
func fillsOf(ctx context.Context, db rowQuerier, owner principal.Owner, id string) ([]order.Fill, error) {
	scan := func(scan scanner) (f order.Fill, err error) {
		body, err := column[[]byte](scan)
		if err != nil {
			return f, err
		}
		if err := json.Unmarshal(body, &f); err != nil {
			return f, damaged("a fill of order "+id, err)
		}
		return f, nil
	}
	fills, err := collect(rows(ctx, db, "read the fills", scan, "SELECT body FROM fills WHERE owner = ? AND order_id = ?", owner, id))
	slices.SortFunc(fills, func(a, b order.Fill) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Key(), b.Key()))
	})
	return fills, err
}
