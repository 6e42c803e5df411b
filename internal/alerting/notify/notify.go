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
	"time"

	"candela/internal/kit/principal"
	"candela/lib/market"
)

// The limits of an inbox.
const (
	PushTTL    = time.Hour // older entries are not pushed
	MaxBacklog = 1000      // entries wait for a subscriber, the newest

	PollTTL   = 7 * 24 * time.Hour // older entries cannot be polled
	MaxPolled = 10_000             // entries of an owner can be polled, the newest

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
	Symbol market.Symbol // with its venue
	Type   string        // the alert type that filters match, such as "price_above"
	At     time.Time     // of the commit, from which the age counts
	Data   []byte        // the record sent to clients: one JSON object without line breaks, shared and read-only
}

// A Filter selects entries. An empty part matches all.
type Filter struct {
	Symbols []market.Symbol // as the client wrote them; one without a venue matches at every venue
	Types   []string
	// Instruments are the same symbols as their venues write them: BTC/USDT is
	// binance:BTCUSDT. An entry on one of them matches too. Symbols that no venue could
	// resolve are missing.
	Instruments []market.Symbol
}

// Equal reports whether two filters have the same parts in the same order.
func (f Filter) Equal(g Filter) bool {
	return slices.Equal(f.Symbols, g.Symbols) && slices.Equal(f.Types, g.Types) && slices.Equal(f.Instruments, g.Instruments)
}

// Clone returns a deep copy.
func (f Filter) Clone() Filter {
	return Filter{Symbols: slices.Clone(f.Symbols), Types: slices.Clone(f.Types), Instruments: slices.Clone(f.Instruments)}
}
