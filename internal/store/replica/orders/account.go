package orders

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// accountSet is the state of all owners' orders. Idempotency keys and IDs are never reused: those
// of archived orders are found in the stream.
type accountSet struct {
	owners map[string]principal.Owner // by ID of an order in memory
	all    map[principal.Owner]*accountState
}

// accountState is the state of one owner's orders.
type accountState struct {
	orders  map[string]order.Order // in memory
	spans   map[string]seqRange    // of those, by ID
	keys    map[string]string      // of those: IDs by idempotency key
	trades  map[string]string      // of those: IDs by order.Fill.Key
	archive archive                // all others
}

// archiveReader returns the order of an owner that is archived under a name.
type archiveReader func(owner principal.Owner, in archive, kind, name string) (archivedOrder, bool, error)

// archivedOrder is an order read from the stream, with its message range.
type archivedOrder struct {
	order.Order
	span seqRange
}

func emptyAccount() *accountState {
	return &accountState{
		orders: make(map[string]order.Order), spans: make(map[string]seqRange), keys: make(map[string]string), trades: make(map[string]string),
	}
}

// newAccountState returns the account with the orders of a book in memory.
func newAccountState(b *order.Book, spans map[string]seqRange, rest archive) (*accountState, error) {
	a := emptyAccount()
	a.archive = rest
	for _, o := range b.Orders() {
		at, ok := spans[o.ID]
		if !ok {
			return nil, fmt.Errorf("no message range for order %s", o.ID)
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
func (a *accountSet) of(owner principal.Owner) *accountState {
	if found := a.all[owner]; found != nil {
		return found
	}
	return emptyAccount()
}

func (a *accountSet) set(owner principal.Owner, with *accountState) {
	maps.DeleteFunc(a.owners, func(_ string, of principal.Owner) bool { return of == owner })
	for id := range with.orders {
		a.owners[id] = owner
	}
	a.all[owner] = with
}

// errBookMismatch means that a book is not saved.
var errBookMismatch = errors.New("book does not match its events")

// compactTo returns the account with the orders of a book in memory and the others archived. It
// refuses a book that does not match the events.
func (a *accountState) compactTo(b *order.Book) (*accountState, error) {
	var evicted []evictedOrder
	for id, o := range a.orders {
		if mine, ok := b.Order(id); ok {
			if mine.Status != o.Status || !mine.Filled.Equal(o.Filled) || !mine.Updated.Equal(o.Updated) {
				return nil, fmt.Errorf("order %s: %w", id, errBookMismatch)
			}
			continue
		}
		if !o.Status.Final() {
			return nil, fmt.Errorf("open order %s missing from the book: %w", id, errBookMismatch)
		}
		l := evictedOrder{id: id, key: o.Key, span: a.spans[id]}
		for _, f := range o.Fills {
			if key := f.Key(); a.trades[key] == id {
				l.trades = append(l.trades, key)
			}
		}
		evicted = append(evicted, l)
	}
	spans := maps.Clone(a.spans)
	for _, o := range b.Orders() {
		if found := a.archive.lookup(idName, o.ID); spans[o.ID].First == 0 && len(found) > 0 {
			spans[o.ID] = enclosing(found) // a book of all events includes archived orders
		}
	}
	maps.DeleteFunc(spans, func(id string, _ seqRange) bool { _, ok := b.Order(id); return !ok })
	return newAccountState(b, spans, a.archive.with(evicted, segmentSize))
}

func enclosing(all []seqRange) seqRange {
	in := all[0]
	for _, one := range all {
		in = seqRange{min(in.First, one.First), max(in.Last, one.Last)}
	}
	return in
}

// draft is the effect of events on an account before it is merged, so that a batch applies whole
// or not at all.
type draft struct {
	owner        principal.Owner
	all          *accountSet   // unchanged
	base         *accountState // unchanged
	next         *accountState // the changes
	tradesReset  bool          // the trades of base no longer count
	readArchived archiveReader
}

func (a *accountSet) draft(owner principal.Owner, read archiveReader) *draft {
	return &draft{owner: owner, all: a, base: a.of(owner), next: emptyAccount(), readArchived: read}
}

// merge applies a draft whose events are in the given messages.
func (a *accountSet) merge(d *draft, in seqRange) {
	if a.all[d.owner] == nil {
		a.all[d.owner] = emptyAccount()
	}
	now := a.all[d.owner]
	for id, o := range d.next.orders {
		a.owners[id] = d.owner
		now.orders[id] = o
		at := now.spans[id]
		if at.First == 0 {
			at = d.next.spans[id] // read from the archive
		}
		if at.First == 0 {
			at = in
		}
		now.spans[id] = seqRange{at.First, in.Last}
	}
	maps.Copy(now.keys, d.next.keys)
	if d.tradesReset {
		clear(now.trades)
		now.archive = now.archive.withoutTrades()
	}
	maps.Copy(now.trades, d.next.trades)
}

// add adds events and returns them without fills of known trades. After an error the draft must
// be discarded.
func (d *draft) add(events []order.Event) ([]order.Event, error) {
	kept := make([]order.Event, 0, len(events))
	for _, e := range events {
		isNew, err := d.apply(e)
		if err != nil {
			return nil, err
		}
		if isNew {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

// apply adds one event and reports false for a known fill.
func (d *draft) apply(e order.Event) (bool, error) {
	switch e.Kind {
	case order.KindCreated:
		return true, d.create(e)
	case order.KindAdjusted, order.KindPlanned, order.KindFunded, order.KindAssigned:
		return true, refusedEvent(order.NewBook(d.owner).Check(e)) // positions and plans are not stored here
	case order.KindVenueReset:
		return true, d.resetTrades(e.Survivors)
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
		if known, err := d.tradeSeen(o, *e.Fill); known || err != nil {
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
		return fault.Field("owner", string(o.Owner), "the caller's subject, "+string(d.owner))
	}
	switch id, err := d.orderByKey(o.Key); {
	case err != nil:
		return err
	case id != "" && id != o.ID:
		return &fault.Error{
			Kind: fault.Conflict, Code: "idempotency_key_used", Field: "idempotency_key", Value: id,
			Message: "The idempotency key was already used by order " + id + ".",
		}
	}
	switch taken, err := d.idInUse(o.ID); {
	case err != nil:
		return err
	case taken:
		return &fault.Error{Kind: fault.Conflict, Code: "order_exists", Field: "order_id", Value: o.ID, Message: "Order " + o.ID + " already exists."}
	}
	d.next.orders[o.ID] = o
	if o.Key != "" {
		d.next.keys[o.Key] = o.ID
	}
	return nil
}

// orderByKey returns the ID of the order with a key, "" for none.
func (d *draft) orderByKey(key string) (string, error) {
	if key == "" {
		return "", nil
	}
	if id := cmp.Or(d.next.keys[key], d.base.keys[key]); id != "" {
		return id, nil
	}
	found, _, err := d.readArchived(d.owner, d.base.archive, keyName, key)
	return found.ID, err
}

// idInUse reports whether any owner's order has an ID.
func (d *draft) idInUse(id string) (bool, error) {
	if _, drafted := d.next.orders[id]; drafted || d.all.owners[id] != "" {
		return true, nil
	}
	for owner, a := range d.all.all {
		_, found, err := d.readArchived(owner, a.archive, idName, id)
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// order returns an order of the owner. An archived one returns to memory when the draft is merged.
func (d *draft) order(id string) (order.Order, bool, error) {
	if o, ok := d.next.orders[id]; ok {
		return o, true, nil
	}
	if o, ok := d.base.orders[id]; ok {
		return o, true, nil
	}
	found, ok, err := d.readArchived(d.owner, d.base.archive, idName, id)
	if !ok || err != nil {
		return order.Order{}, false, err
	}
	d.next.orders[id], d.next.spans[id] = found.Order, found.span
	if found.Key != "" {
		d.next.keys[found.Key] = id
	}
	return found.Order, true, nil
}

// tradeSeen reports whether a trade is known, of any order of the account or, before a reset, of
// this one.
func (d *draft) tradeSeen(o order.Order, f order.Fill) (bool, error) {
	if f.TradeID == "" {
		return false, nil // order.Apply refuses it
	}
	key := f.Key()
	_, drafted := d.next.trades[key]
	_, known := d.base.trades[key]
	if drafted || known && !d.tradesReset || slices.ContainsFunc(o.Fills, func(one order.Fill) bool { return one.TradeID == f.TradeID }) {
		return true, nil
	}
	if d.tradesReset {
		return false, nil
	}
	_, found, err := d.readArchived(d.owner, d.base.archive, tradeName, key)
	return found, err
}

// resetTrades forgets all trade IDs but those of the kept orders, because the venue reuses them.
func (d *draft) resetTrades(kept []string) error {
	d.tradesReset = true
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

// refusedEvent returns the fault of an event that an order does not accept.
func refusedEvent(err error) error {
	if err == nil {
		return nil
	}
	return &fault.Error{Kind: fault.Conflict, Code: "order_event_refused", Message: "The order's current status does not allow this.", Cause: err}
}

func orderMissing(id string) error {
	return &fault.Error{
		Kind: fault.NotFound, Code: "order_not_found", Field: "order_id", Value: id,
		Message: fmt.Sprintf("No order %q. Use get_orders to list orders.", id),
	}
}
