// Package notify defines how notifications reach clients. An Inbox holds each owner's log
// of entries. Readers are cursors into that log, so a slow or absent reader costs one number
// and delays nobody.
//
// A client with a token may have a subscription (a filter), a stream (a connection that
// receives matching entries as they are appended) or both; its backlog is the matching
// entries after its cursor. Clients may also poll: all clients of an owner share one polling
// queue, from which Poll takes the waiting entries as a Batch, and Settle reports whether
// the client received them. Parts of the program that store their own cursor, such as
// webhooks, read with a Tail.
//
// Package local keeps cursors in a file. Package replicated shares them among replicas.
package notify

import (
	"slices"
	"strings"
	"time"

	"candela/internal/kit/principal"
	"candela/lib/market"
)

// The limits of an inbox.
const (
	PushTTL    = time.Hour // older entries are not pushed
	MaxBacklog = 1000      // entries wait for a subscriber, the newest

	PollTTL   = 7 * 24 * time.Hour // older entries cannot be polled
	MaxPolled = 10_000             // entries of an owner and a kind can be polled, the newest

	// MaxRetained bounds an owner's entries that are younger than PushTTL. They are kept
	// beyond MaxPolled because a subscriber with a narrow filter may still need one.
	MaxRetained = 100_000

	// UnseenTTL is how long a subscription is kept after its token was last seen.
	UnseenTTL = 7 * 24 * time.Hour
)

// An Entry is one notification in an owner's log.
type Entry struct {
	Seq    uint64 // ascending from 1, never reused
	Owner  principal.Owner
	Kind   Kind
	Symbol market.Symbol // with its venue; zero for what concerns the whole account
	Type   string        // of an alert the type that filters match, such as "price_above", else the name of the event
	At     time.Time     // of the commit, from which the age counts
	Data   []byte        // the record sent to clients: one JSON object without line breaks, shared and read-only
}

// Kind is what an entry is about. Readers get alerts, and other kinds if they ask for them.
type Kind uint8

// The kinds.
const (
	Alert Kind = iota
	Order      // an order or a position of the account: order.Notice

	NumKinds = iota
)

// Kinds is a set of kinds. The zero value has alerts alone.
type Kinds uint8

// The sets of one kind.
const (
	Alerts Kinds = 1 << Alert
	Orders Kinds = 1 << Order
)

// KindNames lists the names of the kinds, in their order.
func KindNames() []string { return []string{"alerts", "orders"} }

func (k Kinds) normal() Kinds {
	if k == 0 {
		return Alerts
	}
	return k
}

// Has reports whether the set has a kind.
func (k Kinds) Has(one Kind) bool { return k.normal()&(1<<one) != 0 }

// Names returns the names of the kinds in the set.
func (k Kinds) Names() []string {
	var names []string
	for i, name := range KindNames() {
		if k.Has(Kind(i)) {
			names = append(names, name)
		}
	}
	return names
}

// KindsOf returns the set of kinds that have the names. It ignores other names.
func KindsOf(names []string) Kinds {
	var k Kinds
	for i, name := range KindNames() {
		if slices.Contains(names, name) {
			k |= 1 << i
		}
	}
	return k
}

// orderPrefix begins the stored type of an entry about an order. No type of alert has it.
const orderPrefix = "orders/"

// StoredType returns the kind and the type as stores keep them, in one text.
func (e *Entry) StoredType() string {
	if e.Kind == Order {
		return orderPrefix + e.Type
	}
	return e.Type
}

// SetStoredType sets the kind and the type from what StoredType returned.
func (e *Entry) SetStoredType(text string) {
	e.Kind, e.Type = Alert, text
	if name, ok := strings.CutPrefix(text, orderPrefix); ok {
		e.Kind, e.Type = Order, name
	}
}

// A Filter selects entries. An empty part matches all.
type Filter struct {
	Symbols []market.Symbol // as the client wrote them; one without a venue matches at every venue
	Types   []string        // of alerts; other entries match any
	Kinds   Kinds           // which entries are asked for
	// Instruments are the same symbols as their venues write them: BTC/USDT is
	// binance:BTCUSDT. An entry on one of them matches too. Symbols that no venue could
	// resolve are missing.
	Instruments []market.Symbol
}

// Equal reports whether two filters have the same parts in the same order.
func (f Filter) Equal(g Filter) bool {
	return slices.Equal(f.Symbols, g.Symbols) && slices.Equal(f.Types, g.Types) && f.Kinds.normal() == g.Kinds.normal() && slices.Equal(f.Instruments, g.Instruments)
}

// Clone returns a deep copy.
func (f Filter) Clone() Filter {
	return Filter{Symbols: slices.Clone(f.Symbols), Types: slices.Clone(f.Types), Kinds: f.Kinds, Instruments: slices.Clone(f.Instruments)}
}
