package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"candela/internal/kit/meter"
	"candela/lib/fault"
)

// outcome is the result of a message.
type outcome uint8

// The outcomes. From failedAs on there is one for each kind of fault of a tool.
const (
	succeeded outcome = iota
	cancelled
	rejected // protocol error
	failedAs
)

const outcomes = int(failedAs) + int(fault.Unsupported) + 1

func (o outcome) String() string {
	if o >= failedAs {
		return fault.Kind(o - failedAs).String()
	}
	return [...]string{succeeded: "ok", cancelled: "cancelled", rejected: "rejected"}[o]
}

// counter counts messages of one name.
type counter struct {
	count [outcomes]atomic.Uint64
	took  meter.Histogram
}

// counters counts messages by method and tool. The maps are fixed at construction, so
// that a client cannot make them grow.
type counters struct {
	methods, tools map[string]*counter
}

const otherMethod = "other"

func newCounters(tools []Tool, cfg Config) counters {
	t := counters{methods: map[string]*counter{}, tools: map[string]*counter{}}
	names := []string{methodInitialize, "ping", methodListTools, methodCallTool, otherMethod}
	if cfg.Modern || cfg.App != nil {
		names = append(names, methodListResources, methodListTemplates, methodReadResource)
	}
	if cfg.Modern {
		names = append(names, methodDiscover, methodListen, methodGetTask, methodUpdateTask, methodCancelTask)
	}
	for _, name := range names {
		t.methods[name] = &counter{}
	}
	for _, tool := range tools {
		t.tools[tool.Name] = &counter{}
	}
	return t
}

// add counts a message.
func (t *counters) add(e *logRecord, took time.Duration) {
	o := e.outcome
	switch {
	case e.cancelled:
		o = cancelled
	case e.code != 0:
		o = rejected
	}
	cmp.Or(t.methods[e.method], t.methods[otherMethod]).add(o, took)
	if tool := t.tools[e.tool]; tool != nil {
		tool.add(o, took)
	}
}

func (t *counter) add(o outcome, took time.Duration) {
	t.count[o].Add(1)
	t.took.Observe(took)
}

// Stats counts the messages answered since the start, by method and by tool.
type Stats struct {
	Methods, Tools map[string]Counts
}

// Counts holds the outcomes and durations of one method or tool. The outcomes are ok,
// cancelled, rejected by the protocol, and the kinds of faults.
type Counts struct {
	Outcomes map[string]uint64
	Took     meter.Reading
}

// Stats returns the current counts.
func (s *Server) Stats() Stats {
	return Stats{Methods: readAll(s.counters.methods), Tools: readAll(s.counters.tools)}
}

func readAll(tallies map[string]*counter) map[string]Counts {
	all := make(map[string]Counts, len(tallies))
	for name, t := range tallies {
		one := Counts{Outcomes: make(map[string]uint64, outcomes), Took: t.took.Read()}
		for i := range t.count {
			one.Outcomes[outcome(i).String()] = t.count[i].Load()
		}
		all[name] = one
	}
	return all
}

// logRecord holds the log attributes of a message.
type logRecord struct {
	method, tool, client string
	revision             string // of a modern request
	code                 int    // of a JSON-RPC error
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
	// Not with LogAttrs, which walks the stack for a place in the code that no line names.
	line := slog.NewRecord(time.Now(), slog.LevelInfo, "[MCP] request", 0)
	add := func(known bool, a slog.Attr) {
		if known {
			line.AddAttrs(a)
		}
	}
	add(true, slog.String("method", shorten(e.method)))
	add(e.tool != "", slog.String("tool", shorten(e.tool)))
	add(e.client != "", slog.String("client", shorten(e.client)))
	add(e.revision != "", slog.String("revision", e.revision))
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
	_ = log.Handler().Handle(ctx, line) // the log has no other place to report to
}

// shorten bounds a text chosen by the client before it is logged or echoed.
func shorten(text string) string { return fault.Truncate(text, 64) }
