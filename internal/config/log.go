package config

import (
	"io"
	"log/slog"
)

// Logger returns the logger every part is given; the default logger of
// log/slog stays untouched.
func (l Log) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: l.Level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// CommandLogger is Logger for a command, whose answer is what counts: it says what
// goes wrong and not what goes on.
func (l Log) CommandLogger(w io.Writer) *slog.Logger {
	l.Level = max(l.Level, slog.LevelWarn)
	return l.Logger(w)
}
