package desk

import (
	"context"
	"errors"
	"iter"
	"time"

	"candela/internal/kit/retry"
	"candela/internal/trading/order"
)

const (
	// retention is how long an order that has ended stays in memory, and the others
	// are how many do. The store finds those that are older.
	retention         = 30 * 24 * time.Hour
	maxClosedInMemory = 20_000
	maxDeniedInMemory = 1000 // more than are listed
	evictInterval     = time.Hour

	// snapshotEvery is how many events a start reads at most, beside a snapshot of the
	// book: about half a second's worth.
	snapshotEvery = 10_000

	// The shortest pause between snapshots, and the longest after some that were not
	// kept: each attempt may hold the desk up until the store gives up.
	minSnapshotPause, maxSnapshotPause = time.Minute, time.Hour
)

// loadBook makes the book of what is in the store.
func (l *loop) loadBook() error {
	read, err := readBook(l.ctx, l.cfg.Store, l.cfg.Owner)
	if read.snapshotErr != nil {
		l.cfg.Log.ErrorContext(l.ctx, "the snapshot of the account cannot be used; all its events are read", "error", read.snapshotErr)
	}
	if err != nil {
		return err
	}
	l.book, l.eventsSinceSnapshot, l.reload = read.Book, read.events, nil
	l.evictClosed(l.now())
	for _, o := range l.book.Orders() {
		l.trackOrder(o)
	}
	return nil
}

// loadedBook is a book that was read.
type loadedBook struct {
	*order.Book
	events      int   // that are not in its snapshot
	snapshotErr error // why its snapshot is of no use, if there is one
}

// readBook reads the book of an account. A snapshot is there to save time: when it is
// of no use, all events are read.
func readBook(ctx context.Context, s Store, owner string) (loadedBook, error) {
	data, since, err := s.Snapshot(ctx, owner)
	if err != nil {
		return loadedBook{}, err
	}
	r := loadedBook{Book: order.NewBook(owner)}
	if data == nil {
		return r, r.add(since)
	}
	if r.Book, r.snapshotErr = order.ReadSnapshot(owner, data); r.snapshotErr == nil {
		if err = r.add(since); err == nil || !errors.As(err, new(applyError)) {
			return r, err
		}
		r.snapshotErr = err
	}
	r.Book, r.events = order.NewBook(owner), 0
	return r, r.add(s.OrderEvents(ctx, owner))
}

// applyError is an event that a book does not take.
type applyError struct{ error }

// Unwrap returns why.
func (r applyError) Unwrap() error { return r.error }

// add adds events. One that is refused is a refusal, and everything else could not be
// read.
func (r *loadedBook) add(events iter.Seq2[order.Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		if err := r.Apply(e); err != nil {
			return applyError{err}
		}
		r.events++
	}
	return nil
}

// evictOnSchedule forgets orders now and then.
func (l *loop) evictOnSchedule(now time.Time) {
	if now.Sub(l.lastEviction) >= evictInterval {
		l.evictClosed(now)
	}
}

func (l *loop) evictClosed(now time.Time) {
	l.lastEviction = now
	l.book.Evict(now.Add(-retention), l.maxClosedInMemory, maxDeniedInMemory)
}

// saveSnapshot has the store keep the book when many events have come since it last did.
// The desk stands still for it, a fraction of a second. A book that is not what is in
// the store is not kept.
func (l *loop) saveSnapshot(now time.Time) {
	if l.eventsSinceSnapshot < l.snapshotEvery || now.Before(l.snapshot.next) || l.fenced != nil || l.reload != nil {
		return
	}
	l.evictClosed(now)
	err := l.cfg.Store.SaveSnapshot(l.drainCtx, l.systemCaller(), l.book)
	if err == nil {
		l.eventsSinceSnapshot, l.snapshot = 0, attempts{next: now.Add(minSnapshotPause)}
		return
	}
	wait := l.snapshot.failed(l.now(), retry.Backoff{First: minSnapshotPause, Max: maxSnapshotPause})
	if !l.checkFenced(err) && l.drainCtx.Err() == nil {
		l.cfg.Log.WarnContext(l.drainCtx, "no snapshot of the account is kept; it is tried again", "error", err, "retry_in", wait)
	}
}

// reloadBook reads the book anew when it is not what is in the store and could not be
// read at once, less and less often while that fails.
func (l *loop) reloadBook(now time.Time) {
	again := l.reload
	if again == nil || now.Before(again.next) || l.fenced != nil {
		return
	}
	if err := l.loadBook(); err != nil {
		again.failed(l.now(), retry.Backoff{First: time.Second, Max: time.Minute})
		l.storeFailed(err)
		return
	}
	l.publish()
}
