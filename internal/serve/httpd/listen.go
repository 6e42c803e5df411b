package httpd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"candela/internal/kit/shutdown"
	"candela/internal/serve/mcp"
	"candela/internal/serve/rpc"
)

// listen answers subscriptions/listen of the newer revision with server-sent events until
// the client disconnects, the token ends or the server stops. It neither replaces nor
// drains the stream of GET /mcp.
func (s *Server) listen(ctx context.Context, x *exchange, body *rpc.Body, sub *mcp.Subscription) {
	defer sub.Close()
	if !accepts(x.r.Header["Accept"], "text", "event-stream") {
		x.refuse(ctx, body, refuse(http.StatusNotAcceptable, "not acceptable: the response is text/event-stream, which the Accept header excludes"))
		return
	}
	open, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(shutdown.Context(ctx), func() { cancel(errStopping) })()
	defer context.AfterFunc(sub.Context(), func() { cancel(context.Cause(sub.Context())) })() //nolint:contextcheck // it ends with ctx
	began := time.Now()
	s.log.LogAttrs(ctx, slog.LevelInfo, "[MCP] subscription opened", slog.Bool("authorization", true), slog.String("request_id", x.id))
	s.tallies.streams.Add(1)
	out := s.openFrames(x.w)
	reason := s.carry(open, out, event(sub.Acknowledgement()), sub.Changed, func(bool) error { return out.write(event(sub.Update())) }, func() error { return nil })
	if last := sub.Completion(); len(last) > 0 && !errors.Is(reason, errClientLeft) {
		_ = out.write(event(last)) // the stream ends either way
	}
	s.tallies.end(reason)
	s.log.LogAttrs(ctx, slog.LevelInfo, "[MCP] subscription closed",
		slog.String("reason", reason.Error()), slog.Bool("authorization", true),
		slog.Duration("took", time.Since(began)), slog.String("request_id", x.id))
}

// event returns a message as a server-sent event. It has no id: the stream cannot be
// resumed.
func event(message []byte) []byte { return fmt.Appendf(nil, "event: message\ndata: %s\n\n", message) }
