// Package notify gets what happened to whoever wants to know it: one log of
// entries, a cursor for each reader, filters, and the file that remembers both.
// It does not know what an entry tells, reads no clock of its own and starts no
// goroutine; the engine appends, the transports and the polling tool read.
package notify

import (
	"time"

	"candela/internal/market"
)

// Entry is one thing that happened.
type Entry struct {
	Seq    uint64        // its place in the log, ascending from 1 and never used twice
	Owner  string        // whom it concerns
	Symbol market.Symbol // with its venue
	Kind   string        // what filters call it, such as "price_above"
	At     time.Time
	Data   []byte // the record that clients get: one JSON object without line breaks, shared and read-only
}

// Filter says which entries a subscriber wants. An empty part matches all.
type Filter struct {
	Symbols []market.Symbol // one without a venue matches the name at every venue
	Kinds   []string
}
