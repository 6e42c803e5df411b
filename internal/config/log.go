package config

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// Logger returns the logger every part is given; the default logger of
// log/slog stays untouched. Parts begin a message with their name in brackets. A
// line of the text format begins with it, and JSON has it as the field "component".
func (l Log) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: l.Level}
	if l.Format == "json" {
		return slog.New(fieldHandler{slog.NewJSONHandler(w, options)})
	}
	whole := &lockedWriter{w: w}
	h := prefixHandler{plain: slog.NewTextHandler(whole, options), by: make(map[string]slog.Handler)}
	for _, name := range components() {
		h.by[name] = slog.NewTextHandler(prefixWriter{whole, []byte("[" + name + "] ")}, options)
	}
	return slog.New(h)
}

// CommandLogger is Logger for a command, whose answer is what counts: it says what
// goes wrong and not what goes on.
func (l Log) CommandLogger(w io.Writer) *slog.Logger {
	l.Level = max(l.Level, slog.LevelWarn)
	return l.Logger(w)
}

// components returns the parts that begin their messages with their name.
func components() [2]string { return [...]string{"MCP", "OAuth"} }

// cutComponent splits a record into the component that logs it, "" for none, and the
// record without it.
func cutComponent(r slog.Record) (string, slog.Record) {
	for _, name := range components() {
		if rest, ok := strings.CutPrefix(r.Message, "["+name+"] "); ok {
			r.Message = rest
			return name, r
		}
	}
	return "", r
}

// fieldHandler adds the component as a field.
type fieldHandler struct{ slog.Handler }

func (h fieldHandler) Handle(ctx context.Context, r slog.Record) error {
	name, cut := cutComponent(r)
	if name == "" {
		return h.Handler.Handle(ctx, r)
	}
	// A record shares its fields with copies of it.
	cut = cut.Clone()
	cut.AddAttrs(slog.String("component", name))
	return h.Handler.Handle(ctx, cut)
}

func (h fieldHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return fieldHandler{h.Handler.WithAttrs(attrs)}
}

func (h fieldHandler) WithGroup(name string) slog.Handler {
	return fieldHandler{h.Handler.WithGroup(name)}
}

// prefixHandler has a handler for each component, which begins its lines with it.
type prefixHandler struct {
	plain slog.Handler
	by    map[string]slog.Handler
}

func (h prefixHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.plain.Enabled(ctx, level)
}

func (h prefixHandler) Handle(ctx context.Context, r slog.Record) error {
	name, cut := cutComponent(r)
	if name == "" {
		return h.plain.Handle(ctx, r)
	}
	return h.by[name].Handle(ctx, cut)
}

func (h prefixHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.each(func(one slog.Handler) slog.Handler { return one.WithAttrs(attrs) })
}

func (h prefixHandler) WithGroup(name string) slog.Handler {
	return h.each(func(one slog.Handler) slog.Handler { return one.WithGroup(name) })
}

func (h prefixHandler) each(with func(slog.Handler) slog.Handler) prefixHandler {
	next := prefixHandler{plain: with(h.plain), by: make(map[string]slog.Handler, len(h.by))}
	for name, one := range h.by {
		next.by[name] = with(one)
	}
	return next
}

// lockedWriter lets several handlers write whole lines to one place.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// prefixWriter begins each write, which is a line, with a text.
type prefixWriter struct {
	w      io.Writer
	prefix []byte
}

func (p prefixWriter) Write(line []byte) (int, error) {
	if _, err := p.w.Write(append(append(make([]byte, 0, len(p.prefix)+len(line)), p.prefix...), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}
