// Package store declares what a node keeps in its state directory and how a kind of
// store is described. Replicas keep the same at NATS: see store/replica.
package store

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/data/provider"
	"candela/internal/kit/meter"
	"candela/internal/kit/principal"
	"candela/internal/trading/desk"
)

// Store keeps the state of a node. It is safe for concurrent use by one process, which
// holds the engine lock of the state directory. A change survives a crash once its method
// has returned.
type Store interface {
	engine.Store
	sink.Store
	desk.Store
	Entries
	Journals

	Alerts(ctx context.Context) iter.Seq2[alert.Alert, error]
	Marks(ctx context.Context) (map[provider.Sub]int64, error)
	OrderOwners(ctx context.Context) ([]principal.Owner, error)
	OwnersWith(ctx context.Context, state, text string) ([]principal.Owner, error) // whose state contains a text
	States(ctx context.Context) (map[principal.Owner]map[string][]byte, error)     // by owner and name

	// Kept, Keep and AllKept read and change records of owners that no account depends on, such as drawings.
	Kept(ctx context.Context, owner principal.Owner, name string) ([]byte, error)
	Keep(ctx context.Context, owner principal.Owner, name string, change func([]byte) ([]byte, error)) error
	AllKept(ctx context.Context) (map[principal.Owner]map[string][]byte, error)

	// Note adds an event to the audit log.
	Note(ctx context.Context, by principal.Caller, kind, about string, body []byte) error
	Stats() Stats
	// Publish has every notification handed on that is stored from now on, in the order of the
	// numbers. to must not block.
	Publish(to func([]notify.Entry))
	Close() error
}

// Entries keeps the notifications of fired alerts.
type Entries interface {
	Entries(ctx context.Context, after uint64) iter.Seq2[notify.Entry, error]
	AddEntries(ctx context.Context, entries []notify.Entry) ([]notify.Entry, error)
	LastEntry(ctx context.Context) (uint64, error)
	PruneEntries(ctx context.Context, before time.Time, keep, limit int) (int, error)
}

// Journals keeps the history of simulated accounts.
type Journals interface {
	AppendJournal(ctx context.Context, owner principal.Owner, name string, entries [][]byte) error
	Journal(ctx context.Context, owner principal.Owner, name string) iter.Seq2[[]byte, error]
	Journals(ctx context.Context) (map[principal.Owner][]string, error) // names by owner
	SaveJournalSnapshot(ctx context.Context, owner principal.Owner, name string, value []byte) error
	JournalSnapshot(ctx context.Context, owner principal.Owner, name string) ([]byte, iter.Seq2[[]byte, error], error)
}

// Stats holds what is known about an open store. The counters only grow.
type Stats struct {
	Commits meter.Reading     // successful ones, each with its sync
	Writes  uint64            // in these commits
	Errors  map[string]uint64 // failed commits by the code of the fault
	Failing string            // the code of the last commit's failure, "" if it succeeded
	Bytes   int64             // of the file
	Log     int64             // bytes of the write-ahead log
}

// Descriptor describes a kind of store.
type Descriptor struct {
	Name string
	// File is the name of the store in a state directory. A directory that has it uses this
	// kind of store.
	File string
	// Open opens the store in a state directory and creates it if there is none.
	Open func(ctx context.Context, home string, now func() time.Time) (Store, error)
}

// At returns the kind of store that a state directory has, of those in the list, and the first for a new one.
func At(stores []Descriptor, home string) Descriptor {
	for _, s := range stores {
		if _, err := os.Lstat(filepath.Join(home, s.File)); err == nil {
			return s
		}
	}
	return stores[0]
}
