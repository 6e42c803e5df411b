package cluster

import (
	"context"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
)

// rewatch is how long a follower that failed waits.
const rewatch = 500 * time.Millisecond

// follower follows a table for as long as the process runs, through lost
// connections, new leaders and servers that begin anew. It has one consumer.
type follower struct {
	table   *table
	filters []string
	what    string // what is followed, for the log
	log     *slog.Logger
	// apply notes a message: each last message of a subject once, ascending.
	apply func(ctx context.Context, m message)
	// begun reports, whenever reading begins, whether the servers have lost what they
	// held since it last did. Nil: their numbers tell, unless others have written more
	// since than there ever was.
	begun func(ctx context.Context) (bool, error)
	// again begins the reading anew when something is sent; nil for never.
	again <-chan struct{}
}

// run applies what follows the message last until ctx ends.
func (f *follower) run(ctx context.Context, last uint64) {
	back := f.table.nc.StatusChanged(nats.CONNECTED)
	defer f.table.nc.RemoveStatusListener(back)
	for {
		round, end := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			select {
			case <-back: // the servers may have lost what they held in memory
			case <-f.again:
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
		f.log.WarnContext(ctx, "following is interrupted", "what", f.what, "error", err)
		timer := time.NewTimer(rewatch)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// read applies messages after last until it fails.
func (f *follower) read(ctx context.Context, last *uint64) error {
	begun := f.begun
	if begun == nil {
		begun = func(ctx context.Context) (bool, error) { return f.behind(ctx, *last) }
	}
	anew, err := begun(ctx)
	if err != nil {
		return f.table.remake(ctx, err)
	}
	if anew {
		*last = 0
	}
	for m, err := range f.table.follow(ctx, *last, f.filters...) {
		if err != nil {
			return err
		}
		f.apply(ctx, m)
		*last = m.seq
	}
	return nil
}

// behind reports whether the servers have given out fewer numbers than are known.
func (f *follower) behind(ctx context.Context, last uint64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	info, err := f.table.stream.Info(ctx)
	return err == nil && info.State.LastSeq < last, err
}
