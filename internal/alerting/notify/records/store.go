// Package records defines what the replicas of an installation share about notifications:
// filters, attachments, cursors and polling queues. Each is a record in a Store.
package records

import (
	"context"
	"errors"

	"candela/internal/alerting/notify"
)

// A Store is a key-value store with compare-and-set and watch, shared by all replicas. The
// latest record of each kind and name counts. Implementations pass recordtest.Run.
type Store interface {
	// Watch calls apply with the latest record of every name and then with each record
	// that any replica writes, until the store is closed. Records of one name come in the
	// order of their revisions; a replaced record may be skipped. It returns after apply
	// has seen everything that was acknowledged before the call.
	Watch(ctx context.Context, apply func(Record)) error

	// Write writes at most MaxRecords records atomically and returns once they are
	// durable. The first gets the revision first, the others those that follow. After
	// ErrConflict nothing was written; after any other error the outcome is unknown. It
	// tries once, for at most a few seconds.
	Write(ctx context.Context, records []Record) (first uint64, err error)

	// Latest returns the last acknowledged record of a name, or one without data and with
	// revision 0 if there is none.
	Latest(ctx context.Context, kind Kind, name string) (Record, error)
}

// MaxRecords bounds the records of one Write.
const MaxRecords = 1000

// ErrConflict means that the latest revision of a record is not, or may soon not be, the
// one that a compare-and-set requires.
var ErrConflict = errors.New("record revision conflict")

// A Record is one stored value. A record without data deletes its name.
type Record struct {
	Kind Kind
	Name string
	Rev  uint64 // ascending over all records; in a compare-and-set the required revision, 0 for none
	Data []byte

	CompareAndSet bool
}

// Kind is the first part of a record's key. Its values are stored.
type Kind string

// A filter, an attachment and a cursor are separate records because they change at
// different rates: a late write of one never overwrites another.
const (
	SubscriptionKind Kind = "sub"   // a token's filter, by principal.Caller.Key
	AttachmentKind   Kind = "seat"  // the replica that serves a token's stream, by principal.Caller.Key
	QueueKind        Kind = "poll"  // an owner's polling queue, by principal.Caller.Subject
	CursorKind       Kind = "place" // the cursors of a replica's streams, by replica and page
)

// CursorTTL is how long a cursor record is kept: longer than entries are pushed.
const CursorTTL = 2 * notify.PushTTL
