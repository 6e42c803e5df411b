package table

import (
	"context"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"candela/internal/kit/retry"
	"candela/internal/store/replica/conn"
)

// RestartDelay is the pause before a failed follower restarts.
const RestartDelay = 500 * time.Millisecond

// Follower follows a table until its context ends, across lost connections, new leaders and
// server restarts. It has one consumer.
type Follower struct {
	Table   *Table
	Filters []string
	Name    string // for the log
	Log     *slog.Logger
	// Apply receives each last message of a subject once, in ascending order.
	Apply func(ctx context.Context, m conn.Message)
	// LostData reports, whenever reading starts, whether the servers have lost data since the
	// last start. If nil, a lower sequence number shows it, unless replicas have written more
	// since.
	LostData func(ctx context.Context) (bool, error)
	// Restart restarts the reading when it receives a value; nil for never.
	Restart <-chan struct{}
}

// Load applies the stored messages and returns the sequence number of the last one, for Run.
func (f *Follower) Load(ctx context.Context, op string) (last uint64, err error) {
	for m, err := range f.Table.ReadToBarrier(ctx, 0, f.Filters...) {
		if err != nil {
			return 0, conn.Unavailable(op, err)
		}
		f.Apply(ctx, m)
		last = m.Seq
	}
	return last, nil
}

// LoadAndRun applies the stored messages, closes loaded, and goes on like Run. It repeats what
// fails: messages may be applied again.
func (f *Follower) LoadAndRun(ctx context.Context, loaded chan<- struct{}) {
	f.Table.AwaitRelease(ctx)
	for {
		last, err := f.Load(ctx, "read "+f.Name)
		if err == nil {
			close(loaded)
			f.Run(ctx, last)
			return
		}
		if ctx.Err() != nil {
			return
		}
		f.Log.WarnContext(ctx, "reading a stream failed; repeating", "stream", f.Name, "error", err)
		if retry.Sleep(ctx, RestartDelay) != nil {
			return
		}
	}
}

// AwaitLoaded waits until LoadAndRun has applied the stored messages.
func AwaitLoaded(ctx context.Context, loaded <-chan struct{}, op string) error {
	select {
	case <-loaded:
		return nil
	default:
	}
	select {
	case <-loaded:
		return nil
	case <-ctx.Done():
		return conn.Unavailable(op, ctx.Err())
	}
}

// Run applies the messages after last until ctx ends.
func (f *Follower) Run(ctx context.Context, last uint64) {
	back := f.Table.NATS().StatusChanged(nats.CONNECTED)
	defer f.Table.NATS().RemoveStatusListener(back)
	for {
		round, end := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			select {
			case <-back: // the servers may have lost their in-memory streams
			case <-f.Restart:
			case <-round.Done():
			}
			end()
		}()
		err := f.read(round, &last)
		end()
		<-ended
		if ctx.Err() != nil {
			return
		}
		f.Log.WarnContext(ctx, "stream follower interrupted; restarting", "stream", f.Name, "error", err)
		if retry.Sleep(ctx, RestartDelay) != nil {
			return
		}
	}
}

// read applies messages after last until it fails.
func (f *Follower) read(ctx context.Context, last *uint64) error {
	lost := f.LostData
	if lost == nil {
		lost = func(ctx context.Context) (bool, error) { return f.StreamReset(ctx, *last) }
	}
	reset, err := lost(ctx)
	if err != nil {
		return f.Table.recreate(ctx, err)
	}
	if reset {
		*last = 0
	}
	for m, err := range f.Table.follow(ctx, *last, f.Filters...) {
		if err != nil {
			return err
		}
		f.Apply(ctx, m)
		*last = m.Seq
	}
	return nil
}

// StreamReset reports whether the stream's head is below a known sequence number.
func (f *Follower) StreamReset(ctx context.Context, last uint64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, conn.AttemptTimeout)
	defer cancel()
	head, err := f.Table.Head(ctx)
	return err == nil && head < last, err
}
