package stdio

import (
	"context"
	"log/slog"
	"sync"

	"candela/internal/alerting/notify"
)

// notifier forwards notifications to the client after it has sent
// notifications/initialized or called a tool.
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
			s.cfg.Log.LogAttrs(ctx, slog.LevelError, "[MCP] notifications unavailable", slog.Any("error", err))
			return
		}
		n.group.Go(func() {
			defer events.Close()
			n.carry(ctx, events)
		})
	})
}

// carry writes notifications until the session ends, and then those already queued: a
// client whose call caused an event must receive the event. It stops when ctx ends or a
// write fails.
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

// finish waits until the queued notifications are written.
func (n *notifier) finish() {
	close(n.last)
	n.group.Wait()
}
