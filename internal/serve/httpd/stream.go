package httpd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
)

// Reasons for the end of a stream, also used as metric labels. Those that end its context
// are the context's cause.
var (
	errClientLeft = errors.New("client left")
	errTakenOver  = errors.New("taken over")
	errDisplaced  = errors.New("displaced") // by newer sessions
	errStopping   = errors.New("server stops")
)

// stream answers GET /mcp and GET /sse with server-sent events until the client
// disconnects, the token ends, another stream replaces it or the server stops. Only the
// newest stream of a token gets events.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	if s.strayPage(w, r) {
		return
	}
	x := s.begin(w, r)
	refusal := s.checkOrigin(r)
	if refusal == nil && !accepts(r.Header["Accept"], "text", "event-stream") {
		refusal = refuse(http.StatusNotAcceptable, "not acceptable: the response is text/event-stream, which the Accept header excludes")
	}
	var caller *principal.Caller
	if refusal == nil {
		caller, refusal = s.known(r)
	}
	if refusal != nil {
		x.refuse(r.Context(), nil, refusal)
		return
	}
	if refusal = s.budgets.beginStream(caller.Subject, caller.Key); refusal != nil {
		x.refuse(r.Context(), nil, refusal)
		return
	}
	defer s.budgets.endStream(caller.Subject, caller.Key)
	held, release, refusal := s.hold(r.Context(), r, *caller)
	if refusal != nil {
		x.refuse(r.Context(), nil, refusal)
		return
	}
	defer release()
	caller.Session = sessionOf(r)
	ctx, added, leave := s.sessions.add(held, caller)
	defer leave()
	own := reader{session: added, all: &s.sessions, streams: s.streamsOf(*caller)}
	defer own.close()
	if err := own.open(ctx, r.Header.Get("Last-Event-ID")); err != nil {
		refusal := refuse(http.StatusServiceUnavailable, "the stream could not be opened; retry")
		refusal.cause = err
		x.refuse(r.Context(), nil, refusal)
		return
	}
	began := time.Now()
	s.log.LogAttrs(ctx, slog.LevelInfo, "[MCP] stream opened", slog.Bool("authorization", true), slog.String("request_id", x.id))
	s.tallies.streams.Add(1)
	reason := s.pump(ctx, x.w, &own)
	s.tallies.end(reason)
	s.log.LogAttrs(r.Context(), slog.LevelInfo, "[MCP] stream closed",
		slog.String("reason", reason.Error()), slog.Bool("authorization", true),
		slog.Duration("took", time.Since(began)), slog.String("request_id", x.id))
}

// streamsOf returns the streams that a caller may open. A token for charts alone gets no
// events: a subscription of an earlier token of the client would else come back with it.
func (s *Server) streamsOf(caller principal.Caller) Streams {
	if caller.Scope < principal.Read {
		return silence{}
	}
	return s.cfg.Streams
}

// silence opens streams without events, and is one.
type silence struct{}

func (silence) Open(context.Context, principal.Caller, string) (notify.Stream, error) {
	return silence{}, nil
}
func (silence) Attached(principal.Caller) (session string, open bool) { return "", false }
func (silence) Ready() <-chan struct{}                                { return nil }
func (silence) Take(dst []notify.Event) []notify.Event                { return dst }
func (silence) Close()                                                {}

// pump writes events and keep-alives until the stream ends, and returns the reason.
func (s *Server) pump(ctx context.Context, w http.ResponseWriter, own *reader) error {
	out := s.openFrames(w)
	resume := func() error { return own.resume(ctx) }
	err := s.carry(ctx, out, []byte(": connected\n\n"), own.wake, func(open bool) error {
		switch {
		case !open:
			return own.yield(ctx)
		case own.events == nil:
			return resume()
		}
		return s.deliver(ctx, own.events, out)
	}, resume)
	if wait := s.retryAfter(err); wait > 0 {
		_ = out.write(fmt.Appendf(nil, "retry: %d\n\n", wait.Milliseconds())) // the stream ends either way
	}
	return err
}

// carry writes the first frame, then calls send whenever ready receives, and writes
// keep-alives, each followed by idle, until the stream ends. It returns the reason. Ten
// thousand streams wait here, so there are few cases: all other ends cancel ctx.
func (s *Server) carry(ctx context.Context, out *frameWriter, first []byte, ready func() <-chan struct{}, send func(open bool) error, idle func() error) error {
	quiet := time.NewTicker(s.cfg.KeepAlive)
	defer quiet.Stop()
	err := out.write(first)
	for err == nil {
		select {
		case <-ctx.Done():
			err = ended(ctx)
		case _, open := <-ready():
			err = send(open)
		case <-quiet.C:
			if err = out.write([]byte(": keep-alive\n\n")); err == nil {
				err = idle()
			}
		}
	}
	return err
}

// retryAfter returns when a client should open a stream again that ended for a reason, or 0
// if it should decide itself.
func (s *Server) retryAfter(reason error) time.Duration {
	switch {
	case errors.Is(reason, errDisplaced):
		return displacedRetry
	case errors.Is(reason, errStopping) && s.cfg.Reconnect > 0:
		// Randomised, so that the clients do not reconnect all at once.
		return s.cfg.Reconnect/2 + rand.N(s.cfg.Reconnect) //nolint:gosec // G404: not a secret
	}
	return 0
}

// ended returns why a stream's context ended, or nil.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return errClientLeft
}

// deliver writes the queued events in batches.
func (s *Server) deliver(ctx context.Context, events notify.Stream, out *frameWriter) error {
	room, _ := s.rooms.Get().(*room)
	if room == nil {
		room = newRoom()
	}
	defer s.rooms.Put(room)
	for {
		room.events = events.Take(room.events[:0])
		if err := ended(ctx); err != nil || len(room.events) == 0 {
			return err
		}
		if err := out.write(room.join()); err != nil {
			return err
		}
	}
}

// room holds the buffers of a write. It is pooled, so that waiting streams hold none.
type room struct {
	events []notify.Event
	frames []byte
}

func newRoom() *room { return &room{events: make([]notify.Event, 0, 64)} }

// join concatenates the frames of all events. A single frame is not copied.
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

// frameWriter writes whole frames with a deadline, so that a client that stops reading
// does not block a goroutine forever.
type frameWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	renewed time.Time // when the deadline was set
}

// openFrames begins a response of server-sent events.
func (s *Server) openFrames(w http.ResponseWriter) *frameWriter {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would buffer the frames
	out := &frameWriter{w: w, control: http.NewResponseController(w), timeout: s.cfg.WriteTimeout}
	// ReadTimeout would end the request's context during the stream.
	_ = out.control.SetReadDeadline(time.Time{})
	return out
}

func (f *frameWriter) write(frames []byte) error {
	// Setting a deadline is expensive, so it is renewed only after an eighth of the
	// timeout.
	if now := time.Now(); now.Sub(f.renewed) >= f.timeout/8 {
		f.renewed = now
		if err := f.control.SetWriteDeadline(now.Add(f.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return errClientLeft
		}
	}
	if _, err := f.w.Write(frames); err != nil || f.control.Flush() != nil {
		return errClientLeft
	}
	return nil
}
