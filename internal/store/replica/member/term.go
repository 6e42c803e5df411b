package member

import (
	"context"
	"errors"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/retry"
	"candela/internal/trading/desk"
)

// maxRestartDelay is how long work that ends early again and again waits at most, and
// how long it must last to count as steady.
const maxRestartDelay = time.Minute

// RunWhileOwner runs work each time this replica owns a name, ends its context when it does
// no longer, and returns when ctx ends, with ctx's error, and work has returned. Work
// that returns earlier begins again after a moment, and after a longer one each time
// that it does so again: what it does at its beginning may last, such as a write.
func (m *Group) RunWhileOwner(ctx context.Context, name string, work func(ctx context.Context) error) error {
	wait := heartbeatEvery
	for {
		changed := m.Changed()
		if _, mine := m.ShardOwner(name); mine {
			wait = m.runTerm(ctx, name, wait, work)
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

// runTerm runs work until it returns, and after an early return waits, for as long as
// the name is owned. It returns how long to wait the next time.
func (m *Group) runTerm(ctx context.Context, name string, wait time.Duration, work func(ctx context.Context) error) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer cancel()
		for {
			changed := m.Changed()
			if _, mine := m.ShardOwner(name); !mine {
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
	m.log.InfoContext(ctx, "shard acquired", "name", name)
	began := time.Now()
	err := work(ctx)
	if time.Since(began) >= maxRestartDelay {
		wait = heartbeatEvery
	}
	if ctx.Err() != nil {
		m.log.InfoContext(ctx, "shard released", "name", name)
		return wait
	}
	m.log.WarnContext(ctx, "shard work failed; restarting", "name", name, "after", wait, "error", err)
	_ = retry.Sleep(ctx, wait)
	if serversUnavailable(err) {
		return wait
	}
	return min(2*wait, maxRestartDelay)
}

// serversUnavailable reports whether work ended because the servers do not answer. It waited
// for them long enough, and nothing lasts of it; when they are back it is wanted soon.
func serversUnavailable(err error) bool {
	return fault.KindOf(err) == fault.Unavailable && !errors.Is(err, desk.ErrFenced)
}
