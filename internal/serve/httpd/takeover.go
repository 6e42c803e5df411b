package httpd

import (
	"context"
	"sync"

	"candela/internal/kit/principal"
	"candela/internal/kit/shutdown"
)

// takeovers keeps one stream per token, the newest: a client that reconnects is alive,
// and its old connection may take minutes to fail.
type takeovers struct {
	mu      sync.Mutex
	streams map[string]*streamSlot
}

type streamSlot struct{ cancel context.CancelCauseFunc }

// claim replaces the stream of the caller's token until release. The returned context
// ends with ctx, when the server stops, and when another stream replaces this one.
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
