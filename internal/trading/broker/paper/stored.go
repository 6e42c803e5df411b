package paper

import (
	"context"
	"iter"

	"candela/internal/kit/principal"
)

// Journals keeps the journals of all accounts.
type Journals interface {
	AppendJournal(ctx context.Context, owner principal.Owner, name string, entries [][]byte) error
	Journal(ctx context.Context, owner principal.Owner, name string) iter.Seq2[[]byte, error]
	SaveJournalSnapshot(ctx context.Context, owner principal.Owner, name string, value []byte) error
	JournalSnapshot(ctx context.Context, owner principal.Owner, name string) ([]byte, iter.Seq2[[]byte, error], error)
}

// StoredJournal is the journal of one owner's account in a store.
type StoredJournal struct {
	Store Journals
	Owner principal.Owner
}

// Append adds entries.
func (j StoredJournal) Append(ctx context.Context, entries ...[]byte) error {
	return j.Store.AppendJournal(ctx, j.Owner, Name, entries)
}

// Entries returns all entries, oldest first.
func (j StoredJournal) Entries(ctx context.Context) iter.Seq2[[]byte, error] {
	return j.Store.Journal(ctx, j.Owner, Name)
}

// SaveSnapshot stores what the entries so far come to.
func (j StoredJournal) SaveSnapshot(ctx context.Context, value []byte) error {
	return j.Store.SaveJournalSnapshot(ctx, j.Owner, Name, value)
}

// Snapshot returns the last snapshot and the entries after it.
func (j StoredJournal) Snapshot(ctx context.Context) ([]byte, iter.Seq2[[]byte, error], error) {
	return j.Store.JournalSnapshot(ctx, j.Owner, Name)
}
