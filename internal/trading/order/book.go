package order

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/lib/market"
)

// Reasons why a Book rejects an event, besides those of Apply.
var (
	// ErrUnknownOrder means that no order has the ID.
	ErrUnknownOrder = errors.New("no such order")
	// ErrDuplicate means that an order with this ID or idempotency key exists.
	ErrDuplicate = errors.New("the id or idempotency key is taken")
)

// Book holds the orders and positions of one owner, folded from events. The same events
// always give the same book. It is not safe for concurrent use; the values it returns
// are.
type Book struct {
	owner          principal.Owner
	orders         map[string]Order
	sequence       []string          // IDs by creation
	listed         []string          // IDs by Mark, the oldest first
	open           []Mark            // of the orders that are not final, the oldest first
	unreported     map[string]bool   // IDs of the final orders with MissingFills
	keys           map[string]string // order IDs by idempotency key
	venueIDs       map[venueID]string
	families       map[string][]string        // IDs of the orders that have an order as Parent or as the first of their group, by creation
	entries        map[market.Symbol][]string // IDs of the orders with Role Entry, by creation
	plans          map[market.Symbol][]Line   // what protects the position, oldest first; a symbol that never had a plan has none
	endedFor       map[string][]string        // by order: IDs of those that were cancelled for it
	replacers      map[string][]string        // IDs of the orders that were to replace an order
	trades         map[string]string          // order IDs by Fill.Key
	positions      map[market.Symbol]*track
	books          books                                       // of deployments
	turnover       map[int64]map[market.Symbol]decimal.Decimal // by UTC day
	newest         int64                                       // newest day of turnover
	adjusted       int                                         // number of adjustments, which makes their keys unique
	evictedThrough time.Time                                   // when the last evicted order with fills ended
	evictedBefore  time.Time                                   // no order created after it was evicted
	tradesSince    time.Time                                   // trades that were closed before it are forgotten
}

// venueID is a venue's ID of an order. Some venues number the orders by symbol.
type venueID struct {
	broker string
	symbol market.Symbol
	id     string
}

// venueIDs returns the venue's IDs of an order: its own, and that of the order that it became.
func (o Order) venueIDs() []venueID {
	var ids []venueID
	for _, id := range []string{o.VenueID, o.Linked} {
		if id != "" {
			ids = append(ids, venueID{o.Broker, o.Symbol, id})
		}
	}
	return ids
}

// NewBook returns an empty book.
func NewBook(owner principal.Owner) *Book {
	return &Book{
		owner: owner, orders: make(map[string]Order), unreported: make(map[string]bool), keys: make(map[string]string),
		venueIDs: make(map[venueID]string), families: make(map[string][]string), entries: make(map[market.Symbol][]string), plans: make(map[market.Symbol][]Line), endedFor: make(map[string][]string), replacers: make(map[string][]string), trades: make(map[string]string), positions: make(map[market.Symbol]*track),
		turnover: make(map[int64]map[market.Symbol]decimal.Decimal), books: newBooks(),
	}
}

// Check returns the error that Apply would return and changes nothing.
func (b *Book) Check(e Event) error {
	_, err := b.next(e)
	return err
}

// Apply adds an event. A rejected event changes nothing, nor does a trade that is already
// known, which is no error.
func (b *Book) Apply(e Event) error {
	o, err := b.next(e)
	switch {
	case err != nil:
		return err
	case e.Kind == KindAdjusted:
		b.adjust(e)
		return nil
	case e.Kind == KindVenueReset:
		b.reset(e.Survivors)
		return nil
	case e.Kind == KindPlanned:
		b.plan(e.Plan)
		return nil
	case e.Kind == KindFunded:
		b.fund(*e.Funding)
		return nil
	case e.Kind == KindAssigned:
		b.assign(e)
		return nil
	}
	was, known := b.orders[o.ID]
	if !known {
		b.sequence = append(b.sequence, o.ID)
		b.join(o)
	}
	b.store(o)
	if len(o.Fills) > len(was.Fills) {
		b.addTrade(*e.Fill)
		b.follow(o, *e.Fill)
	} else if o.Role == Entry && o.Status.Final() && o.Status != was.Status {
		b.tidy(o.Symbol)
	}
	return nil
}

// next returns the order after the event.
func (b *Book) next(e Event) (Order, error) {
	if e.Kind == KindVenueReset {
		return Order{}, nil
	}
	if e.Kind == KindPlanned {
		if !e.Plan.sound() {
			return Order{}, errPlan()
		}
		return Order{}, nil
	}
	if e.Kind == KindFunded {
		if f := e.Funding; f == nil || f.Symbol.IsZero() || f.At.IsZero() || !within(maxFactDigits, f.Rate, f.Mark, f.Amount) {
			return Order{}, fmt.Errorf("funding without a symbol or a time, or out of bounds: %w", ErrMalformed)
		}
		return Order{}, nil
	}
	if e.Kind == KindAssigned {
		return Order{}, e.Assignment.check()
	}
	if e.Kind == KindAdjusted {
		if a := e.Adjustment; a == nil || a.Symbol.IsZero() || !within(maxFactDigits, a.Quantity, a.Price) {
			return Order{}, fmt.Errorf("adjustment without a symbol or out of bounds: %w", ErrMalformed)
		}
		return Order{}, nil
	}
	o, known := b.orders[e.OrderID]
	switch {
	case e.Kind != KindCreated && !known:
		return Order{}, fmt.Errorf("%v of order %q: %w", e.Kind, e.OrderID, ErrUnknownOrder)
	case e.Kind == KindCreated && known:
		return Order{}, fmt.Errorf("order %q: %w", e.OrderID, ErrDuplicate)
	case e.Kind == KindCreated && e.Origin != nil && e.Origin.Owner != b.owner:
		return Order{}, fmt.Errorf("order %q belongs to %q, not %q: %w", e.OrderID, e.Origin.Owner, b.owner, ErrMalformed)
	case e.Kind == KindCreated && e.Origin != nil && e.Origin.Key != "" && b.keys[e.Origin.Key] != "":
		return Order{}, fmt.Errorf("idempotency key %q: %w", e.Origin.Key, ErrDuplicate)
	case e.Kind == KindFill && e.Fill != nil && e.Fill.TradeID != "" && (b.trades[e.Fill.Key()] != "" || o.hasFill(*e.Fill)):
		return o, nil
	}
	return Apply(o, e)
}

func (b *Book) store(o Order) {
	b.orders[o.ID] = o
	if o.CancelFor != "" && !slices.Contains(b.endedFor[o.CancelFor], o.ID) {
		b.endedFor[o.CancelFor] = append(b.endedFor[o.CancelFor], o.ID)
	}
	at, open := slices.BinarySearchFunc(b.open, o.Mark(), Mark.Compare)
	switch final := o.Status.Final(); {
	case open && final:
		b.open = slices.Delete(b.open, at, at+1)
	case !open && !final:
		b.open = slices.Insert(b.open, at, o.Mark())
	}
	if o.Status.Final() && o.MissingFills() {
		b.unreported[o.ID] = true
	} else {
		delete(b.unreported, o.ID)
	}
	if o.Key != "" {
		b.keys[o.Key] = o.ID
	}
	for _, id := range o.venueIDs() {
		b.venueIDs[id] = o.ID
	}
}

// fund applies a payment to a position, each once.
func (b *Book) fund(f Funding) {
	t, m := b.track(f.Symbol), move{At: f.At, Key: "funding/" + f.At.UTC().Format(time.RFC3339Nano), Funding: f.Amount}
	if !f.At.After(t.Base.Funded) || slices.ContainsFunc(t.Recent, func(known move) bool { return known.Key == m.Key }) {
		return
	}
	b.move(f.Symbol, m)
	b.share(f.Symbol, "", m)
}

// turnoverDays is how many days of turnover are kept: today and yesterday, for late fills.
const turnoverDays = 2

func (b *Book) addMove(f Fill) {
	b.trades[f.Key()] = f.OrderID
	m, owner := moveOf(f), ""
	if o, ok := b.orders[f.OrderID]; ok {
		m.Order, m.Reason = o.ID, cmp.Or(f.Cause, o.closes())
		owner = b.DeploymentOf(o)
	}
	b.move(f.Symbol, m)
	b.share(f.Symbol, owner, m)
}

func (b *Book) move(s market.Symbol, m move) {
	if b.track(s).add(m) {
		b.forgetTrades()
	}
}

func (b *Book) addTrade(f Fill) {
	b.addMove(f)
	day := utcDay(f.At)
	b.newest = max(b.newest, day)
	if day <= b.newest-turnoverDays {
		return
	}
	if b.turnover[day] == nil {
		b.turnover[day] = make(map[market.Symbol]decimal.Decimal)
		maps.DeleteFunc(b.turnover, func(d int64, _ map[market.Symbol]decimal.Decimal) bool { return d <= b.newest-turnoverDays })
	}
	b.turnover[day][f.Symbol] = b.turnover[day][f.Symbol].Add(f.Quantity.Mul(f.Price).Abs())
}

// utcDay counts the days since 1970.
func utcDay(t time.Time) int64 { return t.Unix() / int64(24*time.Hour/time.Second) }

func (b *Book) adjust(e Event) {
	b.adjusted++
	a := e.Adjustment
	b.move(a.Symbol, move{At: e.At, Key: fmt.Sprintf("adjusted/%09d", b.adjusted), Quantity: a.Quantity, Price: a.Price, Reason: ByAdjustment})
	side := Buy // of the position that it reduces
	if a.Quantity.IsPositive() {
		side = Sell
	}
	b.shorten(a.Symbol, "", "", side, a.Quantity.Abs())
	b.tidy(a.Symbol)
}

// reset keeps only the venue IDs, trades and positions of the survivors of a venue reset.
func (b *Book) reset(survivors []string) {
	clear(b.venueIDs)
	clear(b.trades)
	clear(b.positions)
	b.books.clear()
	for _, id := range survivors {
		o, ok := b.orders[id]
		if !ok {
			continue
		}
		b.store(o)
		for _, f := range o.Fills {
			b.addMove(f)
		}
	}
	for s := range b.plans {
		b.tidy(s)
	}
}

func (b *Book) track(s market.Symbol) *track {
	if b.positions[s] == nil {
		b.positions[s] = &track{Base: Position{Symbol: s}, now: Position{Symbol: s}, summed: Position{Symbol: s}}
	}
	return b.positions[s]
}

// Order returns the order with one of our IDs.
func (b *Book) Order(id string) (Order, bool) {
	o, ok := b.orders[id]
	return o, ok
}

// ByKey returns the order with an idempotency key.
func (b *Book) ByKey(key string) (Order, bool) { return b.Order(b.keys[key]) }

// ByVenueID returns the order with a venue's ID.
func (b *Book) ByVenueID(broker string, s market.Symbol, id string) (Order, bool) {
	return b.Order(b.venueIDs[venueID{broker, s, id}])
}

// Orders returns all orders, newest first.
func (b *Book) Orders() []Order {
	return slices.SortedFunc(maps.Values(b.orders), newestFirst)
}

// Open returns the orders that are not final, newest first.
func (b *Book) Open() []Order {
	open := make([]Order, 0, len(b.open))
	for _, m := range slices.Backward(b.open) {
		open = append(open, b.orders[m.ID])
	}
	return open
}

func (b *Book) isOpen(id string) bool {
	o, known := b.orders[id]
	return known && !o.Status.Final()
}

// Since returns the orders created at or after t, newest first.
func (b *Book) Since(t time.Time) []Order {
	return slices.Collect(b.EachSince(t))
}

// EachSince yields what Since returns.
func (b *Book) EachSince(t time.Time) iter.Seq[Order] {
	return func(yield func(Order) bool) {
		for _, id := range slices.Backward(b.sequence) {
			if b.orders[id].Created.Before(t) || !yield(b.orders[id]) {
				return
			}
		}
	}
}

// Has reports whether an order is in the book.
func (b *Book) Has(id string) bool { _, ok := b.orders[id]; return ok }

// Position returns the position in a symbol, with quantity zero if there is none.
func (b *Book) Position(s market.Symbol) Position {
	if t := b.positions[s]; t != nil {
		return t.position()
	}
	return Position{Symbol: s}
}

// Positions returns the positions of all symbols ever traded, by symbol.
func (b *Book) Positions() []Position {
	all := make([]Position, 0, len(b.positions))
	for _, t := range b.positions {
		all = append(all, t.position())
	}
	slices.SortFunc(all, func(x, y Position) int { return bySymbol(x.Symbol, y.Symbol) })
	return all
}

func bySymbol(a, b market.Symbol) int { return cmp.Compare(a.String(), b.String()) }

// Traded returns a copy of the notional by symbol of a UTC day, today or yesterday.
func (b *Book) Traded(day time.Time) map[market.Symbol]decimal.Decimal {
	return maps.Clone(b.turnover[utcDay(day)])
}

// Evict removes final orders, which bounds memory: those that ended before a time, and
// all but the given numbers of sent and denied orders that ended last. Orders are evicted
// by their end, because the venue may still report on one that just ended. Positions do
// not change. A fill of an evicted order is ErrUnknownOrder; the store recognises it.
func (b *Book) Evict(before time.Time, sent, denied int) {
	type end struct {
		id string
		at time.Time
	}
	var ends []end
	for _, id := range slices.Backward(b.sequence) {
		if o := b.orders[id]; o.Status.Final() && !o.NeedsQuery() && !b.needed(o) {
			ends = append(ends, end{id, o.Updated})
		}
	}
	slices.SortStableFunc(ends, func(x, y end) int { return y.at.Compare(x.at) })
	for _, e := range ends {
		o, left := b.orders[e.id], &sent
		if o.Status == Denied {
			left = &denied
		}
		if *left--; *left < 0 || e.at.Before(before) {
			b.remove(o)
		}
	}
	gone := func(id string) bool { _, kept := b.orders[id]; return !kept }
	b.sequence, b.listed = slices.DeleteFunc(b.sequence, gone), slices.DeleteFunc(b.listed, gone)
}

// EvictedThrough returns until when trades may belong to evicted orders, or zero.
func (b *Book) EvictedThrough() time.Time { return b.evictedThrough }

// remove deletes an order and the index entries that are still its own.
func (b *Book) remove(o Order) {
	if len(o.Fills) > 0 && o.Updated.After(b.evictedThrough) {
		b.evictedThrough = o.Updated
	}
	if o.Created.After(b.evictedBefore) {
		b.evictedBefore = o.Created
	}
	delete(b.orders, o.ID)
	delete(b.endedFor, o.ID)
	without(b.endedFor, o.CancelFor, o.ID)
	b.leave(o)
	delete(b.keys, o.Key)
	for _, id := range o.venueIDs() {
		if b.venueIDs[id] == o.ID {
			delete(b.venueIDs, id)
		}
	}
	for _, f := range o.Fills {
		if key := f.Key(); b.trades[key] == o.ID {
			delete(b.trades, key)
		}
	}
}
