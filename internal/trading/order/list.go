package order

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"candela/lib/market"
)

// Mark is the place of an order in the list of all, newest first. The zero Mark is before the
// first.
type Mark struct {
	Created time.Time `json:"created,omitzero"`
	ID      string    `json:"id,omitempty"`
}

// Mark returns the order's place.
func (o Order) Mark() Mark { return Mark{o.Created, o.ID} }

// IsZero reports whether the mark is before the first order.
func (m Mark) IsZero() bool { return m.ID == "" && m.Created.IsZero() }

// Compare orders marks by time and ID, the oldest first.
func (m Mark) Compare(other Mark) int {
	return cmp.Or(m.Created.Compare(other.Created), strings.Compare(m.ID, other.ID))
}

// Precedes reports whether an order comes after the mark in the list.
func (m Mark) Precedes(o Order) bool { return m.IsZero() || o.Mark().Compare(m) < 0 }

func newestFirst(a, b Order) int { return b.Mark().Compare(a.Mark()) }

// Query asks for a part of the list of all orders, or for one order.
type Query struct {
	After Mark   `json:"after,omitzero"` // the part begins after it
	Most  int    `json:"most,omitempty"` // orders
	ID    string `json:"id,omitempty"`   // of the only order asked for; "" for a part
}

// Page is the answer to a Query.
type Page struct {
	Orders   []Order           `json:"orders,omitempty"`   // newest first
	Left     int               `json:"left,omitempty"`     // how many come after them
	Replaced map[string]string `json:"replaced,omitempty"` // by ID: the order that took the place of one of Orders
}

// place returns where an order with a mark belongs in b.listed.
func (b *Book) place(m Mark) int {
	if n := len(b.listed); n == 0 || b.orders[b.listed[n-1]].Mark().Compare(m) < 0 {
		return n // as nearly all do
	}
	at, _ := slices.BinarySearchFunc(b.listed, m, func(id string, m Mark) int { return b.orders[id].Mark().Compare(m) })
	return at
}

// List returns up to most orders after a mark, newest first, and how many come after them. It is
// complete down to the orders that were created at EvictedBefore.
func (b *Book) List(after Mark, most int) (orders []Order, left int) {
	end := len(b.listed)
	if !after.IsZero() {
		end = b.place(after)
	}
	from := max(0, end-most)
	for _, id := range slices.Backward(b.listed[from:end]) {
		orders = append(orders, b.orders[id])
	}
	return orders, from
}

// EvictedBefore returns a time after which no evicted order was created, zero if none was evicted.
func (b *Book) EvictedBefore() time.Time { return b.evictedBefore }

// Newest returns the n newest orders that were not denied, with the n newest denied ones among
// them, newest first: denials must not hide the others.
func (b *Book) Newest(n int) []Order { return b.newestFrom(n, nil) }

// NewestOf returns those of Newest that a deployment placed.
func (b *Book) NewestOf(n int, deployment string) []Order { return b.newestFrom(n, &deployment) }

func (b *Book) newestFrom(n int, of *string) []Order {
	var newest []Order
	sent, denied := n, n
	for _, id := range slices.Backward(b.sequence) {
		left := &sent
		if b.orders[id].Status == Denied {
			left = &denied
		}
		if *left--; *left >= 0 && (of == nil || b.orders[id].Deployment == *of) {
			newest = append(newest, b.orders[id])
		}
		if sent <= 0 {
			break
		}
	}
	return newest
}

// ReplacedBy returns the ID of the order that took the place of another, "" for none.
func (b *Book) ReplacedBy(id string) string {
	for _, other := range b.replacers[id] {
		if o := b.orders[other]; o.replaced() {
			return o.ID
		}
	}
	return ""
}

// replaced reports whether the order took the place of another: that the venue, or candela, has
// or had.
func (o Order) replaced() bool { return o.Replaces != "" && o.reached() && o.Status != Rejected }

// Named reports whether a symbol is the one that a client asks for: zero asks for all, one without a venue for
// any, and separators make no difference, as in BTC/USD.
func Named(asked, s market.Symbol) bool {
	if asked.IsZero() {
		return true
	}
	plain := strings.NewReplacer("/", "", "-", "", "_", "").Replace
	return (asked.Venue == "" || asked.Venue == s.Venue) && (asked.Name == s.Name || strings.EqualFold(plain(asked.Name), plain(s.Name)))
}
