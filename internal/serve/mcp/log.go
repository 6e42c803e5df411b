package mcp

import (
	"context"
	"log/slog"
	"time"

	"candela/internal/kit/fault"
)

// logRecord holds the log attributes of a message.
type logRecord struct {
	method, tool, client string
	code                 int // of a JSON-RPC error
	toolError            bool
	cancelled            bool
	outcome              outcome // of a call that reached a tool
}

// logMessage logs one message. Values chosen by the client are shortened, and neither
// arguments nor results are logged.
func (s *Server) logMessage(ctx context.Context, from Origin, e logRecord, took time.Duration) {
	if !s.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := make([]slog.Attr, 0, 10)
	add := func(known bool, a slog.Attr) {
		if known {
			attrs = append(attrs, a)
		}
	}
	add(true, slog.String("method", shorten(e.method)))
	add(e.tool != "", slog.String("tool", shorten(e.tool)))
	add(e.client != "", slog.String("client", shorten(e.client)))
	add(e.code != 0, slog.Int("error_code", e.code))
	add(e.toolError, slog.Bool("tool_error", true))
	add(e.cancelled, slog.Bool("cancelled", true))
	add(true, slog.Bool("authorization", from.Authorization))
	add(true, slog.Duration("took", took))
	add(from.RequestID != "", slog.String("request_id", from.RequestID))
	log := s.log
	if from.Caller.Key == "" {
		log = s.limitedLog
	}
	log.LogAttrs(ctx, slog.LevelInfo, "[MCP] request", attrs...)
}

// shorten bounds a text chosen by the client before it is logged or echoed.
func shorten(text string) string { return fault.Truncate(text, 64) }
