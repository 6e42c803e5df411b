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
	// remembered is how long an order that has ended stays in memory, and the others
	// are how many do. The store finds those that are older.
	remembered       = 30 * 24 * time.Hour
	rememberedSent   = 20_000
	rememberedDenied = 1000 // more than are listed
	pruneEvery       = time.Hour

	// snapshotEvery is how many events a start reads at most, beside a snapshot of the
	// book: about half a second's worth.
	snapshotEvery = 10_000

	// The shortest pause between snapshots, and the longest after some that were not
	// kept: each attempt may hold the desk up until the store gives up.
	minSnapshotPause, maxSnapshotPause = time.Minute, time.Hour
)

// replay makes the book of what is in the store.
func (w *writer) replay() error {
	read, err := readBook(w.ctx, w.cfg.Store, w.cfg.Owner)
	if read.unused != nil {
		w.cfg.Log.ErrorContext(w.ctx, "the snapshot of the account cannot be used; all its events are read", "error", read.unused)
	}
	if err != nil {
		return err
	}
	w.book, w.unsnapped, w.behindStore = read.Book, read.events, nil
	w.forget(w.now())
	for _, o := range w.book.Orders() {
		w.watch(o)
	}
	return nil
}

// reading is a book that was read.
type reading struct {
	*order.Book
	events int   // that are not in its snapshot
	unused error // why its snapshot is of no use, if there is one
}

// readBook reads the book of an account. A snapshot is there to save time: when it is
// of no use, all events are read.
func readBook(ctx context.Context, s Store, owner string) (reading, error) {
	data, since, err := s.Snapshot(ctx, owner)
	if err != nil {
		return reading{}, err
	}
	r := reading{Book: order.NewBook(owner)}
	if data == nil {
		return r, r.add(since)
	}
	if r.Book, r.unused = order.ReadSnapshot(owner, data); r.unused == nil {
		if err = r.add(since); err == nil || !errors.As(err, new(refusal)) {
			return r, err
		}
		r.unused = err
	}
	r.Book, r.events = order.NewBook(owner), 0
	return r, r.add(s.OrderEvents(ctx, owner))
}

// refusal is an event that a book does not take.
type refusal struct{ error }

// Unwrap returns why.
func (r refusal) Unwrap() error { return r.error }

// add adds events. One that is refused is a refusal, and everything else could not be
// read.
func (r *reading) add(events iter.Seq2[order.Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		if err := r.Apply(e); err != nil {
			return refusal{err}
		}
		r.events++
	}
	return nil
}

// prune forgets orders now and then.
func (w *writer) prune(now time.Time) {
	if now.Sub(w.pruned) >= pruneEvery {
		w.forget(now)
	}
}

func (w *writer) forget(now time.Time) {
	w.pruned = now
	w.book.Evict(now.Add(-remembered), w.rememberedSent, rememberedDenied)
}

// saveBook has the store keep the book when many events have come since it last did.
// The desk stands still for it, a fraction of a second. A book that is not what is in
// the store is not kept.
func (w *writer) saveBook(now time.Time) {
	if w.unsnapped < w.snapshotEvery || now.Before(w.snapshot.next) || w.fenced != nil || w.behindStore != nil {
		return
	}
	w.forget(now)
	err := w.cfg.Store.SaveSnapshot(w.hard, w.service(), w.book)
	if err == nil {
		w.unsnapped, w.snapshot = 0, attempts{next: now.Add(minSnapshotPause)}
		return
	}
	wait := w.snapshot.failed(w.now(), retry.Backoff{First: minSnapshotPause, Max: maxSnapshotPause})
	if !w.yields(err) && w.hard.Err() == nil {
		w.cfg.Log.WarnContext(w.hard, "no snapshot of the account is kept; it is tried again", "error", err, "retry_in", wait)
	}
}

// catchUp reads the book anew when it is not what is in the store and could not be
// read at once, less and less often while that fails.
func (w *writer) catchUp(now time.Time) {
	again := w.behindStore
	if again == nil || now.Before(again.next) || w.fenced != nil {
		return
	}
	if err := w.replay(); err != nil {
		again.failed(w.now(), retry.Backoff{First: time.Second, Max: time.Minute})
		w.storeFailed(err)
		return
	}
	w.publish()
}
