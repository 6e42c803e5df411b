package stdio

import (
	"context"
	"log/slog"
	"sync"

	"candela/internal/alerting/notify"
)

// notifier carries notifications to the client once it has said that it is ready
// for them, or has called a tool, which says the same.
type notifier struct {
	session *Session
	once    sync.Once
	group   sync.WaitGroup
	last    chan struct{} // closed when the session ends
}

func (n *notifier) start(ctx context.Context) {
	s := n.session
	if s.cfg.Streams == nil {
		return
	}
	n.once.Do(func() {
		events, err := s.cfg.Streams.Open(ctx, s.caller(), "")
		if err != nil {
			s.cfg.Log.LogAttrs(ctx, slog.LevelError, "[MCP] notifications are not available", slog.Any("error", err))
			return
		}
		n.group.Go(func() {
			defer events.Close()
			n.carry(ctx, events)
		})
	})
}

// carry writes what comes until the session ends, and then what is there already:
// a client that has an answer which tells of an event must not miss the event
// itself. It ends at once when ctx does or a write fails.
func (n *notifier) carry(ctx context.Context, events notify.Stream) {
	var batch []notify.Event
	for last := false; !last; {
		select {
		case <-ctx.Done():
			return
		case <-n.last:
			last = true
		case _, open := <-events.Ready():
			last = !open
		}
		for batch = events.Take(batch[:0]); len(batch) > 0 && ctx.Err() == nil; batch = events.Take(batch[:0]) {
			for _, e := range batch {
				if !n.session.send(e.Line()) {
					return
				}
			}
		}
	}
}

// finish has what is left written and waits for that.
func (n *notifier) finish() {
	close(n.last)
	n.group.Wait()
}
