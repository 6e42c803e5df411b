package httpd

import (
	"context"
	"sync"

	"candela/internal/kit/principal"
	"candela/internal/kit/shutdown"
)

// takeovers keeps one stream per token: the newest, because the client that
// reconnects is alive and the connection it left may take minutes to die. Its
// size is bounded by the open connections.
type takeovers struct {
	mu      sync.Mutex
	streams map[string]*streamSlot
}

type streamSlot struct{ cancel context.CancelCauseFunc }

// claim ends the stream of the caller's token, if there is one, and holds its
// place until release. The context it returns ends with the one that it is given, when
// the server is told to stop and when another stream takes over.
func (t *takeovers) claim(ctx context.Context, caller principal.Caller) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	slot := &streamSlot{cancel}
	t.mu.Lock()
	if old := t.streams[caller.Key]; old != nil {
		old.cancel(errTakenOver)
	}
	t.streams[caller.Key] = slot
	t.mu.Unlock()
	unstop := context.AfterFunc(shutdown.Context(ctx), func() { cancel(errStopping) })
	return ctx, func() {
		unstop()
		cancel(nil)
		t.mu.Lock()
		if t.streams[caller.Key] == slot {
			delete(t.streams, caller.Key)
		}
		t.mu.Unlock()
	}
}
