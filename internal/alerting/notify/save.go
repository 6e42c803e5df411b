package notify

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
	// writeDelay gathers the changes of many readers into one write, and leaves
	// the write itself half a second to be at most one behind.
	writeDelay = 500 * time.Millisecond

	// tidyEvery is how often what is too old is dropped while nothing happens.
	tidyEvery = time.Hour
)

// saver knows whether the file is behind.
type saver struct {
	changes atomic.Uint64
	signal  chan struct{} // holds a token while the file may be behind

	mu    sync.Mutex // one write at a time
	saved uint64     // of the changes, how many the file has
}

// touch notes a change, after it was made.
func (s *saver) touch() {
	s.changes.Add(1)
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// confirm writes what a client was told to last. The log has why it could not be,
// by Run, which goes on trying.
func (l *Log) confirm() error {
	if err := l.flushFile(); err != nil {
		return &fault.Error{
			Kind: fault.Unavailable, Code: "store_failed", Retryable: true, Cause: err,
			Message: "subscriptions cannot be written to the disk; this one may hold, and a restart may undo it: try again",
		}
	}
	return nil
}

// Flush writes the file if it is behind. Of many callers at once, one writes for
// all. A log that is shared writes what it has to tell the others.
func (l *Log) Flush() error {
	if l.shared != nil {
		ctx, cancel := l.shared.bounded(patience)
		defer cancel()
		return l.flushShared(ctx)
	}
	return l.flushFile()
}

func (l *Log) flushFile() error {
	if l.cfg.Path == "" {
		return nil
	}
	want := l.saver.changes.Load()
	l.saver.mu.Lock()
	defer l.saver.mu.Unlock()
	if l.saver.saved >= want {
		return nil
	}
	now := l.saver.changes.Load()
	data, err := l.encode()
	if err == nil {
		err = replaceFile(l.cfg.Path, data)
	}
	if err != nil {
		return fmt.Errorf("write the subscriptions: %w", err)
	}
	l.saver.saved = now
	return nil
}

// Run writes the file behind the changes, and once more when ctx ends. While the
// file cannot be written it tries again with each delay and says so once.
func (l *Log) Run(ctx context.Context) error {
	if l.shared != nil {
		return l.runShared(ctx)
	}
	tidy := time.NewTicker(tidyEvery)
	defer tidy.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return l.flushFile()
		case <-tidy.C:
			l.tidy()
			continue
		case <-l.saver.signal:
		}
		if !pause(ctx, writeDelay) {
			continue
		}
		err := l.flushFile()
		if (err != nil) != failing {
			failing = err != nil
			l.report(ctx, err)
		}
		if failing {
			l.saver.touch()
		}
	}
}

func (l *Log) report(ctx context.Context, err error) {
	if err != nil {
		l.cfg.Log.ErrorContext(ctx, "subscriptions cannot be saved; a restart would repeat notifications", "error", err)
		return
	}
	l.cfg.Log.InfoContext(ctx, "subscriptions are saved again")
}

// pause reports whether it was not interrupted.
func pause(ctx context.Context, d time.Duration) bool {
	return retry.Sleep(ctx, d) == nil
}

// tidy drops entries and subscriptions that are too old.
func (l *Log) tidy() {
	now := l.cfg.Now()
	if l.shared == nil {
		l.mu.Lock()
		l.dropUnseen(now)
		l.mu.Unlock()
	}
	for _, o := range l.allOwners() {
		o.mu.Lock()
		v := *o.view.Load()
		v.prune(now.UnixNano())
		o.view.Store(&v)
		o.mu.Unlock()
	}
}
