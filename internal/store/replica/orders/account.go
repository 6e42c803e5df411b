package orders

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"candela/internal/kit/fault"
	"candela/internal/trading/order"
)

// accounts is what the events of all owners have made of their orders. A key or an
// id that was used once is never free again: those of orders that are no longer in
// memory are found in the stream.
type accounts struct {
	owners map[string]string // by the id of an order in memory
	all    map[string]*account
}

// account is what is known of one owner's orders.
type account struct {
	orders map[string]order.Order // in memory
	spans  map[string]span        // of those, by id
	keys   map[string]string      // of those: ids by idempotency key
	trades map[string]string      // of those: ids by order.Fill.Key
	cold   cold                   // all others
}

// thaw reads an order of an owner that is in one of the spans and matches, the
// first that does.
type thaw func(owner string, in []span, match func(order.Order) bool) (frozen, bool, error)

// frozen is an order as it was read, and where.
type frozen struct {
	order.Order
	span span
}

func newAccounts() accounts {
	return accounts{owners: make(map[string]string), all: make(map[string]*account)}
}

func newAccount() *account {
	return &account{
		orders: make(map[string]order.Order), spans: make(map[string]span), keys: make(map[string]string), trades: make(map[string]string),
	}
}

// accountOf returns the account with the orders of a book in memory.
func accountOf(b *order.Book, spans map[string]span, rest cold) (*account, error) {
	a := newAccount()
	a.cold = rest
	for _, o := range b.Orders() {
		at, ok := spans[o.ID]
		if !ok {
			return nil, fmt.Errorf("it is not known where order %s is", o.ID)
		}
		a.orders[o.ID], a.spans[o.ID] = o, at
		if o.Key != "" {
			a.keys[o.Key] = o.ID
		}
		for _, f := range o.Fills {
			if b.OrderOfTrade(f) == o.ID {
				a.trades[f.Key()] = o.ID
			}
		}
	}
	return a, nil
}

// of returns the account of an owner, empty when there is none.
func (a *accounts) of(owner string) *account {
	if found := a.all[owner]; found != nil {
		return found
	}
	return newAccount()
}

// set replaces the account of an owner.
func (a *accounts) set(owner string, with *account) {
	maps.DeleteFunc(a.owners, func(_, of string) bool { return of == owner })
	for id := range with.orders {
		a.owners[id] = owner
	}
	a.all[owner] = with
}

// newest returns orders of an owner that are in memory, newest first, at most limit.
func (a *accounts) newest(owner string, limit int) []order.Order {
	sorted := slices.SortedFunc(maps.Values(a.of(owner).orders), func(x, y order.Order) int {
		return cmp.Or(y.Created.Compare(x.Created), cmp.Compare(y.ID, x.ID))
	})
	return sorted[:min(max(0, limit), len(sorted))]
}

// errBook is why a book is not kept.
var errBook = errors.New("it is not what the events have made")

// within returns the account with the orders of a book in memory and all others out
// of it. A book that has other orders than the events made is refused.
func (a *account) within(b *order.Book) (*account, error) {
	var leavers []leaver
	for id, o := range a.orders {
		if mine, ok := b.Order(id); ok {
			if mine.Status != o.Status || !mine.Filled.Equal(o.Filled) || !mine.Updated.Equal(o.Updated) {
				return nil, fmt.Errorf("order %s: %w", id, errBook)
			}
			continue
		}
		if !o.Status.Final() {
			return nil, fmt.Errorf("order %s is open: %w", id, errBook)
		}
		l := leaver{id: id, key: o.Key, span: a.spans[id]}
		for _, f := range o.Fills {
			if key := f.Key(); a.trades[key] == id {
				l.trades = append(l.trades, key)
			}
		}
		leavers = append(leavers, l)
	}
	spans := maps.Clone(a.spans)
	for _, o := range b.Orders() {
		if found := a.cold.named(idName, o.ID); spans[o.ID].First == 0 && len(found) > 0 {
			spans[o.ID] = around(found) // a book of all events has what had left memory
		}
	}
	maps.DeleteFunc(spans, func(id string, _ span) bool { _, ok := b.Order(id); return !ok })
	return accountOf(b, spans, a.cold.with(leavers, segmentSize))
}

// around returns the span that has all others in it.
func around(all []span) span {
	in := all[0]
	for _, one := range all {
		in = span{min(in.First, one.First), max(in.Last, one.Last)}
	}
	return in
}

// draft is what events would make of an account. It changes nothing until it is
// merged, so that a batch is taken whole or not at all.
type draft struct {
	owner string
	all   *accounts // as they are
	base  *account  // as it is
	next  *account  // what would be different
	wiped bool      // the trades of base are forgotten
	thaw  thaw
}

func (a *accounts) draft(owner string, read thaw) *draft {
	return &draft{owner: owner, all: a, base: a.of(owner), next: newAccount(), thaw: read}
}

// merge makes of a draft what is. Its events are in the messages of a span.
func (a *accounts) merge(d *draft, in span) {
	if a.all[d.owner] == nil {
		a.all[d.owner] = newAccount()
	}
	now := a.all[d.owner]
	for id, o := range d.next.orders {
		a.owners[id] = d.owner
		now.orders[id] = o
		at := now.spans[id]
		if at.First == 0 {
			at = d.next.spans[id] // of one that is in memory again
		}
		if at.First == 0 {
			at = in
		}
		now.spans[id] = span{at.First, in.Last}
	}
	maps.Copy(now.keys, d.next.keys)
	if d.wiped {
		clear(now.trades)
		now.cold = now.cold.untraded()
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
	case order.KindVenueReset:
		return true, d.wipe(e.Survivors)
	default:
	}
	o, ok, err := d.order(e.OrderID)
	if err != nil {
		return false, err
	}
	if !ok {
		return false, orderMissing(e.OrderID)
	}
	if e.Kind == order.KindFill && e.Fill != nil {
		if known, err := d.knows(o, *e.Fill); known || err != nil {
			return false, err
		}
	}
	next, err := order.Apply(o, e)
	if err != nil {
		return false, refusedEvent(err)
	}
	d.next.orders[o.ID] = next
	if e.Kind == order.KindFill {
		d.next.trades[e.Fill.Key()] = o.ID
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
	switch id, err := d.keyed(o.Key); {
	case err != nil:
		return err
	case id != "" && id != o.ID:
		return &fault.Error{
			Kind: fault.Conflict, Code: "idempotency_key_used", Field: "idempotency_key", Value: id,
			Message: "an order with that idempotency key exists: " + id,
		}
	}
	switch taken, err := d.taken(o.ID); {
	case err != nil:
		return err
	case taken:
		return &fault.Error{Kind: fault.Conflict, Code: "order_exists", Field: "order_id", Value: o.ID, Message: "an order of that id exists"}
	}
	d.next.orders[o.ID] = o
	if o.Key != "" {
		d.next.keys[o.Key] = o.ID
	}
	return nil
}

// keyed returns the id of the order that has a key, "" when none has.
func (d *draft) keyed(key string) (string, error) {
	if key == "" {
		return "", nil
	}
	if id := cmp.Or(d.next.keys[key], d.base.keys[key]); id != "" {
		return id, nil
	}
	found, _, err := d.thaw(d.owner, d.base.cold.named(keyName, key), func(o order.Order) bool { return o.Key == key })
	return found.ID, err
}

// taken reports whether an order of anybody's has an id.
func (d *draft) taken(id string) (bool, error) {
	if _, drafted := d.next.orders[id]; drafted || d.all.owners[id] != "" {
		return true, nil
	}
	for owner, a := range d.all.all {
		_, found, err := d.thaw(owner, a.cold.named(idName, id), func(o order.Order) bool { return o.ID == id })
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// order returns an order of the owner. One that was read is in memory again when the
// draft is merged.
func (d *draft) order(id string) (order.Order, bool, error) {
	if o, ok := d.next.orders[id]; ok {
		return o, true, nil
	}
	if o, ok := d.base.orders[id]; ok {
		return o, true, nil
	}
	found, ok, err := d.thaw(d.owner, d.base.cold.named(idName, id), func(o order.Order) bool { return o.ID == id })
	if !ok || err != nil {
		return order.Order{}, false, err
	}
	d.next.orders[id], d.next.spans[id] = found.Order, found.span
	if found.Key != "" {
		d.next.keys[found.Key] = id
	}
	return found.Order, true, nil
}

// knows reports whether a trade was told before: of any order of the account, or of
// this one before a wipe.
func (d *draft) knows(o order.Order, f order.Fill) (bool, error) {
	if f.TradeID == "" {
		return false, nil // which order.Apply refuses
	}
	key := f.Key()
	_, drafted := d.next.trades[key]
	_, known := d.base.trades[key]
	if drafted || known && !d.wiped || slices.ContainsFunc(o.Fills, func(one order.Fill) bool { return one.TradeID == f.TradeID }) {
		return true, nil
	}
	if d.wiped {
		return false, nil
	}
	_, found, err := d.thaw(d.owner, d.base.cold.traded(key), func(o order.Order) bool {
		return slices.ContainsFunc(o.Fills, func(one order.Fill) bool { return one.Key() == key })
	})
	return found, err
}

// wipe frees the names of all trades but those of the kept orders, because the
// venue gives them out anew.
func (d *draft) wipe(kept []string) error {
	d.wiped = true
	clear(d.next.trades)
	for _, id := range kept {
		o, _, err := d.order(id)
		if err != nil {
			return err
		}
		for _, f := range o.Fills {
			d.next.trades[f.Key()] = id
		}
	}
	return nil
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
