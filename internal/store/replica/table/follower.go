package table

import (
	"context"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"candela/internal/kit/retry"
	"candela/internal/store/replica/conn"
)

// RestartDelay is how long a follower that failed waits.
const RestartDelay = 500 * time.Millisecond

// Follower follows a table for as long as the process runs, through lost
// connections, new leaders and servers that begin anew. It has one consumer.
type Follower struct {
	Table   *Table
	Filters []string
	Name    string // what is followed, for the log
	Log     *slog.Logger
	// Apply notes a message: each last message of a subject once, ascending.
	Apply func(ctx context.Context, m conn.Message)
	// LostData reports, whenever reading begins, whether the servers have lost what they
	// held since it last did. Nil: their numbers tell, unless others have written more
	// since than there ever was.
	LostData func(ctx context.Context) (bool, error)
	// Restart begins the reading anew when something is sent; nil for never.
	Restart <-chan struct{}
}

// Run applies what follows the message last until ctx ends.
func (f *Follower) Run(ctx context.Context, last uint64) {
	back := f.Table.NATS().StatusChanged(nats.CONNECTED)
	defer f.Table.NATS().RemoveStatusListener(back)
	for {
		round, end := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			select {
			case <-back: // the servers may have lost what they held in memory
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
		f.Log.WarnContext(ctx, "stream follower interrupted; restarting", "what", f.Name, "error", err)
		if retry.Sleep(ctx, RestartDelay) != nil {
			return
		}
	}
}

// read applies messages after last until it fails.
func (f *Follower) read(ctx context.Context, last *uint64) error {
	begun := f.LostData
	if begun == nil {
		begun = func(ctx context.Context) (bool, error) { return f.StreamReset(ctx, *last) }
	}
	anew, err := begun(ctx)
	if err != nil {
		return f.Table.recreate(ctx, err)
	}
	if anew {
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

// StreamReset reports whether the servers have given out fewer numbers than are known.
func (f *Follower) StreamReset(ctx context.Context, last uint64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, conn.AttemptTimeout)
	defer cancel()
	head, err := f.Table.Head(ctx)
	return err == nil && head < last, err
}
