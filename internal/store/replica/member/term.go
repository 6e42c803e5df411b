package member

import (
	"context"
	"errors"
	"time"

	"candela/internal/kit/retry"
	"candela/internal/trading/desk"
	"candela/lib/fault"
)

// maxRestartDelay bounds the delay before failed work restarts. Work that lasts as long resets
// the delay.
const maxRestartDelay = time.Minute

// RunWhileOwner runs work while this replica owns a shard and cancels its context when it no
// longer does. It returns ctx's error when ctx has ended and work has returned. Work that returns
// early restarts after a delay that grows each time, because its start may be expensive.
func (m *Group) RunWhileOwner(ctx context.Context, shard string, work func(ctx context.Context) error) error {
	for wait := heartbeatEvery; ; {
		m.awaitOwner(ctx, shard, true)
		if err := ctx.Err(); err != nil {
			return err
		}
		wait = m.runTerm(ctx, shard, wait, work)
	}
}

// awaitOwner returns when this replica owns a shard, or owns it no longer, or ctx ends.
func (m *Group) awaitOwner(ctx context.Context, shard string, owns bool) {
	for {
		changed := m.Changed()
		if _, mine := m.ShardOwner(shard); mine == owns {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// runTerm runs work until it returns and, after an early return, waits while the shard is owned.
// It returns the next delay.
func (m *Group) runTerm(ctx context.Context, shard string, wait time.Duration, work func(ctx context.Context) error) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer cancel()
		m.awaitOwner(ctx, shard, false)
	}()
	defer func() { cancel(); <-watched }()
	m.log.InfoContext(ctx, "shard acquired", "shard", shard)
	began := time.Now()
	err := work(ctx)
	if time.Since(began) >= maxRestartDelay {
		wait = heartbeatEvery
	}
	if ctx.Err() != nil {
		m.log.InfoContext(ctx, "shard released", "shard", shard)
		return wait
	}
	m.log.WarnContext(ctx, "shard work failed; restarting", "shard", shard, "after", wait, "error", err)
	_ = retry.Sleep(ctx, wait)
	if serversUnavailable(err) {
		return wait
	}
	return min(2*wait, maxRestartDelay)
}

// serversUnavailable reports whether work ended because the servers do not answer. The delay does
// not grow then: work has waited long enough and did nothing.
func serversUnavailable(err error) bool {
	return fault.KindOf(err) == fault.Unavailable && !errors.Is(err, desk.ErrFenced)
}
