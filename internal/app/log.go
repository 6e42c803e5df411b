package app

import (
	"io"
	"log/slog"

	"candela/internal/config"
)

// newLogger returns the logger every part is given; the default logger of
// log/slog stays untouched.
func newLogger(cfg config.Log, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.Level}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// commandLogger is newLogger for a command, whose answer is what counts: it says what
// goes wrong and not what goes on.
func commandLogger(cfg config.Log, w io.Writer) *slog.Logger {
	cfg.Level = max(cfg.Level, slog.LevelWarn)
	return newLogger(cfg, w)
}
