package httpd

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
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
	events, err := s.open(ctx, *caller, r.Header.Get("Last-Event-ID"))
	if err != nil {
		refusal := refuse(http.StatusServiceUnavailable, "the stream could not be opened; try again")
		refusal.cause = err
		x.refuse(r.Context(), nil, refusal)
		return
	}
	defer events.Close()
	began := time.Now()
	reason := s.pump(ctx, x, *caller, events)
	s.log.LogAttrs(r.Context(), slog.LevelInfo, "[MCP] stream closed",
		slog.String("reason", reason), slog.Bool("authorization", true),
		slog.Duration("took", time.Since(began)), slog.String("request_id", x.id))
}

func (s *Server) open(ctx context.Context, caller mcp.Caller, last string) (mcp.Stream, error) {
	if s.cfg.Streams == nil {
		return silence{}, nil
	}
	return s.cfg.Streams.Open(ctx, caller, last)
}

// silence is a stream of nothing.
type silence struct{}

func (silence) Ready() <-chan struct{}           { return nil }
func (silence) Take(dst []mcp.Event) []mcp.Event { return dst }
func (silence) Close()                           {}

// pump writes events and keep-alives until something ends the stream, and says
// what did.
func (s *Server) pump(ctx context.Context, x *exchange, caller mcp.Caller, events mcp.Stream) string {
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the frames back
	s.log.LogAttrs(ctx, slog.LevelInfo, "[MCP] stream opened", slog.Bool("authorization", true), slog.String("request_id", x.id))

	out := frameWriter{w: x.w, control: http.NewResponseController(x.w), timeout: s.cfg.WriteTimeout}
	// ReadTimeout would end the request's context while the client listens.
	_ = out.control.SetReadDeadline(time.Time{})
	if !out.write([]byte(": connected\n\n")) {
		return clientLeft
	}
	stop, _ := ctx.Value(stopKey{}).(<-chan struct{})
	expired, stopExpiry := until(caller.Expires)
	defer stopExpiry()
	quiet := time.NewTicker(s.cfg.KeepAlive)
	defer quiet.Stop()
	for {
		var over string
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errTakenOver) {
				return "taken over"
			}
			return clientLeft
		case <-stop:
			return "server stops"
		case <-expired:
			return "token expired"
		case <-events.Ready():
			over = s.deliver(ctx, x, events, out)
		case <-quiet.C:
			over = s.send(x, out, []byte(": keep-alive\n\n"))
		}
		if over != "" {
			return over
		}
	}
}

// Why a stream is over.
const (
	clientLeft = "client left"
	noToken    = "token no longer valid"
)

// deliver writes what waits, many events at a time. It says why the stream is
// over, if it is.
func (s *Server) deliver(ctx context.Context, x *exchange, events mcp.Stream, out frameWriter) string {
	room, _ := s.rooms.Get().(*room)
	if room == nil {
		room = newRoom()
	}
	defer s.rooms.Put(room)
	for {
		room.events = events.Take(room.events[:0])
		if len(room.events) == 0 || ending(ctx) {
			return ""
		}
		if over := s.send(x, out, room.join()); over != "" {
			return over
		}
	}
}

// ending reports whether a stream has to end though there is more to write.
func ending(ctx context.Context) bool {
	stop, _ := ctx.Value(stopKey{}).(<-chan struct{})
	select {
	case <-ctx.Done():
		return true
	case <-stop:
		return true
	default:
		return false
	}
}

// send writes frames, unless the token is no longer good: what happens after the
// owner has thrown a client out is not the client's to know.
func (s *Server) send(x *exchange, out frameWriter, frames []byte) string {
	if _, refusal := s.authorize(x.r); refusal != nil && refusal.status == http.StatusUnauthorized {
		return noToken
	}
	if !out.write(frames) {
		return clientLeft
	}
	return ""
}

// room is what a stream needs while it writes. It is lent for that time only: ten
// thousand streams that sleep hold none.
type room struct {
	events []mcp.Event
	frames []byte
}

func newRoom() *room { return &room{events: make([]mcp.Event, 0, 64)} }

// join returns the frames of all events as one. A single one is as it is shared.
func (r *room) join() []byte {
	if len(r.events) == 1 {
		return r.events[0].Frame()
	}
	r.frames = r.frames[:0]
	for _, e := range r.events {
		r.frames = append(r.frames, e.Frame()...)
	}
	return r.frames
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

// frameWriter writes whole frames, each with a deadline of its own: a peer that
// stopped reading must not hold a goroutine for ever.
type frameWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (f frameWriter) write(frames []byte) bool {
	if err := f.control.SetWriteDeadline(time.Now().Add(f.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return false
	}
	if _, err := f.w.Write(frames); err != nil {
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
