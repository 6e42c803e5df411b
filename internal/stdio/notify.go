package stdio

import (
	"context"
	"log/slog"
	"sync"
)

// notifier carries notifications to the client once it has said that it is ready
// for them, or has called a tool, which says the same.
type notifier struct {
	session *Session
	once    sync.Once
	group   sync.WaitGroup
}

func (n *notifier) start(ctx context.Context) {
	s := n.session
	if s.cfg.Streams == nil {
		return
	}
	n.once.Do(func() {
		events, err := s.cfg.Streams.Subscribe(ctx, caller(), "")
		if err != nil {
			s.cfg.Log.LogAttrs(ctx, slog.LevelError, "[MCP] notifications are not available", slog.Any("error", err))
			return
		}
		n.group.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case event, ok := <-events:
					if !ok {
						return
					}
					s.write(append([]byte(nil), event.Data...))
				}
			}
		})
	})
}

func (n *notifier) wait() { n.group.Wait() }
