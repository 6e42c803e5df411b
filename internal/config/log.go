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
		return slog.New(componentHandler{slog.NewJSONHandler(w, options), nil})
	}
	lines := &prefixWriter{w: w}
	return slog.New(componentHandler{slog.NewTextHandler(lines, options), lines})
}

// CommandLogger is Logger for a command, whose answer is what counts: it says what
// goes wrong and not what goes on.
func (l Log) CommandLogger(w io.Writer) *slog.Logger {
	l.Level = max(l.Level, slog.LevelWarn)
	return l.Logger(w)
}

// componentHandler takes the component out of the message.
type componentHandler struct {
	slog.Handler
	lines *prefixWriter // of the text format, nil for JSON
}

func (h componentHandler) Handle(ctx context.Context, r slog.Record) error {
	prefix := ""
	for _, component := range [...]string{"[MCP] ", "[OAuth] "} {
		if rest, ok := strings.CutPrefix(r.Message, component); ok {
			prefix, r.Message = component, rest
			if h.lines == nil {
				r = r.Clone() // a record shares its fields with copies of it
				r.AddAttrs(slog.String("component", component[1:len(component)-2]))
			}
			break
		}
	}
	if h.lines == nil {
		return h.Handler.Handle(ctx, r)
	}
	// LogValue, String and Error of the fields run under this lock: they must not log.
	h.lines.mu.Lock()
	defer h.lines.mu.Unlock()
	h.lines.prefix = prefix
	return h.Handler.Handle(ctx, r)
}

func (h componentHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return componentHandler{h.Handler.WithAttrs(attrs), h.lines}
}

func (h componentHandler) WithGroup(name string) slog.Handler {
	return componentHandler{h.Handler.WithGroup(name), h.lines}
}

// prefixWriter begins each write, which is a line, with a text. Its owner holds the lock
// while it sets the text and writes the line.
type prefixWriter struct {
	mu     sync.Mutex
	w      io.Writer
	prefix string
	line   []byte // reused
}

// maxKeptLine bounds the memory for lines that is kept, in bytes.
const maxKeptLine = 4 << 10

func (p *prefixWriter) Write(line []byte) (int, error) {
	if p.prefix == "" {
		return p.w.Write(line)
	}
	p.line = append(append(p.line[:0], p.prefix...), line...)
	_, err := p.w.Write(p.line)
	if cap(p.line) > maxKeptLine {
		p.line = nil
	}
	if err != nil {
		return 0, err
	}
	return len(line), nil
}
