package member

import (
	"context"
	"errors"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/retry"
	"candela/internal/trading/desk"
)

// longestPause is how long work that ends early again and again waits at most, and
// how long it must last to count as steady.
const longestPause = time.Minute

// While runs work each time this replica owns a name, ends its context when it does
// no longer, and returns when ctx ends, with ctx's error, and work has returned. Work
// that returns earlier begins again after a moment, and after a longer one each time
// that it does so again: what it does at its beginning may last, such as a write.
func (m *Members) While(ctx context.Context, name string, work func(ctx context.Context) error) error {
	wait := beatEvery
	for {
		changed := m.Changed()
		if _, mine := m.Owner(name); mine {
			wait = m.term(ctx, name, wait, work)
		} else {
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// term runs work until it returns, and after an early return waits, for as long as
// the name is owned. It returns how long to wait the next time.
func (m *Members) term(ctx context.Context, name string, wait time.Duration, work func(ctx context.Context) error) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer cancel()
		for {
			changed := m.Changed()
			if _, mine := m.Owner(name); !mine {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { cancel(); <-watched }()
	m.log.InfoContext(ctx, "this replica becomes the owner", "name", name)
	began := time.Now()
	err := work(ctx)
	if time.Since(began) >= longestPause {
		wait = beatEvery
	}
	if ctx.Err() != nil {
		m.log.InfoContext(ctx, "this replica is the owner no longer", "name", name)
		return wait
	}
	m.log.WarnContext(ctx, "what an owner does has ended early; it begins again", "name", name, "after", wait, "error", err)
	_ = retry.Sleep(ctx, wait)
	if unserved(err) {
		return wait
	}
	return min(2*wait, longestPause)
}

// unserved reports whether work ended because the servers do not answer. It waited
// for them long enough, and nothing lasts of it; when they are back it is wanted soon.
func unserved(err error) bool {
	return fault.KindOf(err) == fault.Unavailable && !errors.Is(err, desk.ErrFenced)
}
