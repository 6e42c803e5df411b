package notify

import (
	"context"
	"errors"
	"time"
)

// Keeper keeps what the logs of several replicas share: records by kind and name, of
// which the last counts. It knows nothing of what they say. keepertest holds
// implementations to this.
type Keeper interface {
	// Follow gives apply the last record of every name, and from then on each record
	// that anyone writes, until the keeper is closed. Records of one name come in the
	// order of their revisions; one that was replaced meanwhile may be left out. It
	// returns when apply has seen all that was acknowledged before the call.
	Follow(ctx context.Context, apply func(Record)) error

	// Write writes at most MaxRecords, all or none, and returns when they are safe.
	// The first has the revision first, and those of the others follow it. After
	// ErrMoved nothing was written; after any other error nobody knows. It tries
	// once, and not longer than a few seconds.
	Write(ctx context.Context, records []Record) (first uint64, err error)

	// Last returns the last record that was acknowledged under a name, one without
	// data and with revision 0 when there is none.
	Last(ctx context.Context, kind Kind, name string) (Record, error)
}

// MaxRecords is how many records are written together at most.
const MaxRecords = 1000

// ErrMoved means that a guarded record was not written because the last of its name
// is, or may soon be, another than the guard demands.
var ErrMoved = errors.New("the record was changed by someone else")

// Record is one thing that is kept. Without data its name is forgotten.
type Record struct {
	Kind Kind
	Name string
	Rev  uint64 // ascending over all records; of a guarded record to write, the revision that must be the last, 0 for none
	Data []byte

	Guarded bool
}

// Kind says what a record is about.
type Kind string

// The kinds of records. A seat changes with its stream, a filter does not, and a place
// with every delivery: what is written late of one never overwrites another.
const (
	SubKind  Kind = "sub"  // a token's filter, by principal.Caller.Key
	SeatKind Kind = "seat" // where a token's stream is and the place where it began or ended, by principal.Caller.Key
	PollKind Kind = "poll" // an owner's polling queue, by principal.Caller.Subject

	// PlaceKind is how far the streams of a replica have come. It need be kept for
	// PlaceTTL only.
	PlaceKind Kind = "place"
)

// Members is who takes part.
type Members interface {
	Self() string
	// Live reports whether a replica takes part, as far as this one knows.
	Live(id string) bool
}

// Shared is what the logs of several replicas have in common. Keeper, Members and
// Sync are required.
type Shared struct {
	Keeper  Keeper
	Members Members

	// Sync returns when every entry that was committed before the call has been
	// appended here.
	Sync func(ctx context.Context) error

	// Gone reports whether a token, by principal.Caller.Key, has ended for certain. Nil:
	// only its expiry tells.
	Gone func(ctx context.Context, key string) (bool, error)

	// Most bounds the subscriptions of all owners; 0 for MaxSharedSubscriptions.
	Most int

	// HandTime is how long a replica waits for another that is live to say how far a
	// stream came or that it goes by a filter; 0 for two seconds.
	HandTime time.Duration
}

// MaxSharedSubscriptions bounds the subscriptions of all replicas together: each
// knows all of them, at about 1 KB.
const MaxSharedSubscriptions = 200_000

// OpenShared returns a log without entries whose readers are those of all replicas.
// cfg has no path. Nothing is taken back when the log is restored: a place beyond
// its entries belongs to a replica that has come further.
func OpenShared(ctx context.Context, cfg Config, with Shared) (*Log, error) {
	if with.Most == 0 {
		with.Most = MaxSharedSubscriptions
	}
	if with.HandTime == 0 {
		with.HandTime = handTime
	}
	cfg.Path = ""
	l := newLog(cfg)
	l.shared = newShared(context.WithoutCancel(ctx), with)
	return l, with.Keeper.Follow(ctx, l.apply)
}
