package httpd

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"candela/internal/mcp"
)

// stream answers GET /mcp and GET /sse with server-sent events until the client
// leaves, the token ends, another stream takes over or the server stops.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	x := s.begin(w, r)
	refusal := s.admit(r)
	if refusal == nil && !accepts(r.Header["Accept"], "text", "event-stream") {
		refusal = refuse(http.StatusNotAcceptable, "not acceptable: the answer is text/event-stream, which the Accept header excludes")
	}
	var caller *mcp.Caller
	if refusal == nil {
		caller, refusal = s.known(r)
	}
	if refusal != nil {
		x.refuse(r.Context(), nil, refusal)
		return
	}
	ctx, release := s.takeovers.claim(r.Context(), caller.Key)
	defer release()
	events, err := s.subscribe(ctx, *caller, r.Header.Get("Last-Event-ID"))
	if err != nil {
		refusal := refuse(http.StatusServiceUnavailable, "the stream could not be opened; try again")
		refusal.cause = err
		x.refuse(r.Context(), nil, refusal)
		return
	}
	began := time.Now()
	reason := s.pump(ctx, x, *caller, events)
	s.log.LogAttrs(r.Context(), slog.LevelInfo, "[MCP] stream closed",
		slog.String("reason", reason), slog.Bool("authorization", true),
		slog.Duration("took", time.Since(began)), slog.String("request_id", x.id))
}

func (s *Server) subscribe(ctx context.Context, caller mcp.Caller, last string) (<-chan mcp.Event, error) {
	if s.cfg.Streams == nil {
		return nil, nil
	}
	return s.cfg.Streams.Subscribe(ctx, caller, last)
}

// pump writes events and keep-alives until something ends the stream, and says
// what did.
func (s *Server) pump(ctx context.Context, x *exchange, caller mcp.Caller, events <-chan mcp.Event) string {
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the frames back
	s.log.LogAttrs(ctx, slog.LevelInfo, "[MCP] stream opened", slog.Bool("authorization", true), slog.String("request_id", x.id))

	out := frameWriter{w: x.w, control: http.NewResponseController(x.w), timeout: s.cfg.WriteTimeout}
	// ReadTimeout would end the request's context while the client listens.
	_ = out.control.SetReadDeadline(time.Time{})
	if !out.write(": connected\n\n") {
		return "client left"
	}
	stop, _ := ctx.Value(stopKey{}).(<-chan struct{})
	expired, stopExpiry := until(caller.Expires)
	defer stopExpiry()
	silence := time.NewTicker(s.cfg.KeepAlive)
	defer silence.Stop()
	for {
		frame := ": keep-alive\n\n"
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errTakenOver) {
				return "taken over"
			}
			return "client left"
		case <-stop:
			return "server stops"
		case <-expired:
			return "token expired"
		case event, ok := <-events:
			if !ok {
				return "source closed"
			}
			frame = eventFrame(event)
		case <-silence.C:
		}
		// A revoked token must not go on listening.
		if _, refusal := s.authorize(x.r); refusal != nil && refusal.status == http.StatusUnauthorized {
			return "token no longer valid"
		}
		if !out.write(frame) {
			return "client left"
		}
	}
}

// until returns a channel that delivers at the given time, never for the zero
// time.
func until(t time.Time) (<-chan time.Time, func() bool) {
	if t.IsZero() {
		return nil, func() bool { return true }
	}
	timer := time.NewTimer(time.Until(t))
	return timer.C, timer.Stop
}

func eventFrame(e mcp.Event) string {
	var b strings.Builder
	b.Grow(len(e.ID) + len(e.Data) + 32)
	b.WriteString("event: message\n")
	if e.ID != "" {
		b.WriteString("id: " + e.ID + "\n")
	}
	b.WriteString("data: ")
	b.Write(e.Data)
	b.WriteString("\n\n")
	return b.String()
}

// frameWriter writes whole frames, each with a deadline of its own: a peer that
// stopped reading must not hold a goroutine for ever.
type frameWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (f frameWriter) write(frame string) bool {
	if err := f.control.SetWriteDeadline(time.Now().Add(f.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return false
	}
	if _, err := f.w.Write([]byte(frame)); err != nil {
		return false
	}
	return f.control.Flush() == nil
}

var errTakenOver = errors.New("another stream of the same token took over")

// takeovers keeps one stream per token: the newest, because the client that
// reconnects is alive and the connection it left may take minutes to die. Its
// size is bounded by the open connections.
type takeovers struct {
	mu      sync.Mutex
	streams map[string]*streamSlot
}

type streamSlot struct{ cancel context.CancelCauseFunc }

// claim ends the stream that holds key, if any, and holds it until release.
func (t *takeovers) claim(ctx context.Context, key string) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	slot := &streamSlot{cancel}
	t.mu.Lock()
	if old := t.streams[key]; old != nil {
		old.cancel(errTakenOver)
	}
	t.streams[key] = slot
	t.mu.Unlock()
	return ctx, func() {
		cancel(nil)
		t.mu.Lock()
		if t.streams[key] == slot {
			delete(t.streams, key)
		}
		t.mu.Unlock()
	}
}
