// Package storetest holds every store of alerts, notifications and orders to the
// same promises, whichever backend keeps them. The interfaces here are those that
// the engine and the desk declare as their ports.
package storetest

import (
	"context"
	"iter"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/trading/order"
)

// AlertStore is what the engine asks of a store. A call that returned nil has been
// written where a power cut does not reach it. One that returned an error has
// changed nothing, with one exception: when the store itself fails, an Unavailable
// fault, the change may be found after a restart, and until then the store refuses
// all writes or is as it was. The desk stops trading on such a fault. All methods
// are safe for concurrent use. A context that ends stops the wait for a turn, never
// a write that has begun: its outcome would be unknown.
//
// Times keep their microseconds and come back in UTC, decimals keep their value.
// Every write leaves an event in the audit log, of the caller where one is given
// and of the service itself otherwise; cursors and watermarks, which are written
// behind, and pruning leave none.
type AlertStore interface {
	// PutAlert stores an active alert. An owner other than the caller's subject is
	// Invalid, an id that is active already is a Conflict.
	PutAlert(ctx context.Context, by principal.Caller, a alert.Alert) error

	// CancelAlert removes an active alert of the caller's subject. One that is not
	// there, has fired or belongs to someone else is a NotFound fault, and these
	// cannot be distinguished.
	CancelAlert(ctx context.Context, by principal.Caller, id string) error

	// FireAlerts removes the alerts, numbers one notification for each and returns
	// those in the order given, all or nothing. An alert that is no longer active,
	// also because it stands twice in firings, is left out: of any number of
	// concurrent calls exactly one gets its entry. Numbers are above 0, ascend in the
	// order of commits, perhaps with gaps, and none is used twice, even when its
	// entry is pruned.
	// The entry's Data is what alert.Firing.AppendJSON writes, its Symbol the
	// instrument, its Kind the name of the type, and its At the time of the commit:
	// a late firing, too, is new to its readers.
	FireAlerts(ctx context.Context, firings []alert.Firing) ([]notify.Entry, error)

	// ReportAlerts stores a notification about each alert that nothing evaluates, as
	// FireAlerts does, and leaves the alert as it is. An alert that is gone, and one that
	// was reported with the same reason before, is passed over.
	ReportAlerts(ctx context.Context, reports []alert.Firing) ([]notify.Entry, error)

	// ResumeAlert ends that an alert of the caller's subject is set aside. Any other alert
	// is a Conflict.
	ResumeAlert(ctx context.Context, by principal.Caller, id string) error

	// ExpireAlerts removes alerts by their id and owner. One that is no longer
	// active is passed over.
	ExpireAlerts(ctx context.Context, gone []alert.Alert) error

	// Alerts yields every active alert of all owners, for the start, in no
	// promised order. After an error it ends.
	Alerts(ctx context.Context) iter.Seq2[alert.Alert, error]

	// Entries yields the notifications of all owners with a number above after,
	// ascending. After an error it ends.
	Entries(ctx context.Context, after uint64) iter.Seq2[notify.Entry, error]

	// LastEntry returns a number that is not below any that was given to a
	// notification, pruned or not, and below all that will be.
	LastEntry(ctx context.Context) (uint64, error)

	// PruneEntries removes notifications from before a time, and of each owner the
	// oldest over keep, at most limit of them, and returns how many. Call it until
	// it returns less than limit; each step is short.
	PruneEntries(ctx context.Context, before time.Time, keep, limit int) (int, error)

	// SaveCursors sets how far the named readers of an owner have come, in one
	// write. A cursor of 0 removes the reader. Others keep theirs.
	SaveCursors(ctx context.Context, owner principal.Owner, cursors map[string]uint64) error

	// Cursors returns the cursors of all owners by owner and reader, for the start.
	Cursors(ctx context.Context) (map[principal.Owner]map[string]uint64, error)

	// SaveMarks sets up to which bar (its T in unix seconds) each series has been
	// evaluated, in one write; one without an interval is of the price. A mark of 0
	// removes the series. Others keep theirs.
	SaveMarks(ctx context.Context, marks map[provider.Sub]int64) error

	// Marks returns every mark.
	Marks(ctx context.Context) (map[provider.Sub]int64, error)

	Close() error
}

// KeptStore keeps records of owners that no account depends on, such as drawings.
type KeptStore interface {
	// Kept returns a record of an owner, nil where there is none.
	Kept(ctx context.Context, owner principal.Owner, name string) ([]byte, error)

	// Keep changes a record of an owner. change gets what is kept, nil for nothing, and returns what to keep, which is
	// JSON, or nil to remove it. It may be called again.
	Keep(ctx context.Context, owner principal.Owner, name string, change func([]byte) ([]byte, error)) error

	// AllKept returns the records of all owners, by owner and name.
	AllKept(ctx context.Context) (map[principal.Owner]map[string][]byte, error)

	Close() error
}

// StateStore keeps small values by owner and name that must survive a restart, such
// as the guard's.
type StateStore interface {
	// SaveState sets a value of the caller's subject. The audit event carries the
	// value, so it must be JSON and hold no secret.
	SaveState(ctx context.Context, by principal.Caller, name string, value []byte, notices ...order.Notice) error

	// State returns a value, nil when it was never set.
	State(ctx context.Context, owner principal.Owner, name string) ([]byte, error)

	// OwnersWith returns the owners whose value of a name contains a text, sorted.
	OwnersWith(ctx context.Context, name, text string) ([]principal.Owner, error)
}
