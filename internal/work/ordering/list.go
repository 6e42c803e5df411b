// Package ordering answers what clients ask about several orders: lists by symbol and state, one order
// with those of its group, and cancels of all of them.
package ordering

import (
	"context"
	"maps"
	"slices"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// Orders is the account.
type Orders interface {
	Cancel(ctx context.Context, caller principal.Caller, orderID string) (order.Order, error)
	Orders(ctx context.Context, caller principal.Caller, openOnly bool) ([]order.Order, error)
	// OrderPage returns a part of the list of all orders, or one order.
	OrderPage(ctx context.Context, caller principal.Caller, q order.Query) (order.Page, error)
}

// State is which orders of a list are asked for.
type State string

// The states.
const (
	Open   State = "open"   // that can still fill
	Closed State = "closed" // that have ended
	All    State = "all"
)

// States lists the states.
func States() []string { return []string{string(Open), string(Closed), string(All)} }

// Query asks for a list of orders.
type Query struct {
	ID     string        // only this order and those of its group
	Symbol market.Symbol // only these; zero for all
	State  State
	After  order.Mark // where the part begins; the first part has every open order
	Most   int        // closed orders
}

// List is a list of orders, newest first.
type List struct {
	Orders   []order.Order
	Replaced map[string]string // order.Replacements
	Last     order.Mark        // where the next part begins
	Left     int               // how many closed orders follow
}

const (
	maxScanned = 2000 // orders that one list by symbol looks at
	scanPage   = 500  // of them at once
	maxBeside  = 20   // orders created with an order that are read
)

// Find returns the orders that a query asks for. The first part has every open order, however old: a client
// that misses one might place it again. Later parts have closed orders only.
func Find(ctx context.Context, account Orders, caller principal.Caller, q Query) (List, error) {
	if q.ID != "" {
		return one(ctx, account, caller, q.ID)
	}
	open, err := account.Orders(ctx, caller, true)
	if err != nil {
		return List{}, err
	}
	if open, err = openIn(open, q.Symbol); err != nil {
		return List{}, err
	}
	l := List{Replaced: order.Replacements(open)}
	if q.State == Open {
		l.Orders = open
		return l, nil
	}
	rest := make(map[string]order.Order, len(open)) // open orders that were not met
	for _, o := range open {
		rest[o.ID] = o
	}
	if err := l.read(ctx, account, caller, q, rest); err != nil {
		return List{}, err
	}
	for _, o := range open { // older than all others
		if _, unlisted := rest[o.ID]; unlisted && q.After.IsZero() && q.State == All {
			l.Orders = append(l.Orders, o)
		}
	}
	return l, nil
}

// read adds the closed orders to a list, with the open ones among them where they belong.
func (l *List) read(ctx context.Context, account Orders, caller principal.Caller, q Query, rest map[string]order.Order) error {
	mark, scanned, missed := q.After, 0, 0
	for left := 1; left > 0; {
		page, err := account.OrderPage(ctx, caller, order.Query{After: mark, Most: q.batch()})
		if err != nil {
			return err
		}
		maps.Copy(l.Replaced, page.Replaced)
		for _, o := range page.Orders {
			mark, scanned = o.Mark(), scanned+1
			_, isOpen := rest[o.ID]
			delete(rest, o.ID)
			switch {
			case !order.Named(q.Symbol, o.Symbol):
			case isOpen && (q.State == Closed || !q.After.IsZero()):
			case isOpen:
				l.Orders = append(l.Orders, o)
			case q.Most == 0:
				missed++
			default:
				q.Most--
				l.Orders, l.Last = append(l.Orders, o), o.Mark()
			}
		}
		if left = page.Left; len(page.Orders) == 0 {
			left = 0
		}
		full := q.Most == 0
		if full && q.Symbol.IsZero() || scanned >= maxScanned {
			if !full {
				l.Last = mark // nothing further was met
			}
			l.Left = missed + left - l.openAfter(rest)
			return nil
		}
	}
	l.Left = missed
	return nil
}

// batch is how many orders are read at once.
func (q Query) batch() int {
	if q.Symbol.IsZero() {
		return q.Most
	}
	return scanPage
}

// openAfter counts the open orders that come after the last one.
func (l *List) openAfter(rest map[string]order.Order) (n int) {
	for _, o := range rest {
		if l.Last.Precedes(o) {
			n++
		}
	}
	return n
}

// one returns an order and those of its group: an entry with its legs, a leg with its entry.
func one(ctx context.Context, account Orders, caller principal.Caller, id string) (List, error) {
	page, err := account.OrderPage(ctx, caller, order.Query{ID: id})
	if fault.KindOf(err) == fault.NotFound || err == nil && len(page.Orders) == 0 {
		return List{}, fault.New(fault.NotFound, "unknown_order", "No order %q. Use get_orders to list orders.", fault.Clean(id, 64)).About("order_id", fault.Clean(id, 64), "")
	}
	if err != nil {
		return List{}, err
	}
	o := page.Orders[0]
	l := List{Orders: []order.Order{o}, Replaced: page.Replaced}
	if l.Replaced == nil {
		l.Replaced = make(map[string]string)
	}
	open, err := account.Orders(ctx, caller, true)
	if err != nil {
		return List{}, err
	}
	near, err := account.OrderPage(ctx, caller, order.Query{After: order.Mark{Created: o.Created.Add(time.Microsecond)}, Most: maxBeside})
	for _, other := range append(open, near.Orders...) {
		known := slices.ContainsFunc(l.Orders, func(k order.Order) bool { return k.ID == other.ID })
		if !known && together(o, other) {
			l.Orders = append(l.Orders, other)
		}
	}
	maps.Copy(l.Replaced, order.Replacements(l.Orders))
	return l, err
}

// together reports whether two orders are of one group or one line of protection.
func together(a, b order.Order) bool {
	return a.Symbol == b.Symbol && (a.Group.Name != "" && a.Group.Name == b.Group.Name || a.Line() != "" && a.Line() == b.Line())
}
