package notify

import (
	"context"
	"sync"
	"time"

	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// An Inbox delivers notifications to the clients of all owners. Streams and polling are
// independent: an entry may reach a client through both. Implementations are safe for
// concurrent use and pass recordtest.RunInbox.
type Inbox interface {
	Streams

	// Restore loads the stored entries and the highest sequence number ever assigned. It
	// must be called once, before any reader starts.
	Restore(head uint64, entries []Entry)
	// Append adds committed entries in ascending order and wakes their readers. It never
	// blocks on a reader. Entries that are already present are ignored.
	Append(entries []Entry)

	// Attached returns the session of the token's stream, and false if no live replica has
	// one.
	Attached(caller principal.Caller) (session string, open bool)

	// Subscribe sets the filter of the caller's token and returns once it is durable. After
	// an error the filter may still have been set. Entries matched by an earlier filter
	// stay in the backlog.
	Subscribe(ctx context.Context, caller principal.Caller, f Filter) error
	// Unsubscribe removes the filter and its backlog, and reports whether there was one.
	Unsubscribe(ctx context.Context, caller principal.Caller) (existed bool, err error)
	// Subscription returns the caller's filter, backlog size and connection state.
	Subscription(ctx context.Context, caller principal.Caller) (Subscription, error)

	// Poll takes entries from the owner's polling queue, the oldest first and at most
	// limit, waiting up to wait for the first. Each entry goes to one caller. The batch
	// must be settled. If ctx ends first nothing is taken; a shutdown ends the wait.
	Poll(ctx context.Context, caller principal.Caller, wait time.Duration, limit Bound) (*Batch, error)
	// LoadOwner returns once the inbox holds an owner's entries. It must be called before Tail where
	// there are many owners.
	LoadOwner(ctx context.Context, owner principal.Owner) error
	// Tail reads an owner's entries of some kinds for a reader that stores its own cursor.
	Tail(owner principal.Owner, kinds Kinds) Tail

	// Stats counts entries, subscriptions and streams.
	Stats() Stats
	// Run persists cursors and prunes old entries until ctx ends, then flushes.
	Run(ctx context.Context) error
}

// Subscription describes a token's subscription.
type Subscription struct {
	Active    bool
	Filter    Filter
	Queued    int // size of the backlog
	Connected bool
}

// Stats counts the contents of an inbox.
type Stats struct {
	Entries       int // of all owners
	Unpolled      int // entries that no poll has taken
	Subscriptions int
	Streams       int // connected
}

// A Tail reads the entries of one owner, of some kinds and else unfiltered. One goroutine uses it.
type Tail interface {
	// Ready receives after entries were appended.
	Ready() <-chan struct{}
	// Head returns the highest sequence number ever assigned, even if that entry was
	// pruned.
	Head() uint64
	// Next returns the first entry after seq that is younger than ttl and among the newest
	// limit, or nil. It skips earlier entries: count says how many, and skippedThrough is
	// the sequence number of the last, or seq.
	Next(seq uint64, ttl time.Duration, limit int) (next *Entry, skippedThrough uint64, count int)
	Close()
}

// A Bound limits one poll by entries and by bytes of their data; zero means unlimited. A
// poll takes at least one entry, of the kinds that it asks for. Those of other kinds stay.
type Bound struct {
	Entries, Bytes int
	Kinds          Kinds
}

// Fit returns how many of the entries are within the bound.
func (b Bound) Fit(entries []Entry) int {
	bytes := 0
	for i := range entries {
		bytes += len(entries[i].Data)
		if i > 0 && (b.Entries > 0 && i >= b.Entries || b.Bytes > 0 && bytes > b.Bytes) {
			return i
		}
	}
	return len(entries)
}

// A Batch holds the entries that one Poll took.
type Batch struct {
	Entries []Entry // oldest first
	Left    int     // entries that stay in the queue

	once   sync.Once
	settle func(delivered bool)
}

// NewBatch returns a batch that calls settle once.
func NewBatch(entries []Entry, left int, settle func(delivered bool)) *Batch {
	return &Batch{Entries: entries, Left: left, settle: settle}
}

// Settle reports whether the client received the entries. Undelivered entries return to the
// front of the queue. A batch that is unsettled at a crash counts as undelivered. Later
// calls are ignored.
func (b *Batch) Settle(delivered bool) {
	if len(b.Entries) > 0 {
		b.once.Do(func() { b.settle(delivered) })
	}
}

// ErrTooManySubscriptions is returned by Subscribe when every client that holds a
// subscription is connected.
func ErrTooManySubscriptions() error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "too_many_subscriptions", Retryable: true,
		Message: "Subscription limit reached and every client is connected. Retry after a client disconnects.",
	}
}
