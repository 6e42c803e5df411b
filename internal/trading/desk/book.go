package desk

import (
	"context"
	"errors"
	"iter"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/trading/order"
)

const (
	// Closed orders stay in memory up to these limits. Older ones are read from the store.
	retention         = 30 * 24 * time.Hour
	maxClosedInMemory = 20_000
	maxDeniedInMemory = 1000 // more than maxListed
	evictInterval     = time.Hour

	// snapshotEvery limits the events that a start reads to about half a second.
	snapshotEvery = 10_000

	// Pauses between snapshots: a failing attempt may block the loop for long.
	minSnapshotPause, maxSnapshotPause = time.Minute, time.Hour
)

// loadBook loads the book from the store.
func (l *loop) loadBook() error {
	read, err := readBook(l.ctx, l.cfg.Store, l.cfg.Owner)
	if read.snapshotErr != nil {
		l.cfg.Log.ErrorContext(l.ctx, "account snapshot unusable, reading all events", "error", read.snapshotErr)
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

type loadedBook struct {
	*order.Book
	events      int   // not in the snapshot
	snapshotErr error // why the snapshot was not used
}

// readBook reads the book of an account, from all events if the snapshot is unusable.
func readBook(ctx context.Context, s Store, owner principal.Owner) (loadedBook, error) {
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

// applyError is an event that the book rejects.
type applyError struct{ error }

// Unwrap returns the cause.
func (r applyError) Unwrap() error { return r.error }

// add applies events. It returns an applyError if the book rejects one.
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

func (l *loop) evictOnSchedule(now time.Time) {
	if now.Sub(l.lastEviction) >= evictInterval {
		l.evictClosed(now)
	}
}

func (l *loop) evictClosed(now time.Time) {
	l.lastEviction = now
	l.book.Evict(now.Add(-retention), l.maxClosedInMemory, maxDeniedInMemory)
}

// saveSnapshot saves a snapshot after snapshotEvery events. It blocks the loop for a
// fraction of a second. A book that lacks events is not saved.
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
		l.cfg.Log.WarnContext(l.drainCtx, "account snapshot failed", "error", err, "retry_in", wait)
	}
}

// reloadBook reads the book again after it rejected an event, with backoff.
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
