// Package notify gets what happened to whoever wants to know it: one log of
// entries, a cursor for each reader, filters, and the file that remembers both.
// A stream and a polling call read the log itself; nothing is copied into a
// queue of theirs, so a reader that is away or slow costs a number and holds
// nobody up. The package does not know what an entry tells, keeps no entry
// beyond the process and starts no goroutine: the engine appends what it has
// committed, the transports, the tools and the sinks read.
package notify

import (
	"slices"
	"time"

	"candela/internal/market"
)

// What is kept, and for how long. The first two are the interface's.
const (
	PushTTL    = time.Hour // entries older than this are not pushed
	MaxBacklog = 1000      // entries wait for a subscriber, the newest

	PollTTL   = 7 * 24 * time.Hour // entries older than this cannot be fetched
	MaxPolled = 10_000             // entries of an owner can be fetched, the newest

	// MaxRetained bounds the entries of an owner that are younger than PushTTL and
	// kept beyond PollCap because a subscriber with a narrow filter may be owed
	// one of them.
	MaxRetained = 100_000

	// MaxSubscriptions bounds the subscriptions of all owners: twice the streams
	// that one process is made for. Beyond it the one goes whose token has not
	// been seen for the longest time.
	MaxSubscriptions = 20_000

	// UnseenTTL is how long a subscription outlives the last sign of its token.
	UnseenTTL = 7 * 24 * time.Hour
)

// Entry is one thing that happened.
type Entry struct {
	Seq    uint64        // its place in the log, ascending from 1 and never used twice
	Owner  string        // whom it concerns
	Symbol market.Symbol // with its venue
	Type   string        // what filters call it, such as "price_above"
	At     time.Time     // when it was committed, from which its age counts; what it tells may have happened earlier
	Data   []byte        // the record that clients get: one JSON object without line breaks, shared and read-only
}

// Filter says which entries a subscriber wants. An empty part matches all.
type Filter struct {
	Symbols []market.Symbol // as the client named them; one without a venue matches the name at every venue
	Types   []string
	// Instruments are the same symbols as their venues write them: BTC/USDT is
	// binance:BTCUSDT. An entry on one of them matches too. A symbol that no venue
	// could be asked about is not among them.
	Instruments []market.Symbol
}

func (f Filter) equal(g Filter) bool {
	return slices.Equal(f.Symbols, g.Symbols) && slices.Equal(f.Types, g.Types) && slices.Equal(f.Instruments, g.Instruments)
}

func (f Filter) clone() Filter {
	return Filter{Symbols: slices.Clone(f.Symbols), Types: slices.Clone(f.Types), Instruments: slices.Clone(f.Instruments)}
}

// matcher is a filter made for asking. It is never changed.
type matcher struct {
	symbols map[market.Symbol]struct{} // nil for all
	kinds   []string                   // nil for all
}

func newMatcher(f Filter) *matcher {
	m := &matcher{kinds: slices.Clone(f.Types)}
	if len(f.Symbols) > 0 {
		m.symbols = make(map[market.Symbol]struct{}, len(f.Symbols)+len(f.Instruments))
		for _, s := range slices.Concat(f.Symbols, f.Instruments) {
			m.symbols[s] = struct{}{}
		}
	}
	return m
}

func (m *matcher) matches(r *logEntry) bool {
	if len(m.kinds) > 0 && !slices.Contains(m.kinds, r.kind) {
		return false
	}
	if m.symbols == nil {
		return true
	}
	_, here := m.symbols[r.symbol]
	if !here {
		_, here = m.symbols[market.Symbol{Name: r.symbol.Name}]
	}
	return here
}

// record is an entry as the log holds it.
type logEntry struct {
	seq    uint64
	at     int64 // unix nanoseconds
	symbol market.Symbol
	kind   string
	event  Event
}

func newLogEntry(e Entry) logEntry {
	return logEntry{seq: e.Seq, at: e.At.UnixNano(), symbol: e.Symbol, kind: e.Type, event: NewEvent(e.Seq, AlertTriggered, e.Data)}
}

func (r *logEntry) entry(owner string) Entry {
	return Entry{Seq: r.seq, Owner: owner, Symbol: r.symbol, Type: r.kind, At: time.Unix(0, r.at).UTC(), Data: r.event.Params()}
}

func (r *logEntry) younger(than time.Duration, now int64) bool { return now-r.at < int64(than) }
