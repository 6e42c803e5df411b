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
	attrs = append(attrs, slog.String("method", shorten(e.method)))
	if e.tool != "" {
		attrs = append(attrs, slog.String("tool", shorten(e.tool)))
	}
	if e.client != "" {
		attrs = append(attrs, slog.String("client", shorten(e.client)))
	}
	if e.code != 0 {
		attrs = append(attrs, slog.Int("error_code", e.code))
	}
	if e.toolError {
		attrs = append(attrs, slog.Bool("tool_error", true))
	}
	if e.cancelled {
		attrs = append(attrs, slog.Bool("cancelled", true))
	}
	attrs = append(attrs, slog.Bool("authorization", from.Authorization), slog.Duration("took", took))
	if from.RequestID != "" {
		attrs = append(attrs, slog.String("request_id", from.RequestID))
	}
	log := s.log
	if from.Caller.Key == "" {
		log = s.limitedLog
	}
	log.LogAttrs(ctx, slog.LevelInfo, "[MCP] request", attrs...)
}

// shorten bounds a text chosen by the client before it is logged or echoed.
func shorten(text string) string { return fault.Truncate(text, 64) }
