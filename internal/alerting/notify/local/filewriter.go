package local

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/retry"
)

const (
	// writeDelay gathers the changes of many readers into one write, and leaves the write
	// half a second to stay within one second of the changes.
	writeDelay = 500 * time.Millisecond

	pruneEvery = time.Hour
)

// fileWriter tracks whether the file has every change.
type fileWriter struct {
	changes atomic.Uint64
	dirty   chan struct{} // holds a token while the file may lack a change

	mu    sync.Mutex // one write at a time
	saved uint64     // of the changes, how many the file has
}

// markDirty is called after a change.
func (w *fileWriter) markDirty() {
	w.changes.Add(1)
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}

// persist writes the file before a client is answered. Run logs a failure and keeps
// retrying.
func (b *Inbox) persist() error {
	if err := b.Flush(); err != nil {
		return &fault.Error{
			Kind: fault.Unavailable, Code: "store_failed", Retryable: true, Cause: err,
			Message: "The change could not be saved to disk. It may be in effect now and undone by a restart; retry.",
		}
	}
	return nil
}

// Flush writes the file if it lacks a change. Of many concurrent callers one writes for all.
func (b *Inbox) Flush() error {
	if b.cfg.Path == "" {
		return nil
	}
	want := b.file.changes.Load()
	b.file.mu.Lock()
	defer b.file.mu.Unlock()
	if b.file.saved >= want {
		return nil
	}
	now := b.file.changes.Load()
	data, err := b.encode()
	if err == nil {
		err = writeFileAtomic(b.cfg.Path, data)
	}
	if err != nil {
		return fmt.Errorf("write subscriptions file: %w", err)
	}
	b.file.saved = now
	return nil
}

// Run implements notify.Inbox. It writes the file after changes and once more when ctx ends.
// While the file cannot be written it retries with each delay and logs that once.
func (b *Inbox) Run(ctx context.Context) error {
	prune := time.NewTicker(pruneEvery)
	defer prune.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return b.Flush()
		case <-prune.C:
			b.mu.Lock()
			b.removeUnseen(b.cfg.Now())
			b.mu.Unlock()
			b.Prune()
			continue
		case <-b.file.dirty:
		}
		if retry.Sleep(ctx, writeDelay) != nil {
			continue
		}
		err := b.Flush()
		switch {
		case err != nil && !failing:
			b.cfg.Log.ErrorContext(ctx, "saving subscriptions failed; a restart would repeat notifications", "error", err)
		case err == nil && failing:
			b.cfg.Log.InfoContext(ctx, "saving subscriptions recovered")
		}
		if failing = err != nil; failing {
			b.file.markDirty()
		}
	}
}
