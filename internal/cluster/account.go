package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"candela/internal/fault"
	"candela/internal/order"
)

// accounts is what the events of all owners have made of their orders. It forgets
// none, because a key or an id that was used once is never free again.
type accounts struct {
	owners map[string]string // by the id of an order
	all    map[string]*account
}

// account is what is known of one owner's orders.
type account struct {
	orders map[string]order.Order
	keys   map[string]string   // ids by idempotency key
	trades map[string]struct{} // by order.Fill.Key
}

func newAccounts() accounts {
	return accounts{owners: make(map[string]string), all: make(map[string]*account)}
}

func newAccount() *account {
	return &account{orders: make(map[string]order.Order), keys: make(map[string]string), trades: make(map[string]struct{})}
}

// of returns the account of an owner, empty when there is none.
func (a *accounts) of(owner string) *account {
	if found := a.all[owner]; found != nil {
		return found
	}
	return newAccount()
}

// newest returns orders of an owner, newest first, at most limit.
func (a *accounts) newest(owner string, limit int) []order.Order {
	sorted := slices.SortedFunc(maps.Values(a.of(owner).orders), func(x, y order.Order) int {
		return cmp.Or(y.Created.Compare(x.Created), cmp.Compare(y.ID, x.ID))
	})
	return sorted[:min(max(0, limit), len(sorted))]
}

// draft is what events would make of an account. It changes nothing until it is
// merged, so that a batch is taken whole or not at all.
type draft struct {
	owner string
	ids   map[string]string // of all owners, as they are
	base  *account          // as it is
	next  *account          // what would be different
	wiped bool              // the trades of base are forgotten
}

func (a *accounts) draft(owner string) *draft {
	return &draft{owner: owner, ids: a.owners, base: a.of(owner), next: newAccount()}
}

// merge makes of a draft what is.
func (a *accounts) merge(d *draft) {
	if a.all[d.owner] == nil {
		a.all[d.owner] = newAccount()
	}
	now := a.all[d.owner]
	for id, o := range d.next.orders {
		a.owners[id] = d.owner
		now.orders[id] = o
	}
	maps.Copy(now.keys, d.next.keys)
	if d.wiped {
		clear(now.trades)
	}
	maps.Copy(now.trades, d.next.trades)
}

// add adds events and returns those that tell something new: a fill whose trade is
// known is left out. After an error the draft is of no use.
func (d *draft) add(events []order.Event) ([]order.Event, error) {
	kept := make([]order.Event, 0, len(events))
	for _, e := range events {
		isNew, err := d.take(e)
		if err != nil {
			return nil, err
		}
		if isNew {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

// take adds one event and reports false for a fill that is known.
func (d *draft) take(e order.Event) (bool, error) {
	switch e.Kind {
	case order.KindCreated:
		return true, d.create(e)
	case order.KindAdjusted:
		return true, refusedEvent(order.NewBook(d.owner).Check(e)) // positions are not kept here
	case order.KindWiped:
		d.wipe(e.Kept)
		return true, nil
	default:
	}
	o, ok := d.order(e.OrderID)
	if !ok {
		return false, orderMissing(e.OrderID)
	}
	if e.Kind == order.KindFill && e.Fill != nil && d.knows(o, *e.Fill) {
		return false, nil
	}
	next, err := order.Apply(o, e)
	if err != nil {
		return false, refusedEvent(err)
	}
	d.next.orders[o.ID] = next
	if e.Kind == order.KindFill {
		d.next.trades[e.Fill.Key()] = struct{}{}
	}
	return true, nil
}

func (d *draft) create(e order.Event) error {
	o, err := order.Apply(order.Order{}, e)
	if err != nil {
		return refusedEvent(err)
	}
	if o.Owner != d.owner {
		return fault.Field("owner", o.Owner, "the caller's own subject, "+d.owner)
	}
	if id := cmp.Or(d.next.keys[o.Key], d.base.keys[o.Key]); o.Key != "" && id != "" && id != o.ID {
		return &fault.Error{
			Kind: fault.Conflict, Code: "idempotency_key_used", Field: "idempotency_key", Value: id,
			Message: "an order with that idempotency key exists: " + id,
		}
	}
	_, drafted := d.next.orders[o.ID]
	if _, taken := d.ids[o.ID]; taken || drafted {
		return &fault.Error{Kind: fault.Conflict, Code: "order_exists", Field: "order_id", Value: o.ID, Message: "an order of that id exists"}
	}
	d.next.orders[o.ID] = o
	if o.Key != "" {
		d.next.keys[o.Key] = o.ID
	}
	return nil
}

func (d *draft) order(id string) (order.Order, bool) {
	if o, ok := d.next.orders[id]; ok {
		return o, true
	}
	o, ok := d.base.orders[id]
	return o, ok
}

// knows reports whether a trade was told before: of any order of the account, or of
// this one before a wipe.
func (d *draft) knows(o order.Order, f order.Fill) bool {
	if f.TradeID == "" {
		return false // which order.Apply refuses
	}
	key := f.Key()
	_, drafted := d.next.trades[key]
	_, known := d.base.trades[key]
	return drafted || known && !d.wiped || slices.ContainsFunc(o.Fills, func(one order.Fill) bool { return one.TradeID == f.TradeID })
}

// wipe frees the names of all trades but those of the kept orders, because the
// venue gives them out anew.
func (d *draft) wipe(kept []string) {
	d.wiped = true
	clear(d.next.trades)
	for _, id := range kept {
		o, _ := d.order(id)
		for _, f := range o.Fills {
			d.next.trades[f.Key()] = struct{}{}
		}
	}
}

// refusedEvent marks an event that an order does not take.
func refusedEvent(err error) error {
	if err == nil {
		return nil
	}
	return &fault.Error{Kind: fault.Conflict, Code: "order_event_refused", Message: "the order does not allow that now", Cause: err}
}

func orderMissing(name string) error {
	return &fault.Error{
		Kind: fault.NotFound, Code: "order_not_found", Field: "order_id", Value: name,
		Message: fmt.Sprintf("there is no order %q; get_orders lists those that there are", name),
	}
}
